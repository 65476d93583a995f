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

/** Writes deliveries with their verdicts; three statements, sent and not awaited. Safe to repeat. */
export function recordDeliveries(tx: Tx, organizationId: string, outcomes: readonly DeliveryOutcome[]): void {
  if (outcomes.length === 0) return
  recordBodies(tx, organizationId, outcomes)
  void send(
    tx,
    sql`insert into deliveries (id, organization_id, endpoint_id, source, received_at, headers, body_hash, verdict,
        reason, answer_status)
      select u.id, ${organizationId}::uuid, u.endpoint_id, u.source, u.received_at, u.headers::json, u.body_hash,
        u.verdict, u.reason, u.answer_status
      from unnest(${outcomes.map(({ delivery }) => delivery.id)}::uuid[],
        ${outcomes.map(({ delivery }) => delivery.endpointId)}::uuid[],
        ${outcomes.map(({ delivery }) => delivery.source)}::text[],
        ${outcomes.map(({ delivery }) => delivery.receivedAt.toISOString())}::timestamptz[],
        ${outcomes.map(({ delivery }) => toJsonText(delivery.headers))}::text[],
        ${outcomes.map(({ delivery }) => delivery.bodyHash)}::bytea[],
        ${outcomes.map((outcome) => outcome.verdict)}::text[], ${outcomes.map((outcome) => outcome.reason)}::text[],
        ${outcomes.map((outcome) => outcome.answerStatus)}::smallint[])
        as u (id, endpoint_id, source, received_at, headers, body_hash, verdict, reason, answer_status)
      on conflict (id, organization_id) do nothing`,
  )
  const links = outcomes.flatMap(({ delivery, events }) =>
    events.map((event) => ({ deliveryId: delivery.id, ...event })),
  )
  if (links.length === 0) return
  void send(
    tx,
    sql`insert into delivery_events (delivery_id, event_id, organization_id, outcome)
      select u.delivery_id, u.event_id, ${organizationId}::uuid, u.outcome
      from unnest(${links.map((link) => link.deliveryId)}::uuid[], ${links.map((link) => link.eventId)}::uuid[],
        ${links.map((link) => link.outcome)}::text[]) as u (delivery_id, event_id, outcome)
      on conflict (event_id, delivery_id, organization_id) do nothing`,
  )
}

/**
 * Stores each body once. All of them travel as one value and are cut apart by the database, because one value goes over
 * the wire as it is, and a list of them as hexadecimal text of twice the size.
 */
function recordBodies(tx: Tx, organizationId: string, outcomes: readonly DeliveryOutcome[]): void {
  const byHash = new Map(outcomes.map(({ delivery }) => [delivery.bodyHash.toString('hex'), delivery]))
  const bodies = [...byHash].toSorted(([a], [b]) => (a < b ? -1 : 1))
  let end = 0
  const starts = bodies.map(([, { body }]) => {
    const start = end + 1
    end += body.length
    return start
  })
  void send(
    tx,
    sql`insert into delivery_bodies (hash, organization_id, body, first_received_at)
      select decode(u.hash, 'hex'), ${organizationId}::uuid,
        substring(${Buffer.concat(bodies.map(([, { body }]) => body))}::bytea from u.start for u.length), u.received_at
      from unnest(${bodies.map(([hash]) => hash)}::text[], ${starts}::integer[],
        ${bodies.map(([, { body }]) => body.length)}::integer[],
        ${bodies.map(([, { receivedAt }]) => receivedAt.toISOString())}::timestamptz[])
        as u (hash, start, length, received_at)
      on conflict (hash, organization_id) do nothing`,
  )
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
