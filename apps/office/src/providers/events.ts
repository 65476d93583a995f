import { hash } from 'node:crypto'
import {
  type Fact,
  type MoneyName,
  moneyFingerprint,
  type PaymentFact,
  type ReceivedEvent,
  type ReturnFact,
  type ReturnKind,
  UNCLEAR_FINGERPRINT,
  type Unclear,
} from '../facts/index.ts'
import { type Currency, findCurrency } from '../platform/currencies.ts'
import { amountProblemText, type ParsedAmount } from '../platform/money.ts'
import { show } from './fields.ts'
import { readId } from './ids.ts'
import type { Received } from './provider.ts'

/** What the payment adapters have in common once the bytes are believed: turning fields into one event. */

/** Kind of an event whose step could not be read. */
export const UNREADABLE_KIND = 'unreadable'
export const PAID_KIND = 'payment.paid'

export function ignored(reason: string): Received {
  return { outcome: 'ignored', reason }
}

export function rejected(reason: string): Received {
  return { outcome: 'rejected', reason }
}

/** Source, kind and id of an event: its key within an organisation. */
export interface EventName {
  readonly source: string
  readonly kind: string
  readonly id: string
}

/** An event that is genuine and kept for a person, with nothing booked. */
export function unclear(
  event: EventName,
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

/** What names an event, whatever it says; still as the sender wrote it. */
export interface Envelope {
  readonly source: string
  /** Our word for the step. */
  readonly kind: string
  /** The event's id as sent. */
  readonly id: Field
  /** Takes the place of an event id that names nothing. */
  readonly fallbackId: string
}

/** How one sender writes amounts of a currency. */
export type ParseAmount = (value: unknown, currency: Currency) => ParsedAmount

interface AmountClaim {
  readonly amount: Field
  readonly currency: Field
  readonly parseAmount: ParseAmount
  readonly occurredAt: Date | null
}

/** What a sender says about money that arrived, still as it wrote it. */
export interface PaidClaim extends AmountClaim {
  readonly payment: Field
  readonly invoiceReference: string | null
  readonly payer: PaymentFact['payer']
}

/** What a sender says about one movement of a payment's money, back to its payer or here again; still as it wrote it. */
export interface MovementClaim extends AmountClaim {
  readonly kind: Exclude<ReturnKind, 'refund_total' | 'correction'>
  /** Names the movement itself. */
  readonly movement: Field
  /** Names the refund or dispute that it belongs to. */
  readonly belongsTo: Field
  readonly payment: Field
}

/** What a sender says about all refunds of a payment so far, still as it wrote it. */
export interface TotalClaim extends AmountClaim {
  readonly payment: Field
}

/**
 * Makes the one event of a payment: booked if everything that matters can be read, otherwise kept for a person under
 * the same key. A missing amount is never taken for "the open rest": that is what a person at the button means.
 */
export function paidEvent(envelope: Envelope, claim: PaidClaim): Received {
  return eventOf(envelope, [readPayment(envelope.source, claim)])
}

/**
 * Makes the one event of movements that a sender tells of at once: all of them, or none and a question for a person under
 * the same key. Money keys make it harmless that another event tells of some of them again.
 */
export function movementsEvent(envelope: Envelope, claims: readonly MovementClaim[]): Received {
  const ids = new Set<string>()
  const readings = claims.map((claim) => {
    const reading = readMovement(envelope.source, claim)
    if (!('fact' in reading) || !ids.has(reading.fact.externalId)) {
      if ('fact' in reading) ids.add(reading.fact.externalId)
      return reading
    }
    // One name for two movements of one event: only a person can say whether it happened once or twice.
    const detail = `The movement ${show(reading.fact.externalId)} is listed more than once.`
    return { code: 'shape_unknown' as const, detail, subjectId: reading.fact.externalId }
  })
  return eventOf(envelope, readings)
}

/** Makes the one event of a running total, of which no movement has a name. */
export function totalEvent(envelope: Envelope, claim: TotalClaim): Received {
  return eventOf(envelope, [readTotal(envelope.source, claim)])
}

/** A fact, or why there is none; with the money key as far as it could be read. */
type Reading =
  | { readonly fact: Fact }
  | { readonly code: Unclear['code']; readonly detail: string; readonly subjectId: string | null }

function eventOf(envelope: Envelope, readings: readonly Reading[]): Received {
  const eventId = readId(envelope.id.value)
  const { source, kind } = envelope
  const event = { source, kind, id: eventId ?? envelope.fallbackId }
  const problem = readings.find((reading) => 'code' in reading)
  const facts = readings.flatMap((reading) => ('fact' in reading ? [reading.fact] : []))
  const [first] = facts
  if (eventId === null) {
    const subjectId = problem === undefined ? first?.externalId : problem.subjectId
    return unclear(event, 'id_unusable', unusable(envelope.id), subjectId)
  }
  if (problem !== undefined) return unclear(event, problem.code, problem.detail, problem.subjectId)
  if (first === undefined) return unclear(event, 'shape_unknown', 'The event tells of no money.')
  const booked: ReceivedEvent = { ...event, fingerprint: fingerprintOf(first, facts), content: { facts } }
  return { outcome: 'events', events: [booked] }
}

/** One fact is the whole content of its event. Several are compared together, whatever their order, with their names. */
function fingerprintOf(first: Fact, facts: readonly Fact[]): string {
  if (facts.length === 1) return moneyFingerprint(first)
  const parts = facts.map((fact) => JSON.stringify([fact.externalId, moneyFingerprint(fact)])).toSorted()
  return `v1:${hash('sha256', JSON.stringify(parts), 'base64url')}`
}

function readPayment(source: string, claim: PaidClaim): Reading {
  const externalId = readId(claim.payment.value)
  if (externalId === null) return cannotName(claim.payment, null)
  const amount = readAmount(claim)
  if ('code' in amount) return { ...amount, subjectId: externalId }
  const { invoiceReference, payer, occurredAt } = claim
  return {
    fact: { type: 'payment', kind: 'payment', source, externalId, amount, invoiceReference, payer, occurredAt },
  }
}

function readMovement(source: string, claim: MovementClaim): Reading {
  const externalId = readId(claim.movement.value)
  if (externalId === null) return cannotName(claim.movement, null)
  const returnId = readId(claim.belongsTo.value)
  if (returnId === null) return cannotName(claim.belongsTo, externalId)
  const paymentId = readId(claim.payment.value)
  if (paymentId === null) return cannotName(claim.payment, externalId)
  const amount = readAmount(claim)
  if ('code' in amount) return { ...amount, subjectId: externalId }
  const { kind, occurredAt } = claim
  const original: MoneyName = { source, externalId: paymentId }
  return { fact: { type: 'return', kind, source, externalId, returnId, original, amount, occurredAt } }
}

/** Totals of a payment belong together; this is no id of any source. */
const TOTAL_RETURN_ID = 'total'

function readTotal(source: string, claim: TotalClaim): Reading {
  const paymentId = readId(claim.payment.value)
  if (paymentId === null) return cannotName(claim.payment, null)
  const amount = readAmount(claim)
  // Its name contains the amount, so that one without a readable amount has no money key.
  if ('code' in amount) return { ...amount, subjectId: null }
  // Injective: what follows the last slash is the total. A later one of the same payment is another fact, a resend is not.
  const name = { name: claim.payment.name, value: `${paymentId}/total/${amount.amountMinor}` }
  const externalId = readId(name.value)
  if (externalId === null) return cannotName(name, null)
  const fact: ReturnFact = {
    type: 'return',
    kind: 'refund_total',
    source,
    externalId,
    returnId: TOTAL_RETURN_ID,
    original: { source, externalId: paymentId },
    amount,
    occurredAt: claim.occurredAt,
  }
  return { fact }
}

type AmountReading =
  | { readonly amountMinor: bigint; readonly currency: string }
  | { readonly code: Unclear['code']; readonly detail: string }

function readAmount(claim: AmountClaim): AmountReading {
  const currency = readCurrency(claim.currency.value)
  if (currency === undefined) {
    const detail = `${claim.currency.name} is ${show(claim.currency.value)}, which is no currency with minor units in ISO 4217.`
    return { code: 'currency_unknown', detail }
  }
  const parsed = claim.parseAmount(claim.amount.value, currency)
  if ('problem' in parsed) {
    const detail = `${claim.amount.name} ${amountProblemText[parsed.problem]}: ${show(claim.amount.value)} ${currency.code}.`
    return { code: 'amount_unreadable', detail }
  }
  return { amountMinor: parsed.amountMinor, currency: currency.code }
}

const currencyCode = /^[A-Za-z]{3}$/

/** A currency by its code in any capitals. */
export function readCurrency(code: unknown): Currency | undefined {
  // Only ASCII letters: 'ı' and 'ſ' would become capitals of the alphabet and make a currency of a misspelling.
  return typeof code === 'string' && currencyCode.test(code) ? findCurrency(code.toUpperCase()) : undefined
}

function cannotName(field: Field, subjectId: string | null): Reading {
  return { code: 'id_unusable', detail: unusable(field), subjectId }
}

/** The sentence for a person about an id that is none. */
export function unusable(field: Field): string {
  return `${field.name} is ${show(field.value)}, which cannot name anything.`
}
