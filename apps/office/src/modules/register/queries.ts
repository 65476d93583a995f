import type { Selectable } from 'kysely'
import { type Db, listedIn, send, sendText, sql, type Tx } from '../../platform/database.ts'
import type { Tables } from '../../platform/tables.ts'

export type EventRow = Selectable<Tables['events']>
export type NoteRow = Selectable<Tables['events_notes']>

export interface EventFilter {
  readonly state?: EventRow['state'] | undefined
  readonly source?: string | undefined
  readonly kind?: string | undefined
  /** The source's id of the event, exactly. */
  readonly externalId?: string | undefined
}

/** Newest first, from before `before` on. */
export async function listEvents(
  tx: Tx,
  organizationId: string,
  filter: EventFilter,
  before: string | null,
  limit: number,
): Promise<EventRow[]> {
  const { state, source, kind, externalId } = filter
  // What is unfinished has an index of its own, and so has a name. Where an organisation is small, the planner takes that of all
  // its events for as good: the more kinds and sources there are, the dearer it thinks a name that is looked for without them.
  const hasIndex = externalId !== undefined || (state !== undefined && state !== 'completed')
  return tx
    .selectFrom('events')
    .selectAll()
    .$if(hasIndex, (query) => query.where('organization_id', '=', organizationId))
    .$if(!hasIndex, (query) => query.where(listedIn(organizationId)))
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'completed'))
    .$if(source !== undefined, (query) => query.where('source', '=', source ?? ''))
    .$if(kind !== undefined, (query) => query.where('kind', '=', kind ?? ''))
    .$if(externalId !== undefined, (query) => query.where('external_id', '=', externalId ?? ''))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

export async function findEvent(tx: Tx, organizationId: string, id: string): Promise<EventRow | undefined> {
  return tx
    .selectFrom('events')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** The id of the event with this key; `undefined` where there is none. */
export async function findEventByName(
  tx: Tx,
  organizationId: string,
  name: { readonly source: string; readonly kind: string; readonly id: string },
): Promise<string | undefined> {
  const row = await tx
    .selectFrom('events')
    .select('id')
    .where('external_id', '=', name.id)
    .where('kind', '=', name.kind)
    .where('source', '=', name.source)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return row?.id
}

/** How often each of the events arrived. */
export async function countCopies(tx: Tx, organizationId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, number>()
  const rows = await tx
    .selectFrom('events')
    .select(['id', 'copies'])
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.id, row.copies]))
}

/** What was said beside an event: words that came too late, decisions, repetitions on purpose. In the order of their coming. */
export async function listNotesOfEvent(tx: Tx, organizationId: string, eventId: string): Promise<NoteRow[]> {
  return tx
    .selectFrom('events_notes')
    .selectAll()
    .where('event_id', '=', eventId)
    .where('organization_id', '=', organizationId)
    .orderBy('recorded_at')
    .orderBy('id')
    .execute()
}

/**
 * Says that work of the organisation is due at `dueAt`, unless it is known to be due sooner. Sent, not awaited.
 *
 * Reservations share a lock with planning, so that none is left out of a plan that was made while it was under way, and wait for
 * each other only where one brings the time forward.
 */
export function noteDueWork(tx: Tx, organizationId: string, dueAt: Date): void {
  // A statement of its own: the next one has to see what planning did while this one waited for it.
  void send(tx, sql`select pg_advisory_xact_lock_shared(hashtextextended('einmal.due_work ' || ${organizationId}, 0))`)
  void send(
    tx,
    sql`insert into due_work (organization_id, due_at)
      select ${organizationId}::uuid, ${dueAt.toISOString()}::timestamptz
      where coalesce((select due_at from due_work where organization_id = ${organizationId}::uuid) > ${dueAt.toISOString()}::timestamptz, true)
      on conflict (organization_id) do update set due_at = least(due_work.due_at, excluded.due_at)`,
  )
}

/**
 * Takes organisations whose work is due, for `forMs`: other processes look past them until then, and whoever dies with them has
 * kept them no longer than that.
 */
export async function takeDueOrganizations(db: Db, limit: number, forMs: number): Promise<string[]> {
  const rows = await db.query<{ organization_id: string }>(
    `update due_work set due_at = clock_timestamp() + $2::double precision * interval '1 millisecond'
    where organization_id = any(array(
      select organization_id from due_work where due_at <= (select clock_timestamp()) order by due_at limit $1
      for update skip locked))
    returning organization_id`,
    [limit, forMs],
  )
  return rows.map((row) => row.organization_id)
}

export interface StuckRow {
  readonly id: string
  readonly source: string
  readonly kind: string
  readonly external_id: string
  readonly attempt: number
}

/** Nobody was asked about the silence of this attempt yet. With an offset, so that it is looked up row by row and by the event. */
const notAsked = `not exists (select from review_items as r where r.event_id = e.id and r.organization_id = $1::uuid
  and r.key = 'register:' || e.id || ':' || e.attempt || ':stuck' offset 0)`

/**
 * Locks events whose lease has ended, whose program could go on and about which nobody was asked yet, the longest ended first.
 * Whoever takes one over waits, and finds the question asked.
 */
export async function lockStuckEvents(tx: Tx, organizationId: string, limit: number): Promise<StuckRow[]> {
  return sendText<StuckRow>(
    tx,
    `select e.id, e.source, e.kind, e.external_id, e.attempt from events as e
    where e.organization_id = $1::uuid and coalesce(e.lease_until, e.next_attempt_at) <= (select clock_timestamp())
      and e.state = 'in_progress' and e.target_capability <> 'neither'
      and ${notAsked}
    order by coalesce(e.lease_until, e.next_attempt_at) limit $2 for no key update of e skip locked`,
    [organizationId, limit],
    'register_stuck',
  )
}

/** Writes down when the next lease ends about which nobody was asked yet. Alone, while no reservation is under way. */
export async function planDueWork(tx: Tx, organizationId: string): Promise<void> {
  await send(tx, sql`select pg_advisory_xact_lock(hashtextextended('einmal.due_work ' || ${organizationId}, 0))`)
  await sendText(
    tx,
    `update due_work set due_at = (
      select coalesce(e.lease_until, e.next_attempt_at) from events as e
      where e.organization_id = $1::uuid and coalesce(e.lease_until, e.next_attempt_at) is not null and e.state = 'in_progress'
        and ${notAsked}
      order by coalesce(e.lease_until, e.next_attempt_at) limit 1)
    where organization_id = $1::uuid`,
    [organizationId],
    'register_plan',
  )
}
