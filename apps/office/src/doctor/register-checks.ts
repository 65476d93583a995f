import { type Check, keepAndReport, listed, pastTheServer } from './check.ts'

/** What arrived and what became of it: keys, events, deliveries, bodies. */
export const registerChecks: readonly Check[] = [
  {
    id: 'key.once',
    title: 'What has a key is there once: events, payments, refunds, and what people and rules see of them',
    severity: 'wrong',
    cause: `Unique keys refuse it: an index is missing or damaged, for instance after the files of the database were copied while it ran. ${pastTheServer}`,
    remedy: `This is the promise of the whole office, so take it first. Look whether the unique keys are there, and let PostgreSQL check its indexes (amcheck). ${keepAndReport}`,
    sql: `select min(id::text) as subject, what, key, count(*)::int as rows, string_agg(id::text, ' ' order by id) as ids
      from (
        select id, 'event' as what, concat_ws(' ', source, kind, external_id) as key from events
        where organization_id = $1 and ${listed}
        union all
        select id, 'payment', concat_ws(' ', source, kind, external_id) from payments
        where organization_id = $1 and ${listed}
        union all
        select id, 'payment return', concat_ws(' ', source, kind, external_id) from payment_returns where organization_id = $1
        union all
        select id, 'activity', concat_ws(' ', subject_id, key) from activities where organization_id = $1
        union all
        select id, 'notification', concat_ws(' ', recipient_id, key) from notifications where organization_id = $1
        union all
        select id, 'domain event', concat_ws(' ', type, key) from domain_events where organization_id = $1
        union all
        select id, 'review item', key from review_items where organization_id = $1) as keyed
      group by what, key having count(*) > 1`,
  },
  {
    id: 'event.named',
    title: 'Every row that names the event it came from names one on record; for money, a completed one',
    severity: 'wrong',
    cause: `Events and what they led to come from different moments; one transaction writes both, and the server can delete neither. ${pastTheServer}`,
    remedy: `The event’s key is what stops a repetition: while it is missing, the same event would be booked again if its sender repeated it. ${keepAndReport}`,
    sql: `select r.id as subject, r.what, r.event_id as event, coalesce(e.state, 'not on record') as event_state
      from (
        select id, 'payment' as what, event_id, true as is_money from payments where organization_id = $1 and ${listed}
        union all select id, 'payment return', event_id, true from payment_returns where organization_id = $1
        union all select payment_id, 'payment mention', event_id, false from payment_mentions where organization_id = $1
        union all select id, 'allocation', event_id, false from allocations where organization_id = $1
        union all select id, 'credit allocation', event_id, false from credit_allocations where organization_id = $1
        union all select id, 'adjustment', event_id, false from invoice_adjustments where organization_id = $1
        union all select id, 'activity', event_id, false from activities where organization_id = $1
        union all select id, 'notification', event_id, false from notifications where organization_id = $1
        union all select id, 'domain event', event_id, false from domain_events where organization_id = $1
        union all select id, 'review item', event_id, false from review_items where organization_id = $1) as r
      left join events as e on e.id = r.event_id and e.organization_id = $1
      where e.id is null or (r.is_money and e.state <> 'completed')`,
  },
  {
    id: 'event.target',
    title:
      'A completed event leads to what it says, and one that tells of money leads somewhere; one of a program leads outside',
    severity: 'wrong',
    cause: `Events and what they led to come from different moments; one transaction writes both. ${pastTheServer}`,
    remedy: `Look for the missing row in the last backup. A repetition of this event would be answered as a duplicate, although what it led to is not here. ${keepAndReport}`,
    sql: `with target as (
        select 'payment' as type, id::text as id from payments where organization_id = $1 and ${listed}
        union all select 'payment_return', id::text from payment_returns where organization_id = $1
        union all select 'invoice', id::text from invoices where organization_id = $1 and ${listed}
        union all select 'contact', id::text from contacts where organization_id = $1 and ${listed}
        union all select 'deal', id::text from deals where organization_id = $1 and ${listed}
      ), booked as (
        select event_id from payments where organization_id = $1 and ${listed}
        union select event_id from payment_returns where organization_id = $1
      )
      select e.id as subject, e.source, e.kind, e.external_id, e.target_type, e.target_id
      from events as e
      left join target as t on t.type = e.target_type and t.id = e.target_id
      left join booked as b on b.event_id = e.id
      where e.organization_id = $1 and e.${listed} and e.state = 'completed' and case
        when e.source like 'external/%' then false
        when e.target_id is not null
          then t.id is null and e.target_type in ('payment', 'payment_return', 'invoice', 'contact', 'deal')
        when b.event_id is not null then true
        else e.kind like 'payment.%' and e.source <> 'api' and e.answer ->> 'kept' is null
        end`,
  },
  {
    id: 'event.copies',
    title: 'An event has arrived at least as often as deliveries on record brought it',
    severity: 'wrong',
    cause: `The counter or the deliveries were edited, or come from different moments. ${pastTheServer} The other way round is as it should be: what comes through the API is counted without a delivery.`,
    remedy: `Only the count that people see is affected, no money. ${keepAndReport}`,
    sql: `select e.id as subject, e.source, e.kind, e.external_id, e.copies, l.deliveries
      from (
        select event_id, count(*)::int as deliveries from delivery_events where organization_id = $1 group by event_id) as l
      join events as e on e.id = l.event_id and e.organization_id = $1
      where l.deliveries > e.copies`,
  },
  {
    id: 'event.once',
    title: 'An event was booked through one delivery at most; all others are copies',
    severity: 'wrong',
    cause: `The event was booked again, which its unique key prevents; or the record of its deliveries was edited. ${pastTheServer}`,
    remedy: `Look at the event with \`einmal events <id>\` and at the payments it led to: there may be two for one. ${keepAndReport}`,
    sql: `select event_id as subject, count(*)::int as booked_by, string_agg(delivery_id::text, ' ' order by delivery_id) as deliveries
      from delivery_events where organization_id = $1 and outcome = 'done'
      group by event_id having count(*) > 1`,
  },
  {
    id: 'delivery.event',
    title: 'Deliveries and events name each other: every link has both ends, and what was not ignored brought an event',
    severity: 'wrong',
    cause: `Deliveries, their links and events come from different moments; they have no foreign keys, and one transaction writes them. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select l.delivery_id as subject, x.problem, l.event_id as event
      from delivery_events as l
      left join deliveries as d on d.id = l.delivery_id and d.organization_id = $1
      left join events as e on e.id = l.event_id and e.organization_id = $1
      cross join lateral (select case
        when d.id is null then 'the delivery is not on record'
        when e.id is null then 'the event is not on record'
        end as problem) as x
      where l.organization_id = $1 and x.problem is not null
      union all
      select d.id, 'the delivery was not ignored, and brought no event', null
      from deliveries as d
      left join (select distinct delivery_id from delivery_events where organization_id = $1) as l on l.delivery_id = d.id
      where d.organization_id = $1 and d.verdict <> 'ignored' and l.delivery_id is null
      union all
      select r.delivery_id, 'the review item names a delivery that is not on record', r.event_id
      from review_items as r
      left join deliveries as d on d.id = r.delivery_id and d.organization_id = $1
      where r.organization_id = $1 and r.delivery_id is not null and d.id is null`,
  },
  {
    id: 'delivery.body',
    title: 'The body of every delivery has its row, also after its bytes were pruned',
    severity: 'wrong',
    cause: `Somebody deleted rows to save space: pruning empties a row and keeps its hash. ${pastTheServer}`,
    remedy: `The proof of what arrived is lost for this delivery; what was booked is not. ${keepAndReport}`,
    sql: `select d.id as subject, d.source, d.received_at, encode(d.body_hash, 'hex') as hash
      from deliveries as d
      left join delivery_bodies as b on b.hash = d.body_hash and b.organization_id = $1
      where d.organization_id = $1 and b.hash is null`,
  },
  {
    id: 'delivery.bytes',
    title: 'Stored bytes are those that arrived: their hash is the name they are kept under',
    severity: 'wrong',
    cause:
      'Somebody wrote to the table with another role than the server’s, or the storage returned other bytes than it was given.',
    remedy: `Let PostgreSQL check its files (pg_checksums), and look at the hardware. ${keepAndReport}`,
    sql: `select encode(hash, 'hex') as subject, first_received_at, length(body) as length, encode(sha256(body), 'hex') as found
      from delivery_bodies where organization_id = $1 and body is not null and sha256(body) <> hash`,
  },
  {
    id: 'delivery.address',
    title: 'Every delivery came in at an address of this organisation',
    severity: 'wrong',
    cause: `Addresses and deliveries come from different moments, or an address was given to another organisation. ${pastTheServer}`,
    remedy: `If the address belongs to another organisation, its money may be booked here: find out whose it is before anything else. ${keepAndReport}`,
    sql: `select d.id as subject, d.source, d.received_at, d.endpoint_id as address
      from deliveries as d
      left join webhook_endpoints as w on w.id = d.endpoint_id and w.organization_id = $1
      where d.organization_id = $1 and w.id is null`,
  },
  {
    id: 'register.failed',
    title: 'No event has failed',
    severity: 'note',
    cause:
      'A fault while it was booked; nothing of it is in the books. The error says which, and the log has the rest.',
    remedy:
      'Mend what the error names. The next repetition by the sender books it; where the sender has given up, send it again from the sender’s side, or enter it by hand under the same id.',
    sql: `select id as subject, source, kind, external_id, attempt, is_final, error_code, error_message, last_arrived_at
      from events where organization_id = $1 and ${listed} and state = 'failed'`,
  },
  {
    id: 'register.unknown',
    title: 'No event is unknown',
    severity: 'note',
    cause: 'Work outside of this database ended without a word, and nobody can say whether it happened.',
    remedy:
      'Look into the other system whether it was done, and settle the event accordingly. Never repeat it blindly.',
    sql: `select id as subject, source, kind, external_id, attempt, started_at, last_arrived_at
      from events where organization_id = $1 and ${listed} and state = 'unknown'`,
  },
  {
    id: 'register.stuck',
    title: 'No event is in progress beyond its lease',
    severity: 'note',
    cause: 'Whoever worked on it has ended without a word, and nobody has come to take it over.',
    remedy:
      'The next arrival takes it over, or marks it unknown where that would not be safe. If nothing arrives, look into the log at the time it started.',
    sql: `select id as subject, source, kind, external_id, attempt, holder, started_at, lease_until
      from events where organization_id = $1 and ${listed} and state = 'in_progress'
        and (lease_until is null or lease_until < now())`,
  },
]
