import type { TestOffice } from './office.ts'

/** What stands in the books of an organisation, read from the tables as their owner: no code of the office is asked. */
export interface Books {
  readonly payments: readonly BookedPayment[]
  readonly returns: readonly BookedReturn[]
  readonly invoices: readonly BookedInvoice[]
  /** Of what reached the house; what the fixture itself did is left out. */
  readonly events: readonly BookedEvent[]
  readonly deliveries: number
  /** But for those of issuing, which the fixture does. */
  readonly activities: number
  readonly notifications: number
  /** But for those of issuing, which the fixture does. */
  readonly domainEvents: number
  /** But for the making of the organisation, which the fixture does. */
  readonly audits: number
  readonly reviewItems: readonly BookedItem[]
  /** How many lines, notifications, domain events and audit entries there are of each type, as `<table> <type>`. */
  readonly told: Readonly<Record<string, number>>
}

export interface BookedPayment {
  readonly source: string
  readonly externalId: string
  readonly kind: string
  readonly currency: string
  readonly amountMinor: number
  readonly appliedMinor: number
  readonly returnedMinor: number
  readonly unappliedMinor: number
  /** What the ledger says was applied; the counter has to agree. */
  readonly allocatedMinor: number
  readonly activities: number
  readonly notifications: number
  readonly notifiedMembers: number
  readonly receivedEvents: number
}

export interface BookedReturn {
  readonly source: string
  readonly externalId: string
  readonly kind: string
  readonly amountMinor: number
}

export interface BookedInvoice {
  readonly id: string
  readonly number: string | null
  readonly type: string
  readonly lifecycle: string
  readonly paymentState: string
  readonly totalMinor: number
  readonly paidMinor: number
  readonly creditedMinor: number
  readonly adjustedMinor: number
  readonly openMinor: number
  readonly allocatedMinor: number
  readonly paidEvents: number
  readonly reopenedEvents: number
}

export interface BookedEvent {
  readonly id: string
  readonly source: string
  readonly kind: string
  readonly externalId: string
  readonly state: string
  readonly attempt: number
  readonly copies: number
  /** Deliveries on record that brought this event. */
  readonly deliveries: number
  /** Of these, the ones through which it was booked. */
  readonly done: number
}

export interface BookedItem {
  readonly kind: string
  readonly state: string
  readonly decision: string | null
  readonly reason: string | null
}

export async function readBooks(office: TestOffice, organizationId: string): Promise<Books> {
  const { rows } = await office.owner.query<Books>(
    `select
      (select coalesce(jsonb_agg(to_jsonb(p) order by p."externalId", p."source"), '[]') from (${paymentsOf}) as p) as payments,
      (select coalesce(jsonb_agg(to_jsonb(r) order by r."externalId", r.kind), '[]') from (${returnsOf}) as r) as returns,
      (select coalesce(jsonb_agg(to_jsonb(i) order by i.number), '[]') from (${invoicesOf}) as i) as invoices,
      (select coalesce(jsonb_agg(to_jsonb(e) order by e."externalId"), '[]') from (${eventsOf}) as e) as events,
      (select coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'state', state, 'decision', decision,
          'reason', data ->> 'reason') order by id), '[]')
        from review_items where organization_id = $1) as "reviewItems",
      (select count(*)::int from deliveries where organization_id = $1) as deliveries,
      (select count(*)::int from activities where organization_id = $1 and type <> 'invoice.issued') as activities,
      (select count(*)::int from notifications where organization_id = $1) as notifications,
      (select count(*)::int from domain_events where organization_id = $1 and type <> 'invoice.issued') as "domainEvents",
      (select count(*)::int from audit_entries where organization_id = $1 and action <> 'organization.create') as audits,
      (select coalesce(jsonb_object_agg(t.type, t.count), '{}') from (${toldOf}) as t) as told`,
    [organizationId],
  )
  const [books] = rows
  if (books === undefined) throw new Error('a select without a table gives one row')
  return books
}

const paymentsOf = `
  select p.source, p.external_id as "externalId", p.kind, p.currency, p.amount_minor as "amountMinor",
    p.applied_minor as "appliedMinor", p.returned_minor as "returnedMinor", p.unapplied_minor as "unappliedMinor",
    coalesce(l.allocated, 0) as "allocatedMinor", coalesce(a.lines, 0) as activities,
    coalesce(n.notes, 0) as notifications, coalesce(n.members, 0) as "notifiedMembers",
    coalesce(d.received, 0) as "receivedEvents"
  from payments as p
  left join (select payment_id, sum(amount_minor) as allocated from allocations
    where organization_id = $1 and reversed_at is null group by 1) as l on l.payment_id = p.id
  left join (select data ->> 'paymentId' as payment_id, count(*) as lines from activities
    where organization_id = $1 and type = 'payment.received' group by 1) as a on a.payment_id = p.id::text
  left join (select data ->> 'paymentId' as payment_id, count(*) as notes, count(distinct recipient_id) as members
    from notifications where organization_id = $1 and type = 'payment.received' group by 1) as n on n.payment_id = p.id::text
  left join (select subject_id, count(*) as received from domain_events
    where organization_id = $1 and type = 'payment.received' group by 1) as d on d.subject_id = p.id
  where p.organization_id = $1`

const returnsOf = `
  select source, external_id as "externalId", kind, amount_minor as "amountMinor"
  from payment_returns where organization_id = $1`

const invoicesOf = `
  select i.id, i.number, i.type, i.lifecycle, i.payment_state as "paymentState", i.total_minor as "totalMinor",
    i.paid_minor as "paidMinor", i.credited_minor as "creditedMinor", i.adjusted_minor as "adjustedMinor",
    i.open_minor as "openMinor", coalesce(l.allocated, 0) as "allocatedMinor", coalesce(d.paid, 0) as "paidEvents",
    coalesce(d.reopened, 0) as "reopenedEvents"
  from invoices as i
  left join (select invoice_id, sum(amount_minor) as allocated from allocations
    where organization_id = $1 and reversed_at is null group by 1) as l on l.invoice_id = i.id
  left join (select subject_id, count(*) filter (where type = 'invoice.paid') as paid,
      count(*) filter (where type = 'invoice.reopened') as reopened from domain_events
    where organization_id = $1 group by 1) as d on d.subject_id = i.id
  where i.organization_id = $1`

const eventsOf = `
  select e.id, e.source, e.kind, e.external_id as "externalId", e.state, e.attempt, e.copies,
    coalesce(b.deliveries, 0) as deliveries, coalesce(b.done, 0) as done
  from events as e
  left join (select event_id, count(*) as deliveries, count(*) filter (where outcome = 'done') as done
    from delivery_events where organization_id = $1 group by 1) as b on b.event_id = e.id
  where e.organization_id = $1 and e.kind not in ('contact.create', 'invoice.create', 'invoice.issue')`

const toldOf = `
  select 'activity ' || type as type, count(*) from activities where organization_id = $1 group by 1
  union all select 'notification ' || type, count(*) from notifications where organization_id = $1 group by 1
  union all select 'domain_event ' || type, count(*) from domain_events where organization_id = $1 group by 1
  union all select 'audit_entry ' || action, count(*) from audit_entries where organization_id = $1 group by 1`

/**
 * Every counter of an organisation that is not the sum of its ledger rows, and every row that counts twice or not at all: none,
 * whatever happened. Sums only, in SQL of its own. What went back counts for each refund or dispute as far as it has not come
 * again; a running total counts where its source told of no single refund.
 */
export async function listImbalances(office: TestOffice, organizationId: string): Promise<string[]> {
  const { rows } = await office.owner.query<{ what: string }>(imbalances, [organizationId])
  return rows.map((row) => row.what)
}

const imbalances = `
  with lying as (
    select payment_id, invoice_id, sum(amount_minor) as sum, count(*) as count from allocations
    where organization_id = $1 and reversed_at is null group by 1, 2),
  movements as (
    select original_id, original_source, currency, split_part(kind, '_', 1) as class, return_id,
      greatest(0, sum(case when kind like '%reversal' then -amount_minor else amount_minor end)) as net
    from payment_returns where organization_id = $1 and kind <> 'refund_total' group by 1, 2, 3, 4, 5),
  totals as (
    select original_id, original_source, currency, max(amount_minor) as total from payment_returns as r
    where organization_id = $1 and kind = 'refund_total' and not exists (
      select from payment_returns as s where s.organization_id = $1 and s.original_id = r.original_id
        and s.original_source = r.original_source and s.source = r.original_source and s.kind in ('refund', 'refund_reversal'))
    group by 1, 2, 3),
  went as (
    select p.id, coalesce((select sum(net) from movements as m where m.original_id = p.external_id
        and m.original_source = p.source and m.currency = p.currency), 0)
      + coalesce((select sum(total) from totals as t where t.original_id = p.external_id
        and t.original_source = p.source and t.currency = p.currency), 0) as sum
    from payments as p where p.organization_id = $1)
  select 'payment ' || external_id || ': applied ' || applied_minor || ', lying ' || coalesce(sum, 0) as what
  from payments as p left join (select payment_id, sum(sum) as sum from lying group by 1) as l on l.payment_id = p.id
  where organization_id = $1 and applied_minor <> coalesce(sum, 0)
  union all
  select 'payment ' || external_id || ': returned ' || returned_minor || ', movements ' || went.sum
  from payments as p join went using (id) where returned_minor <> least(amount_minor, went.sum)
  union all
  select 'invoice ' || coalesce(number, id::text) || ': paid ' || paid_minor || ', lying ' || coalesce(sum, 0)
  from invoices as i left join (select invoice_id, sum(sum) as sum from lying group by 1) as l on l.invoice_id = i.id
  where organization_id = $1 and paid_minor <> coalesce(sum, 0)
  union all
  select 'invoice ' || coalesce(number, id::text) || ': credited ' || credited_minor || ', credit notes ' || coalesce(sum, 0)
  from invoices as i left join (
    select invoice_id as id, sum(amount_minor) as sum from credit_allocations where organization_id = $1 group by 1
    union all select credit_note_id, sum(amount_minor) from credit_allocations where organization_id = $1 group by 1) as c
    using (id)
  where organization_id = $1 and credited_minor <> coalesce(sum, 0)
  union all
  select 'invoice ' || coalesce(number, id::text) || ': adjusted ' || adjusted_minor || ', adjustments ' || coalesce(sum, 0)
  from invoices as i left join (select invoice_id, sum(amount_minor) as sum from invoice_adjustments
    where organization_id = $1 and reversed_at is null group by 1) as a on a.invoice_id = i.id
  where organization_id = $1 and adjusted_minor <> coalesce(sum, 0)
  union all
  select 'lies ' || count || ' times on one invoice: ' || payment_id from lying where count > 1
  union all
  select 'lies on what takes no money: ' || payment_id from lying as l join invoices as i on i.id = l.invoice_id
  where i.type <> 'invoice' or i.lifecycle <> 'issued'
  union all
  select 'waits for an invoice with something open: ' || p.external_id from payments as p
  join invoices as i on i.organization_id = p.organization_id and p.invoice_reference in (i.number, i.id::text)
  where p.organization_id = $1 and not p.is_placed_by_hand and p.unapplied_minor > 0 and i.type = 'invoice'
    and i.lifecycle = 'issued' and i.currency = p.currency and i.open_minor > 0
  union all
  select 'series ' || name || ': a gap or a twin' from number_series as s where s.organization_id = $1
    and array(select sequence from invoices as i where i.organization_id = $1 and i.series = s.name order by sequence)
      <> array(select generate_series(1, next_sequence - 1))`
