import type { Money, MoneyName, PaymentFact, ReturnFact } from '../../facts/index.ts'
import type { FactResult } from '../../pipeline/index.ts'
import type { Tx } from '../../platform/database.ts'
import { AppError, requireVersion } from '../../platform/errors.ts'
import { Book } from './book.ts'
import type { ExpectedVersion } from './invoices.ts'
import type { LedgerState } from './ledger.ts'
import { loadForMoves } from './load-ledger.ts'
import { obstacleOf, unappliedOf } from './open-ledger.ts'
import { findPayment, findReturn, type PaymentRow } from './queries.ts'
import { enterFacts, type MoneyContext, writeBook } from './register-payments.ts'

/** The source of what a person enters: no provider has it. */
const BY_HAND = 'manual'

/**
 * Records a payment by hand on an issued invoice. Without an amount, the open rest is paid, whatever it is at that moment; of a
 * settled invoice that is nothing, which is a success and leaves no trace.
 *
 * Throws `not_found`, `version_stale`, `invoice_not_open`, and `invalid` in another currency.
 */
export async function payInvoice(
  tx: Tx,
  context: MoneyContext,
  invoiceId: string,
  amount: Money | null,
  version: ExpectedVersion,
): Promise<FactResult> {
  const fact: PaymentFact = {
    type: 'payment',
    kind: 'payment',
    source: BY_HAND,
    // What a person enters has no name at any source; the event that stands for the entry gives it one.
    externalId: context.eventId,
    amount: amount ?? 'open_rest',
    invoiceReference: invoiceId,
    payer: { name: null, email: null },
    occurredAt: null,
  }
  const [result] = await enterFacts(tx, context, [fact], (state) => {
    const invoice = state.invoices.get(invoiceId)
    if (invoice === undefined) throw new AppError('not_found', `There is no invoice ${invoiceId}.`)
    requireVersion(version, invoice)
    checkTakesMoney(state, invoiceId, amount?.currency ?? invoice.currency)
  })
  return only(result)
}

/**
 * Records money that is known from elsewhere, under its source's own name: our own call to the provider, a poll and the
 * provider's message then meet in one key. A repetition is a duplicate; another amount is kept as a conflict.
 */
export async function recordPayment(
  tx: Tx,
  context: MoneyContext,
  payment: Omit<PaymentFact, 'type' | 'kind' | 'amount'> & { readonly amount: Money },
): Promise<FactResult> {
  const [result] = await enterFacts(tx, context, [{ ...payment, type: 'payment', kind: 'payment' }])
  return only(result)
}

/**
 * Applies unapplied money to an invoice: by default all of it, at most what is open.
 *
 * Throws `not_found`, `version_stale`, `invoice_not_open`, `invalid` in another currency, and `amount_exceeds` beyond what is
 * unapplied.
 */
export async function applyPayment(
  tx: Tx,
  context: MoneyContext,
  paymentId: string,
  input: { readonly invoiceId: string; readonly amountMinor: bigint | null },
  version: ExpectedVersion,
): Promise<Money> {
  const { organizationId, eventId } = context
  const { invoiceId, amountMinor } = input
  const row = await getPayment(tx, organizationId, paymentId)
  const name = nameOf(row)
  const state = await loadForMoves(tx, organizationId, { payments: [name], invoiceIds: [invoiceId] })
  const book = new Book(state, context)
  checkPaymentVersion(state, name, version)
  const openMinor = checkTakesMoney(state, invoiceId, row.currency)
  const unappliedMinor = unappliedOf(book.payment(name))
  if (unappliedMinor === 0n || (amountMinor ?? 0n) > unappliedMinor) {
    throw new AppError('amount_exceeds', `Only ${unappliedMinor} ${row.currency} minor units are unapplied.`)
  }
  if (openMinor === 0n) throw new AppError('invoice_not_open', 'Nothing is open on this invoice.')
  const appliedMinor = book.apply(name, invoiceId, amountMinor, { eventId, deliveryId: null })
  writeBook(tx, context, book)
  return { amountMinor: appliedMinor, currency: row.currency }
}

/**
 * Moves a payment to another invoice: takes back what lies elsewhere (or on `fromInvoiceId` alone), and applies it, at most what
 * is open there. What does not fit becomes unapplied; coming back to a former invoice works. Returns what came to lie there.
 *
 * Throws `not_found`, `version_stale`, `invoice_not_open` for what is not issued, `invalid` in another currency, and
 * `nothing_applied` where nothing lies on the invoice that it shall be moved from.
 */
export async function movePayment(
  tx: Tx,
  context: MoneyContext,
  paymentId: string,
  input: { readonly fromInvoiceId: string | null; readonly toInvoiceId: string },
  version: ExpectedVersion,
): Promise<Money> {
  const { organizationId, eventId } = context
  const { fromInvoiceId, toInvoiceId } = input
  const row = await getPayment(tx, organizationId, paymentId)
  const name = nameOf(row)
  const state = await loadForMoves(tx, organizationId, { payments: [name], invoiceIds: [toInvoiceId] })
  const book = new Book(state, context)
  checkPaymentVersion(state, name, version)
  checkTakesMoney(state, toInvoiceId, row.currency)
  const { allocations } = book.payment(name)
  if (!allocations.some(({ invoiceId }) => fromInvoiceId === null || invoiceId === fromInvoiceId)) {
    throw new AppError('nothing_applied', 'Nothing of this payment lies there; apply it instead.')
  }
  const appliedMinor = book.move(name, fromInvoiceId, toInvoiceId, { eventId, deliveryId: null })
  writeBook(tx, context, book)
  return { amountMinor: appliedMinor, currency: row.currency }
}

export interface ReturnInput {
  readonly kind: 'refund' | 'chargeback'
  /** Left out: all that was not returned yet. */
  readonly amountMinor: bigint | null
  /** Where the provider has named it already; its own message then is a duplicate. */
  readonly name: MoneyName | null
  /** The provider's id of the dispute that a named chargeback belongs to. */
  readonly disputeId: string | null
}

/**
 * Records that money of a payment went back: unapplied money first, then allocations, newest first.
 *
 * Throws `not_found`, `version_stale`, and `amount_exceeds` beyond what was received and has not gone back yet.
 */
export async function returnPayment(
  tx: Tx,
  context: MoneyContext,
  paymentId: string,
  input: ReturnInput,
  version: ExpectedVersion,
): Promise<FactResult> {
  const { organizationId, eventId } = context
  const row = await getPayment(tx, organizationId, paymentId)
  const original = nameOf(row)
  const name = input.name ?? { source: BY_HAND, externalId: eventId }
  const nothing = { amountMinor: 0n, currency: row.currency }
  const fact: ReturnFact = {
    type: 'return',
    kind: input.kind,
    ...name,
    returnId: input.disputeId ?? name.externalId,
    original,
    amount: nothing,
    occurredAt: null,
  }
  const state = await loadForMoves(tx, organizationId, { payments: [original], facts: [fact] })
  const book = new Book(state, context)
  checkPaymentVersion(state, original, version)
  const { amountMinor, returnedMinor } = book.payment(original)
  const leftMinor = amountMinor - returnedMinor
  // Said again without an amount, it is the same one again, and not what is left by now.
  const known = state.returns.find((each) => each.kind === fact.kind && isSameName(each, name))
  const wantedMinor = input.amountMinor ?? known?.amountMinor ?? leftMinor
  if (known === undefined && (wantedMinor === 0n || wantedMinor > leftMinor)) {
    throw new AppError('amount_exceeds', `Only ${leftMinor} ${row.currency} minor units have not gone back yet.`)
  }
  const told = { fact: { ...fact, amount: { amountMinor: wantedMinor, currency: row.currency } } }
  const result = book.enterReturn({ ...told, id: context.newId(), eventId, deliveryId: null })
  writeBook(tx, context, book)
  return result
}

/**
 * Records that a refund or chargeback came back: the money is unapplied again, unless the payment's own reference still takes it.
 *
 * Throws `not_found`, and `reversed_already` where it holds nothing of the payment any more.
 */
export async function reverseReturn(tx: Tx, context: MoneyContext, returnId: string): Promise<FactResult> {
  const { organizationId, eventId } = context
  const row = await findReturn(tx, organizationId, returnId)
  if (row === undefined) throw new AppError('not_found', `There is no refund or chargeback ${returnId}.`)
  if (row.kind !== 'refund' && row.kind !== 'chargeback') {
    throw new AppError('invalid', `A ${row.kind.replace('_', ' ')} cannot come back.`)
  }
  const original = { source: row.original_source, externalId: row.original_id }
  const state = await loadForMoves(tx, organizationId, { payments: [original] })
  const book = new Book(state, context)
  const movement = state.returns.find(({ id }) => id === returnId)
  const heldMinor = movement === undefined ? 0n : book.heldBy(movement)
  if (heldMinor === 0n) throw new AppError('reversed_already', 'All of it has come back already.')
  const fact: ReturnFact = {
    type: 'return',
    kind: `${row.kind}_reversal`,
    source: BY_HAND,
    externalId: eventId,
    returnId: row.return_id,
    original,
    amount: { amountMinor: heldMinor < row.amount_minor ? heldMinor : row.amount_minor, currency: row.currency },
    occurredAt: null,
  }
  const result = book.enterReturn({ fact, id: context.newId(), eventId, deliveryId: null })
  writeBook(tx, context, book)
  return result
}

/** What a source told of one payment, and what it told the first time. */
export interface Contradiction {
  /** Names the correction, so that it is booked once. */
  readonly itemId: string
  readonly paymentId: string
  readonly told: Money
}

/**
 * Books the difference between what was recorded and what was told later, as a fact of its own; the payment stays as it is.
 * More becomes a further payment to the same invoice, less goes back. Throws `not_found`, and `invalid` where there is no
 * difference that could be booked.
 */
export async function bookDifference(
  tx: Tx,
  context: MoneyContext,
  { itemId, paymentId, told }: Contradiction,
): Promise<FactResult> {
  const row = await getPayment(tx, context.organizationId, paymentId)
  if (told.currency !== row.currency) {
    throw new AppError(
      'invalid',
      `The payment is in ${row.currency}, and ${told.currency} was told: no difference to book.`,
    )
  }
  const differenceMinor = told.amountMinor - row.amount_minor
  if (differenceMinor === 0n) throw new AppError('invalid', 'There is no difference to book.')
  const named = { source: 'correction', externalId: `conflict:${itemId}`, occurredAt: null }
  const currency = row.currency
  const [result] = await enterFacts(tx, context, [
    differenceMinor > 0n
      ? {
          ...named,
          type: 'payment',
          kind: 'correction',
          amount: { amountMinor: differenceMinor, currency },
          invoiceReference: row.invoice_reference,
          payer: { name: row.payer_name, email: row.payer_email },
        }
      : {
          ...named,
          type: 'return',
          kind: 'correction',
          returnId: named.externalId,
          original: nameOf(row),
          amount: { amountMinor: -differenceMinor, currency },
        },
  ])
  return only(result)
}

async function getPayment(tx: Tx, organizationId: string, paymentId: string): Promise<PaymentRow> {
  const row = await findPayment(tx, organizationId, paymentId)
  if (row === undefined) throw new AppError('not_found', `There is no payment ${paymentId}.`)
  return row
}

/** Throws unless the invoice is issued and of that currency. Returns what is open. */
function checkTakesMoney(state: LedgerState, invoiceId: string, currency: string): bigint {
  const invoice = state.invoices.get(invoiceId)
  if (invoice === undefined) throw new AppError('not_found', `There is no invoice ${invoiceId}.`)
  const obstacle = obstacleOf(invoice, currency)
  if (obstacle === 'currency_differs') {
    throw new AppError('invalid', `amount.currency: the invoice is in ${invoice.currency}`)
  }
  if (obstacle !== null) {
    const what = invoice.type === 'invoice' ? invoice.lifecycle : 'a credit note'
    throw new AppError('invoice_not_open', `This is ${what}; only an issued invoice takes payments.`)
  }
  return invoice.openMinor
}

function checkPaymentVersion(state: LedgerState, name: MoneyName, version: ExpectedVersion): void {
  const known = state.payments.find((payment) => isSameName(payment, name))
  if (known !== undefined) requireVersion(version, known)
}

function nameOf(row: PaymentRow): MoneyName {
  return { source: row.source, externalId: row.external_id }
}

function isSameName(a: MoneyName, b: MoneyName): boolean {
  return a.source === b.source && a.externalId === b.externalId
}

function only(result: FactResult | undefined): FactResult {
  if (result === undefined) throw new Error('one fact went in and no result came out')
  return result
}
