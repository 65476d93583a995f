/**
 * Members: who may come in, and what each may do. People, their sessions and second factors by better-auth; organisations, members,
 * invitations and API keys by ourselves.
 *
 * Tables: `organizations`, `members`, `invitations`, `api_keys`, and all of schema `auth`. Whoever lets people in works in the role
 * `einmal_auth` (a `Db` called `door`); the server's role sees no password hash and no session.
 * Invariants: one membership per organisation and person; an organisation always has an owner; a key, a link of an invitation and a
 * session token are stored as hashes or for `einmal_auth` alone; an organisation is made together with its owner or not at all;
 * nobody signs up uninvited; every act leaves its audit entry in its own transaction.
 */
export {
  type Access,
  administers,
  admits,
  anybody,
  endsWork,
  isTold,
  keepsBooks,
  mayKey,
  mayMember,
  person,
  readsOffice,
  readsRecord,
  sender,
  servesCustomers,
  usesRegister,
} from './access.ts'
export { type ApiKeyIdentity, apiKeyState, createApiKey, findApiKey, revokeApiKey } from './api-keys.ts'
export { authRoutes } from './auth-routes.ts'
export { endSession, findPerson, listSignedIn, type Person, switchOrganization } from './callers.ts'
export { createDoor, type Door } from './door.ts'
export {
  acceptInvitation,
  cancelInvitation,
  type Guest,
  invitationState,
  invite,
  readOffer,
  renewInvitation,
} from './invitations.ts'
export { changeRole, removeMember } from './members.ts'
export type { OfficeAddress } from './office-address.ts'
export { createOrganizationWithOwner, hashPassword, setUpLink, setUpOffice } from './organizations.ts'
export { requireOwnOrigin } from './origin.ts'
export {
  type ApiKeyRow,
  findApiKeyById,
  findInvitation,
  findMemberName,
  findOrganizationName,
  hasOrganization,
  type ListedInvitation,
  listApiKeys,
  listInvitations,
  listMembers,
  type Member,
} from './queries.ts'
export { type ApiScope, apiScopes, type Role, roles } from './roles.ts'
export { toWebHeaders } from './web-headers.ts'
