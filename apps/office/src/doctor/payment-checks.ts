import { type Check, keepAndReport, listed, pastTheServer } from './check.ts'

/** Payments: what came in, what of it lies on invoices, what went back, and what waits. */
export const paymentChecks: readonly Check[] = [
  {
    id: 'payment.applied',
    title: 'What of a payment is applied is the sum of its live allocations',
    severity: 'wrong',
    cause: `An allocation was written, taken back or lost without the counter of its payment. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select p.id as subject, p.source, p.external_id, p.currency, p.applied_minor as found, l.minor as expected
      from payments as p
      cross join lateral (
        select coalesce(sum(a.amount_minor) filter (where a.reversed_at is null), 0)::bigint as minor
        from allocations as a where a.payment_id = p.id and a.organization_id = $1) as l
      where p.organization_id = $1 and p.${listed} and p.applied_minor <> l.minor`,
  },
  {
    id: 'payment.returned',
    title: 'What of a payment went back is what its refunds and disputes add up to, at most the payment',
    severity: 'wrong',
    cause: `A refund or dispute was written or lost without the counter of its payment. ${pastTheServer} Counted anew: each refund and each dispute by itself, what went minus what came back, never below nothing; a running total only while the payment’s own source has told of no single refund.`,
    remedy: keepAndReport,
    sql: `with movement as (
        select p.id, r.kind, r.return_id, r.amount_minor, r.source = p.source as is_by_its_source
        from payments as p
        join payment_returns as r on r.original_id = p.external_id and r.original_source = p.source
          and r.organization_id = p.organization_id and r.currency = p.currency
        where p.organization_id = $1 and p.${listed}
      ), single as (
        select id, greatest(0, sum(amount_minor) filter (where kind in ('refund', 'chargeback', 'correction'))
          - coalesce(sum(amount_minor) filter (where kind in ('refund_reversal', 'chargeback_reversal')), 0)) as minor
        from movement where kind <> 'refund_total' group by id, return_id, replace(kind, '_reversal', '')
      ), running as (
        select id, max(amount_minor) filter (where kind = 'refund_total') as minor
        from movement group by id
        having not bool_or(kind in ('refund', 'refund_reversal') and is_by_its_source)
      ), counted as (
        select id, sum(minor) as minor
        from (select id, minor from single union all select id, minor from running) as part group by id
      )
      select p.id as subject, p.source, p.external_id, p.currency, p.returned_minor as found,
        least(p.amount_minor, coalesce(c.minor, 0))::bigint as expected
      from payments as p left join counted as c on c.id = p.id
      where p.organization_id = $1 and p.${listed} and p.returned_minor <> least(p.amount_minor, coalesce(c.minor, 0))`,
  },
  {
    id: 'payment.parts',
    title: 'Applied, unapplied and returned of a payment are what was received, and none is below nothing',
    severity: 'wrong',
    cause: `The database itself computes the unapplied part and refuses sums beyond the payment: both were switched off, and a counter was changed. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select id as subject, source, external_id, currency, amount_minor as received, applied_minor as applied,
        unapplied_minor as unapplied, returned_minor as returned
      from payments
      where organization_id = $1 and ${listed} and (amount_minor <> applied_minor + unapplied_minor + returned_minor
        or least(applied_minor, unapplied_minor, returned_minor) < 0 or amount_minor <= 0)`,
  },
  {
    id: 'money.received',
    title: 'In each currency, what lies on invoices, what waits and what went back are together what was received',
    severity: 'wrong',
    cause: `An allocation of no payment on record, or a counter that its rows do not add up to. ${pastTheServer}`,
    remedy: `The findings about single payments and allocations say where. ${keepAndReport}`,
    sql: `select currency as subject, coalesce(p.received, 0)::bigint as received, coalesce(a.applied, 0)::bigint as on_invoices,
        coalesce(p.unapplied, 0)::bigint as unapplied, coalesce(p.returned, 0)::bigint as returned
      from (
        select currency, sum(amount_minor) as received, sum(unapplied_minor) as unapplied, sum(returned_minor) as returned
        from payments where organization_id = $1 and ${listed} group by currency) as p
      full join (
        select currency, sum(amount_minor) as applied from allocations
        where organization_id = $1 and reversed_at is null group by currency) as a using (currency)
      where coalesce(p.received, 0) <> coalesce(a.applied, 0) + coalesce(p.unapplied, 0) + coalesce(p.returned, 0)`,
  },
  {
    id: 'payment.waiting',
    title: 'No money waits for an invoice that would take it',
    severity: 'wrong',
    cause:
      'A bug: money that named an issued invoice of its currency with something open must be applied in the very transaction that made it possible. Or somebody changed the invoice or the payment past the server.',
    remedy:
      'Apply the payment to the invoice by hand; no money is lost. Then report it as a bug with the ids, because the office should have done so.',
    sql: `with waiting as (
        select id, source, external_id, currency, unapplied_minor, invoice_reference from payments
        where organization_id = $1 and ${listed} and unapplied_minor > 0 and not is_placed_by_hand
          and invoice_reference is not null
      ), taker as (
        select id, number, currency, open_minor from invoices
        where organization_id = $1 and ${listed} and lifecycle = 'issued' and type = 'invoice' and open_minor > 0
      ), named as (
        select w.id as payment_id, t.id as invoice_id from waiting as w join taker as t on t.number = w.invoice_reference
        union
        select w.id, t.id from waiting as w join taker as t on t.id::text = lower(w.invoice_reference)
      )
      select w.id as subject, w.source, w.external_id, w.currency, w.unapplied_minor as waiting, t.id as invoice, t.number,
        t.open_minor as open
      from named as n join waiting as w on w.id = n.payment_id join taker as t on t.id = n.invoice_id
      where w.currency = t.currency`,
  },
  {
    id: 'payment.told',
    title: 'Each payment was told once: one domain event `payment.received` and one line on a time line',
    severity: 'wrong',
    cause: `Payments, domain events and time lines come from different moments. ${pastTheServer}`,
    remedy:
      'The money itself is not touched by this. Rules that listen to domain events may have missed the payment, or may have run for one that is gone: look at what they should have done. Then report it with the ids.',
    sql: `select p.id as subject, p.source, p.external_id, coalesce(d.count, 0) as domain_events, coalesce(a.count, 0) as lines
      from payments as p
      left join (
        select key, count(*)::int as count from domain_events
        where organization_id = $1 and type = 'payment.received' group by key) as d on d.key = p.id::text
      left join (
        select data ->> 'paymentId' as payment_id, count(*)::int as count from activities
        where organization_id = $1 and type = 'payment.received' group by 1) as a on a.payment_id = p.id::text
      where p.organization_id = $1 and p.${listed} and p.kind = 'payment'
        and (coalesce(d.count, 0) <> 1 or coalesce(a.count, 0) <> 1)`,
  },
  {
    id: 'return.told',
    title: 'Each refund and each movement of a dispute was told once, by one domain event',
    severity: 'wrong',
    cause: `Refunds and domain events come from different moments. ${pastTheServer}`,
    remedy:
      'The money itself is not touched by this. Rules that listen to domain events may have missed the movement: look at what they should have done. Then report it with the ids.',
    sql: `select r.id as subject, r.kind, r.source, r.external_id, coalesce(d.count, 0) as domain_events
      from payment_returns as r
      left join (
        select key, count(*)::int as count from domain_events
        where organization_id = $1 and subject_type = 'payment_return' group by key) as d on d.key = r.id::text
      where r.organization_id = $1 and coalesce(d.count, 0) <> 1`,
  },
  {
    id: 'allocation.ends',
    title: 'Whatever lowers what an invoice owes has both its ends on record, issued and in its currency',
    severity: 'wrong',
    cause: `Data was loaded with foreign keys switched off, or an invoice was made void or edited while something lay on it. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select a.id as subject, 'allocation' as what, x.problem, a.payment_id as from_id, a.invoice_id as invoice
      from allocations as a
      left join payments as p on p.id = a.payment_id and p.organization_id = $1
      left join invoices as i on i.id = a.invoice_id and i.organization_id = $1
      cross join lateral (select case
        when p.id is null then 'its payment is not on record'
        when i.id is null then 'its invoice is not on record'
        when a.currency <> p.currency or a.currency <> i.currency then 'its currency is not that of both ends'
        when a.reversed_at is null and (i.type <> 'invoice' or i.lifecycle <> 'issued') then 'its invoice is no issued invoice'
        end as problem) as x
      where a.organization_id = $1 and x.problem is not null
      union all
      select c.id, 'credit allocation', x.problem, c.credit_note_id, c.invoice_id
      from credit_allocations as c
      left join invoices as n on n.id = c.credit_note_id and n.organization_id = $1
      left join invoices as i on i.id = c.invoice_id and i.organization_id = $1
      cross join lateral (select case
        when n.id is null then 'its credit note is not on record'
        when i.id is null then 'its invoice is not on record'
        when c.currency <> n.currency or c.currency <> i.currency then 'its currency is not that of both ends'
        when n.type <> 'credit_note' or n.lifecycle <> 'issued' then 'its credit note is no issued credit note'
        when i.type <> 'invoice' or i.lifecycle <> 'issued' then 'its invoice is no issued invoice'
        end as problem) as x
      where c.organization_id = $1 and x.problem is not null
      union all
      select d.id, 'adjustment', x.problem, null, d.invoice_id
      from invoice_adjustments as d
      left join invoices as i on i.id = d.invoice_id and i.organization_id = $1
      cross join lateral (select case
        when i.id is null then 'its invoice is not on record'
        when d.currency <> i.currency then 'its currency is not that of its invoice'
        when d.reversed_at is null and (i.type <> 'invoice' or i.lifecycle <> 'issued') then 'its invoice is no issued invoice'
        end as problem) as x
      where d.organization_id = $1 and x.problem is not null`,
  },
  {
    id: 'allocation.twice',
    title: 'A payment lies on one invoice at most once',
    severity: 'wrong',
    cause: `A unique key refuses it: the index is missing or damaged, and the payment was applied again. ${pastTheServer}`,
    remedy: `Look whether the index allocations_live_key is there, and let PostgreSQL check its indexes (amcheck). ${keepAndReport}`,
    sql: `select invoice_id as subject, payment_id as payment, count(*)::int as live, sum(amount_minor)::bigint as together
      from allocations where organization_id = $1 and reversed_at is null
      group by invoice_id, payment_id having count(*) > 1`,
  },
  {
    id: 'allocation.reversal',
    title: 'What was taken back says why, and nothing else does',
    severity: 'wrong',
    cause: `An allocation or an adjustment was taken back by hand. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select id as subject, 'allocation' as what, reversed_at, reversal_reason from allocations
      where organization_id = $1
        and ((reversed_at is null) <> (reversal_reason is null) or btrim(reversal_reason) = '')
      union all
      select id, 'adjustment', reversed_at, reversal_reason from invoice_adjustments
      where organization_id = $1
        and ((reversed_at is null) <> (reversal_reason is null) or btrim(reversal_reason) = '')`,
  },
  {
    id: 'money.subject',
    title: 'Everything about a payment’s money has the row on which it waits for each other',
    severity: 'note',
    cause:
      'A part of the database was restored without the table money_subjects, or somebody removed the row. It has no content and comes back with the next event about this money.',
    remedy: 'Nothing, if a restore explains it. Otherwise find out who can delete rows of the office.',
    sql: `select m.id as subject, m.what, m.source, m.external_id
      from (
        select id, 'payment' as what, source, external_id from payments
        where organization_id = $1 and ${listed} and kind = 'payment'
        union all
        select id, kind, original_source, original_id from payment_returns where organization_id = $1) as m
      left join money_subjects as s
        on s.external_id = m.external_id and s.source = m.source and s.organization_id = $1
      where s.source is null`,
  },
]
