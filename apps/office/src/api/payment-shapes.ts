import {
  findPayment,
  listAllocationsOfPayment,
  listInvoicesOfPayments,
  listMentions,
  listReturnsOf,
  type PaymentRow,
  type ReturnRow,
} from '../modules/money/index.ts'
import { countCopies } from '../modules/register/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { isUsableId } from '../providers/index.ts'
import { type ApiParts, amountOf } from './api-parts.ts'
import { toAllocation } from './invoice-shapes.ts'

/** Payments and what went back of them, in the shapes of the contract. */

export async function getPayment(tx: Tx, organizationId: string, paymentId: string): Promise<PaymentRow> {
  const row = await findPayment(tx, organizationId, paymentId)
  if (row === undefined) throw new AppError('not_found', `There is no payment ${paymentId}.`)
  return row
}

export async function checkPaymentCurrency(
  tx: Tx,
  organizationId: string,
  paymentId: string,
  currency: string,
): Promise<void> {
  const row = await getPayment(tx, organizationId, paymentId)
  if (row.currency !== currency) throw new AppError('invalid', `amount.currency: the payment is in ${row.currency}`)
}

/** The payment as it is now, for whoever comes second. */
export function currentPayment({ db }: ApiParts, organizationId: string, paymentId: string) {
  return () => db.transaction(organizationId, (tx) => readPaymentDetail(tx, organizationId, paymentId))
}

/** What a provider would have to be refused for is refused here as well, so that both meet in one key. */
export function checkName(externalId: string): void {
  if (!isUsableId(externalId)) throw new AppError('invalid', 'externalId: cannot name one payment')
}

export async function readPaymentDetail(tx: Tx, organizationId: string, paymentId: string) {
  const row = await getPayment(tx, organizationId, paymentId)
  const toItem = await describePayments(tx, organizationId, [row])
  const returns = await listReturnsOf(tx, organizationId, row)
  const allocations = await listAllocationsOfPayment(tx, organizationId, row.id)
  return { ...toItem(row), returns: returns.map(toReturn), allocations: allocations.map(toAllocation) }
}

function toReturn(row: ReturnRow) {
  return {
    id: row.id,
    source: row.source,
    externalId: row.external_id,
    kind: row.kind,
    returnId: row.return_id,
    amount: amountOf(row.amount_minor, row.currency),
    occurredAt: row.occurred_at?.toISOString() ?? null,
    recordedAt: row.recorded_at.toISOString(),
    eventId: row.event_id,
  }
}

/** Reads what belongs to the payments, in a number of statements that does not grow with theirs. */
export async function describePayments(tx: Tx, organizationId: string, rows: readonly PaymentRow[]) {
  const ids = rows.map((row) => row.id)
  const allocations = Map.groupBy(await listInvoicesOfPayments(tx, organizationId, ids), (row) => row.payment_id)
  const mentions = Map.groupBy(await listMentions(tx, organizationId, ids), (row) => row.payment_id)
  const eventsOf = (row: PaymentRow) => [
    row.event_id,
    ...(mentions.get(row.id) ?? []).map((mention) => mention.event_id),
  ]
  const copies = await countCopies(tx, organizationId, rows.flatMap(eventsOf))
  return (row: PaymentRow) => ({
    id: row.id,
    source: row.source,
    externalId: row.external_id,
    kind: row.kind,
    amount: amountOf(row.amount_minor, row.currency),
    applied: amountOf(row.applied_minor, row.currency),
    unapplied: amountOf(row.unapplied_minor, row.currency),
    returned: amountOf(row.returned_minor, row.currency),
    invoiceIds: (allocations.get(row.id) ?? []).map((allocation) => allocation.invoice_id),
    contactId: row.contact_id ?? allocations.get(row.id)?.[0]?.contact_id ?? null,
    occurredAt: row.occurred_at?.toISOString() ?? null,
    recordedAt: row.recorded_at.toISOString(),
    eventId: row.event_id,
    deliveries: eventsOf(row).reduce((sum, eventId) => sum + (copies.get(eventId) ?? 0), 0),
    version: row.version,
  })
}
