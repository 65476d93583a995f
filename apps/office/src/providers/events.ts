import {
  type PaymentFact,
  paymentFingerprint,
  type ReceivedEvent,
  UNCLEAR_FINGERPRINT,
  type Unclear,
} from '../facts/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import { amountProblemText, parseMinorUnits, type WireUnits } from '../platform/money.ts'
import { show } from './fields.ts'
import { readId } from './ids.ts'
import type { Received } from './provider.ts'

/** What the payment adapters have in common once the bytes are believed: turning fields into one event. */

/** Kind of an event whose step could not be read. */
export const UNREADABLE_KIND = 'unreadable'

export function ignored(reason: string): Received {
  return { outcome: 'ignored', reason }
}

export function rejected(reason: string): Received {
  return { outcome: 'rejected', reason }
}

/** An event that is genuine and kept for a person, with nothing booked. */
export function unclear(
  event: { readonly source: string; readonly kind: string; readonly id: string },
  code: Unclear['code'],
  detail: string,
  subjectId: string | null = null,
): Received {
  const subject = subjectId === null ? null : { source: event.source, externalId: subjectId }
  const content = { unclear: { code, detail, subject } }
  const { source, kind, id } = event
  return { outcome: 'events', events: [{ source, kind, id, fingerprint: UNCLEAR_FINGERPRINT, content }] }
}

/** A field and its name, so that a person reads which one was wrong. */
export interface Field {
  readonly name: string
  readonly value: unknown
}

/** What a sender says about money that arrived, still as it wrote it. */
export interface PaidClaim {
  readonly source: string
  /** The event's id as sent; its name for the sentence to a person. */
  readonly event: Field
  /** Takes the place of an event id that names nothing. */
  readonly fallbackId: string
  readonly payment: Field
  readonly amount: Field
  readonly currency: Field
  readonly wire?: WireUnits
  readonly invoiceReference: string | null
  readonly payer: PaymentFact['payer']
  readonly occurredAt: Date | null
}

export const PAID_KIND = 'payment.paid'

const currencyCode = /^[A-Za-z]{3}$/

/**
 * Makes the one event of a payment: booked if everything that matters can be read, otherwise kept for a person under
 * the same key. A missing amount is never taken for "the open rest": that is what a person at the button means.
 */
export function paidEvent(claim: PaidClaim): Received {
  const eventId = readId(claim.event.value)
  const event = { source: claim.source, kind: PAID_KIND, id: eventId ?? claim.fallbackId }
  const externalId = readId(claim.payment.value)
  if (externalId === null) return unclear(event, 'id_unusable', unusable(claim.payment))
  if (eventId === null) return unclear(event, 'id_unusable', unusable(claim.event), externalId)

  const code = claim.currency.value
  // Only ASCII letters: 'ı' and 'ſ' would become capitals of the alphabet and make a currency of a misspelling.
  const currency = typeof code === 'string' && currencyCode.test(code) ? findCurrency(code.toUpperCase()) : undefined
  if (currency === undefined) {
    const detail = `${claim.currency.name} is ${show(code)}, which is no currency with minor units in ISO 4217.`
    return unclear(event, 'currency_unknown', detail, externalId)
  }
  const amount = parseMinorUnits(claim.amount.value, currency, claim.wire)
  if ('problem' in amount) {
    const detail = `${claim.amount.name} ${amountProblemText[amount.problem]}: ${show(claim.amount.value)} ${currency.code}.`
    return unclear(event, 'amount_unreadable', detail, externalId)
  }
  const fact: PaymentFact = {
    type: 'payment',
    kind: 'payment',
    source: claim.source,
    externalId,
    originalId: externalId,
    amount: { amountMinor: amount.amountMinor, currency: currency.code },
    invoiceReference: claim.invoiceReference,
    payer: claim.payer,
    occurredAt: claim.occurredAt,
  }
  const booked: ReceivedEvent = { ...event, fingerprint: paymentFingerprint(fact), content: { facts: [fact] } }
  return { outcome: 'events', events: [booked] }
}

function unusable(field: Field): string {
  return `${field.name} is ${show(field.value)}, which cannot name anything.`
}
