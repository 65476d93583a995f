import { type DecisionContext, recordConsequences } from '../../pipeline/index.ts'
import type { Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import { faultPoint } from '../../platform/fault-points.ts'
import { MAX_AMOUNT_MINOR } from '../../platform/money.ts'
import type { DomainEvent } from '../domain-events/index.ts'
import { decideWaiting } from './decide-payments.ts'
import { type InvoiceDraft, invoiceTotals } from './invoice-totals.ts'
import {
  changePayments,
  type InvoiceRow,
  insertDraft,
  listWaitingPayments,
  lockInvoices,
  lockMoneySubjects,
  markIssued,
  readInvoice,
  readWaitingPayments,
  takeNumber,
  writeBookings,
} from './queries.ts'

/** What every write of the money desk needs beside its transaction. */
export interface MoneyContext extends DecisionContext {
  readonly organizationId: string
  /** The event that stands for the request, to which all rows point. */
  readonly eventId: string
}

/** Writes a draft: no number, nothing owed yet. Throws `invalid` where the total is beyond what can be shown exactly. */
export async function createInvoice(tx: Tx, context: MoneyContext, draft: InvoiceDraft): Promise<InvoiceRow> {
  const { netMinor, totalMinor } = invoiceTotals(draft.lines)
  if (totalMinor > MAX_AMOUNT_MINOR) {
    throw new AppError(
      'invalid',
      `lines: the total of ${totalMinor} is larger than any amount that can be shown exactly`,
    )
  }
  const id = context.newId()
  await insertDraft(tx, context.organizationId, { id, draft, netMinor, totalMinor }, context.now)
  return readInvoice(tx, context.organizationId, id)
}

/**
 * Gives a draft its number and makes it owed. Numbers of a series have no gap and no twin: the series stays locked until
 * the commit, and a rollback gives the number back.
 *
 * Money that named this invoice before it was issued is applied in the same transaction.
 *
 * Throws `not_found`, and `invoice_not_draft` for one that has a number already.
 */
export async function issueInvoice(tx: Tx, context: MoneyContext, invoiceId: string): Promise<InvoiceRow> {
  const { organizationId, eventId, now } = context
  const numbered = await takeNumber(tx, organizationId)
  faultPoint('money.afterNumber')
  const waiting = await listWaitingPayments(tx, organizationId, [numbered.number, invoiceId])
  const [, payments, [invoice]] = await Promise.all([
    lockMoneySubjects(tx, organizationId, waiting),
    readWaitingPayments(
      tx,
      organizationId,
      waiting.map((payment) => payment.id),
    ),
    lockInvoices(tx, organizationId, [invoiceId]),
  ])
  if (invoice === undefined) throw new AppError('not_found', `There is no invoice ${invoiceId}.`)
  if (invoice.lifecycle !== 'draft') {
    throw new AppError('invoice_not_draft', `The invoice is ${invoice.lifecycle} with number ${invoice.number}.`)
  }
  markIssued(tx, organizationId, invoiceId, numbered, now)
  const issued = { ...invoice, ...numbered, lifecycle: 'issued' as const }
  const { rows, consequences } = decideWaiting(issued, payments, eventId, context)
  writeBookings(tx, organizationId, rows, now)
  changePayments(tx, organizationId, rows.paymentChanges)
  const issuedEvent: DomainEvent = {
    id: context.newId(),
    type: 'invoice.issued',
    key: invoiceId,
    subject: { type: 'invoice', id: invoiceId },
    eventId,
    data: { number: numbered.number },
  }
  const domainEvents = [issuedEvent, ...consequences.domainEvents]
  recordConsequences(tx, organizationId, [{ ...consequences, domainEvents }], now)
  return readInvoice(tx, organizationId, invoiceId)
}
