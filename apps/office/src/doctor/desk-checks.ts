import { type Check, keepAndReport, listed, pastTheServer } from './check.ts'

/** What people are asked and told: review items, time lines, domain events, and what they point at. */
export const deskChecks: readonly Check[] = [
  {
    id: 'review.missing',
    title: 'A person was asked about all money that lies on no invoice, unless a person put it there',
    severity: 'wrong',
    cause: `Payments and review items come from different moments. ${pastTheServer}`,
    remedy:
      'Look at the payment and apply it where it belongs: nobody was asked to. Then report it as a bug with the ids.',
    sql: `select p.id as subject, p.source, p.external_id, p.currency, p.unapplied_minor as unapplied, p.invoice_reference
      from payments as p
      left join (
        select distinct coalesce(data ->> 'paymentId', substr(key, 11)) as payment_id from review_items
        where organization_id = $1 and kind = 'unapplied') as r on r.payment_id = p.id::text
      where p.organization_id = $1 and p.${listed} and p.unapplied_minor > 0 and not p.is_placed_by_hand
        and r.payment_id is null`,
  },
  {
    id: 'review.unapplied',
    title: 'No question is open about money of which nothing is left',
    severity: 'wrong',
    cause: `The money went somewhere without the question being answered. ${pastTheServer}`,
    remedy: 'Decide the item as done; it asks for nothing any more. Then report it as a bug with the ids.',
    sql: `select r.id as subject, r.key, r.event_id as event, p.id as payment, p.unapplied_minor as unapplied
      from review_items as r
      left join (
        select id, unapplied_minor from payments where organization_id = $1 and ${listed}) as p
        on p.id::text = coalesce(r.data ->> 'paymentId', substr(r.key, 11))
      where r.organization_id = $1 and r.${listed} and r.kind = 'unapplied' and r.state = 'open'
        and coalesce(p.unapplied_minor, 0) = 0`,
  },
  {
    id: 'review.waiting',
    title: 'No question is open about a payment that is awaited and is here',
    severity: 'wrong',
    cause: `The payment came without the question being answered. ${pastTheServer}`,
    remedy:
      'Look whether the payment counts what went back of it (payment.returned would say so). If it does, decide the item as done. Then report it as a bug with the ids.',
    sql: `select r.id as subject, r.key, m.id as payment_return, p.id as payment
      from review_items as r
      join (
        select id, event_id, original_id, original_source from payment_returns where organization_id = $1) as m
        on m.event_id = r.event_id
      join payments as p on p.external_id = m.original_id and p.source = m.original_source and p.organization_id = $1
      where r.organization_id = $1 and r.${listed} and r.kind = 'waiting' and r.state = 'open'`,
  },
  {
    id: 'review.failed',
    title: 'No question is open about a failure that a later attempt made good',
    severity: 'wrong',
    cause: `The event was booked without the question being answered. ${pastTheServer}`,
    remedy: 'Decide the item as done; the event is booked. Then report it as a bug with the ids.',
    sql: `select r.id as subject, r.key, e.id as event, e.state as event_state, e.attempt
      from review_items as r
      join events as e on e.id = r.event_id and e.organization_id = $1
      where r.organization_id = $1 and r.${listed} and r.kind = 'failed' and r.state = 'open' and e.state = 'completed'`,
  },
  {
    id: 'review.work',
    title: 'A person was asked about all work outside that nobody can go on with, and about no other',
    severity: 'wrong',
    cause: `The question and the state that it is about come from different moments; one transaction writes both. ${pastTheServer}`,
    remedy:
      'Look at the event with `einmal events <id>`, look into the other system, and settle it with POST /api/v1/events/<id>/resolve. A question about work that is done can be decided as done. Then report it as a bug with the ids.',
    sql: `select e.id as subject, 'nobody was asked' as problem, e.source, e.kind, e.external_id, e.state, e.attempt
      from events as e
      left join review_items as r on r.organization_id = $1
        and r.key = 'register:' || e.id || ':' || e.attempt || case e.state when 'unknown' then ':unknown' else ':given_up' end
      where e.organization_id = $1 and e.${listed} and e.source like 'external/%' and r.id is null
        and (e.state = 'unknown' or (e.state = 'failed' and e.is_final and e.error_code not like 'resolved_as_%'))
      union all
      select r.id, 'the question is open, and the work went on', e.source, e.kind, e.external_id, e.state, e.attempt
      from review_items as r
      join events as e on e.id = r.event_id and e.organization_id = $1
      where r.organization_id = $1 and r.${listed} and r.state = 'open' and r.kind in ('unknown', 'stuck', 'given_up')
        and (r.key <> 'register:' || e.id || ':' || e.attempt || ':' || r.kind
          or e.state <> case r.kind when 'unknown' then 'unknown' when 'stuck' then 'in_progress' else 'failed' end)`,
  },
  {
    id: 'subject.named',
    title: 'What a time line, a domain event or a copy is about is on record in this organisation',
    severity: 'wrong',
    cause: `What it is about is gone, or belongs to another organisation; there is no foreign key. ${pastTheServer}`,
    remedy: `Look for the missing row in the last backup. ${keepAndReport}`,
    sql: `with subject as (
        select 'contact' as type, id from contacts where organization_id = $1 and ${listed}
        union all select 'deal', id from deals where organization_id = $1 and ${listed}
        union all select 'invoice', id from invoices where organization_id = $1 and ${listed}
        union all select 'payment', id from payments where organization_id = $1 and ${listed}
        union all select 'payment_return', id from payment_returns where organization_id = $1
      )
      select r.id as subject, r.what, r.subject_type, r.subject_id
      from (
        select id, 'activity' as what, subject_type, subject_id from activities where organization_id = $1
        union all select id, 'domain event', subject_type, subject_id from domain_events where organization_id = $1
        union all select id, 'copy of an invoice', 'invoice', copied_from_id from invoices
        where organization_id = $1 and ${listed} and copied_from_id is not null) as r
      left join subject as s on s.id = r.subject_id and s.type = r.subject_type
      where s.id is null and r.subject_type in ('contact', 'deal', 'invoice', 'payment', 'payment_return')`,
  },
]
