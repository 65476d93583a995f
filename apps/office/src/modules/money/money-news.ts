import type { Money, MoneyName, PaymentFact, ReturnFact, ReturnKind } from '../../facts/index.ts'
import type { Consequences, DecisionContext, ToldFact } from '../../pipeline/index.ts'
import { toJsonAmount } from '../../platform/money.ts'
import type { Activity } from '../activities/index.ts'
import type { DomainEvent } from '../domain-events/index.ts'
import type { Notification } from '../notifications/index.ts'
import type { AnsweredItem, ReviewItem } from '../review-items/index.ts'
import type { KnownReturn, LockedInvoice, UnappliedReason } from './ledger.ts'
import { type OpenAllocation, type OpenInvoice, type OpenPayment, unappliedOf } from './open-ledger.ts'

/** The event, or the act of a person, that everything in a step follows from. */
export interface Cause {
  readonly eventId: string
  readonly deliveryId: string | null
}

/** What people and rules see of a book: collected while it is written, and written with it. Every piece has a key of its own. */
export class MoneyNews {
  readonly #context: DecisionContext
  readonly #activities: Activity[] = []
  readonly #notifications: Notification[] = []
  readonly #domainEvents: DomainEvent[] = []
  readonly #reviewItems: ReviewItem[] = []
  #answeredItems: AnsweredItem[] = []

  constructor(context: DecisionContext) {
    this.#context = context
  }

  all(): Consequences {
    return {
      activities: this.#activities,
      notifications: this.#notifications,
      domainEvents: this.#domainEvents,
      reviewItems: this.#reviewItems,
      answeredItems: this.#answeredItems,
    }
  }

  tellOfPayment(payment: OpenPayment, invoice: OpenInvoice | undefined, cause: Cause): void {
    const { id, name, currency } = payment
    const data = {
      paymentId: id,
      invoiceId: invoice?.row.id ?? null,
      number: invoice?.row.number ?? null,
      amountMinor: toJsonAmount(payment.amountMinor),
      appliedMinor: toJsonAmount(payment.appliedMinor),
      currency,
    }
    const subject = invoice === undefined ? ({ type: 'payment', id } as const) : subjectOf(invoice.row)
    const type = payment.kind === 'payment' ? 'payment.received' : 'payment.corrected'
    const key = `payment:${name.source}:${name.externalId}`
    this.#line(subject, `${key}:${invoice?.row.id ?? ''}`, type, cause, data)
    this.#notifications.push({ id: this.#context.newId(), key, type, eventId: cause.eventId, data })
    this.#fire(type, id, { type: 'payment', id }, cause, data)
  }

  /** Money that was on record found its invoice. */
  tellOfApplication(payment: OpenPayment, appliedMinor: bigint, { row }: OpenInvoice, cause: Cause): void {
    this.#line(subjectOf(row), `application:${cause.eventId}:${payment.id}:${row.id}`, 'payment.applied', cause, {
      paymentId: payment.id,
      invoiceId: row.id,
      number: row.number,
      appliedMinor: toJsonAmount(appliedMinor),
      currency: row.currency,
    })
  }

  tellOfMove(
    payment: OpenPayment,
    taken: readonly { readonly allocation: OpenAllocation; readonly invoice: OpenInvoice }[],
    target: OpenInvoice,
    appliedMinor: bigint,
    cause: Cause,
  ): void {
    const data = {
      paymentId: payment.id,
      from: taken.map(({ allocation, invoice }) => ({
        invoiceId: invoice.row.id,
        number: invoice.row.number,
        amountMinor: toJsonAmount(allocation.amountMinor),
      })),
      to: { invoiceId: target.row.id, number: target.row.number, amountMinor: toJsonAmount(appliedMinor) },
      currency: payment.currency,
    }
    const subjects = [target, ...taken.map(({ invoice }) => invoice)].map(({ row }) => subjectOf(row))
    for (const subject of new Map(subjects.map((each) => [each.id, each])).values()) {
      this.#line(subject, `move:${cause.eventId}:${payment.id}`, 'payment.moved', cause, data)
    }
    this.#fire('payment.moved', `${payment.id}:${cause.eventId}`, { type: 'payment', id: payment.id }, cause, data)
  }

  tellOfReturn(
    told: ToldFact<ReturnFact>,
    payment: OpenPayment | undefined,
    namedInvoice: OpenInvoice | undefined,
  ): void {
    const { fact, id } = told
    const type = returnTypes[fact.kind]
    const key = `return:${fact.source}:${fact.kind}:${fact.externalId}`
    const { amountMinor, currency } = fact.amount
    const data = { ...returnData(fact), paymentId: payment?.id ?? null, ...shown(amountMinor, currency) }
    this.#line(subjectOfReturn(id, payment, namedInvoice), key, type, told, data)
    this.#notifications.push({ id: this.#context.newId(), key, type, eventId: told.eventId, data })
    this.#fire(type, id, { type: 'payment_return', id }, told, data)
  }

  tellOfCredit(invoice: LockedInvoice, creditNote: LockedInvoice, amountMinor: bigint, cause: Cause): void {
    this.#line(subjectOf(invoice), `credit:${creditNote.id}`, 'invoice.credited', cause, {
      invoiceId: invoice.id,
      number: invoice.number,
      creditNoteId: creditNote.id,
      creditNoteNumber: creditNote.number,
      ...shown(amountMinor, invoice.currency),
    })
  }

  /** Nothing is open any more, or something is again; `count` says for which time. */
  tellOfSettlement(isSettled: boolean, { id, number }: LockedInvoice, count: number, cause: Cause): void {
    const type = isSettled ? 'invoice.paid' : 'invoice.reopened'
    this.#fire(type, `${id}:${count}`, { type: 'invoice', id }, cause, { number })
  }

  askAboutRest(payment: OpenPayment, reason: UnappliedReason, cause: Cause): void {
    this.#ask(cause, `unapplied:${payment.id}`, 'unapplied', {
      paymentId: payment.id,
      reason,
      unappliedMinor: toJsonAmount(unappliedOf(payment)),
      currency: payment.currency,
      invoiceReference: payment.invoiceReference,
    })
  }

  answerRest(payment: OpenPayment): void {
    this.#answeredItems.push({ key: `unapplied:${payment.id}`, decision: 'nothing_left' })
  }

  /** A payment that is on record with another amount or currency. */
  askAboutPayment(fact: PaymentFact, known: OpenPayment, cause: Cause): void {
    const key = `conflict:money:${fact.source}:${fact.externalId}:${contentText(fact.amount, fact.kind)}`
    this.#ask(cause, key, 'conflict', {
      source: fact.source,
      externalId: fact.externalId,
      target: { type: 'payment', id: known.id },
      told: fact.amount === 'open_rest' ? null : shown(fact.amount.amountMinor, fact.amount.currency),
      recorded: shown(known.amountMinor, known.currency),
    })
  }

  /** A movement that is on record with another amount, currency or payment. */
  askAboutReturn(fact: ReturnFact, known: KnownReturn, cause: Cause): void {
    const key = `conflict:return:${fact.source}:${fact.externalId}:${contentText(fact.amount, fact.kind)}`
    this.#ask(cause, key, 'conflict', {
      ...returnData(fact),
      target: { type: 'payment_return', id: known.id },
      told: shown(fact.amount.amountMinor, fact.amount.currency),
      recorded: shown(known.amountMinor, known.currency),
    })
  }

  /** A movement in another currency than its payment: it counts for nothing. */
  askAboutCurrency(payment: OpenPayment, row: KnownReturn, cause: Cause): void {
    this.#ask(cause, `conflict:return-currency:${row.id}`, 'conflict', {
      ...paymentData(payment),
      returnId: row.id,
      told: shown(row.amountMinor, row.currency),
      recorded: shown(payment.amountMinor, payment.currency),
    })
  }

  askAboutMissingPayment(fact: ReturnFact, cause: Cause): void {
    this.#ask(cause, `waiting:${waitingKey(fact.original)}`, 'waiting', returnData(fact))
  }

  answerMissingPayment(name: MoneyName): void {
    this.#answeredItems.push({ key: `waiting:${waitingKey(name)}`, decision: 'arrived' })
  }

  /** More went back than had come, or no longer. */
  askAboutExcess(payment: OpenPayment, countedMinor: bigint, cause: Cause): void {
    const key = `excess:${payment.id}`
    if (countedMinor <= payment.amountMinor) {
      this.#answeredItems.push({ key, decision: 'no_longer' })
      return
    }
    this.#ask(cause, key, 'excess', {
      ...paymentData(payment),
      returned: shown(countedMinor, payment.currency),
      received: shown(payment.amountMinor, payment.currency),
    })
  }

  #ask(cause: Cause, key: string, kind: ReviewItem['kind'], data: ReviewItem['data']): void {
    const { eventId, deliveryId } = cause
    // Answers are written behind questions; one that an earlier step gave is out of date.
    this.#answeredItems = this.#answeredItems.filter((answered) => answered.key !== key)
    this.#reviewItems.push({ id: this.#context.newId(), key, kind, eventId, deliveryId, data })
  }

  #line(subject: Activity['subject'], key: string, type: string, cause: Cause, data: Activity['data']): void {
    this.#activities.push({ id: this.#context.newId(), subject, key, type, eventId: cause.eventId, data })
  }

  #fire(
    type: DomainEvent['type'],
    key: string,
    subject: DomainEvent['subject'],
    cause: Cause,
    data: DomainEvent['data'],
  ): void {
    this.#domainEvents.push({ id: this.#context.newId(), type, key, subject, eventId: cause.eventId, data })
  }
}

/** The words of `domain_events` and of the time line. */
const returnTypes: Readonly<Record<ReturnKind, DomainEvent['type']>> = {
  refund: 'payment.refunded',
  refund_reversal: 'payment.refund_failed',
  refund_total: 'payment.refunded',
  chargeback: 'payment.charged_back',
  chargeback_reversal: 'payment.chargeback_reversed',
  correction: 'payment.corrected',
}

/** In whose time line news of this invoice stands. */
export function subjectOf(invoice: Pick<LockedInvoice, 'id' | 'contactId'>): Activity['subject'] {
  return invoice.contactId === null ? { type: 'invoice', id: invoice.id } : { type: 'contact', id: invoice.contactId }
}

/** Of the contact whose payment it was; without one, of the invoice named, of the payment, of the movement itself. */
function subjectOfReturn(
  id: string,
  payment: OpenPayment | undefined,
  namedInvoice: OpenInvoice | undefined,
): Activity['subject'] {
  if (payment === undefined) return { type: 'payment_return', id }
  if (payment.contactId !== null) return { type: 'contact', id: payment.contactId }
  return namedInvoice === undefined ? { type: 'payment', id: payment.id } : subjectOf(namedInvoice.row)
}

function waitingKey({ source, externalId }: MoneyName): string {
  return `${source}:${externalId}`
}

function contentText(amount: Money | 'open_rest', kind: string): string {
  return amount === 'open_rest' ? 'rest' : `${kind}:${amount.amountMinor}:${amount.currency}`
}

function shown(amountMinor: bigint, currency: string) {
  return { amountMinor: toJsonAmount(amountMinor), currency }
}

function returnData({ source, externalId, kind, returnId, original }: ReturnFact) {
  return { source, externalId, kind, returnId, original: { ...original } }
}

function paymentData({ id, name }: OpenPayment) {
  return { paymentId: id, source: name.source, externalId: name.externalId }
}
