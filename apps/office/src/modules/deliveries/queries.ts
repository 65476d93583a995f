import { send, sql, type Tx } from '../../platform/database.ts'
import { toJsonText } from '../../platform/json.ts'

export interface ArrivedDelivery {
  readonly id: string
  readonly endpointId: string
  readonly source: string
  readonly receivedAt: Date
  /** Only the headers that the adapter reads, without any that authenticates. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly bodyHash: Buffer
}

export interface DeliveryOutcome {
  readonly delivery: ArrivedDelivery
  readonly verdict: 'accepted' | 'ignored' | 'failed'
  readonly reason: string | null
  readonly answerStatus: number
  readonly events: readonly { readonly eventId: string; readonly outcome: 'done' | 'duplicate' | 'kept' | 'failed' }[]
}

/**
 * Writes deliveries with their verdicts, and each body once. Sent and not awaited. Safe to repeat.
 *
 * Bytes that were pruned and come again are stored again. Pruning is held off until the commit, so that it sees the question
 * that this delivery may raise; bytes that are there are not touched, because most of what comes again is.
 *
 * The bodies travel as one value and are cut apart by the database, because one value goes over the wire as it is, and a
 * list of them as hexadecimal text of twice the size.
 */
export function recordDeliveries(tx: Tx, organizationId: string, outcomes: readonly DeliveryOutcome[]): void {
  if (outcomes.length === 0) return
  const { bodies, hashes, starts } = layOut(outcomes)
  const links = outcomes.flatMap(({ delivery, events }) =>
    events.map((event) => ({ deliveryId: delivery.id, ...event })),
  )
  // A statement of its own: the next one has to see what pruning did while this one waited for it.
  void send(tx, sql`select pg_advisory_xact_lock_shared(hashtextextended(${pruningOf(organizationId)}, 0))`)
  void send(
    tx,
    sql`with new_bodies as (
        insert into delivery_bodies (hash, organization_id, body, first_received_at)
        select decode(u.hash, 'hex'), ${organizationId}::uuid,
          substring(${Buffer.concat(bodies.map(({ body }) => body))}::bytea from u.start for u.length), u.received_at
        from unnest(${hashes}::text[], ${starts}::integer[], ${bodies.map(({ body }) => body.length)}::integer[],
          ${bodies.map(({ receivedAt }) => receivedAt.toISOString())}::timestamptz[])
          as u (hash, start, length, received_at)
        left join lateral (
          select true as is_there from delivery_bodies
          where hash = decode(u.hash, 'hex') and organization_id = ${organizationId}::uuid and body is not null limit 1
        ) as b on true
        where b.is_there is null
        on conflict (hash, organization_id) do update set body = excluded.body where delivery_bodies.body is null
      ), new_deliveries as (
        insert into deliveries (id, organization_id, endpoint_id, source, received_at, headers, body_hash, verdict,
          reason, answer_status)
        select u.id, ${organizationId}::uuid, u.endpoint_id, u.source, u.received_at, u.headers::json,
          decode(u.body_hash, 'hex'), u.verdict, u.reason, u.answer_status
        from unnest(${outcomes.map(({ delivery }) => delivery.id)}::uuid[],
          ${outcomes.map(({ delivery }) => delivery.endpointId)}::uuid[],
          ${outcomes.map(({ delivery }) => delivery.source)}::text[],
          ${outcomes.map(({ delivery }) => delivery.receivedAt.toISOString())}::timestamptz[],
          ${outcomes.map(({ delivery }) => toJsonText(delivery.headers))}::text[],
          ${outcomes.map(({ delivery }) => delivery.bodyHash.toString('hex'))}::text[],
          ${outcomes.map((outcome) => outcome.verdict)}::text[], ${outcomes.map((outcome) => outcome.reason)}::text[],
          ${outcomes.map((outcome) => outcome.answerStatus)}::smallint[])
          as u (id, endpoint_id, source, received_at, headers, body_hash, verdict, reason, answer_status)
        on conflict (id, organization_id) do nothing
      )
      insert into delivery_events (delivery_id, event_id, organization_id, outcome)
      select u.delivery_id, u.event_id, ${organizationId}::uuid, u.outcome
      from unnest(${links.map((link) => link.deliveryId)}::uuid[], ${links.map((link) => link.eventId)}::uuid[],
        ${links.map((link) => link.outcome)}::text[]) as u (delivery_id, event_id, outcome)
      on conflict (event_id, delivery_id, organization_id) do nothing`,
  )
}

/** Names the advisory lock that pruning takes alone and arriving deliveries share. */
function pruningOf(organizationId: string): string {
  return `einmal.prune ${organizationId}`
}

/** One delivery per body, sorted by hash as all groups do, and where each body begins in all of them, counted from 1. */
function layOut(outcomes: readonly DeliveryOutcome[]) {
  const byHash = new Map(outcomes.map(({ delivery }) => [delivery.bodyHash.toString('hex'), delivery]))
  const hashes = [...byHash.keys()].toSorted()
  const bodies = hashes.flatMap((hash) => byHash.get(hash) ?? [])
  let end = 0
  const starts = bodies.map(({ body }) => {
    const start = end + 1
    end += body.length
    return start
  })
  return { bodies, hashes, starts }
}

/** Every arrival of the events given, in the order of arrival. */
export async function listDeliveriesOfEvents(tx: Tx, organizationId: string, eventIds: readonly string[]) {
  if (eventIds.length === 0) return []
  return tx
    .selectFrom('delivery_events as link')
    .innerJoin('deliveries as delivery', (join) =>
      join.onRef('delivery.id', '=', 'link.delivery_id').onRef('delivery.organization_id', '=', 'link.organization_id'),
    )
    .select([
      'link.event_id',
      'link.outcome',
      'delivery.id',
      'delivery.received_at',
      'delivery.verdict',
      'delivery.reason',
      'delivery.answer_status',
      'delivery.body_hash',
    ])
    .where('link.organization_id', '=', organizationId)
    .where('link.event_id', 'in', eventIds)
    .orderBy('delivery.id')
    .execute()
}

/** One delivery with its body, which is `null` where it is no longer kept. */
export async function findDelivery(tx: Tx, organizationId: string, id: string) {
  return tx
    .selectFrom('deliveries as delivery')
    .innerJoin('delivery_bodies as stored', (join) =>
      join
        .onRef('stored.hash', '=', 'delivery.body_hash')
        .onRef('stored.organization_id', '=', 'delivery.organization_id'),
    )
    .select(['delivery.id', 'delivery.endpoint_id', 'delivery.headers', 'stored.body'])
    .where('delivery.id', '=', id)
    .where('delivery.organization_id', '=', organizationId)
    .executeTakeFirst()
}

export interface PrunedBodies {
  readonly removed: number
  /** Bodies that stayed, because a question is open about a delivery of theirs or an event that it brought. */
  readonly keptForQuestion: number
  /** Bodies that stayed, because an event that they brought has not been completed. */
  readonly keptForEvent: number
  /** Where the next call goes on; null when all have been seen. */
  readonly next: Buffer | null
}

/**
 * Removes bodies that first arrived before `before`, `limit` of them at most; their hashes stay. Never one that somebody may
 * still have to read: of a delivery with an open review item, or of an event that is not completed.
 *
 * Waits for the deliveries that are arriving, and holds off others until the commit: a delivery of the same bytes may have a
 * question of its own. Who comes after it finds the body empty, and stores it again.
 */
export async function pruneBodies(
  tx: Tx,
  organizationId: string,
  { before, after, limit }: { readonly before: Date; readonly after: Buffer | null; readonly limit: number },
): Promise<PrunedBodies> {
  await send(tx, sql`select pg_advisory_xact_lock(hashtextextended(${pruningOf(organizationId)}, 0))`)
  const old = await send<{ hash: Buffer }>(
    tx,
    sql`select hash from delivery_bodies
      where hash > ${after ?? Buffer.alloc(0)}::bytea and organization_id = ${organizationId}::uuid and body is not null
        and first_received_at < ${before.toISOString()}::timestamptz
      order by hash limit ${limit}`,
  )
  const hashes = old.map(({ hash }) => hash)
  const [pruned] = await send<Omit<PrunedBodies, 'next'>>(
    tx,
    sql`with asked as (
        select event_id, delivery_id from review_items
        where organization_id = ${organizationId}::uuid and state = 'open'
          and id <> '00000000-0000-0000-0000-000000000000'
      ), needed as (
        select d.body_hash as hash, true as is_question
        from asked as a
        join deliveries as d on d.id = a.delivery_id and d.organization_id = ${organizationId}::uuid
        union all
        select d.body_hash, true
        from asked as a
        join delivery_events as l on l.event_id = a.event_id and l.organization_id = ${organizationId}::uuid
        join deliveries as d on d.id = l.delivery_id and d.organization_id = ${organizationId}::uuid
        union all
        select d.body_hash, false
        from events as e
        join delivery_events as l on l.event_id = e.id and l.organization_id = ${organizationId}::uuid
        join deliveries as d on d.id = l.delivery_id and d.organization_id = ${organizationId}::uuid
        where e.organization_id = ${organizationId}::uuid and e.state <> 'completed'
      ), kept as (
        select hash, bool_or(is_question) as is_question from needed where hash = any(${hashes}::bytea[]) group by hash
      ), removed as (
        update delivery_bodies set body = null
        where hash = any(${hashes}::bytea[]) and organization_id = ${organizationId}::uuid
          and hash not in (select hash from kept)
        returning 1
      )
      select (select count(*)::integer from removed) as removed,
        (select count(*)::integer from kept where is_question) as "keptForQuestion",
        (select count(*)::integer from kept where not is_question) as "keptForEvent"`,
  )
  if (pruned === undefined) throw new Error('a select without a table gives one row')
  return { ...pruned, next: hashes.length < limit ? null : (hashes.at(-1) ?? null) }
}
