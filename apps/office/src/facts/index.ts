/**
 * Facts: what an event says about our world, in words that neither a provider nor a module owns.
 *
 * An adapter turns bytes into facts, a module turns facts into rows; this folder is all that the two share.
 * A fact carries the key of the thing itself (the payment, the message), which is not the key of the event
 * that told us: three events may speak of one payment.
 */

export { moneyFingerprint, UNCLEAR_FINGERPRINT } from './fingerprint.ts'

/** Integer minor units with their ISO 4217 code: 10000 EUR is one hundred euros. */
export interface Money {
  readonly amountMinor: bigint
  readonly currency: string
}

/** A money key: who names the money, and how. */
export interface MoneyName {
  /** The provider, plus `/account` unless its ids are unique over all accounts. Never an endpoint. */
  readonly source: string
  /** The source's id of the payment, capture, refund or movement. */
  readonly externalId: string
}

/**
 * Money that a source reports as arrived for good.
 *
 * `source` and `externalId` are the money key: webhook, poll, our own API call and a second event about the same
 * payment meet in it. Only kind and amount are content; payer, time and text never make a conflict.
 */
export interface PaymentFact extends MoneyName {
  readonly type: 'payment'
  /** A correction is what a person books where a source had told two amounts of one payment. */
  readonly kind: 'payment' | 'correction'
  /** `open_rest` is what a person at the button means by naming no amount; a provider never may. */
  readonly amount: Money | 'open_rest'
  /** Id or number of the invoice, exactly as the payer's side named it. */
  readonly invoiceReference: string | null
  readonly payer: { readonly name: string | null; readonly email: string | null }
  /** When the source says it happened; `null` where it does not say. */
  readonly occurredAt: Date | null
}

/**
 * Which way a movement goes, and what it belongs to.
 *
 * `refund`, `chargeback` and `correction` take money away from a payment, the reversals bring it back. `refund_total` is a
 * running total of all refunds of a payment so far; it counts only while its source has told of no single refund.
 */
export type ReturnKind =
  | 'refund'
  | 'refund_reversal'
  | 'refund_total'
  | 'chargeback'
  | 'chargeback_reversal'
  | 'correction'

/**
 * Money of a payment that went back to its payer, or came again after it had.
 *
 * The money key is that of the movement: the id of the refund, or of each single movement of a dispute, which can take
 * money more than once. What counts of a payment's movements is a sum over their set, so that they may arrive in
 * any order, also before their payment.
 */
export interface ReturnFact extends MoneyName {
  readonly type: 'return'
  readonly kind: ReturnKind
  /** The refund or dispute that the movement belongs to; a reversal cannot bring back more than that one took. */
  readonly returnId: string
  /** Money key of the payment. Its source differs from the movement's only where a person enters the movement. */
  readonly original: MoneyName
  readonly amount: Money
  /** When the source says it happened; `null` where it does not say. */
  readonly occurredAt: Date | null
}

export type Fact = PaymentFact | ReturnFact

/** Name of a fact's kind, by which the pipeline finds who books it. */
export type FactType = Fact['type']

/** Why a genuine event could not be understood, in words a person can act on. */
export interface Unclear {
  /** Stable word for the reason, such as `amount_unreadable`. */
  readonly code: UnclearCode
  /** One sentence with the field and the value found. */
  readonly detail: string
  /** The money key where it could be read, so that a person's entry later meets the provider's repeat. */
  readonly subject: { readonly source: string; readonly externalId: string } | null
}

export type UnclearCode =
  | 'amount_unreadable'
  | 'currency_unknown'
  | 'id_unusable'
  | 'body_unreadable'
  | 'shape_unknown'
  | 'type_not_supported'

/**
 * One thing that a source told us, named and understood, or named and kept.
 *
 * The key is (organisation, source, kind, id); `fingerprint` covers the content that matters and nothing else.
 */
export interface ReceivedEvent {
  readonly source: string
  /** Our word for the step (`payment.paid`), so that an interim step can never use up its key. */
  readonly kind: string
  readonly id: string
  readonly fingerprint: string
  readonly content: { readonly facts: readonly Fact[] } | { readonly unclear: Unclear }
}
