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
 * Writes deliveries with their verdicts, and each body once; one statement, sent and not awaited. Safe to repeat.
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
  void send(
    tx,
    sql`with new_bodies as (
        insert into delivery_bodies (hash, organization_id, body, first_received_at)
        select decode(u.hash, 'hex'), ${organizationId}::uuid,
          substring(${Buffer.concat(bodies.map(({ body }) => body))}::bytea from u.start for u.length), u.received_at
        from unnest(${hashes}::text[], ${starts}::integer[], ${bodies.map(({ body }) => body.length)}::integer[],
          ${bodies.map(({ receivedAt }) => receivedAt.toISOString())}::timestamptz[])
          as u (hash, start, length, received_at)
        on conflict (hash, organization_id) do nothing
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
