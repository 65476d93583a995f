import type { ApiScope, Role } from './roles.ts'

/**
 * Who may use a route. Every route of the server declares one, beside itself; `docs/roles.md` is made from them.
 *
 * `anybody`: what is asked for proves itself, by a link or a password, or is no secret. `sender`: whoever can sign with the
 * secret of the address. `person`: whoever is signed in, to whatever organisation. `member`: a member with one of the roles, and
 * a key with the scope; `scope: null` is for people alone.
 */
export type Access =
  | { readonly who: 'anybody' | 'sender' | 'person' }
  | { readonly who: 'member'; readonly roles: readonly Role[]; readonly scope: ApiScope | null }

export const anybody: Access = { who: 'anybody' }
export const sender: Access = { who: 'sender' }
export const person: Access = { who: 'person' }

/** What everybody in the office sees: invoices, payments, contacts, deals, time lines, what there is to decide. */
export const readsOffice: Access = {
  who: 'member',
  roles: ['owner', 'admin', 'accountant', 'agent', 'viewer'],
  scope: 'read',
}
/** What proves something: events with what was sent, and who changed what. */
export const readsRecord: Access = { who: 'member', roles: ['owner', 'admin', 'accountant'], scope: 'read' }
/** Contacts, companies, deals, notes, and drafts of invoices. */
export const servesCustomers: Access = {
  who: 'member',
  roles: ['owner', 'admin', 'accountant', 'agent'],
  scope: 'full',
}
/** Whatever moves money or an issued document, and the decisions of the review desk. */
export const keepsBooks: Access = { who: 'member', roles: ['owner', 'admin', 'accountant'], scope: 'full' }
/** Senders with their secrets, and events that are tried again. */
export const administers: Access = { who: 'member', roles: ['owner', 'admin'], scope: 'full' }
/** Who may come in. For people alone: a key that leaked must not make itself another one. */
export const admits: Access = { who: 'member', roles: ['owner', 'admin'], scope: null }
/** The register for programs outside, and how their work ended where nobody knows. */
export const usesRegister: Access = { who: 'member', roles: ['owner', 'admin'], scope: 'register' }
export const endsWork: Access = { who: 'member', roles: ['owner', 'admin'], scope: 'resolve' }
/** What a member was told. */
export const isTold: Access = { who: 'member', roles: readsOffice.roles, scope: 'full' }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
  }
}

export function mayMember(access: Access, role: Role): boolean {
  return access.who !== 'member' || access.roles.includes(role)
}

/** A key with the scope `full` may do whatever keys may. */
export function mayKey(access: Access, scopes: readonly ApiScope[]): boolean {
  if (access.who !== 'member') return access.who !== 'person'
  return access.scope !== null && (scopes.includes('full') || scopes.includes(access.scope))
}
