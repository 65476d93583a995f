import type { Selectable } from 'kysely'
import { listedIn, send, sql, type Tx } from '../../platform/database.ts'
import { storableText, toJsonText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'
import type { InvoiceDraft, InvoiceTotals } from './invoice-totals.ts'
import type { Numbered } from './ledger-queries.ts'

export type InvoiceRow = Selectable<Tables['invoices']>
export type PaymentRow = Selectable<Tables['payments']>
export type ReturnRow = Selectable<Tables['payment_returns']>
export type AllocationRow = Selectable<Tables['allocations']>
export type AdjustmentRow = Selectable<Tables['invoice_adjustments']>

export interface NewDocument {
  readonly id: string
  readonly type: 'invoice' | 'credit_note'
  readonly copiedFromId: string | null
  readonly correctsId: string | null
  readonly draft: InvoiceDraft
  readonly totals: InvoiceTotals
}

export async function insertDraft(tx: Tx, organizationId: string, document: NewDocument, now: Date): Promise<void> {
  const { id, type, copiedFromId, correctsId, draft, totals } = document
  await tx
    .insertInto('invoices')
    .values({
      id,
      organization_id: organizationId,
      type,
      series: null,
      sequence: null,
      number: null,
      contact_id: draft.contactId,
      currency: draft.currency,
      total_minor: totals.totalMinor,
      issued_at: null,
      due_on: draft.dueOn,
      discount_percent: draft.discountPercent,
      notes: draft.notes === null ? null : storableText(draft.notes),
      copied_from_id: copiedFromId,
      corrects_id: correctsId,
      created_at: now,
    })
    .execute()
  await insertLines(tx, organizationId, id, draft, totals)
}

async function insertLines(
  tx: Tx,
  organizationId: string,
  invoiceId: string,
  draft: InvoiceDraft,
  totals: InvoiceTotals,
): Promise<void> {
  await tx
    .insertInto('invoice_lines')
    .values(
      draft.lines.map((line, index) => ({
        invoice_id: invoiceId,
        organization_id: organizationId,
        currency: draft.currency,
        position: index + 1,
        description: storableText(line.description),
        quantity: line.quantity,
        unit_price_minor: line.unitPriceMinor,
        discount_percent: line.discountPercent,
        tax_percent: line.taxPercent,
        net_minor: totals.lineNetMinor[index] ?? 0n,
      })),
    )
    .execute()
}

/** Writes a locked draft anew, its lines included. */
export async function updateDraft(
  tx: Tx,
  organizationId: string,
  invoiceId: string,
  draft: InvoiceDraft,
  totals: InvoiceTotals,
): Promise<void> {
  await tx
    .deleteFrom('invoice_lines')
    .where('invoice_id', '=', invoiceId)
    .where('organization_id', '=', organizationId)
    .execute()
  await tx
    .updateTable('invoices')
    .set((eb) => ({
      contact_id: draft.contactId,
      currency: draft.currency,
      total_minor: totals.totalMinor,
      due_on: draft.dueOn,
      discount_percent: draft.discountPercent,
      notes: draft.notes === null ? null : storableText(draft.notes),
      version: eb('version', '+', 1),
    }))
    .where('id', '=', invoiceId)
    .where('organization_id', '=', organizationId)
    .execute()
  await insertLines(tx, organizationId, invoiceId, draft, totals)
}

/** Gives a locked draft its number, and keeps what it says as it was said. Sent, not awaited. */
export function markIssued(
  tx: Tx,
  organizationId: string,
  row: InvoiceRow,
  numbered: Numbered,
  content: object,
  now: Date,
): void {
  void send(
    tx,
    sql`insert into issued_documents (invoice_id, organization_id, currency, total_minor, number, sequence, series,
        issued_at, content)
      values (${row.id}, ${organizationId}, ${row.currency}, ${row.total_minor}, ${numbered.number},
        ${numbered.sequence}, ${numbered.series}, ${now.toISOString()}::timestamptz, ${toJsonText(content)}::json)`,
  )
  void send(
    tx,
    sql`update invoices set lifecycle = 'issued', series = ${numbered.series}, sequence = ${numbered.sequence},
        number = ${numbered.number}, issued_at = ${now.toISOString()}::timestamptz, version = version + 1
      where id = ${row.id}::uuid and organization_id = ${organizationId}::uuid and lifecycle = 'draft'`,
  )
}

/** A locked document with nothing on it. Sent, not awaited. */
export function markVoid(tx: Tx, organizationId: string, invoiceId: string): void {
  void send(
    tx,
    sql`update invoices set lifecycle = 'void', version = version + 1
      where id = ${invoiceId}::uuid and organization_id = ${organizationId}::uuid`,
  )
}

export function insertCreditAllocation(
  tx: Tx,
  organizationId: string,
  row: {
    readonly id: string
    readonly creditNoteId: string
    readonly invoiceId: string
    readonly currency: string
    readonly amountMinor: bigint
    readonly eventId: string
  },
  now: Date,
): void {
  void send(
    tx,
    sql`insert into credit_allocations (id, organization_id, credit_note_id, invoice_id, currency, amount_minor,
        event_id, created_at)
      values (${row.id}, ${organizationId}, ${row.creditNoteId}, ${row.invoiceId}, ${row.currency},
        ${row.amountMinor}, ${row.eventId}, ${now.toISOString()}::timestamptz)`,
  )
}

export function insertAdjustment(
  tx: Tx,
  organizationId: string,
  row: {
    readonly id: string
    readonly invoiceId: string
    readonly currency: string
    readonly kind: AdjustmentRow['kind']
    readonly amountMinor: bigint
    readonly note: string | null
    readonly eventId: string
  },
  now: Date,
): void {
  void send(
    tx,
    sql`insert into invoice_adjustments (id, organization_id, invoice_id, currency, kind, amount_minor, note, event_id,
        created_at)
      values (${row.id}, ${organizationId}, ${row.invoiceId}, ${row.currency}, ${row.kind}, ${row.amountMinor},
        ${row.note === null ? null : storableText(row.note)}, ${row.eventId}, ${now.toISOString()}::timestamptz)`,
  )
}

/** Takes an adjustment back, once. Sent, not awaited. */
export function reverseAdjustmentRow(
  tx: Tx,
  organizationId: string,
  adjustmentId: string,
  reason: string,
  now: Date,
): void {
  void send(
    tx,
    sql`update invoice_adjustments set reversed_at = ${now.toISOString()}::timestamptz,
        reversal_reason = ${storableText(reason)}
      where id = ${adjustmentId}::uuid and organization_id = ${organizationId}::uuid and reversed_at is null`,
  )
}

export async function listAdjustments(tx: Tx, organizationId: string, invoiceId: string): Promise<AdjustmentRow[]> {
  return tx
    .selectFrom('invoice_adjustments')
    .selectAll()
    .where('invoice_id', '=', invoiceId)
    .where('organization_id', '=', organizationId)
    .orderBy('created_at')
    .execute()
}

/** What lies or lay on an invoice, oldest first: two halves, because live and reversed rows have an index each. */
export async function listAllocationsOf(tx: Tx, organizationId: string, invoiceId: string): Promise<AllocationRow[]> {
  return send(
    tx,
    sql`select * from allocations
      where invoice_id = ${invoiceId}::uuid and organization_id = ${organizationId}::uuid and reversed_at is null
      union all
      select * from allocations
      where invoice_id = ${invoiceId}::uuid and organization_id = ${organizationId}::uuid and reversed_at is not null
      order by id`,
  )
}

/** Where a payment lies and lay, oldest first. */
export async function listAllocationsOfPayment(
  tx: Tx,
  organizationId: string,
  paymentId: string,
): Promise<AllocationRow[]> {
  return send(
    tx,
    sql`select * from allocations
      where payment_id = ${paymentId}::uuid and organization_id = ${organizationId}::uuid order by id`,
  )
}

/** Credit notes of an invoice with what each took off it. */
export async function listCreditsOf(tx: Tx, organizationId: string, invoiceId: string) {
  return send<{ creditNoteId: string; number: string | null; amountMinor: bigint }>(
    tx,
    sql`select c.credit_note_id as "creditNoteId", i.number, c.amount_minor as "amountMinor"
      from credit_allocations as c
      cross join lateral (
        select number from invoices where id = c.credit_note_id and organization_id = ${organizationId}::uuid limit 1) as i
      where c.invoice_id = ${invoiceId}::uuid and c.organization_id = ${organizationId}::uuid
      order by c.created_at`,
  )
}

/** Movements of one payment, oldest first. */
export async function listReturnsOf(tx: Tx, organizationId: string, payment: PaymentRow): Promise<ReturnRow[]> {
  return tx
    .selectFrom('payment_returns')
    .selectAll()
    .where('original_id', '=', payment.external_id)
    .where('original_source', '=', payment.source)
    .where('organization_id', '=', organizationId)
    .orderBy('recorded_at')
    .execute()
}

export async function findReturn(tx: Tx, organizationId: string, id: string): Promise<ReturnRow | undefined> {
  return tx
    .selectFrom('payment_returns')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** What contacts owe and have to their credit, per currency; nothing for those with neither. */
export async function listContactBalances(tx: Tx, organizationId: string, contactIds: readonly string[]) {
  if (contactIds.length === 0) return []
  return send<{ contact_id: string; currency: string; open_minor: bigint; credit_minor: bigint }>(
    tx,
    sql`select contact_id, currency, sum(open_minor)::bigint as open_minor, sum(credit_minor)::bigint as credit_minor
      from (
        select i.contact_id, i.currency, i.open_minor, 0::bigint as credit_minor
        from unnest(${contactIds}::uuid[]) as u (contact_id)
        cross join lateral (
          select contact_id, currency, open_minor from invoices
          where contact_id = u.contact_id and organization_id = ${organizationId}::uuid
            and lifecycle = 'issued' and type = 'invoice' and open_minor > 0 offset 0) as i
        union all
        select p.contact_id, p.currency, 0, p.unapplied_minor
        from unnest(${contactIds}::uuid[]) as u (contact_id)
        cross join lateral (
          select contact_id, currency, unapplied_minor from payments
          where contact_id = u.contact_id and organization_id = ${organizationId}::uuid and unapplied_minor > 0
          offset 0) as p
      ) as each_one
      group by contact_id, currency order by contact_id, currency`,
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

export async function findPaymentByName(
  tx: Tx,
  organizationId: string,
  source: string,
  externalId: string,
): Promise<PaymentRow | undefined> {
  return tx
    .selectFrom('payments')
    .selectAll()
    .where('external_id', '=', externalId)
    .where('source', '=', source)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Whom the invoices given are for. */
export async function listContactsOfInvoices(tx: Tx, organizationId: string, invoiceIds: readonly string[]) {
  if (invoiceIds.length === 0) return []
  return tx
    .selectFrom('invoices')
    .select(['id', 'contact_id'])
    .where('id', 'in', invoiceIds)
    .where('organization_id', '=', organizationId)
    .execute()
}
