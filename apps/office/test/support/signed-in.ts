import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { hashPassword, type Role } from '../../src/modules/members/index.ts'
import { testAddress } from './door.ts'
import type { TestOffice } from './office.ts'

export interface Credentials {
  readonly email: string
  readonly password: string
}

/** Headers of a browser in which somebody is signed in, on one of our pages. */
export interface SignedIn {
  readonly [name: string]: string
  readonly cookie: string
  readonly origin: string
}

let addresses = 0

/** Another address of a client each time: better-auth counts what comes from one. */
export function nextAddress(): string {
  addresses += 1
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`
}

/** Signs in over HTTP, from a browser that nobody was signed in with. */
export async function signIn(http: FastifyInstance, { email, password }: Credentials): Promise<SignedIn> {
  const [origin = ''] = testAddress.trustedOrigins
  const answer = await http.inject({
    method: 'POST',
    url: '/api/auth/sign-in/email',
    remoteAddress: nextAddress(),
    headers: { origin },
    payload: { email, password },
  })
  if (answer.statusCode !== 200) throw new Error(`${email} cannot sign in: ${answer.statusCode} ${answer.body}`)
  return { cookie: answer.cookies.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`).join('; '), origin }
}

/** A person with a password, and a member of the organisation if one is named. Returns what they sign in with. */
export async function addPerson(
  { owner, door, newId }: TestOffice,
  person: Credentials & { readonly name: string },
  membership: { readonly organizationId: string; readonly role: Role } | null,
): Promise<Credentials & { readonly userId: string; readonly memberId: string | null }> {
  const { name, email, password } = person
  const userId = await insertAccount(owner, { name, email, passwordHash: await hashPassword(door, password) })
  const memberId = membership === null ? null : newId()
  if (membership !== null && memberId !== null) {
    await insertMembership(owner, { id: memberId, userId, ...membership, joinedAt: new Date() })
  }
  return { email, password, userId, memberId }
}

/** A person who can sign in with the password of the hash. Returns their id. */
export async function insertAccount(
  owner: pg.Pool,
  { name, email, passwordHash }: { name: string; email: string; passwordHash: string },
): Promise<string> {
  const { rows } = await owner.query<{ id: string }>(
    `with person as (
       insert into auth."user" (name, email, "emailVerified", "updatedAt") values ($1, $2, false, now()) returning id)
     insert into auth.account ("accountId", "providerId", "userId", password, "updatedAt")
     select id::text, 'credential', id, $3, now() from person returning "userId" as id`,
    [name, email, passwordHash],
  )
  return rows[0]?.id ?? ''
}

export async function insertMembership(
  owner: pg.Pool,
  row: { id: string; organizationId: string; userId: string; role: Role; joinedAt: Date },
): Promise<void> {
  await owner.query('insert into members (id, organization_id, user_id, role, joined_at) values ($1, $2, $3, $4, $5)', [
    row.id,
    row.organizationId,
    row.userId,
    row.role,
    row.joinedAt,
  ])
}
