/**
 * Members: who may come in. People, sessions, organisations, roles and API keys, by better-auth.
 * Tables: all of schema `auth`. better-auth works on them as role `einmal_auth`; the server reads a few columns.
 * Invariants: one membership per organisation and person; an API key belongs to one organisation and is stored as a
 * hash; an organisation is made together with its owner or not at all; nobody signs up uninvited.
 * Others may import what is exported here: ids and names, never a row, a password hash or a session token.
 */
export { type ApiKeyIdentity, type ApiScope, findApiKey } from './api-keys.ts'
export { type Auth, type AuthSettings, createAuth } from './auth.ts'
export { authRoutes } from './auth-routes.ts'
export { type ApiKeySummary, findOwner, listApiKeys, revokeApiKey } from './manage-api-keys.ts'
export { createApiKey, createOrganizationWithOwner } from './organizations.ts'
export type { MembersDatabase } from './queries.ts'
