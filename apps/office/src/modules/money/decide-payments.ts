import type { Money, PaymentFact } from '../../facts/index.ts'
import type { Consequences, Decision, DecisionContext, FactResult, ToldFact } from '../../pipeline/index.ts'
import type { Activity } from '../activities/index.ts'
import type { DomainEvent } from '../domain-events/index.ts'
import type { Notification } from '../notifications/index.ts'
import type { AnsweredItem, ReviewItem } from '../review-items/index.ts'

/** An invoice under its lock, as it was before this group. */
export interface LockedInvoice {
  readonly id: string
  readonly number: string | null
  readonly type: 'invoice' | 'credit_note'
  readonly lifecycle: 'draft' | 'issued' | 'void'
  readonly currency: string
  readonly openMinor: bigint
  readonly settleCount: number
  readonly contactId: string | null
}

/** A payment on record, under the lock of its money subject. */
export interface KnownPayment {
  readonly id: string
  readonly amountMinor: bigint
  readonly currency: string
  readonly originalId: string
  readonly unappliedMinor: bigint
  readonly invoiceReference: string | null
}

export interface PaymentsState {
  /** By `moneyKey`. */
  readonly payments: ReadonlyMap<string, KnownPayment>
  readonly invoices: ReadonlyMap<string, LockedInvoice>
  /** From what the payer's side wrote to the invoice's id. */
  readonly invoiceIds: ReadonlyMap<string, string>
}

export interface NewPayment {
  readonly id: string
  readonly fact: PaymentFact
  readonly amount: Money
  readonly eventId: string
  appliedMinor: bigint
}

export interface NewAllocation {
  readonly id: string
  readonly paymentId: string
  readonly invoiceId: string
  readonly currency: string
  readonly amountMinor: bigint
  readonly eventId: string
}

/** What an earlier payment gains: its invoice reference, and what could be applied through it. */
export interface PaymentChange {
  readonly id: string
  readonly currency: string
  readonly invoiceReference: string
  readonly appliedMinor: bigint
}

export interface InvoiceChange {
  readonly id: string
  readonly currency: string
  paidMinor: bigint
  settled: number
}

/** A later event about a payment that is on record. */
export interface PaymentMention {
  readonly paymentId: string
  readonly currency: string
  readonly eventId: string
}

export interface PaymentRows {
  readonly payments: readonly NewPayment[]
  readonly mentions: readonly PaymentMention[]
  readonly paymentChanges: readonly PaymentChange[]
  readonly allocations: readonly NewAllocation[]
  readonly invoiceChanges: readonly InvoiceChange[]
}

/** Why money could not go where its sender wanted it. */
export type UnappliedReason =
  | 'no_reference'
  | 'invoice_unknown'
  | 'invoice_not_issued'
  | 'invoice_void'
  | 'not_an_invoice'
  | 'currency_differs'
  | 'invoice_settled'
  | 'overpaid'

/** The key of the money itself, whoever told us. No part has a NUL. */
export function moneyKey(fact: { source: string; kind: string; externalId: string }): string {
  return `${fact.source}\0${fact.kind}\0${fact.externalId}`
}

/**
 * Decides a group of payments, one after the other, as if each were alone.
 *
 * A payment is booked with its whole amount. What fits the named invoice (issued, same currency) is applied, at most
 * its open rest; all else stays unapplied, and a person is told. A payment on record with the same content is a
 * duplicate; it still takes the first invoice reference that a later event brings. Other content is kept, not booked.
 */
export function decidePayments(
  facts: readonly ToldFact<PaymentFact>[],
  state: PaymentsState,
  context: DecisionContext,
): Decision<PaymentRows> {
  const book = new Book(state, context)
  const results = facts.map((told) => book.enter(told))
  return { results, rows: book.rows(), consequences: book.consequences() }
}

/** Money on record that named an invoice before the invoice could take it. */
export interface WaitingPayment {
  readonly id: string
  readonly currency: string
  readonly unappliedMinor: bigint
  readonly invoiceReference: string
}

/** Decides what an invoice that was just issued takes of the money that waited for it, oldest first. */
export function decideWaiting(
  invoice: LockedInvoice,
  payments: readonly WaitingPayment[],
  eventId: string,
  context: DecisionContext,
): { rows: PaymentRows; consequences: Consequences } {
  const book = new Book({ payments: new Map(), invoices: new Map(), invoiceIds: new Map() }, context)
  for (const payment of payments) book.applyWaiting(payment, invoice, eventId)
  return { rows: book.rows(), consequences: book.consequences() }
}

/** The state as it changes while the facts of one group are entered. Lives for one call of `decidePayments`. */
class Book {
  readonly #context: DecisionContext
  readonly #state: PaymentsState
  readonly #known: Map<string, KnownPayment>
  readonly #openMinor = new Map<string, bigint>()
  readonly #payments: NewPayment[] = []
  readonly #mentions: PaymentMention[] = []
  readonly #paymentChanges: PaymentChange[] = []
  readonly #allocations: NewAllocation[] = []
  readonly #invoiceChanges = new Map<string, InvoiceChange>()
  readonly #activities: Activity[] = []
  readonly #notifications: Notification[] = []
  readonly #domainEvents: DomainEvent[] = []
  readonly #reviewItems: ReviewItem[] = []
  readonly #answeredItems: AnsweredItem[] = []

  constructor(state: PaymentsState, context: DecisionContext) {
    this.#state = state
    this.#context = context
    this.#known = new Map(state.payments)
  }

  rows(): PaymentRows {
    return {
      payments: this.#payments,
      mentions: this.#mentions,
      paymentChanges: this.#paymentChanges,
      allocations: this.#allocations,
      invoiceChanges: [...this.#invoiceChanges.values()],
    }
  }

  consequences(): Consequences {
    return {
      activities: this.#activities,
      notifications: this.#notifications,
      domainEvents: this.#domainEvents,
      reviewItems: this.#reviewItems,
      answeredItems: this.#answeredItems,
    }
  }

  enter(told: ToldFact<PaymentFact>): FactResult {
    const known = this.#known.get(moneyKey(told.fact))
    return known === undefined ? this.#enterNew(told) : this.#enterKnown(told, known)
  }

  applyWaiting(payment: WaitingPayment, invoice: LockedInvoice, eventId: string): void {
    const rest = { amountMinor: payment.unappliedMinor, currency: payment.currency }
    const placed = this.#place(payment.id, rest, payment.invoiceReference, invoice, eventId)
    if (placed.appliedMinor === 0n) return
    this.#paymentChanges.push({
      id: payment.id,
      currency: payment.currency,
      invoiceReference: payment.invoiceReference,
      appliedMinor: placed.appliedMinor,
    })
    this.#tellOfApplication(payment.id, placed.appliedMinor, rest, invoice, eventId)
  }

  #enterNew(told: ToldFact<PaymentFact>): FactResult {
    const { fact, eventId } = told
    const invoice = this.#invoiceNamedBy(fact.invoiceReference)
    const amount = fact.amount === 'open_rest' ? this.#openRest(invoice) : fact.amount
    // A rest of nothing is no payment: the button on a settled invoice succeeds and leaves no trace.
    if (amount.amountMinor === 0n) {
      const target = invoice === undefined ? null : { type: 'invoice', id: invoice.id }
      return { outcome: 'nothing', applied: amount, target, reason: 'invoice_settled' }
    }
    const payment: NewPayment = {
      id: told.id,
      fact,
      amount,
      eventId,
      appliedMinor: 0n,
    }
    const placed = this.#place(payment.id, amount, fact.invoiceReference, invoice, eventId)
    payment.appliedMinor = placed.appliedMinor
    this.#payments.push(payment)
    this.#known.set(moneyKey(fact), {
      id: payment.id,
      amountMinor: amount.amountMinor,
      currency: amount.currency,
      originalId: fact.originalId,
      unappliedMinor: amount.amountMinor - placed.appliedMinor,
      invoiceReference: fact.invoiceReference,
    })
    this.#tellOfPayment(payment, invoice)
    if (placed.reason !== null) this.#askAboutRest(told, payment.id, amount, placed)
    return {
      outcome: 'booked',
      applied: { amountMinor: placed.appliedMinor, currency: amount.currency },
      target: { type: 'payment', id: payment.id },
      reason: placed.reason,
    }
  }

  #enterKnown(told: ToldFact<PaymentFact>, known: KnownPayment): FactResult {
    const { fact, eventId, deliveryId } = told
    const target = { type: 'payment', id: known.id }
    const nothing = { amountMinor: 0n, currency: known.currency }
    this.#mentions.push({ paymentId: known.id, currency: known.currency, eventId })
    if (isOtherContent(fact, known)) {
      this.#reviewItems.push({
        id: this.#context.newId(),
        key: `conflict:money:${fact.source}:${fact.externalId}:${contentText(fact)}`,
        kind: 'conflict',
        eventId,
        deliveryId,
        data: {
          source: fact.source,
          externalId: fact.externalId,
          target,
          told: toldAmount(fact),
          recorded: { amountMinor: Number(known.amountMinor), currency: known.currency },
        },
      })
      return { outcome: 'kept', applied: null, target, reason: 'content_differs' }
    }
    const reference = fact.invoiceReference
    if (known.invoiceReference !== null || reference === null) {
      return { outcome: 'duplicate', applied: nothing, target, reason: null }
    }
    const invoice = this.#invoiceNamedBy(reference)
    const rest = { amountMinor: known.unappliedMinor, currency: known.currency }
    const placed =
      rest.amountMinor === 0n
        ? { appliedMinor: 0n, reason: null }
        : this.#place(known.id, rest, reference, invoice, eventId)
    this.#paymentChanges.push({
      id: known.id,
      currency: known.currency,
      invoiceReference: reference,
      appliedMinor: placed.appliedMinor,
    })
    if (invoice !== undefined && placed.appliedMinor > 0n) {
      this.#tellOfApplication(known.id, placed.appliedMinor, rest, invoice, eventId)
    }
    this.#known.set(moneyKey(fact), {
      ...known,
      invoiceReference: reference,
      unappliedMinor: known.unappliedMinor - placed.appliedMinor,
    })
    return {
      outcome: 'duplicate',
      applied: { amountMinor: placed.appliedMinor, currency: known.currency },
      target,
      reason: placed.reason,
    }
  }

  #invoiceNamedBy(reference: string | null): LockedInvoice | undefined {
    if (reference === null) return undefined
    return this.#state.invoices.get(this.#state.invoiceIds.get(reference) ?? '')
  }

  #openRest(invoice: LockedInvoice | undefined): Money {
    // Only a person's button names no amount, and it always names an invoice that its route has found.
    if (invoice === undefined) throw new Error('the open rest of no invoice')
    return { amountMinor: this.#openMinorOf(invoice), currency: invoice.currency }
  }

  #openMinorOf(invoice: LockedInvoice): bigint {
    return this.#openMinor.get(invoice.id) ?? invoice.openMinor
  }

  /** Applies what fits and says why the rest does not. */
  #place(
    paymentId: string,
    amount: Money,
    reference: string | null,
    invoice: LockedInvoice | undefined,
    eventId: string,
  ): { appliedMinor: bigint; reason: UnappliedReason | null } {
    if (reference === null) return { appliedMinor: 0n, reason: 'no_reference' }
    if (invoice === undefined) return { appliedMinor: 0n, reason: 'invoice_unknown' }
    const obstacle = obstacleOf(invoice, amount.currency)
    if (obstacle !== null) return { appliedMinor: 0n, reason: obstacle }
    const open = this.#openMinorOf(invoice)
    if (open === 0n) return { appliedMinor: 0n, reason: 'invoice_settled' }
    const appliedMinor = amount.amountMinor < open ? amount.amountMinor : open
    this.#allocations.push({
      id: this.#context.newId(),
      paymentId,
      invoiceId: invoice.id,
      currency: invoice.currency,
      amountMinor: appliedMinor,
      eventId,
    })
    this.#reduceOpen(invoice, appliedMinor, eventId)
    return { appliedMinor, reason: appliedMinor < amount.amountMinor ? 'overpaid' : null }
  }

  #reduceOpen(invoice: LockedInvoice, appliedMinor: bigint, eventId: string): void {
    const open = this.#openMinorOf(invoice) - appliedMinor
    this.#openMinor.set(invoice.id, open)
    const change = this.#invoiceChanges.get(invoice.id) ?? {
      id: invoice.id,
      currency: invoice.currency,
      paidMinor: 0n,
      settled: 0,
    }
    this.#invoiceChanges.set(invoice.id, change)
    change.paidMinor += appliedMinor
    if (open !== 0n) return
    change.settled += 1
    this.#domainEvents.push({
      id: this.#context.newId(),
      type: 'invoice.paid',
      key: `${invoice.id}:${invoice.settleCount + change.settled}`,
      subject: { type: 'invoice', id: invoice.id },
      eventId,
      data: { number: invoice.number },
    })
  }

  #tellOfPayment(payment: NewPayment, invoice: LockedInvoice | undefined): void {
    const { fact, amount, eventId, appliedMinor } = payment
    const data = {
      paymentId: payment.id,
      invoiceId: invoice?.id ?? null,
      number: invoice?.number ?? null,
      amountMinor: Number(amount.amountMinor),
      appliedMinor: Number(appliedMinor),
      currency: amount.currency,
    }
    const subject = invoice === undefined ? ({ type: 'payment', id: payment.id } as const) : subjectOf(invoice)
    this.#activities.push({
      id: this.#context.newId(),
      subject,
      key: `payment:${fact.source}:${fact.externalId}:${invoice?.id ?? ''}`,
      type: 'payment.received',
      eventId,
      data,
    })
    this.#notifications.push({
      key: `payment:${fact.source}:${fact.externalId}`,
      type: 'payment.received',
      eventId,
      data,
    })
    this.#domainEvents.push({
      id: this.#context.newId(),
      type: 'payment.received',
      key: payment.id,
      subject: { type: 'payment', id: payment.id },
      eventId,
      data,
    })
  }

  /** Money that was on record found its invoice: a line of its own, and the question about it is answered. */
  #tellOfApplication(
    paymentId: string,
    appliedMinor: bigint,
    rest: Money,
    invoice: LockedInvoice,
    eventId: string,
  ): void {
    this.#activities.push({
      id: this.#context.newId(),
      subject: subjectOf(invoice),
      key: `application:${paymentId}:${invoice.id}`,
      type: 'payment.applied',
      eventId,
      data: {
        paymentId,
        invoiceId: invoice.id,
        number: invoice.number,
        appliedMinor: Number(appliedMinor),
        currency: invoice.currency,
      },
    })
    if (appliedMinor === rest.amountMinor) {
      this.#answeredItems.push({ key: `unapplied:${paymentId}`, decision: 'applied' })
    }
  }

  #askAboutRest(
    told: ToldFact<PaymentFact>,
    paymentId: string,
    amount: Money,
    placed: { appliedMinor: bigint; reason: UnappliedReason | null },
  ): void {
    this.#reviewItems.push({
      id: this.#context.newId(),
      key: `unapplied:${paymentId}`,
      kind: 'unapplied',
      eventId: told.eventId,
      deliveryId: told.deliveryId,
      data: {
        paymentId,
        reason: placed.reason,
        unappliedMinor: Number(amount.amountMinor - placed.appliedMinor),
        currency: amount.currency,
        invoiceReference: told.fact.invoiceReference,
      },
    })
  }
}

/** In whose time line news of this invoice stands. */
function subjectOf(invoice: LockedInvoice): Activity['subject'] {
  return invoice.contactId === null ? { type: 'invoice', id: invoice.id } : { type: 'contact', id: invoice.contactId }
}

function obstacleOf(invoice: LockedInvoice, currency: string): UnappliedReason | null {
  if (invoice.type !== 'invoice') return 'not_an_invoice'
  if (invoice.lifecycle === 'draft') return 'invoice_not_issued'
  if (invoice.lifecycle === 'void') return 'invoice_void'
  return invoice.currency === currency ? null : 'currency_differs'
}

/** Only amount, currency and original are content of a payment whose kind is in its key. */
function isOtherContent(fact: PaymentFact, known: KnownPayment): boolean {
  if (fact.amount === 'open_rest') return false
  return (
    fact.amount.amountMinor !== known.amountMinor ||
    fact.amount.currency !== known.currency ||
    fact.originalId !== known.originalId
  )
}

function contentText(fact: PaymentFact): string {
  return fact.amount === 'open_rest' ? 'rest' : `${fact.amount.amountMinor}:${fact.amount.currency}:${fact.originalId}`
}

function toldAmount(fact: PaymentFact) {
  return fact.amount === 'open_rest'
    ? null
    : { amountMinor: Number(fact.amount.amountMinor), currency: fact.amount.currency }
}
