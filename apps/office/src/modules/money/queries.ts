import type { Selectable } from 'kysely'
import type { PaymentFact } from '../../facts/index.ts'
import { listedIn, send, sql, type Tx } from '../../platform/database.ts'
import { storableText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'
import type {
  KnownPayment,
  LockedInvoice,
  PaymentChange,
  PaymentMention,
  PaymentRows,
  WaitingPayment,
} from './decide-payments.ts'
import type { InvoiceDraft } from './invoice-totals.ts'

export type InvoiceRow = Selectable<Tables['invoices']>
export type PaymentRow = Selectable<Tables['payments']>
export type AllocationRow = Selectable<Tables['allocations']>

export interface ResolvedReference {
  readonly reference: string
  readonly id: string
  readonly lifecycle: 'draft' | 'issued' | 'void'
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * Finds the invoices that references name, by number or by id. Takes no lock; a number never changes once given.
 *
 * Ids are cast before they come into the statement: behind row-level security, PostgreSQL 15 uses no index for a condition
 * with a cast in it.
 */
export async function resolveReferences(
  tx: Tx,
  organizationId: string,
  references: readonly string[],
): Promise<ResolvedReference[]> {
  if (references.length === 0) return []
  const ids = references.filter((reference) => uuid.test(reference)).map((reference) => reference.toLowerCase())
  const found = await send<ResolvedReference>(
    tx,
    sql`select u.reference, i.id, i.lifecycle
      from unnest(${references.map(storableText)}::text[]) as u (reference)
      cross join lateral (
        select id, lifecycle from invoices
        where number = u.reference and organization_id = ${organizationId}::uuid limit 1) as i
      union all
      select i.id::text, i.id, i.lifecycle
      from unnest(${ids}::uuid[]) as u (id)
      cross join lateral (
        select id, lifecycle from invoices
        where id = u.id and organization_id = ${organizationId}::uuid limit 1) as i`,
  )
  const byText = new Map(found.map((row) => [row.reference, row]))
  return references.flatMap((reference) => {
    const row = byText.get(storableText(reference)) ?? byText.get(reference.toLowerCase())
    return row === undefined ? [] : [{ ...row, reference }]
  })
}

export const INVOICE_SERIES = 'invoice'
const INVOICE_PREFIX = 'RE-'

/** Holds off everybody who issues an invoice, until the end of the transaction, and waits for those who are at it. */
export async function lockNumberSeriesShared(tx: Tx, organizationId: string): Promise<void> {
  await ensureSeries(tx, organizationId)
  await send(
    tx,
    sql`select 1 from number_series where name = ${INVOICE_SERIES} and organization_id = ${organizationId}::uuid for share`,
  )
}

/** The next number; the row stays locked until the commit, so a rollback leaves no gap. */
export async function takeNumber(
  tx: Tx,
  organizationId: string,
): Promise<{ series: string; sequence: bigint; number: string }> {
  await ensureSeries(tx, organizationId)
  const [row] = await send<{ sequence: bigint; prefix: string }>(
    tx,
    sql`update number_series set next_sequence = next_sequence + 1
      where name = ${INVOICE_SERIES} and organization_id = ${organizationId}::uuid
      returning next_sequence - 1 as sequence, prefix`,
  )
  if (row === undefined) throw new Error('the number series of invoices is missing')
  const number = `${row.prefix}${row.sequence.toString().padStart(5, '0')}`
  return { series: INVOICE_SERIES, sequence: row.sequence, number }
}

function ensureSeries(tx: Tx, organizationId: string): Promise<unknown> {
  return send(
    tx,
    sql`insert into number_series (name, organization_id, prefix)
      values (${INVOICE_SERIES}, ${organizationId}::uuid, ${INVOICE_PREFIX}) on conflict do nothing`,
  )
}

/** Locks the money that the facts are about, known or not, in one order. Everything about that money waits here. */
export function lockMoneySubjects(
  tx: Tx,
  organizationId: string,
  facts: readonly { source: string; originalId: string }[],
): Promise<unknown> {
  if (facts.length === 0) return Promise.resolve()
  const subjects = [...new Map(facts.map((fact) => [`${fact.originalId}\0${fact.source}`, fact])).entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, fact]) => fact)
  return send(
    tx,
    sql`insert into money_subjects (external_id, source, organization_id)
      select u.external_id, u.source, ${organizationId}::uuid
      from unnest(${subjects.map((fact) => fact.originalId)}::text[], ${subjects.map((fact) => fact.source)}::text[])
        as u (external_id, source)
      on conflict (external_id, source, organization_id) do update set source = excluded.source`,
  )
}

/** Payments on record under the money keys of the facts. To be sent behind the lock of their subjects. */
export async function readPayments(
  tx: Tx,
  organizationId: string,
  facts: readonly PaymentFact[],
): Promise<(KnownPayment & { source: string; kind: string; externalId: string })[]> {
  return send(
    tx,
    sql`select p.id, p.source, p.kind, p.external_id as "externalId", p.amount_minor as "amountMinor", p.currency,
        p.original_id as "originalId", p.unapplied_minor as "unappliedMinor", p.invoice_reference as "invoiceReference"
      from unnest(${facts.map((fact) => fact.externalId)}::text[], ${facts.map((fact) => fact.kind)}::text[],
        ${facts.map((fact) => fact.source)}::text[]) as u (external_id, kind, source)
      cross join lateral (
        select * from payments
        where external_id = u.external_id and kind = u.kind and source = u.source
          and organization_id = ${organizationId}::uuid limit 1) as p`,
  )
}

/** Locks invoices in the order of their ids. A payment that reads an invoice's open rest holds its lock. */
export async function lockInvoices(tx: Tx, organizationId: string, ids: readonly string[]): Promise<LockedInvoice[]> {
  if (ids.length === 0) return []
  return send(
    tx,
    sql`select id, number, type, lifecycle, currency, open_minor as "openMinor", settle_count as "settleCount",
        contact_id as "contactId"
      from invoices where id = any(${ids.toSorted()}::uuid[]) and organization_id = ${organizationId}::uuid
      order by id for no key update`,
  )
}

/**
 * Adds payments and what they do to invoices, and counts up what was paid; one statement, sent and not awaited.
 *
 * Subjects and invoices are locked and were read, so a row in the way is a fault: the unique key refuses it, or the check
 * on the invoice's sum, and the group is run again event by event.
 *
 * `width_bucket` finds an invoice's place in the sorted list of ids. A join with the list would leave PostgreSQL the
 * choice to start from the table, and it takes that choice while it believes the table to be empty.
 */
export function writeBookings(
  tx: Tx,
  organizationId: string,
  rows: Pick<PaymentRows, 'payments' | 'allocations' | 'invoiceChanges'>,
  now: Date,
): void {
  const { payments, allocations } = rows
  if (payments.length === 0 && allocations.length === 0) return
  const invoices = rows.invoiceChanges.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const invoiceIds = invoices.map((change) => change.id)
  void send(
    tx,
    sql`with new_payments as (
        insert into payments (id, organization_id, source, external_id, kind, original_id, event_id, amount_minor,
          currency, applied_minor, invoice_reference, payer_name, payer_email, occurred_at, recorded_at)
        select u.id, ${organizationId}::uuid, u.source, u.external_id, u.kind, u.original_id, u.event_id,
          u.amount_minor, u.currency, u.applied_minor, u.invoice_reference, u.payer_name, u.payer_email, u.occurred_at,
          ${now.toISOString()}::timestamptz
        from unnest(${payments.map((payment) => payment.id)}::uuid[],
          ${payments.map(({ fact }) => fact.source)}::text[], ${payments.map(({ fact }) => fact.externalId)}::text[],
          ${payments.map(({ fact }) => fact.kind)}::text[], ${payments.map(({ fact }) => fact.originalId)}::text[],
          ${payments.map((payment) => payment.eventId)}::uuid[],
          ${payments.map(({ amount }) => amount.amountMinor)}::bigint[],
          ${payments.map(({ amount }) => amount.currency)}::text[],
          ${payments.map((payment) => payment.appliedMinor)}::bigint[],
          ${payments.map(({ fact }) => storedReference(fact.invoiceReference))}::text[],
          ${payments.map(({ fact }) => storable(fact.payer.name))}::text[],
          ${payments.map(({ fact }) => storable(fact.payer.email))}::text[],
          ${payments.map(({ fact }) => fact.occurredAt?.toISOString() ?? null)}::timestamptz[])
          as u (id, source, external_id, kind, original_id, event_id, amount_minor, currency, applied_minor,
            invoice_reference, payer_name, payer_email, occurred_at)
      ), new_allocations as (
        insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id,
          created_at)
        select u.id, ${organizationId}::uuid, u.payment_id, u.invoice_id, u.currency, u.amount_minor, u.event_id,
          ${now.toISOString()}::timestamptz
        from unnest(${allocations.map((row) => row.id)}::uuid[], ${allocations.map((row) => row.paymentId)}::uuid[],
          ${allocations.map((row) => row.invoiceId)}::uuid[], ${allocations.map((row) => row.currency)}::text[],
          ${allocations.map((row) => row.amountMinor)}::bigint[], ${allocations.map((row) => row.eventId)}::uuid[])
          as u (id, payment_id, invoice_id, currency, amount_minor, event_id)
      )
      update invoices set version = version + 1,
        paid_minor = paid_minor
          + (${invoices.map((change) => change.paidMinor)}::bigint[])[width_bucket(id, ${invoiceIds}::uuid[])],
        settle_count = settle_count
          + (${invoices.map((change) => change.settled)}::integer[])[width_bucket(id, ${invoiceIds}::uuid[])]
      where id = any(${invoiceIds}::uuid[]) and organization_id = ${organizationId}::uuid`,
  )
}

export function insertMentions(tx: Tx, organizationId: string, mentions: readonly PaymentMention[]): void {
  if (mentions.length === 0) return
  void send(
    tx,
    sql`insert into payment_mentions (payment_id, event_id, organization_id, currency)
      select u.payment_id, u.event_id, ${organizationId}::uuid, u.currency
      from unnest(${mentions.map((mention) => mention.paymentId)}::uuid[],
        ${mentions.map((mention) => mention.eventId)}::uuid[], ${mentions.map((mention) => mention.currency)}::text[])
        as u (payment_id, event_id, currency)
      on conflict (payment_id, event_id, organization_id) do nothing`,
  )
}

/** Gives payments the reference they lacked, and counts up what was applied through it. */
export function changePayments(tx: Tx, organizationId: string, changes: readonly PaymentChange[]): void {
  if (changes.length === 0) return
  void send(
    tx,
    sql`update payments as p set applied_minor = p.applied_minor + u.applied_minor,
        invoice_reference = coalesce(p.invoice_reference, u.invoice_reference)
      from unnest(${changes.map((change) => change.id)}::uuid[], ${changes.map((change) => change.currency)}::text[],
        ${changes.map((change) => change.appliedMinor)}::bigint[],
        ${changes.map((change) => storedReference(change.invoiceReference))}::text[])
        as u (id, currency, applied_minor, invoice_reference)
      where p.id = u.id and p.id = any(${changes.map((change) => change.id)}::uuid[])
        and p.organization_id = ${organizationId}::uuid and p.currency = u.currency`,
  )
}

/** Money that waits for this invoice, oldest first. To be called with the number series locked. */
export async function listWaitingPayments(tx: Tx, organizationId: string, references: readonly string[]) {
  return send<{ id: string; source: string; originalId: string }>(
    tx,
    // `offset 0` keeps the look-up by reference from becoming a join, which would start from the organisation.
    sql`select p.id, p.source, p.original_id as "originalId"
      from unnest(${references}::text[]) as u (reference)
      cross join lateral (
        select id, source, original_id from payments
        where invoice_reference = u.reference and organization_id = ${organizationId}::uuid and unapplied_minor > 0
        offset 0) as p
      order by p.id`,
  )
}

/** The same payments again, once their subjects are locked: what waits now, waits for us. */
export async function readWaitingPayments(
  tx: Tx,
  organizationId: string,
  ids: readonly string[],
): Promise<WaitingPayment[]> {
  if (ids.length === 0) return []
  return send(
    tx,
    sql`select id, currency, unapplied_minor as "unappliedMinor", invoice_reference as "invoiceReference" from payments
      where id = any(${ids}::uuid[]) and organization_id = ${organizationId}::uuid and unapplied_minor > 0 order by id`,
  )
}

export async function insertDraft(
  tx: Tx,
  organizationId: string,
  invoice: { id: string; draft: InvoiceDraft; netMinor: readonly bigint[]; totalMinor: bigint },
  now: Date,
): Promise<void> {
  const { id, draft, netMinor, totalMinor } = invoice
  await tx
    .insertInto('invoices')
    .values({
      id,
      organization_id: organizationId,
      series: null,
      sequence: null,
      number: null,
      contact_id: draft.contactId,
      currency: draft.currency,
      total_minor: totalMinor,
      issued_at: null,
      due_on: draft.dueOn,
      created_at: now,
    })
    .execute()
  await tx
    .insertInto('invoice_lines')
    .values(
      draft.lines.map((line, index) => ({
        invoice_id: id,
        organization_id: organizationId,
        currency: draft.currency,
        position: index + 1,
        description: storableText(line.description),
        quantity: line.quantity,
        unit_price_minor: line.unitPriceMinor,
        tax_percent: line.taxPercent,
        net_minor: netMinor[index] ?? 0n,
      })),
    )
    .execute()
}

/** Gives a locked draft its number. */
export function markIssued(
  tx: Tx,
  organizationId: string,
  invoiceId: string,
  numbered: { series: string; sequence: bigint; number: string },
  now: Date,
): void {
  void send(
    tx,
    sql`update invoices set lifecycle = 'issued', series = ${numbered.series}, sequence = ${numbered.sequence},
        number = ${numbered.number}, issued_at = ${now.toISOString()}::timestamptz, version = version + 1
      where id = ${invoiceId}::uuid and organization_id = ${organizationId}::uuid and lifecycle = 'draft'`,
  )
}

/** An invoice that is known to exist. */
export async function readInvoice(tx: Tx, organizationId: string, id: string): Promise<InvoiceRow> {
  const row = await findInvoice(tx, organizationId, id)
  if (row === undefined) throw new Error(`the invoice ${id} is gone`)
  return row
}

export async function findInvoice(tx: Tx, organizationId: string, id: string): Promise<InvoiceRow | undefined> {
  return tx
    .selectFrom('invoices')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Newest first, from before `before` on. */
export async function listInvoices(
  tx: Tx,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<InvoiceRow[]> {
  return tx
    .selectFrom('invoices')
    .selectAll()
    .where(listedIn(organizationId))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

export async function listInvoiceLines(tx: Tx, organizationId: string, invoiceIds: readonly string[]) {
  if (invoiceIds.length === 0) return []
  return tx
    .selectFrom('invoice_lines')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('invoice_id', 'in', invoiceIds)
    .orderBy('invoice_id')
    .orderBy('position')
    .execute()
}

export async function findPayment(tx: Tx, organizationId: string, id: string): Promise<PaymentRow | undefined> {
  return tx
    .selectFrom('payments')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Newest first, from before `before` on. */
export async function listPayments(
  tx: Tx,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<PaymentRow[]> {
  return tx
    .selectFrom('payments')
    .selectAll()
    .where(listedIn(organizationId))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Invoices that payments are applied to, with the contact they belong to. */
export async function listInvoicesOfPayments(tx: Tx, organizationId: string, paymentIds: readonly string[]) {
  if (paymentIds.length === 0) return []
  return send<{ payment_id: string; invoice_id: string; contact_id: string | null }>(
    tx,
    // `offset 0` keeps the look-up by payment apart: together with the condition behind it, the key of the live
    // allocations would look just as good, which leads with the invoice.
    sql`select a.payment_id, a.invoice_id, i.contact_id
      from unnest(${paymentIds}::uuid[]) as u (payment_id)
      cross join lateral (
        select id, payment_id, invoice_id, reversed_at from allocations
        where payment_id = u.payment_id and organization_id = ${organizationId}::uuid offset 0) as a
      cross join lateral (
        select contact_id from invoices
        where id = a.invoice_id and organization_id = ${organizationId}::uuid limit 1) as i
      where a.reversed_at is null
      order by a.id`,
  )
}

/** Events about payments beside the ones that booked them. */
export async function listMentions(tx: Tx, organizationId: string, paymentIds: readonly string[]) {
  if (paymentIds.length === 0) return []
  return tx
    .selectFrom('payment_mentions')
    .select(['payment_id', 'event_id'])
    .where('organization_id', '=', organizationId)
    .where('payment_id', 'in', paymentIds)
    .execute()
}

/** What one event did with payments, reversed since then or not: two halves, because each has an index of its own. */
export async function listAllocationsOfEvent(
  tx: Tx,
  organizationId: string,
  paymentIds: readonly string[],
  eventId: string,
): Promise<AllocationRow[]> {
  if (paymentIds.length === 0) return []
  return send(
    tx,
    sql`select a.* from unnest(${paymentIds}::uuid[]) as u (payment_id)
      cross join lateral (
        select * from allocations
        where payment_id = u.payment_id and organization_id = ${organizationId}::uuid and event_id = ${eventId}::uuid
        offset 0) as a
      order by a.id`,
  )
}

/** As it was written; but an id in capitals is the same id, and issuing looks for it as text. */
function storedReference(reference: string | null): string | null {
  return reference !== null && uuid.test(reference) ? reference.toLowerCase() : storable(reference)
}

function storable(text: string | null): string | null {
  return text === null ? null : storableText(text)
}
