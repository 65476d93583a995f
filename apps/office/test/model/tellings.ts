import { stripePaid } from '../support/office.ts'
import type { PooledOrganization } from '../support/organization-pool.ts'

/** What sources tell of money, in words of this test: the model knows nothing of the office's own. */

export const currencies = ['EUR', 'USD'] as const
export type Currency = (typeof currencies)[number]
export const sources = ['sandbox', 'stripe'] as const
export type Source = (typeof sources)[number]

/** Money that a source says has arrived. */
export interface ToldPayment {
  readonly what: 'payment'
  readonly source: string
  readonly id: string
  readonly amount: number
  readonly currency: Currency
  /** Number or id of an invoice, as the source writes it. */
  readonly reference: string | null
}

/** Money that left a payment again, or came back to it. */
export interface ToldReturn {
  readonly what: 'return'
  readonly kind: 'refund' | 'refund_reversal' | 'refund_total' | 'chargeback' | 'chargeback_reversal' | 'correction'
  readonly source: string
  readonly id: string
  /** The refund or dispute that it belongs to. */
  readonly belongsTo: string
  readonly paymentSource: string
  readonly paymentId: string
  readonly amount: number
  readonly currency: Currency
}

export type ToldFact = ToldPayment | ToldReturn

/** One event of a source, with the bytes by which it is told. Told again, it is the same event. */
export interface Telling {
  readonly source: Source
  readonly eventId: string
  readonly words: string
  readonly body: string
  readonly facts: readonly ToldFact[]
}

/** A request as it can be sent any number of times, to either process. */
export interface Request {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The signed delivery of a telling. */
export function requestOf(organization: PooledOrganization, { source, eventId, body }: Telling): Request {
  const sender = organization[source]
  return { path: sender.path, headers: sender.sign(body, { id: eventId }), body }
}

type Money = Pick<ToldPayment, 'source' | 'id' | 'amount' | 'currency'> & { readonly source: Source }

/** A payment's event. @param nth which of several events that tell of the same payment; the second one of Stripe is the charge's. */
export function tellPayment(payment: Money & { reference: string | null }, nth: number): Telling {
  const { source, id, amount, currency, reference } = payment
  const eventId = `${id}/paid/${nth}`
  const named = reference === null ? 'no invoice' : reference
  return {
    source,
    eventId,
    words: `payment ${id}: ${shown(payment)} for ${named}`,
    body: source === 'stripe' ? stripePayment(eventId, nth, payment) : sandboxPayment(payment),
    facts: [{ what: 'payment', source, id, amount, currency, reference }],
  }
}

function sandboxPayment({ id, amount, currency, reference }: Money & { reference: string | null }): string {
  const invoice = reference === null ? {} : { invoice: reference }
  return sandboxBody('payment.paid', { payment: id, amountMinor: amount, currency, ...invoice })
}

function stripePayment(eventId: string, nth: number, money: Money & { reference: string | null }): string {
  const { id, amount, reference } = money
  const currency = money.currency.toLowerCase()
  const metadata = reference === null ? {} : { invoice: reference }
  if (nth === 0) return stripePaid({ eventId, paymentId: id, amount, currency, ...metadata })
  const charge = {
    id: `ch_${id}`,
    object: 'charge',
    payment_intent: id,
    status: 'succeeded',
    paid: true,
    captured: true,
  }
  return stripeBody(eventId, 'charge.succeeded', { ...charge, amount, amount_captured: amount, currency, metadata })
}

type Movement = Money & { readonly paymentId: string }

/** A refund that went out, or did so and came back. */
export function tellRefund(kind: 'refund' | 'refund_reversal', refund: Movement, nth = 0): Telling {
  const { source, id, paymentId, amount, currency } = refund
  const eventId = `${id}/${kind}/${nth}`
  const hasFailed = kind === 'refund_reversal'
  const stripeType = hasFailed ? 'refund.failed' : nth === 0 ? 'refund.created' : 'refund.updated'
  return {
    source,
    eventId,
    words: `${hasFailed ? 'failed refund' : 'refund'} ${id} of ${paymentId}: ${shown(refund)}`,
    body:
      source === 'stripe'
        ? stripeBody(eventId, stripeType, {
            id,
            object: 'refund',
            status: hasFailed ? 'failed' : 'succeeded',
            payment_intent: paymentId,
            amount,
            currency: currency.toLowerCase(),
          })
        : sandboxBody(hasFailed ? 'payment.refund_failed' : 'payment.refunded', {
            refund: id,
            payment: paymentId,
            amountMinor: amount,
            currency,
          }),
    facts: [toReturn(kind, refund, id)],
  }
}

/** Everything that was refunded of a payment so far, with no name for any of it. */
export function tellTotal(total: Omit<Movement, 'id'>): Telling {
  const { source, paymentId, amount, currency } = total
  const id = `${paymentId}/total/${amount}`
  const charge = { id: `ch_${paymentId}`, object: 'charge', captured: true }
  return {
    source,
    eventId: id,
    words: `running refund total of ${paymentId}: ${shown(total)}`,
    body:
      source === 'stripe'
        ? stripeBody(id, 'charge.refunded', {
            ...charge,
            payment_intent: paymentId,
            amount_refunded: amount,
            currency: currency.toLowerCase(),
          })
        : sandboxBody('payment.refund_total', { payment: paymentId, amountMinor: amount, currency }),
    facts: [toReturn('refund_total', { ...total, id }, 'total')],
  }
}

/** A dispute of a payment. */
export interface Dispute extends Omit<Movement, 'amount'> {
  /** Withdrawn, reinstated, withdrawn again, and so on. */
  readonly movements: readonly number[]
}

/** Of a dispute's movements those up to the one given: Stripe lists them all each time, the sandbox the last alone. */
export function tellDispute(dispute: Dispute, upTo: number): Telling {
  const { source, id, paymentId, currency, movements } = dispute
  const eventId = `${id}/${upTo}`
  const all = movements.slice(0, upTo + 1).map((amount, index) => ({
    kind: index % 2 === 0 ? ('chargeback' as const) : ('chargeback_reversal' as const),
    money: { source, id: `${id}.${index}`, paymentId, amount, currency },
  }))
  const told = source === 'stripe' ? all : all.slice(-1)
  const step = upTo % 2 === 0 ? 'withdrawn' : 'reinstated'
  return {
    source,
    eventId,
    words: `dispute ${id} of ${paymentId}, ${step}: ${told.map(({ kind, money }) => `${kind} ${money.id} ${shown(money)}`).join(', ')}`,
    body:
      source === 'stripe'
        ? stripeBody(eventId, `charge.dispute.funds_${step}`, {
            id,
            object: 'dispute',
            payment_intent: paymentId,
            currency: currency.toLowerCase(),
            balance_transactions: told.map(({ kind, money }) => ({
              id: money.id,
              amount: kind === 'chargeback' ? -money.amount : money.amount,
              currency: currency.toLowerCase(),
            })),
          })
        : sandboxBody(upTo % 2 === 0 ? 'payment.charged_back' : 'payment.chargeback_reversed', {
            dispute: id,
            movement: `${id}.${upTo}`,
            payment: paymentId,
            amountMinor: movements[upTo],
            currency,
          }),
    facts: told.map(({ kind, money }) => toReturn(kind, money, id)),
  }
}

function toReturn(kind: ToldReturn['kind'], money: Movement, belongsTo: string): ToldReturn {
  const { source, id, paymentId, amount, currency } = money
  return { what: 'return', kind, source, id, belongsTo, paymentSource: source, paymentId, amount, currency }
}

function sandboxBody(type: string, data: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ type, data })
}

function stripeBody(id: string, type: string, object: Readonly<Record<string, unknown>>): string {
  // From this version on, a running total counts refunds alone.
  return JSON.stringify({ id, object: 'event', type, api_version: '2025-04-30', livemode: true, data: { object } })
}

/** An amount as a person reads it. */
export function shown({ amount, currency }: { amount: number; currency: string }): string {
  return `${amount} ${currency}`
}
