import type { FastifyInstance } from 'fastify'
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
  const [userId, memberId] = [newId(), membership === null ? null : newId()]
  await owner.query(`insert into auth."user" (id, name, email, "emailVerified") values ($1, $2, $3, false)`, [
    userId,
    name,
    email,
  ])
  await owner.query(
    `insert into auth.account (id, "accountId", "providerId", "userId", password, "updatedAt")
     values ($1, $2::uuid::text, 'credential', $2::uuid, $3, now())`,
    [newId(), userId, await hashPassword(door, password)],
  )
  if (membership !== null) {
    await owner.query(
      `insert into members (id, organization_id, user_id, role, joined_at) values ($1, $2, $3, $4, now())`,
      [memberId, membership.organizationId, userId, membership.role],
    )
  }
  return { email, password, userId, memberId }
}
