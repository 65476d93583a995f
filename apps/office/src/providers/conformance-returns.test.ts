import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { moneyFingerprint } from '../facts/index.ts'
import type { Delivery } from './index.ts'
import { SAMPLE_NOW_MS, sampleContent } from './payment/samples/samples.ts'
import {
  eventOf,
  expectSound,
  keyOf,
  paymentIn,
  returnIn,
  sampledProviders,
  unreadableAmounts,
  unusableIds,
} from './sampled-providers.ts'

/** What every payment provider must do with money that goes back, and with a delivery that is read once more. */

describe.each(sampledProviders)('$provider.source', (sampled) => {
  const { provider, samples, settings, receive, paid, refunded } = sampled

  describe('money that goes back', () => {
    test.each(samples.returns)('$title becomes one event with exactly its facts', ({ body, kind, facts }) => {
      const event = eventOf(receive(samples.signed(Buffer.from(body))))
      expect(keyOf(event)).toEqual([provider.source, kind, sampleContent.eventId])
      expect(event.content).toEqual({ facts })
      expect(event.fingerprint).toMatch(/^v1:[A-Za-z0-9_-]{43}$/)
    })

    test('every kind that the provider delivers has a sample, and no other is delivered', () => {
      const kinds = new Set(['payment.paid', ...samples.returns.map(({ kind }) => kind)])
      expect([...kinds].toSorted()).toEqual([...new Set(provider.capabilities.delivers)].toSorted())
    })

    test('ORD-01 a refund names the money key of its payment, whichever of the two comes first', () => {
      const { type, source, externalId } = paymentIn(eventOf(receive(paid())))
      expect(type).toBe('payment')
      const event = eventOf(receive(refunded()))
      expect(returnIn(event)).toEqual({
        type: 'return',
        kind: 'refund',
        source,
        externalId: 're_sample_0001',
        returnId: 're_sample_0001',
        original: { source, externalId },
        amount: { amountMinor: 40000n, currency: 'EUR' },
        occurredAt: new Date('2026-09-21T14:13:10Z'),
      })
      expect(keyOf(event)).toEqual([source, 'payment.refunded', sampleContent.eventId])
      expect(event.fingerprint).toBe(moneyFingerprint(returnIn(event)))
    })

    test('ORD-01 payment and refund meet in the same long id, because both name it by its whole hash', () => {
      const paymentId = 'payment-'.padEnd(5000, 'x')
      const { externalId } = paymentIn(eventOf(receive(paid({ paymentId }))))
      expect(externalId).toMatch(/^sha256:/)
      expect(returnIn(eventOf(receive(refunded({ paymentId })))).original.externalId).toBe(externalId)
    })

    test('the fingerprint of a refund is of kind, amount, currency and original only', () => {
      const first = eventOf(receive(refunded())).fingerprint
      for (const change of [{ note: 'other text' }, { eventId: 'evt_other' }]) {
        expect(eventOf(receive(refunded(change))).fingerprint).toBe(first)
      }
      for (const change of [{ amount: '40001' }, { currency: 'USD' }, { paymentId: 'pi_other' }]) {
        expect(eventOf(receive(refunded(change))).fingerprint).not.toBe(first)
      }
      expect(eventOf(receive(paid({ amount: '40000' }))).fingerprint).not.toBe(first)
    })

    test.each(unreadableAmounts)('AMT-11 a refund whose amount is %s is kept with its money key', (_name, amount) => {
      const event = eventOf(receive(refunded({ amount })))
      expect(keyOf(event)).toEqual([provider.source, 'payment.refunded', sampleContent.eventId])
      expect(event.content).toMatchObject({
        unclear: { code: 'amount_unreadable', subject: { source: provider.source, externalId: 're_sample_0001' } },
      })
    })

    test('a refund in an unknown currency is kept with its money key', () => {
      expect(eventOf(receive(refunded({ currency: 'XAU' }))).content).toMatchObject({
        unclear: { code: 'currency_unknown', subject: { externalId: 're_sample_0001' } },
      })
    })

    test.each(unusableIds)('IDEM-16 a refund is kept whose own id or payment is %j', (id) => {
      expect(eventOf(receive(refunded({ refundId: id }))).content).toMatchObject({
        unclear: { code: 'id_unusable', subject: null },
      })
      expect(eventOf(receive(refunded({ paymentId: id }))).content).toMatchObject({
        unclear: { code: 'id_unusable', subject: { externalId: 're_sample_0001' } },
      })
    })

    test('a refund of an event without a usable id is kept with its money key', () => {
      const event = eventOf(receive(refunded({ eventId: 'undefined' })))
      expect(event.id).toMatch(/^body:[0-9a-f]{32}$/)
      expect(event.content).toMatchObject({
        unclear: { code: 'id_unusable', subject: { externalId: 're_sample_0001' } },
      })
    })
  })

  describe('reading again', () => {
    /** What is stored of a delivery. */
    const kept = ({ headers, body }: Delivery): Delivery => ({
      headers: Object.fromEntries(provider.keptHeaders.map((name) => [name, headers[name]])),
      body,
    })
    const bodies = [...samples.returns.map(({ body }) => body), ...samples.interim, 'no JSON', '{}', '[]']
    const all: readonly Delivery[] = [
      paid(),
      paid({ amount: '"10000"' }),
      paid({ paymentId: 'undefined' }),
      refunded(),
      ...bodies.map((body) => samples.signed(Buffer.from(body))),
    ]

    test('gives what receiving gave, from what is kept of a delivery alone', () => {
      for (const delivery of all) expect(provider.reread(kept(delivery), settings)).toEqual(receive(delivery))
    })

    test('gives it however old the signature is by now', () => {
      const years = 94_608_000_000
      expect(receive(paid(), SAMPLE_NOW_MS + years).outcome).toBe('rejected')
      expect(provider.reread(paid(), settings)).toEqual(receive(paid()))
    })

    test('never rejects, whatever the bytes and headers', () => {
      const headers = fc.dictionary(
        fc.constantFrom(...samples.requiredHeaders, ...provider.keptHeaders),
        fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('undefined', '1790000000', 'msg_1')),
      )
      const body = fc.oneof(
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
        fc.json().map((text) => Buffer.from(text)),
        fc.constantFrom(...all.map((delivery) => delivery.body)),
      )
      fc.assert(
        fc.property(headers, body, (some, bytes) => {
          const received = provider.reread({ headers: some, body: bytes }, settings)
          expect(received.outcome).not.toBe('rejected')
          expectSound(received, provider.source)
        }),
        { numRuns: 1000 },
      )
    })
  })
})
