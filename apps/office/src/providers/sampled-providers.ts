import { expect } from 'vitest'
import type { PaymentFact, ReceivedEvent, ReturnFact } from '../facts/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import { MAX_AMOUNT_MINOR } from '../platform/money.ts'
import { type AnyPaymentProvider, type Delivery, isUsableId, paymentProviders, type Received } from './index.ts'
import {
  type HowToSend,
  type ProviderSamples,
  type RefundContent,
  SAMPLE_NOW_MS,
  type SampleContent,
  sampleContent,
} from './payment/samples/samples.ts'

/** Every registered provider with its samples, for the conformance tests. One without them fails before its first test. */

export const sampledProviders = await Promise.all(
  Object.values(paymentProviders).map(async (provider) => {
    const { samples } = (await import(`./payment/samples/${provider.source}.ts`)) as { samples: ProviderSamples }
    return withSamples(provider, samples)
  }),
)

function withSamples(provider: AnyPaymentProvider, samples: ProviderSamples) {
  const settings = provider.settings.parse(samples.settings([samples.secrets.current]))
  const refund = { refundId: 're_sample_0001', amount: '40000' }
  return {
    provider,
    samples,
    settings,
    receive: (delivery: Delivery, nowMs = SAMPLE_NOW_MS): Received => provider.receive(delivery, settings, nowMs),
    paid: (content: Partial<SampleContent> = {}, how?: HowToSend) =>
      samples.paid({ ...sampleContent, ...content }, how),
    refunded: (content: Partial<RefundContent> = {}, how?: HowToSend) =>
      samples.refunded({ ...sampleContent, ...refund, ...content }, how),
  }
}

/** The one event of a delivery; anything else fails the test. */
export function eventOf(received: Received): ReceivedEvent {
  if (received.outcome !== 'events') throw new Error(`${received.outcome}: ${JSON.stringify(received)}`)
  const [event] = received.events
  if (event === undefined || received.events.length !== 1) throw new Error(`${received.events.length} events`)
  return event
}

export function keyOf(event: ReceivedEvent): string[] {
  return [event.source, event.kind, event.id]
}

export function paymentIn(event: ReceivedEvent): PaymentFact {
  const fact = 'facts' in event.content ? event.content.facts[0] : undefined
  if (fact?.type !== 'payment') throw new Error(`no payment but ${Object.keys(event.content)}`)
  return fact
}

export function returnIn(event: ReceivedEvent): ReturnFact {
  const fact = 'facts' in event.content ? event.content.facts[0] : undefined
  if (fact?.type !== 'return') throw new Error(`no return but ${Object.keys(event.content)}`)
  return fact
}

/** What stands where an amount belongs, and its JSON. */
export const unreadableAmounts = [
  ['missing', 'null'],
  ['zero', '0'],
  ['empty', '""'],
  ['a word', '"abc"'],
  ['text of digits', '"10000"'],
  ['negative', '-500'],
  ['a fraction', '16.4'],
  ['an integer with a point', '1190.0'],
  ['an integer with an exponent', '1e4'],
  ['beyond 2^53', '9007199254740993'],
  ['beyond every float', '1e400'],
  ['a list', '[10000]'],
  ['true', 'true'],
]
/** Texts that name nothing. */
export const unusableIds = [
  '',
  ' ',
  'undefined',
  'null',
  'NaN',
  '[object Object]',
  'pay\u0000_17',
  '2026-03-10T10:00:00Z',
  '1790000000',
]
/** What must hold of every answer, so that nothing behind an adapter has to check it again. */
export function expectSound(received: Received, source: string): void {
  if (received.outcome !== 'events') {
    expect(['rejected', 'ignored', 'handshake']).toContain(received.outcome)
    return
  }
  expect(received.events.length).toBeGreaterThan(0)
  for (const event of received.events) {
    expect(event.source === source || event.source.startsWith(`${source}/`)).toBe(true)
    expect(event.kind).toMatch(/^[a-z][a-z0-9_.]{0,99}$/)
    expect(isUsableId(event.id)).toBe(true)
    expect(event.fingerprint).toMatch(/^(v1:[A-Za-z0-9_-]{43}|unclear:)$/)
    const texts: (string | null)[] = []
    if ('unclear' in event.content) {
      texts.push(event.content.unclear.detail)
      const { subject } = event.content.unclear
      if (subject !== null) expect(isUsableId(subject.externalId)).toBe(true)
    } else {
      const { facts } = event.content
      expect(facts.length).toBeGreaterThan(0)
      // One event never names one money twice: nobody behind it could say which of the two was meant.
      expect(new Set(facts.map((fact) => `${fact.kind} ${fact.externalId}`)).size).toBe(facts.length)
      for (const fact of facts) {
        expect(isUsableId(fact.externalId)).toBe(true)
        expect(fact.source).toBe(event.source)
        if (fact.amount === 'open_rest') throw new Error('a provider must never mean the open rest')
        expect(typeof fact.amount.amountMinor).toBe('bigint')
        expect(fact.amount.amountMinor > 0n && fact.amount.amountMinor <= MAX_AMOUNT_MINOR).toBe(true)
        expect(findCurrency(fact.amount.currency)).toBeDefined()
        if (fact.occurredAt !== null) expect(Number.isNaN(fact.occurredAt.getTime())).toBe(false)
        if (fact.type === 'payment') texts.push(fact.payer.name, fact.payer.email, fact.invoiceReference)
        else {
          expect(isUsableId(fact.returnId) && isUsableId(fact.original.externalId)).toBe(true)
          expect(fact.original.source).toBe(event.source)
        }
      }
    }
    for (const text of texts) {
      if (text !== null) expect(text.includes('\0') || !text.isWellFormed() || text.trim() === '').toBe(false)
    }
  }
}
