import { type Check, keepAndReport, listed, pastTheServer } from './check.ts'

/** Invoices and credit notes: their sums, their lines, their numbers, and the documents that were issued. */
export const invoiceChecks: readonly Check[] = [
  {
    id: 'invoice.paid',
    title: 'What of an invoice is paid is the sum of the live allocations on it',
    severity: 'wrong',
    cause: `An allocation was written, taken back or lost without the counter of its invoice. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select i.id as subject, i.number, i.currency, i.paid_minor as found, l.minor as expected
      from invoices as i
      cross join lateral (
        select coalesce(sum(a.amount_minor), 0)::bigint as minor from allocations as a
        where a.invoice_id = i.id and a.organization_id = $1 and a.reversed_at is null) as l
      where i.organization_id = $1 and i.${listed} and i.paid_minor <> l.minor`,
  },
  {
    id: 'invoice.credited',
    title: 'What of an invoice is credited, and what of a credit note is used, is the sum of its credit allocations',
    severity: 'wrong',
    cause: `A credit allocation was written or lost without the counters of its credit note and its invoice. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select i.id as subject, i.number, i.type, i.currency, i.credited_minor as found, l.minor as expected
      from invoices as i
      cross join lateral (
        select coalesce(sum(c.amount_minor), 0)::bigint as minor from (
          select amount_minor from credit_allocations
          where invoice_id = i.id and organization_id = $1 and i.type = 'invoice'
          union all
          select amount_minor from credit_allocations
          where credit_note_id = i.id and organization_id = $1 and i.type = 'credit_note') as c) as l
      where i.organization_id = $1 and i.${listed} and i.credited_minor <> l.minor`,
  },
  {
    id: 'invoice.adjusted',
    title: 'What of an invoice is adjusted is the sum of its live adjustments',
    severity: 'wrong',
    cause: `A cash discount, a fee or a bad debt was written, taken back or lost without the counter of its invoice. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select i.id as subject, i.number, i.currency, i.adjusted_minor as found, l.minor as expected
      from invoices as i
      cross join lateral (
        select coalesce(sum(d.amount_minor), 0)::bigint as minor from invoice_adjustments as d
        where d.invoice_id = i.id and d.organization_id = $1 and d.reversed_at is null) as l
      where i.organization_id = $1 and i.${listed} and i.adjusted_minor <> l.minor`,
  },
  {
    id: 'invoice.open',
    title:
      'What is open on an invoice is its total less what was paid, credited and adjusted, and its state says the same',
    severity: 'wrong',
    cause: `The database itself computes both columns and refuses sums beyond the total: that was switched off, and a counter was changed. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select i.id as subject, i.number, i.currency, i.open_minor as found, e.open as expected, i.payment_state as state,
        e.state as expected_state
      from invoices as i
      cross join lateral (select i.total_minor - i.paid_minor - i.credited_minor - i.adjusted_minor as open) as o
      cross join lateral (select o.open, case
        when o.open = 0 then 'settled' when o.open = i.total_minor then 'open' else 'partial' end as state) as e
      where i.organization_id = $1 and i.${listed} and (i.open_minor <> e.open or i.payment_state <> e.state
        or least(i.total_minor, i.paid_minor, i.credited_minor, i.adjusted_minor, e.open) < 0)`,
  },
  {
    id: 'invoice.line',
    title: 'The net of a line is quantity times price less the line’s discount, rounded half away from zero',
    severity: 'wrong',
    cause: `A line was edited, or another program wrote it and rounds in another way. ${pastTheServer}`,
    remedy: `Compare with issued_documents, which keeps the document as it was issued. ${keepAndReport}`,
    sql: `select l.invoice_id as subject, l.position, l.quantity, l.unit_price_minor as price, l.discount_percent as discount,
        l.net_minor as found, round(l.quantity * l.unit_price_minor * (100 - l.discount_percent) * 0.01)::bigint as expected
      from invoice_lines as l
      where l.organization_id = $1
        and l.net_minor <> round(l.quantity * l.unit_price_minor * (100 - l.discount_percent) * 0.01)`,
  },
  {
    id: 'invoice.total',
    title: 'The total of an invoice is what its lines add up to: rate by rate, less the document’s discount, with tax',
    severity: 'wrong',
    cause: `A line, a discount or the total was changed without the others, or another program wrote the invoice and rounds in another way. ${pastTheServer}`,
    remedy: `Compare with issued_documents, which keeps the document as it was issued. ${keepAndReport}`,
    sql: `select i.id as subject, i.number, i.currency, i.total_minor as found, t.minor as expected
      from invoices as i
      cross join lateral (
        select coalesce(sum(rate.net + round(rate.net * rate.tax_percent * 0.01)), 0)::bigint as minor
        from (
          select sum(l.net_minor) - round(sum(l.net_minor) * i.discount_percent * 0.01) as net, l.tax_percent
          from invoice_lines as l where l.invoice_id = i.id and l.organization_id = $1 group by l.tax_percent) as rate
        ) as t
      where i.organization_id = $1 and i.${listed} and i.total_minor <> t.minor`,
  },
  {
    id: 'invoice.document',
    title: 'What was issued is kept as it was issued: same total, number and date. A draft has no such document',
    severity: 'wrong',
    cause: `The invoice or its document was edited or lost after it was issued; a foreign key prevents that unless it is switched off. ${pastTheServer}`,
    remedy: `What the document says is what the customer has. ${keepAndReport}`,
    sql: `select coalesce(i.id, d.invoice_id) as subject, coalesce(i.number, d.number) as number, i.lifecycle, x.problem,
        i.total_minor as total, d.total_minor as document_total
      from (select * from invoices where organization_id = $1 and ${listed}) as i
      full join (select * from issued_documents where organization_id = $1) as d on d.invoice_id = i.id
      cross join lateral (select case
        when i.id is null then 'a document whose invoice is not on record'
        when i.lifecycle = 'draft' and d.invoice_id is not null then 'a draft with a document'
        when i.number is null and d.invoice_id is not null then 'a document without a number on its invoice'
        when i.lifecycle = 'issued' and i.number is null then 'issued without a number'
        when i.number is not null and d.invoice_id is null then 'issued without a document'
        when (i.currency, i.total_minor, i.number, i.sequence, i.series, i.issued_at)
          <> (d.currency, d.total_minor, d.number, d.sequence, d.series, d.issued_at) then 'not as it was issued'
        end as problem) as x
      where x.problem is not null`,
  },
  {
    id: 'invoice.unissued',
    title: 'Nothing lies on a draft or on a void invoice, and a credit note is not paid',
    severity: 'wrong',
    cause: `An invoice was made void, or a draft again, although something lay on it. ${pastTheServer}`,
    remedy: keepAndReport,
    sql: `select id as subject, number, type, lifecycle, paid_minor as paid, credited_minor as credited, adjusted_minor as adjusted
      from invoices
      where organization_id = $1 and ${listed}
        and ((lifecycle <> 'issued' and (paid_minor <> 0 or credited_minor <> 0 or adjusted_minor <> 0))
          or (type = 'credit_note' and (paid_minor <> 0 or adjusted_minor <> 0)))`,
  },
  {
    id: 'invoice.settled',
    title: 'Each time an invoice was settled, and each time it was reopened, was told by one domain event',
    severity: 'wrong',
    cause: `Invoices and domain events come from different moments, or an invoice was told as settled at the wrong moment. ${pastTheServer}`,
    remedy:
      'The money itself is not touched by this. Rules that listen to `invoice.paid` may have missed it or run too often: look at what they should have done. Then report it with the ids.',
    sql: `select i.id as subject, i.number, i.payment_state as state, i.settle_count, coalesce(d.paid, 0) as paid_events,
        coalesce(d.reopened, 0) as reopened_events, x.reopened as expected_reopened_events
      from invoices as i
      left join (
        select subject_id, count(*) filter (where type = 'invoice.paid')::int as paid,
          count(*) filter (where type = 'invoice.reopened')::int as reopened
        from domain_events
        where organization_id = $1 and subject_type = 'invoice' and type in ('invoice.paid', 'invoice.reopened')
        group by subject_id) as d on d.subject_id = i.id
      cross join lateral (select case when i.type = 'invoice' and i.total_minor > 0
        then i.settle_count - case i.payment_state when 'settled' then 1 else 0 end
        else 0 end as reopened) as x
      where i.organization_id = $1 and i.${listed}
        and (i.settle_count <> coalesce(d.paid, 0) or coalesce(d.reopened, 0) <> x.reopened)`,
  },
  {
    id: 'series.gap',
    title: 'The numbers of a series have no gap',
    severity: 'wrong',
    cause: `An issued invoice was deleted, or number_series was set ahead by hand. ${pastTheServer} The office itself leaves no gap, however it ends: a rollback gives a number back.`,
    remedy:
      'Look for the missing numbers in the last backup: an invoice that was issued cannot be deleted by the server. Your tax office may ask for the reason of a gap, so write down what you found.',
    sql: `select series as subject, sequence + 1 as missing_from, next - 1 as missing_to
      from (
        select series, sequence, lead(sequence) over (partition by series order by sequence) as next from invoices
        where organization_id = $1 and ${listed} and sequence is not null) as s
      where next > sequence + 1`,
  },
  {
    id: 'series.twin',
    title: 'No two documents have one number',
    severity: 'wrong',
    cause: `Unique keys refuse it: an index is missing or damaged, and number_series was set back. ${pastTheServer}`,
    remedy: `Look whether invoices_number_key and invoices_sequence_key are there, and let PostgreSQL check its indexes (amcheck). ${keepAndReport}`,
    sql: `select number as subject, 'number' as what, count(*)::int as invoices, string_agg(id::text, ' ' order by id) as ids
      from invoices where organization_id = $1 and ${listed} and number is not null group by number having count(*) > 1
      union all
      select series || ' ' || sequence, 'place in the series', count(*)::int, string_agg(id::text, ' ' order by id)
      from invoices where organization_id = $1 and ${listed} and sequence is not null
      group by series, sequence having count(*) > 1`,
  },
  {
    id: 'series.next',
    title: 'The next number of a series follows on the highest that was given',
    severity: 'wrong',
    cause:
      'The table number_series was restored from another moment than the invoices, or somebody changed it. If the next number is too low, the next invoice cannot be issued; if it is too high, there will be a gap.',
    remedy:
      'Let no invoice be issued until it is clear which of the two is right. If the invoices are complete, set number_series.next_sequence to the expected value, as the owner of the database.',
    sql: `select m.series as subject, n.next_sequence as found, m.highest + 1 as expected
      from (
        select series, max(sequence) as highest from invoices
        where organization_id = $1 and ${listed} and sequence is not null group by series) as m
      left join number_series as n on n.name = m.series and n.organization_id = $1
      where n.next_sequence is distinct from m.highest + 1`,
  },
]
