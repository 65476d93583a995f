import type { Selectable } from 'kysely'
import { send, sql, type Tx } from '../../platform/database.ts'
import { toJsonText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'

export interface DomainEvent {
  readonly id: string
  readonly type:
    | 'invoice.issued'
    | 'invoice.paid'
    | 'invoice.reopened'
    | 'invoice.voided'
    | 'payment.received'
    | 'payment.corrected'
    | 'payment.moved'
    | 'payment.refunded'
    | 'payment.refund_failed'
    | 'payment.charged_back'
    | 'payment.chargeback_reversed'
    | 'deal.won'
    | 'deal.lost'
  /** Unique within the type. Begins with the subject's id; carries a counter where a thing can happen again, such as paid after reopened. */
  readonly key: string
  readonly subject: { readonly type: 'deal' | 'invoice' | 'payment' | 'payment_return'; readonly id: string }
  readonly eventId: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Records what is not recorded yet, in one statement that is sent and not awaited. */
export function recordDomainEvents(tx: Tx, organizationId: string, events: readonly DomainEvent[], now: Date): void {
  if (events.length === 0) return
  void send(
    tx,
    sql`insert into domain_events (id, organization_id, type, key, subject_type, subject_id, event_id, data, recorded_at)
      select u.id, ${organizationId}::uuid, u.type, u.key, u.subject_type, u.subject_id, u.event_id, u.data::json,
        ${now.toISOString()}::timestamptz
      from unnest(${events.map((event) => event.id)}::uuid[], ${events.map((event) => event.type)}::text[],
        ${events.map((event) => event.key)}::text[], ${events.map((event) => event.subject.type)}::text[],
        ${events.map((event) => event.subject.id)}::uuid[], ${events.map((event) => event.eventId)}::uuid[],
        ${events.map((event) => toJsonText(event.data))}::text[])
        as u (id, type, key, subject_type, subject_id, event_id, data)
      on conflict (key, type, organization_id) do nothing`,
  )
}

/** What one event made happen to the subjects given. Keys begin with the subject's id. */
export async function listDomainEventsOfEvent(
  tx: Tx,
  organizationId: string,
  subjectIds: readonly string[],
  eventId: string,
) {
  if (subjectIds.length === 0) return []
  return send<Selectable<Tables['domain_events']>>(
    tx,
    // `offset 0` keeps the look-up by key from becoming a join, which would start from the organisation. The end of the
    // range is made here: behind row-level security, PostgreSQL 15 uses no index for a condition with a function in it.
    sql`select d.* from unnest(${subjectIds}::text[], ${subjectIds.map((id) => `${id};`)}::text[]) as u (first, beyond)
      cross join lateral (
        select * from domain_events
        where key >= u.first and key < u.beyond and organization_id = ${organizationId}::uuid
          and event_id = ${eventId}::uuid
        offset 0) as d
      order by d.id`,
  )
}
