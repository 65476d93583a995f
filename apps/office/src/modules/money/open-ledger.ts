import type { MoneyName, PaymentFact } from '../../facts/index.ts'
import type {
  InvoiceChange,
  KnownPayment,
  LiveAllocation,
  LockedInvoice,
  NewAllocation,
  PaymentChange,
  UnappliedReason,
} from './ledger.ts'

/** Rows of the ledger as they change while a book is written, and what of them has to be written in the end. */

/** An invoice as it changes while the book is written. */
export interface OpenInvoice {
  readonly row: LockedInvoice
  openMinor: bigint
  /** When this step began. */
  openBefore: bigint
  change: InvoiceChange | null
  isTouched: boolean
}

/** A payment as it changes while the book is written. */
export interface OpenPayment {
  readonly id: string
  readonly name: MoneyName
  readonly kind: PaymentFact['kind']
  readonly amountMinor: bigint
  readonly currency: string
  appliedMinor: bigint
  returnedMinor: bigint
  invoiceReference: string | null
  isPlacedByHand: boolean
  contactId: string | null
  /** Live ones, oldest first. */
  allocations: OpenAllocation[]
  /** As on record, or the event that tells of it where it is new. */
  readonly origin: { readonly known: KnownPayment } | { readonly fact: PaymentFact; readonly eventId: string }
  /** When this step began. */
  unappliedBefore: bigint
  isTouched: boolean
}

export interface OpenAllocation extends LiveAllocation {
  /** The row to be written, where it is new. */
  readonly row: NewAllocation | null
}

export function openPayment(known: KnownPayment): OpenPayment {
  return {
    id: known.id,
    name: known,
    kind: known.kind,
    amountMinor: known.amountMinor,
    currency: known.currency,
    appliedMinor: known.appliedMinor,
    returnedMinor: known.returnedMinor,
    invoiceReference: known.invoiceReference,
    isPlacedByHand: known.isPlacedByHand,
    contactId: known.contactId,
    allocations: [],
    origin: { known },
    unappliedBefore: 0n,
    isTouched: false,
  }
}

export function unappliedOf(payment: Pick<OpenPayment, 'amountMinor' | 'appliedMinor' | 'returnedMinor'>): bigint {
  return payment.amountMinor - payment.appliedMinor - payment.returnedMinor
}

export function changeOf(payment: OpenPayment): PaymentChange[] {
  if (!('known' in payment.origin)) return []
  const { known } = payment.origin
  // Whose money it is, is asked only while some of it lies nowhere.
  const contactId = unappliedOf(payment) > 0n ? payment.contactId : known.contactId
  const isSame =
    payment.appliedMinor === known.appliedMinor &&
    payment.returnedMinor === known.returnedMinor &&
    payment.invoiceReference === known.invoiceReference &&
    payment.isPlacedByHand === known.isPlacedByHand &&
    contactId === known.contactId
  if (isSame) return []
  return [
    {
      id: payment.id,
      currency: payment.currency,
      appliedMinor: payment.appliedMinor - known.appliedMinor,
      returnedMinor: payment.returnedMinor - known.returnedMinor,
      invoiceReference: payment.invoiceReference,
      isPlacedByHand: payment.isPlacedByHand,
      contactId,
    },
  ]
}

export function changeOfInvoice(invoice: OpenInvoice): InvoiceChange {
  invoice.change ??= {
    id: invoice.row.id,
    currency: invoice.row.currency,
    paidMinor: 0n,
    creditedMinor: 0n,
    adjustedMinor: 0n,
    settled: 0,
  }
  return invoice.change
}

/** Why an invoice takes no money of this currency, whatever is open on it; `null` where it does. */
export function obstacleOf(invoice: LockedInvoice, currency: string): UnappliedReason | null {
  if (invoice.type !== 'invoice') return 'not_an_invoice'
  if (invoice.lifecycle === 'draft') return 'invoice_not_issued'
  if (invoice.lifecycle === 'void') return 'invoice_void'
  return invoice.currency === currency ? null : 'currency_differs'
}
