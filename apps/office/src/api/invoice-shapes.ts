import {
  type AdjustmentRow,
  type AllocationRow,
  findInvoice,
  type InvoiceRow,
  invoiceTotals,
  listAdjustments,
  listAllocationsOf,
  listCreditsOf,
  listInvoiceLines,
} from '../modules/money/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { type Act, type ApiParts, amountOf, type WriteContext } from './api-parts.ts'

/** Rows of the money desk in the shapes of the contract. */

export async function getInvoice(tx: Tx, organizationId: string, invoiceId: string): Promise<InvoiceRow> {
  const row = await findInvoice(tx, organizationId, invoiceId)
  if (row === undefined) throw new AppError('not_found', `There is no invoice ${invoiceId}.`)
  return row
}

/** The invoice as it is now, for whoever comes second. */
export function currentInvoice({ db }: ApiParts, organizationId: string, invoiceId: string) {
  return () =>
    db.transaction(organizationId, async (tx) =>
      withLines(tx, organizationId, await getInvoice(tx, organizationId, invoiceId)),
    )
}

/** A document that was written or changed, as the answer of the act. */
export async function toInvoiceAct(
  tx: Tx,
  { organizationId }: WriteContext,
  row: InvoiceRow,
  { status = 200, data = {} }: { status?: 200 | 201; data?: Readonly<Record<string, unknown>> },
): Promise<Act> {
  return { status, body: await withLines(tx, organizationId, row), subject: { type: 'invoice', id: row.id }, data }
}

export async function withLines(tx: Tx, organizationId: string, row: InvoiceRow) {
  return toInvoice(row, await listInvoiceLines(tx, organizationId, [row.id]))
}

export async function toInvoiceDetail(tx: Tx, organizationId: string, row: InvoiceRow) {
  const invoice = await withLines(tx, organizationId, row)
  const allocations = await listAllocationsOf(tx, organizationId, row.id)
  const credits = await listCreditsOf(tx, organizationId, row.id)
  const adjustments = await listAdjustments(tx, organizationId, row.id)
  return {
    ...invoice,
    allocations: allocations.map(toAllocation),
    credits: credits.map(({ creditNoteId, number, amountMinor }) => ({
      creditNoteId,
      number,
      amount: amountOf(amountMinor, row.currency),
    })),
    adjustments: adjustments.map(toAdjustment),
  }
}

export function toInvoice(row: InvoiceRow, lines: Awaited<ReturnType<typeof listInvoiceLines>>) {
  const { currency } = row
  const { taxes, netMinor } = invoiceTotals(
    lines.map((line) => ({
      description: line.description,
      quantity: line.quantity,
      unitPriceMinor: line.unit_price_minor,
      discountPercent: line.discount_percent,
      taxPercent: line.tax_percent,
    })),
    row.discount_percent,
  )
  return {
    id: row.id,
    number: row.number,
    type: row.type,
    lifecycle: row.lifecycle,
    paymentState: row.payment_state,
    contactId: row.contact_id,
    currency,
    total: amountOf(row.total_minor, currency),
    paid: amountOf(row.paid_minor, currency),
    credited: amountOf(row.credited_minor, currency),
    adjusted: amountOf(row.adjusted_minor, currency),
    open: amountOf(row.open_minor, currency),
    issuedAt: row.issued_at?.toISOString() ?? null,
    dueOn: row.due_on,
    discountPercent: withoutZeros(row.discount_percent),
    notes: row.notes,
    copiedFromId: row.copied_from_id,
    correctsId: row.corrects_id,
    version: row.version,
    createdAt: row.created_at.toISOString(),
    net: amountOf(netMinor, currency),
    taxes: taxes.map((tax) => ({
      percent: tax.percent,
      net: amountOf(tax.netMinor, currency),
      tax: amountOf(tax.taxMinor, currency),
    })),
    lines: lines.map((line) => ({
      description: line.description,
      quantity: withoutZeros(line.quantity),
      unitPriceMinor: withoutZeros(line.unit_price_minor),
      discountPercent: withoutZeros(line.discount_percent),
      taxPercent: withoutZeros(line.tax_percent),
      net: amountOf(line.net_minor, currency),
    })),
  }
}

export function toAllocation(row: AllocationRow) {
  return {
    id: row.id,
    paymentId: row.payment_id,
    invoiceId: row.invoice_id,
    amount: amountOf(row.amount_minor, row.currency),
    eventId: row.event_id,
    createdAt: row.created_at.toISOString(),
    reversedAt: row.reversed_at?.toISOString() ?? null,
    reversalReason: row.reversal_reason,
  }
}

function toAdjustment(row: AdjustmentRow) {
  return {
    id: row.id,
    kind: row.kind,
    amount: amountOf(row.amount_minor, row.currency),
    note: row.note,
    createdAt: row.created_at.toISOString(),
    reversedAt: row.reversed_at?.toISOString() ?? null,
    reversalReason: row.reversal_reason,
  }
}

/** `1.5000` as `1.5`: PostgreSQL prints every place that the column has. */
function withoutZeros(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal
}
