/** Statements of the role `einmal_auth`: on people, their sessions, and what makes them members. */
import { type Db, send, sql, type Tx } from '../../platform/database.ts'
import type { Membership } from './queries.ts'

/** Returns false, and writes nothing, where the first organisation is there already. */
export async function insertOrganization(
  tx: Tx,
  row: { id: string; name: string; slug: string; now: Date; isFirst: boolean },
): Promise<boolean> {
  const rows = await send(
    tx,
    sql`insert into organizations (id, name, slug, created_at, is_first)
      values (${row.id}, ${row.name}, ${row.slug}, ${row.now.toISOString()}, ${row.isFirst ? true : null})
      on conflict (is_first) do nothing returning id`,
  )
  return rows.length > 0
}

/** A person who signs in with a password, as better-auth writes them. Returns false, and writes nothing, where the address is taken. */
export async function insertPerson(
  tx: Tx,
  row: { userId: string; accountId: string; name: string; email: string; passwordHash: string; now: Date },
): Promise<boolean> {
  const now = row.now.toISOString()
  const people = await send(
    tx,
    sql`insert into auth."user" (id, name, email, "emailVerified", "createdAt", "updatedAt", "twoFactorEnabled")
      values (${row.userId}, ${row.name}, ${row.email}, false, ${now}, ${now}, false)
      on conflict (email) do nothing returning id`,
  )
  if (people.length === 0) return false
  await send(
    tx,
    sql`insert into auth.account (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
      values (${row.accountId}, ${row.userId}, 'credential', ${row.userId}, ${row.passwordHash}, ${now}, ${now})`,
  )
  return true
}

export async function findPersonByEmail(tx: Tx, email: string): Promise<{ id: string } | undefined> {
  const [row] = await send<{ id: string }>(tx, sql`select id from auth."user" where email = ${email}`)
  return row
}

/** The organisations a person belongs to, in the order in which they came to them. */
export async function listMemberships(db: Db, userId: string): Promise<Membership[]> {
  return db.query<Membership>(
    `select m.organization_id as "organizationId", o.name as "organizationName", m.id as "memberId", m.role
     from members as m
     join organizations as o on o.id = m.organization_id
     where m.user_id = $1 and m.removed_at is null
     order by m.joined_at, m.id`,
    [userId],
  )
}

export interface SessionRow {
  readonly id: string
  readonly address: string | null
  readonly userAgent: string | null
  readonly createdAt: Date
  readonly lastSeenAt: Date
}

/** Where a person is signed in, newest first. */
export async function listSessions(db: Db, userId: string, now: Date): Promise<SessionRow[]> {
  return db.query<SessionRow>(
    `select id, "ipAddress" as address, "userAgent", "createdAt", "updatedAt" as "lastSeenAt"
     from auth.session where "userId" = $1 and "expiresAt" > $2
     order by "createdAt" desc, id`,
    [userId, now],
  )
}

/** Signs a person out in one place. Returns false where they were not signed in there. */
export async function deleteSession(db: Db, userId: string, sessionId: string): Promise<boolean> {
  const rows = await db.query('delete from auth.session where id = $1 and "userId" = $2 returning id', [
    sessionId,
    userId,
  ])
  return rows.length > 0
}

/** Ends what was begun with the old password and not completed: links for a new one, second factors asked for, devices trusted with one. */
export async function deleteChallenges(db: Db, userId: string): Promise<void> {
  await db.query('delete from auth.verification where value = $1', [userId])
}

export async function setSessionOrganization(db: Db, sessionId: string, organizationId: string): Promise<void> {
  await db.query('update auth.session set "activeOrganizationId" = $2 where id = $1', [sessionId, organizationId])
}

/** Counts one try more in a bucket, whose count begins anew when `since` is later than its beginning. Atomic. */
export async function countAttempt(
  db: Db,
  bucket: string,
  now: Date,
  since: Date,
): Promise<{ attempts: number; startedAt: Date }> {
  const [row] = await db.query<{ attempts: number; startedAt: Date }>(
    `insert into auth.sign_in_attempts as a (bucket, attempts, started_at) values ($1, 1, $2)
     on conflict (bucket) do update set
       attempts = case when a.started_at <= $3 then 1 else a.attempts + 1 end,
       started_at = case when a.started_at <= $3 then $2 else a.started_at end
     returning attempts, started_at as "startedAt"`,
    [bucket, now, since],
  )
  if (row === undefined) throw new Error('an attempt was counted and is not there')
  return row
}

/** Takes a try back that was none: who is let in has not guessed. */
export async function uncountAttempt(db: Db, bucket: string): Promise<void> {
  await db.query('update auth.sign_in_attempts set attempts = attempts - 1 where bucket = $1 and attempts > 1', [
    bucket,
  ])
}

/** Attempts of so many buckets go with the others whose time is over: nobody waits for all of an attack. */
const OLD_ATTEMPTS_MAX = 1_000

/** With some of those whose time is over, so that they do not pile up. Each is found by an index: an `or` of two has none. */
export async function deleteAttempts(db: Db, buckets: readonly string[], olderThan: Date): Promise<void> {
  await db.query(
    `delete from auth.sign_in_attempts
     where bucket = any (array(select unnest($1::text[]) union all
         (select bucket from auth.sign_in_attempts where started_at < $2 order by started_at limit ${OLD_ATTEMPTS_MAX})))
       and (bucket = any ($1) or started_at < $2)`,
    [buckets, olderThan],
  )
}
