import type { Selectable } from 'kysely'
import { listedIn, send, sql, type Tx } from '../../platform/database.ts'
import { storableText, toJsonText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'

export type ReviewItemRow = Selectable<Tables['review_items']>

export interface ReviewItem {
  readonly id: string
  readonly key: string
  /**
   * `unclear`: not understood. `conflict`: a known key with other content. `unapplied`: money on no invoice. `failed`: our
   * fault, five times. `waiting`: money went back of a payment that is not here. `excess`: more went back than had come. Of work
   * outside: `unknown`: nobody knows whether it happened. `stuck`: its program fell silent and could go on. `given_up`: it failed
   * for good.
   */
  readonly kind: ReviewItemRow['kind']
  readonly eventId: string
  readonly deliveryId: string | null
  readonly data: Readonly<Record<string, unknown>>
}

/**
 * Puts down what is not on the desk yet, in one statement that is sent and not awaited. A question that a person has decided
 * stays so, unless it is about money that lies nowhere again; one that facts had answered is asked again where they no longer do.
 */
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
      on conflict (key, organization_id) do update set state = 'open', event_id = excluded.event_id,
        delivery_id = excluded.delivery_id, data = excluded.data, decided_at = null, decided_by = null, decision = null,
        note = null
      where review_items.kind = 'unapplied' or review_items.decided_by = 'system'`,
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

export async function findReviewItem(tx: Tx, organizationId: string, id: string): Promise<ReviewItemRow | undefined> {
  return tx
    .selectFrom('review_items')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

export interface Decided {
  /** `<type>/<id>` of who decided. */
  readonly by: string
  readonly decision: string
  readonly note: string | null
}

/**
 * Takes an item off the desk by a person's word, also where what the person did has just answered it. `undefined` where somebody
 * else has decided it meanwhile.
 */
export async function decideReviewItem(
  tx: Tx,
  organizationId: string,
  id: string,
  { by, decision, note }: Decided,
  now: Date,
): Promise<ReviewItemRow | undefined> {
  return tx
    .updateTable('review_items')
    .set({
      state: 'decided',
      decided_at: now,
      decided_by: by,
      decision,
      note: note === null ? null : storableText(note),
    })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .where((eb) => eb.or([eb('state', '=', 'open'), eb('decided_by', '=', 'system')]))
    .returningAll()
    .executeTakeFirst()
}

/** Puts an item on the desk again that was dismissed. `undefined` where it was not: what was booked is not undone by this. */
export async function reopenReviewItem(tx: Tx, organizationId: string, id: string): Promise<ReviewItemRow | undefined> {
  return tx
    .updateTable('review_items')
    .set({ state: 'open', decided_at: null, decided_by: null, decision: null, note: null })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .where('decision', '=', 'dismiss')
    .returningAll()
    .executeTakeFirst()
}

/** Open or decided items, newest first, from before `before` on. */
export async function listReviewItems(
  tx: Tx,
  organizationId: string,
  state: ReviewItemRow['state'],
  before: string | null,
  limit: number,
): Promise<ReviewItemRow[]> {
  return tx
    .selectFrom('review_items')
    .selectAll()
    .where(listedIn(organizationId))
    .where('state', '=', state)
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
