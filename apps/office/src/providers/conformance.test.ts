import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { moneyFingerprint } from '../facts/index.ts'
import { paymentProviders } from './index.ts'
import { type HowToSend, SAMPLE_NOW_MS, sampleContent } from './payment/samples/samples.ts'
import {
  eventOf,
  expectSound,
  keyOf,
  paymentIn,
  sampledProviders,
  unreadableAmounts,
  unusableIds,
} from './sampled-providers.ts'

/** What every payment provider must do with money that arrived, whatever it is. */

test('the registry finds providers by their source and nothing else', () => {
  expect(Object.keys(paymentProviders)).toEqual(['stripe', 'sandbox'])
  for (const [source, provider] of Object.entries(paymentProviders)) expect(provider.source).toBe(source)
  for (const name of ['constructor', '__proto__', 'toString', 'Stripe', ''])
    expect(paymentProviders[name]).toBeUndefined()
})

describe.each(sampledProviders)('$provider.source', (sampled) => {
  const { provider, samples, settings, receive, paid, refunded } = sampled

  test('a genuine payment becomes one event with one fact', () => {
    const event = eventOf(receive(paid()))
    expect(keyOf(event)).toEqual([provider.source, 'payment.paid', sampleContent.eventId])
    const fact = paymentIn(event)
    expect(fact).toMatchObject({
      type: 'payment',
      kind: 'payment',
      source: provider.source,
      externalId: sampleContent.paymentId,
      amount: { amountMinor: 119000n, currency: 'EUR' },
      invoiceReference: sampleContent.invoice,
      payer: { name: sampleContent.payerName, email: 'payer@example.test' },
    })
    expect(fact.occurredAt?.toISOString()).toBe('2026-09-21T14:13:10.000Z')
    expect(event.fingerprint).toBe(moneyFingerprint(fact))
  })

  test('PAY-01 the same bytes give the same key, fingerprint and fact', () => {
    expect(receive(paid())).toEqual(receive(paid()))
  })

  test('the same event with a new time and signature keeps key and fingerprint', () => {
    const later = SAMPLE_NOW_MS + 3_600_000
    const again = paid({}, { nowMs: later, secrets: [samples.secrets.former, samples.secrets.current] })
    expect(again.headers).not.toEqual(paid().headers)
    expect(receive(again, later)).toEqual(receive(paid()))
  })

  test('PAY-14 another id with the same content is another event', () => {
    const one = eventOf(receive(paid({ eventId: 'evt_21', paymentId: 'pay_21' })))
    const two = eventOf(receive(paid({ eventId: 'evt_22', paymentId: 'pay_22' })))
    expect(one.id).not.toBe(two.id)
    expect(paymentIn(one).externalId).not.toBe(paymentIn(two).externalId)
  })

  test('IDEM-11 IDEM-12 ids that differ in capitals or in a blank are different', () => {
    const ids = ['pay_1AbCdE', 'pay_1aBcDe', 'pay_1AbCdE ', 'pay_é', 'pay_e\u0301']
    const read = ids.map((paymentId) => paymentIn(eventOf(receive(paid({ paymentId })))).externalId)
    expect(read).toEqual(ids)
  })

  test('IDEM-13 IDEM-15 long ids are kept whole or named by their whole hash', () => {
    const long = 'payment-'.padEnd(64, 'x')
    const veryLong = 'payment-'.padEnd(5000, 'x')
    const read = [`${long}A1`, `${long}A2`, `${veryLong}A1`, `${veryLong}A2`].map(
      (paymentId) => paymentIn(eventOf(receive(paid({ paymentId })))).externalId,
    )
    expect(read.slice(0, 2)).toEqual([`${long}A1`, `${long}A2`])
    expect(read[2]).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(new Set(read).size).toBe(4)
  })

  test('IDEM-17 payment and event ids beyond 2^53 stay apart when they come as numbers', () => {
    const asNumber = (id: string) => {
      const delivery = paid({ eventId: id, paymentId: id })
      const body = Buffer.from(delivery.body.toString().replaceAll(`"${id}"`, id))
      const content = paymentIn(eventOf(receive({ ...samples.signed(body) })))
      return content.externalId
    }
    expect(asNumber('9007199254740993')).toBe('9007199254740993')
    expect(asNumber('9007199254740992')).toBe('9007199254740992')
  })

  test('the fingerprint is of kind, amount, currency and original only', () => {
    const first = eventOf(receive(paid())).fingerprint
    const untouched = [
      { payerName: 'Someone Else' },
      { note: 'other text' },
      { invoice: 'R-2' },
      { eventId: 'evt_other' },
    ]
    for (const change of untouched) expect(eventOf(receive(paid(change))).fingerprint).toBe(first)
    for (const change of [{ amount: '119001' }, { currency: 'USD' }, { paymentId: 'pi_other' }]) {
      expect(eventOf(receive(paid(change))).fingerprint).not.toBe(first)
    }
  })

  describe('signature', () => {
    test('it is checked before the first look into the body', () => {
      const notJson = Buffer.from('{"type":')
      expect(receive(samples.signed(notJson, { secrets: [samples.secrets.former] })).outcome).toBe('rejected')
      const interim = Buffer.from(samples.interim[0] ?? '')
      expect(receive(samples.signed(interim, { secrets: [samples.secrets.former] })).outcome).toBe('rejected')
    })

    test('a missing or empty header is rejected', () => {
      const delivery = paid()
      for (const name of samples.requiredHeaders) {
        for (const value of [undefined, '']) {
          const headers = { ...delivery.headers, [name]: value }
          expect(receive({ headers, body: delivery.body }).outcome).toBe('rejected')
        }
      }
      expect(receive({ headers: {}, body: delivery.body }).outcome).toBe('rejected')
    })

    test('every flipped byte of the body is rejected', () => {
      const delivery = paid()
      for (let i = 0; i < delivery.body.length; i++) {
        const body = Buffer.from(delivery.body)
        body[i] = (body[i] ?? 0) ^ 1
        expect(receive({ ...delivery, body }).outcome).toBe('rejected')
      }
      expect(receive({ ...delivery, body: Buffer.concat([delivery.body, Buffer.from(' ')]) }).outcome).toBe('rejected')
      expect(receive({ ...delivery, body: Buffer.concat([Buffer.from('\uFEFF'), delivery.body]) }).outcome).toBe(
        'rejected',
      )
    })

    test('every flipped character of the headers is rejected', () => {
      const delivery = paid()
      for (const name of samples.requiredHeaders) {
        const value = delivery.headers[name] ?? ''
        for (let i = 0; i < value.length; i++) {
          for (const bit of [1, 0x20]) {
            const flipped = value.slice(0, i) + String.fromCharCode(value.charCodeAt(i) ^ bit) + value.slice(i + 1)
            const headers = { ...delivery.headers, [name]: flipped }
            expect({ flipped, ...receive({ ...delivery, headers }) }).toMatchObject({ outcome: 'rejected' })
          }
        }
      }
    })

    test('invalid bytes are signed as bytes and never as the character that replaces them', () => {
      const body = Buffer.from('{"x":"\uFFFD"}')
      const delivery = samples.signed(body)
      expect(receive(delivery).outcome).toBe('events')
      const replaced = Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff]), Buffer.from('"}')])
      expect(receive({ ...delivery, body: replaced }).outcome).toBe('rejected')
    })

    test('an empty or blank secret believes nobody, and settings with one are invalid', () => {
      for (const secret of ['', ' ', '\n', 'whsec_', 'undefined', 'null']) {
        expect(provider.settings.safeParse(samples.settings([secret])).success).toBe(
          // For Stripe the bare prefix is a short text like any other.
          provider.source === 'stripe' && secret === 'whsec_',
        )
      }
      expect(provider.settings.safeParse(samples.settings([])).success).toBe(false)
      for (const secret of ['', ' ']) {
        const forged = paid({}, { secrets: [secret] })
        const careless = { ...(settings as object), webhookSecrets: [secret] }
        expect(provider.receive(forged, careless, SAMPLE_NOW_MS).outcome).toBe('rejected')
      }
      const none = { ...(settings as object), webhookSecrets: [] }
      expect(provider.receive(paid(), none, SAMPLE_NOW_MS).outcome).toBe('rejected')
    })

    test('SIG-04 a stale time is rejected, by the clock that is handed in', () => {
      expect(receive(paid(), SAMPLE_NOW_MS + 300_999).outcome).toBe('events')
      expect(receive(paid(), SAMPLE_NOW_MS + 301_000)).toMatchObject({ outcome: 'rejected' })
      expect(receive(paid(), Number.NaN)).toMatchObject({ outcome: 'rejected' })
      const patient = provider.settings.parse({
        ...(samples.settings([samples.secrets.current]) as object),
        toleranceSeconds: 604_800,
      })
      expect(provider.receive(paid(), patient, SAMPLE_NOW_MS + 8_400_000).outcome).toBe('events')
    })

    test('SIG-03 during a rotation any signature that fits is enough, in every order', () => {
      const { current, former } = samples.secrets
      const both = provider.settings.parse(samples.settings([former, current]))
      const orders: HowToSend[] = [
        { secrets: [former, current] },
        { secrets: [current, former] },
        { secrets: [current], unknownScheme: true },
      ]
      const keys = orders.map((how) => JSON.stringify(keyOf(eventOf(receive(paid({}, how))))))
      expect(new Set(keys).size).toBe(1)
      expect(receive(paid({}, { secrets: [former] })).outcome).toBe('rejected')
      expect(receive(paid({}, { secrets: [], unknownScheme: true })).outcome).toBe('rejected')
      for (const how of [...orders, { secrets: [former] }]) {
        expect(provider.receive(paid({}, how), both, SAMPLE_NOW_MS).outcome).toBe('events')
      }
    })

    test('SIG-01 escapes are verified as they were sent', () => {
      const plain = paid({ payerName: 'PAYER' }).body.toString()
      const body = Buffer.from(plain.replace('PAYER', 'a\\u001Bb \\/ \\u00e9'))
      expect(paymentIn(eventOf(receive(samples.signed(body)))).payer.name).toBe('a\u001bb / é')
      const rewritten = Buffer.from(JSON.stringify(JSON.parse(body.toString())))
      expect(receive({ headers: samples.signed(body).headers, body: rewritten }).outcome).toBe('rejected')
    })
  })

  test.each(samples.interim)('PAY-13 ORD-02 a step that is not final is ignored and takes no key: %s', (body) => {
    expect(receive(samples.signed(Buffer.from(body)))).toEqual({ outcome: 'ignored', reason: expect.any(String) })
  })

  test.each(unreadableAmounts)(
    'AMT-11 an amount that is %s books nothing and is kept with the money key',
    (_name, amount) => {
      const event = eventOf(receive(paid({ amount })))
      expect(keyOf(event)).toEqual([provider.source, 'payment.paid', sampleContent.eventId])
      expect(event.fingerprint).toBe('unclear:')
      expect(event.content).toEqual({
        unclear: {
          code: 'amount_unreadable',
          detail: expect.stringContaining('amount'),
          subject: { source: provider.source, externalId: sampleContent.paymentId },
        },
      })
    },
  )

  test.each(['XYZ', 'XAU', 'HRK', '€', '', 'EURO', 'ıtl', 'iſk', 'constructor'])(
    'an unknown currency %j is kept',
    (currency) => {
      const event = eventOf(receive(paid({ currency })))
      expect(event.content).toMatchObject({
        unclear: { code: 'currency_unknown', subject: { externalId: sampleContent.paymentId } },
      })
    },
  )

  test('the currency may come in any capitals', () => {
    for (const currency of ['eur', 'EUR', 'Eur']) {
      expect(paymentIn(eventOf(receive(paid({ currency })))).amount).toEqual({ amountMinor: 119000n, currency: 'EUR' })
    }
  })

  test('AMT-01 a currency without minor units is booked as it is', () => {
    for (const currency of ['JPY', 'KRW', 'VND']) {
      const { amount } = paymentIn(eventOf(receive(paid({ currency, amount: '4600' }))))
      expect(amount).toEqual({ amountMinor: 4600n, currency })
    }
  })

  test('AMT-06 AMT-07 amount and currency are what the provider says, not what an invoice would like', () => {
    expect(paymentIn(eventOf(receive(paid({ amount: '100', currency: 'USD' })))).amount).toEqual({
      amountMinor: 100n,
      currency: 'USD',
    })
  })

  test.each(unusableIds)(
    'IDEM-12 IDEM-16 a payment id %j that cannot name anything is kept and books nothing',
    (paymentId) => {
      const event = eventOf(receive(paid({ paymentId })))
      expect(event.content).toMatchObject({ unclear: { code: 'id_unusable', subject: null } })
      expect(event.id).toBe(sampleContent.eventId)
    },
  )

  test.each(['', ' ', 'undefined', 'null', '[object Object]'])(
    'an event id %j that cannot name anything is replaced by the hash of the body and kept with the money key',
    (eventId) => {
      const event = eventOf(receive(paid({ eventId })))
      expect(event.id).toMatch(/^body:[0-9a-f]{32}$/)
      expect(event.content).toMatchObject({
        unclear: { code: 'id_unusable', subject: { source: provider.source, externalId: sampleContent.paymentId } },
      })
      const later = SAMPLE_NOW_MS + 60_000
      expect(eventOf(receive(paid({ eventId }, { nowMs: later }), later)).id).toBe(event.id)
    },
  )

  test('IDEM-16 a NUL in the payer name is cleaned and the money booked', () => {
    const fact = paymentIn(eventOf(receive(paid({ payerName: 'Kim\u0000 GmbH' }))))
    expect(fact.payer.name).toBe('Kim GmbH')
  })

  test.each([
    ['nothing', ''],
    ['no JSON', 'hello'],
    ['half of it', '{"type":"payment'],
    ['a list', '[]'],
    ['a number', '42'],
    ['null', 'null'],
    ['an empty object', '{}'],
    ['a type that is no text', '{"type":{}}'],
    ['deep nesting', `{"n":1234567890123456,"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`],
  ])('a signed body of %s is kept under a key that its repetition has too', (_name, body) => {
    const one = eventOf(receive(samples.signed(Buffer.from(body))))
    expect(one).toMatchObject({ kind: 'unreadable', fingerprint: 'unclear:' })
    expect(['body_unreadable', 'shape_unknown']).toContain('unclear' in one.content ? one.content.unclear.code : null)
    const later = SAMPLE_NOW_MS + 60_000
    expect(eventOf(receive(samples.signed(Buffer.from(body), { nowMs: later }), later))).toEqual(one)
  })

  test('a byte order mark in front of a signed body is no obstacle', () => {
    const body = Buffer.concat([Buffer.from('\uFEFF'), paid().body])
    expect(paymentIn(eventOf(receive(samples.signed(body)))).externalId).toBe(sampleContent.paymentId)
  })

  test('any bytes and any headers give a value, and never an event', () => {
    const header = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('t=1790000000,v1=00', 't=,v1=', 'v1,', '1790000000', 't=1e9,v1=a'),
    )
    const headers = fc.dictionary(fc.constantFrom(...samples.requiredHeaders, 'content-type'), header)
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        headers,
        fc.oneof(fc.integer(), fc.double()),
        (bytes, some, nowMs) => {
          const received = provider.receive({ headers: some, body: Buffer.from(bytes) }, settings, nowMs)
          expect(received.outcome).toBe('rejected')
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('any signed bytes give a sound value', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }).map((b) => Buffer.from(b)),
          fc.json().map((t) => Buffer.from(t)),
        ),
        (body) => {
          expectSound(receive(samples.signed(body)), provider.source)
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('a signed event with any field replaced by anything gives a sound value', () => {
    const bodies = [
      paid().body.toString(),
      refunded().body.toString(),
      ...samples.returns.map(({ body }) => body),
      ...samples.interim,
    ]
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\0', '\ud800', 'undefined', '1790000000', '__proto__', 'x'.repeat(2000)),
      fc.constantFrom<unknown>(
        { __proto__: null },
        [],
        -1,
        0,
        2 ** 53,
        1e300,
        'refund.\0',
        'charge.dispute.created',
        'charge.dispute.funds_withdrawn',
        'charge.dispute.later_step',
        'charge.refunded',
        'refund.updated',
        'refund.failed',
        'payment.refunded',
        'payment.refund_total',
        'payment.charged_back',
        'succeeded',
        'failed',
        ['txn_1'],
        [{ id: 'txn_1', amount: -1, currency: 'eur' }],
        [
          { id: 'txn_1', amount: 1, currency: 'usd' },
          { id: 'txn_1', amount: -1, currency: 'usd' },
        ],
        { id: 'pi_expanded' },
        -0,
        1e-7,
      ),
    )
    fc.assert(
      fc.property(fc.constantFrom(...bodies), fc.nat(), odd, (text, position, value) => {
        const parsed: unknown = JSON.parse(text)
        const places = placesOf(parsed)
        const place = places[position % places.length]
        if (place !== undefined) place.holder[place.field] = value
        expectSound(receive(samples.signed(Buffer.from(JSON.stringify(parsed)))), provider.source)
      }),
      { numRuns: 5000 },
    )
  })
})

interface Place {
  readonly holder: Record<string, unknown>
  readonly field: string
}

function placesOf(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap((field) => [{ holder, field }, ...placesOf(holder[field])])
}
