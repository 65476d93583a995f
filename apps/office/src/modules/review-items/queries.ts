import { listedIn, send, sql, type Tx } from '../../platform/database.ts'
import { toJsonText } from '../../platform/json.ts'

export interface ReviewItem {
  readonly id: string
  readonly key: string
  readonly kind: 'unclear' | 'conflict' | 'unapplied' | 'failed'
  readonly eventId: string
  readonly deliveryId: string | null
  readonly data: Readonly<Record<string, unknown>>
}

/** Puts down what is not on the desk yet, in one statement that is sent and not awaited. */
export function recordReviewItems(tx: Tx, organizationId: string, items: readonly ReviewItem[], now: Date): void {
  if (items.length === 0) return
  void send(
    tx,
    sql`insert into review_items (id, organization_id, key, kind, event_id, delivery_id, data, created_at)
      select u.id, ${organizationId}::uuid, u.key, u.kind, u.event_id, u.delivery_id, u.data::json,
        ${now.toISOString()}::timestamptz
      from unnest(${items.map((item) => item.id)}::uuid[], ${items.map((item) => item.key)}::text[],
        ${items.map((item) => item.kind)}::text[], ${items.map((item) => item.eventId)}::uuid[],
        ${items.map((item) => item.deliveryId)}::uuid[], ${items.map((item) => toJsonText(item.data))}::text[])
        as u (id, key, kind, event_id, delivery_id, data)
      on conflict (key, organization_id) do nothing`,
  )
}

/** A question that later facts have answered, without a person. */
export interface AnsweredItem {
  readonly key: string
  readonly decision: string
}

/** Takes answered questions off the desk; one a person has decided stays as decided. Sent, not awaited. */
export function answerReviewItems(tx: Tx, organizationId: string, answered: readonly AnsweredItem[], now: Date): void {
  if (answered.length === 0) return
  void send(
    tx,
    sql`update review_items as r set state = 'decided', decided_at = ${now.toISOString()}::timestamptz,
        decided_by = 'system', decision = u.decision
      from unnest(${answered.map((item) => item.key)}::text[], ${answered.map((item) => item.decision)}::text[])
        as u (key, decision)
      where r.key = u.key and r.key = any(${answered.map((item) => item.key)}::text[]) and r.organization_id = ${organizationId}::uuid and r.state = 'open'`,
  )
}

/** Open items, newest first, from before `before` on. */
export async function listOpenReviewItems(tx: Tx, organizationId: string, before: string | null, limit: number) {
  return tx
    .selectFrom('review_items')
    .selectAll()
    .where(listedIn(organizationId))
    .where('state', '=', 'open')
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Questions that one event raised. */
export async function listReviewItemsOfEvent(tx: Tx, organizationId: string, eventId: string) {
  return tx
    .selectFrom('review_items')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('event_id', '=', eventId)
    .orderBy('id')
    .execute()
}
