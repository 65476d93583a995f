import { recordConsequences } from '../../pipeline/index.ts'
import type { Tx } from '../../platform/database.ts'
import { AppError, requireVersion } from '../../platform/errors.ts'
import { faultPoint } from '../../platform/fault-points.ts'
import { MAX_AMOUNT_MINOR, toJsonAmount } from '../../platform/money.ts'
import { findContact } from '../contacts/index.ts'
import { Book } from './book.ts'
import { type InvoiceDraft, type InvoiceLineDraft, type InvoiceTotals, invoiceTotals } from './invoice-totals.ts'
import type { LedgerState, LockedInvoice } from './ledger.ts'
import { lockInvoices, type Numbered, takeNumber } from './ledger-queries.ts'
import { loadForIssue, loadForMoves } from './load-ledger.ts'
import { subjectOf } from './money-news.ts'
import {
  type AdjustmentRow,
  findInvoice,
  type InvoiceRow,
  insertAdjustment,
  insertCreditAllocation,
  insertDraft,
  listAdjustments,
  listInvoiceLines,
  markIssued,
  markVoid,
  readInvoice,
  reverseAdjustmentRow,
  updateDraft,
} from './queries.ts'
import { type MoneyContext, writeBook } from './register-payments.ts'

/** What the caller saw last. `null`: it does not care. */
export type ExpectedVersion = number | null

/** Writes a draft: no number, nothing owed yet. Throws `invalid` where the total cannot be one. */
export async function createInvoice(
  tx: Tx,
  context: MoneyContext,
  draft: InvoiceDraft,
  copiedFromId: string | null = null,
): Promise<InvoiceRow> {
  const totals = checkedTotals(draft)
  const id = context.newId()
  const document = { id, type: 'invoice', copiedFromId, correctsId: null, draft, totals } as const
  await insertDraft(tx, context.organizationId, document, context.now)
  return readInvoice(tx, context.organizationId, id)
}

/** Writes a draft anew. Throws `not_found`, `version_stale`, and `invoice_not_draft` for one that has a number already. */
export async function changeInvoice(
  tx: Tx,
  { organizationId }: MoneyContext,
  invoiceId: string,
  change: (draft: InvoiceDraft) => InvoiceDraft,
  version: ExpectedVersion,
): Promise<InvoiceRow> {
  const [locked] = await lockInvoices(tx, organizationId, [invoiceId])
  const invoice = existing(locked, invoiceId)
  requireVersion(version, invoice)
  if (invoice.lifecycle !== 'draft' || invoice.type !== 'invoice') throw notDraft(invoice)
  const draft = change(await readDraft(tx, organizationId, invoiceId))
  await updateDraft(tx, organizationId, invoiceId, draft, checkedTotals(draft))
  return readInvoice(tx, organizationId, invoiceId)
}

/** A new draft with the same lines. Nothing else is taken over: no number, no date, no payment. Throws `not_found`. */
export async function duplicateInvoice(tx: Tx, context: MoneyContext, invoiceId: string): Promise<InvoiceRow> {
  existing(await findInvoice(tx, context.organizationId, invoiceId), invoiceId)
  const draft = await readDraft(tx, context.organizationId, invoiceId)
  return createInvoice(tx, context, { ...draft, dueOn: null }, invoiceId)
}

/**
 * Gives a draft its number and makes it owed. Numbers of a series have no gap and no twin: the series stays locked until
 * the commit, and a rollback gives the number back. What the document says is kept as it was said.
 *
 * Money that named this invoice before it was issued is applied in the same transaction.
 *
 * Throws `not_found`, `version_stale`, and `invoice_not_draft` for one that has a number already.
 */
export async function issueInvoice(
  tx: Tx,
  context: MoneyContext,
  invoiceId: string,
  version: ExpectedVersion = null,
): Promise<InvoiceRow> {
  const { organizationId, eventId } = context
  const numbered = await takeNumber(tx, organizationId, 'invoice')
  faultPoint('money.afterNumber')
  const state = await loadForIssue(tx, organizationId, invoiceId, numbered.number)
  const invoice = existing(state.invoices.get(invoiceId), invoiceId)
  requireVersion(version, invoice)
  if (invoice.lifecycle !== 'draft') throw notDraft(invoice)
  const row = await readInvoice(tx, organizationId, invoiceId)
  markIssued(tx, organizationId, row, numbered, await contentOf(tx, organizationId, row), context.now)
  const book = new Book(asIssued(state, invoice, numbered), context)
  book.takeWaiting({ eventId, deliveryId: null })
  writeBook(tx, context, book)
  tellOfDocument(tx, context, 'invoice.issued', { ...invoice, number: numbered.number })
  return readInvoice(tx, organizationId, invoiceId)
}

/**
 * Takes a document out of the way: a draft that is not wanted, or an issued invoice on which nothing lies. Its number stays
 * used. Throws `not_found`, `version_stale`, and `invoice_not_voidable` where a credit note is the way.
 */
export async function voidInvoice(
  tx: Tx,
  context: MoneyContext,
  invoiceId: string,
  version: ExpectedVersion,
): Promise<InvoiceRow> {
  const { organizationId } = context
  const [locked] = await lockInvoices(tx, organizationId, [invoiceId])
  const invoice = existing(locked, invoiceId)
  requireVersion(version, invoice)
  if (invoice.type !== 'invoice') {
    throw new AppError('invoice_not_voidable', 'A credit note stays; write an invoice if it was wrong.')
  }
  if (invoice.lifecycle === 'void') throw new AppError('invoice_not_voidable', 'The invoice is void already.')
  if (invoice.openMinor !== invoice.totalMinor) {
    throw new AppError(
      'invoice_not_voidable',
      'Something was paid, credited or adjusted on this invoice. Move or refund the payment first, or write a credit note.',
    )
  }
  markVoid(tx, organizationId, invoiceId)
  tellOfDocument(tx, context, 'invoice.voided', invoice)
  return readInvoice(tx, organizationId, invoiceId)
}

export interface CreditNoteInput {
  /** Left out: everything that the invoice says, where nothing of it was credited or adjusted yet. */
  readonly lines: readonly InvoiceLineDraft[] | null
  readonly discountPercent: string
  readonly notes: string | null
}

/**
 * Issues a credit note for an invoice, with a number of its own series and positive amounts. It lowers what is open first;
 * what was paid beyond that becomes unapplied money of its payments, newest first.
 *
 * Throws `not_found`, `version_stale`, `invoice_not_open` for what is not issued, and `credit_exceeds` beyond what is neither
 * credited nor adjusted yet.
 */
export async function creditInvoice(
  tx: Tx,
  context: MoneyContext,
  invoiceId: string,
  input: CreditNoteInput,
  version: ExpectedVersion,
): Promise<InvoiceRow> {
  const { organizationId, eventId } = context
  const row = existing(await findInvoice(tx, organizationId, invoiceId), invoiceId)
  if (row.type !== 'invoice' || row.lifecycle !== 'issued') throw notCreditable()
  const draft = await creditDraft(tx, organizationId, row, input)
  const totals = checkedTotals(draft)
  if (totals.totalMinor === 0n) throw new AppError('invalid', 'lines: a credit note of nothing')
  const numbered = await takeNumber(tx, organizationId, 'credit_note')
  const id = context.newId()
  const document = { id, type: 'credit_note', copiedFromId: null, correctsId: invoiceId, draft, totals } as const
  await insertDraft(tx, organizationId, document, context.now)

  const wanted = { invoiceIds: [invoiceId, id], withPaymentsOn: [invoiceId] }
  const state = await loadForMoves(tx, organizationId, wanted)
  const invoice = existing(state.invoices.get(invoiceId), invoiceId)
  requireVersion(version, invoice)
  if (invoice.lifecycle !== 'issued') throw notCreditable()
  const current = await readInvoice(tx, organizationId, invoiceId)
  const creditableMinor = current.total_minor - current.credited_minor - current.adjusted_minor
  if (totals.totalMinor > creditableMinor) {
    throw new AppError(
      'credit_exceeds',
      `At most ${creditableMinor} ${current.currency} minor units can be credited.`,
      {
        extra: { creditable: { amountMinor: toJsonAmount(creditableMinor), currency: current.currency } },
      },
    )
  }
  const note = await readInvoice(tx, organizationId, id)
  markIssued(tx, organizationId, note, numbered, await contentOf(tx, organizationId, note), context.now)
  insertCreditAllocation(
    tx,
    organizationId,
    {
      id: context.newId(),
      creditNoteId: id,
      invoiceId,
      currency: current.currency,
      amountMinor: totals.totalMinor,
      eventId,
    },
    context.now,
  )
  const book = new Book(asIssued(state, existing(state.invoices.get(id), id), numbered), context)
  book.credit(invoiceId, id, totals.totalMinor, { eventId, deliveryId: null })
  writeBook(tx, context, book)
  return readInvoice(tx, organizationId, id)
}

export interface AdjustmentInput {
  readonly kind: AdjustmentRow['kind']
  /** Left out: all that is open. */
  readonly amountMinor: bigint | null
  readonly note: string | null
}

/**
 * Takes off an invoice what is no longer owed although nobody paid it. Throws `not_found`, `version_stale`, `invoice_not_open`,
 * and `adjustment_exceeds` beyond what is open.
 */
export async function adjustInvoice(
  tx: Tx,
  context: MoneyContext,
  invoiceId: string,
  input: AdjustmentInput,
  version: ExpectedVersion,
): Promise<InvoiceRow> {
  const { organizationId, eventId, now } = context
  const [locked] = await lockInvoices(tx, organizationId, [invoiceId])
  const invoice = existing(locked, invoiceId)
  requireVersion(version, invoice)
  if (invoice.type !== 'invoice' || invoice.lifecycle !== 'issued') {
    throw new AppError('invoice_not_open', 'Only an issued invoice can be adjusted.')
  }
  const amountMinor = input.amountMinor ?? invoice.openMinor
  if (amountMinor === 0n || amountMinor > invoice.openMinor) {
    throw new AppError('adjustment_exceeds', `Only ${invoice.openMinor} ${invoice.currency} minor units are open.`)
  }
  const row = {
    id: context.newId(),
    invoiceId,
    currency: invoice.currency,
    kind: input.kind,
    amountMinor,
    note: input.note,
    eventId,
  }
  insertAdjustment(tx, organizationId, row, now)
  const book = new Book(onlyInvoice(invoice), context)
  book.adjust(invoiceId, amountMinor, { eventId, deliveryId: null })
  writeBook(tx, context, book)
  return readInvoice(tx, organizationId, invoiceId)
}

/** Takes an adjustment back, once. Throws `not_found`, and `reversed_already`. */
export async function reverseAdjustment(
  tx: Tx,
  context: MoneyContext,
  invoiceId: string,
  adjustmentId: string,
  reason: string,
): Promise<InvoiceRow> {
  const { organizationId, eventId, now } = context
  const state = await loadForMoves(tx, organizationId, { invoiceIds: [invoiceId] })
  existing(state.invoices.get(invoiceId), invoiceId)
  const adjustments = await listAdjustments(tx, organizationId, invoiceId)
  const adjustment = adjustments.find(({ id }) => id === adjustmentId)
  if (adjustment === undefined) throw new AppError('not_found', `The invoice has no adjustment ${adjustmentId}.`)
  if (adjustment.reversed_at !== null) {
    throw new AppError('reversed_already', 'This adjustment has been taken back already.')
  }
  reverseAdjustmentRow(tx, organizationId, adjustmentId, reason, now)
  const book = new Book(state, context)
  book.adjust(invoiceId, -adjustment.amount_minor, { eventId, deliveryId: null })
  writeBook(tx, context, book)
  return readInvoice(tx, organizationId, invoiceId)
}

function existing<Row>(row: Row | undefined, invoiceId: string): Row {
  if (row === undefined) throw new AppError('not_found', `There is no invoice ${invoiceId}.`)
  return row
}

function notCreditable(): AppError {
  return new AppError('invoice_not_open', 'Only an issued invoice can be credited.')
}

function notDraft(invoice: LockedInvoice): AppError {
  return new AppError('invoice_not_draft', `The invoice is ${invoice.lifecycle} with number ${invoice.number}.`)
}

function checkedTotals(draft: InvoiceDraft): InvoiceTotals {
  const totals = invoiceTotals(draft.lines, draft.discountPercent)
  const largest = [...totals.lineNetMinor, totals.netMinor, totals.totalMinor].find(
    (amount) => amount > MAX_AMOUNT_MINOR || amount < -MAX_AMOUNT_MINOR,
  )
  if (largest !== undefined) {
    throw new AppError('invalid', `lines: an amount of ${largest} is larger than any that can be shown exactly`)
  }
  if (totals.totalMinor < 0n) {
    throw new AppError('invalid', `lines: the total is ${totals.totalMinor}; what is given back needs a credit note`)
  }
  return totals
}

async function readDraft(tx: Tx, organizationId: string, invoiceId: string): Promise<InvoiceDraft> {
  const row = await readInvoice(tx, organizationId, invoiceId)
  const lines = await listInvoiceLines(tx, organizationId, [invoiceId])
  return {
    contactId: row.contact_id,
    currency: row.currency,
    dueOn: row.due_on,
    discountPercent: row.discount_percent,
    notes: row.notes,
    lines: lines.map((line) => ({
      description: line.description,
      quantity: line.quantity,
      unitPriceMinor: line.unit_price_minor,
      discountPercent: line.discount_percent,
      taxPercent: line.tax_percent,
    })),
  }
}

async function creditDraft(
  tx: Tx,
  organizationId: string,
  row: InvoiceRow,
  input: CreditNoteInput,
): Promise<InvoiceDraft> {
  const whole = await readDraft(tx, organizationId, row.id)
  if (input.lines !== null) {
    return { ...whole, dueOn: null, discountPercent: input.discountPercent, notes: input.notes, lines: input.lines }
  }
  if (row.credited_minor + row.adjusted_minor > 0n) {
    throw new AppError('invalid', 'lines: part of the invoice is credited or adjusted already; say what to credit')
  }
  return { ...whole, dueOn: null, notes: input.notes }
}

/** The document in full, as it is about to be issued. */
async function contentOf(tx: Tx, organizationId: string, row: InvoiceRow): Promise<Record<string, unknown>> {
  const draft = await readDraft(tx, organizationId, row.id)
  const contact = row.contact_id === null ? undefined : await findContact(tx, organizationId, row.contact_id)
  const { taxes, netMinor } = invoiceTotals(draft.lines, draft.discountPercent)
  return {
    ...draft,
    contact: contact ?? null,
    taxes: taxes.map((tax) => ({ ...tax, netMinor: toJsonAmount(tax.netMinor), taxMinor: toJsonAmount(tax.taxMinor) })),
    netMinor: toJsonAmount(netMinor),
  }
}

function asIssued(state: LedgerState, invoice: LockedInvoice, numbered: Numbered): LedgerState {
  const issued = { ...invoice, number: numbered.number, lifecycle: 'issued' as const }
  return { ...state, invoices: new Map([...state.invoices, [invoice.id, issued]]) }
}

function onlyInvoice(invoice: LockedInvoice): LedgerState {
  return {
    payments: [],
    returns: [],
    allocations: [],
    invoices: new Map([[invoice.id, invoice]]),
    invoiceIds: new Map(),
  }
}

function tellOfDocument(
  tx: Tx,
  context: MoneyContext,
  type: 'invoice.issued' | 'invoice.voided',
  invoice: Pick<LockedInvoice, 'id' | 'number' | 'contactId'>,
): void {
  const { organizationId, eventId, now, newId } = context
  const subject = { type: 'invoice', id: invoice.id } as const
  const data = { invoiceId: invoice.id, number: invoice.number }
  recordConsequences(
    tx,
    organizationId,
    [
      {
        activities: [{ id: newId(), subject: subjectOf(invoice), key: `${type}:${invoice.id}`, type, eventId, data }],
        notifications: [],
        domainEvents: [{ id: newId(), type, key: invoice.id, subject, eventId, data }],
        reviewItems: [],
        answeredItems: [],
      },
    ],
    now,
  )
}
