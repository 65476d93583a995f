import type { Money, MoneyName, PaymentFact, ReturnFact, ReturnKind } from '../../facts/index.ts'

/** What the money desk reads under its locks before it decides, and the rows that it writes when it has. */

/** An invoice under its lock, as it was before this transaction. */
export interface LockedInvoice {
  readonly id: string
  readonly number: string | null
  readonly type: 'invoice' | 'credit_note'
  readonly lifecycle: 'draft' | 'issued' | 'void'
  readonly currency: string
  readonly totalMinor: bigint
  readonly openMinor: bigint
  readonly settleCount: number
  readonly contactId: string | null
  readonly version: number
}

/** A payment on record, under the lock of its money subject. */
export interface KnownPayment extends MoneyName {
  readonly id: string
  readonly kind: PaymentFact['kind']
  readonly amountMinor: bigint
  readonly currency: string
  readonly appliedMinor: bigint
  readonly returnedMinor: bigint
  readonly invoiceReference: string | null
  /** A person said where it belongs; its reference no longer does. */
  readonly isPlacedByHand: boolean
  readonly contactId: string | null
  readonly version: number
}

/** A movement on record, of a payment that may or may not be. */
export interface KnownReturn extends MoneyName {
  readonly id: string
  readonly kind: ReturnKind
  readonly returnId: string
  readonly originalSource: string
  readonly originalId: string
  readonly amountMinor: bigint
  readonly currency: string
}

export interface LiveAllocation {
  readonly id: string
  readonly paymentId: string
  readonly invoiceId: string
  readonly amountMinor: bigint
}

export interface LedgerState {
  readonly payments: readonly KnownPayment[]
  readonly returns: readonly KnownReturn[]
  /** Of the payments above, as far as anything may be taken from them; oldest first. */
  readonly allocations: readonly LiveAllocation[]
  readonly invoices: ReadonlyMap<string, LockedInvoice>
  /** From what the payer's side wrote to the invoice's id. */
  readonly invoiceIds: ReadonlyMap<string, string>
}

export interface NewPayment {
  readonly id: string
  readonly fact: PaymentFact
  readonly amount: Money
  readonly eventId: string
  readonly appliedMinor: bigint
  readonly returnedMinor: bigint
  readonly contactId: string | null
}

export interface NewReturn {
  readonly id: string
  readonly fact: ReturnFact
  readonly eventId: string
}

export interface NewAllocation {
  readonly id: string
  readonly paymentId: string
  readonly invoiceId: string
  readonly currency: string
  readonly amountMinor: bigint
  readonly eventId: string
  /** Set where what was applied is taken back in the same transaction. */
  reversalReason: ReversalReason | null
}

/** Why an allocation no longer stands. `joined`: it stands on in a larger or smaller one. */
export type ReversalReason = 'moved' | 'returned' | 'credited' | 'joined'

export interface Reversal {
  readonly id: string
  readonly paymentId: string
  readonly invoiceId: string
  readonly reason: ReversalReason
}

/** Differences to what is on record; reference, contact and hand are what shall stand. */
export interface PaymentChange {
  readonly id: string
  readonly currency: string
  readonly appliedMinor: bigint
  readonly returnedMinor: bigint
  readonly invoiceReference: string | null
  readonly isPlacedByHand: boolean
  readonly contactId: string | null
}

/** Differences to what is on record. */
export interface InvoiceChange {
  readonly id: string
  readonly currency: string
  paidMinor: bigint
  creditedMinor: bigint
  adjustedMinor: bigint
  settled: number
}

/** A later event about a payment that is on record. */
export interface PaymentMention {
  readonly paymentId: string
  readonly currency: string
  readonly eventId: string
}

export interface LedgerRows {
  readonly payments: readonly NewPayment[]
  readonly returns: readonly NewReturn[]
  readonly mentions: readonly PaymentMention[]
  readonly paymentChanges: readonly PaymentChange[]
  readonly reversals: readonly Reversal[]
  readonly allocations: readonly NewAllocation[]
  readonly invoiceChanges: readonly InvoiceChange[]
}

/** Why money lies on no invoice. The last two: it was taken off one, or came back to us. */
export type UnappliedReason =
  | 'no_reference'
  | 'invoice_unknown'
  | 'invoice_not_issued'
  | 'invoice_void'
  | 'not_an_invoice'
  | 'currency_differs'
  | 'invoice_settled'
  | 'overpaid'
  | 'released'
  | 'came_back'

/** The payment that money belongs to, as the key of everything about it. No part has a NUL. */
export function subjectKey({ source, externalId }: MoneyName): string {
  return `${source}\0${externalId}`
}
