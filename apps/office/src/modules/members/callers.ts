import type { Db } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { recordAudit } from '../audit/index.ts'
import type { Door } from './door.ts'
import { deleteSession, listMemberships, listSessions, setSessionOrganization } from './door-queries.ts'
import type { Membership } from './queries.ts'

/** Somebody who is signed in. */
export interface Person {
  readonly userId: string
  readonly name: string
  readonly email: string
  readonly hasTwoFactor: boolean
  readonly sessionId: string
  /** The organisation they work in; `null` for who belongs to none. */
  readonly membership: Membership | null
  readonly memberships: readonly Membership[]
}

/** What people see of where they are signed in: never the token. */
export interface SignedIn {
  readonly id: string
  readonly isCurrent: boolean
  readonly address: string | null
  readonly userAgent: string | null
  readonly createdAt: Date
  readonly lastSeenAt: Date
}

/**
 * Who is signed in by the cookies of a request, or `null`. Read anew each time: who has been removed, or got another role, is
 * so from the next request on. `cookies` are what the answer has to set, where the session was prolonged.
 */
export async function findPerson(
  { auth, db }: Door,
  headers: Headers,
): Promise<{ person: Person; cookies: readonly string[] } | null> {
  if (!headers.has('cookie')) return null
  const { response, headers: answered } = await auth.api.getSession({ headers, returnHeaders: true })
  if (response === null) return null
  const { session, user } = response
  const memberships = await listMemberships(db, user.id)
  const active = memberships.find(({ organizationId }) => organizationId === session.activeOrganizationId)
  const person: Person = {
    userId: user.id,
    name: user.name,
    email: user.email,
    hasTwoFactor: user.twoFactorEnabled === true,
    sessionId: session.id,
    membership: active ?? memberships[0] ?? null,
    memberships,
  }
  return { person, cookies: answered.getSetCookie() }
}

/** From now on this session works in another organisation of the person. Throws `not_found` for one they do not belong to. */
export async function switchOrganization({ db }: Door, person: Person, organizationId: string): Promise<Person> {
  const membership = person.memberships.find((each) => each.organizationId === organizationId)
  if (membership === undefined)
    throw new AppError('not_found', `You do not belong to the organisation ${organizationId}.`)
  await setSessionOrganization(db, person.sessionId, organizationId)
  return { ...person, membership }
}

/** Where a person is signed in, newest first. */
export async function listSignedIn({ db }: Door, person: Person, now: Date): Promise<SignedIn[]> {
  const rows = await listSessions(db, person.userId, now)
  return rows.map((row) => ({ ...row, isCurrent: row.id === person.sessionId }))
}

/**
 * Signs them out in one place, at once, and tells the organisation they work in. Throws `not_found` for a session that is not
 * theirs.
 */
export async function endSession(
  { db }: Door,
  { userId, membership }: Person,
  sessionId: string,
  { now, newId }: { now: Date; newId: NewId },
): Promise<void> {
  if (!(await deleteSession(db, userId, sessionId))) {
    throw new AppError('not_found', 'You are not signed in there, or not any more.')
  }
  if (membership !== null) await recordPersonal(db, [membership], 'session.end', {}, { now, newId })
}

/** Tells organisations what one of their members did about themselves. It is no part of what it tells: better-auth commits by itself. */
export async function recordPersonal(
  db: Db,
  memberships: readonly Membership[],
  action: string,
  data: Readonly<Record<string, unknown>>,
  { now, newId }: { now: Date; newId: NewId },
): Promise<void> {
  for (const { organizationId, memberId } of memberships) {
    const member = { type: 'member', id: memberId } as const
    const entry = { actor: member, action, subject: member, data }
    await db.transaction(organizationId, async (tx) => recordAudit(tx, organizationId, entry, now, newId))
  }
}
