import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ReceivedEvent } from '../../facts/index.ts'
import { isUsableId } from '../ids.ts'
import type { Received } from '../provider.ts'
import { SAMPLE_NOW_MS, sampleContent } from './samples/samples.ts'
import { samples } from './samples/sandbox.ts'
import { sandbox } from './sandbox.ts'
import { signSandboxDelivery } from './sign.ts'

const secret = samples.secrets.current
const settings = sandbox.settings.parse({ webhookSecrets: [secret] })

function receive(event: unknown, id = 'msg_1', other: Partial<typeof settings> = {}): Received {
  const body = Buffer.from(JSON.stringify(event))
  const headers = signSandboxDelivery({ id, body, secret, nowMs: SAMPLE_NOW_MS })
  return sandbox.receive({ headers, body }, { ...settings, ...other }, SAMPLE_NOW_MS)
}

function eventOf(received: Received): ReceivedEvent {
  const event = received.outcome === 'events' ? received.events[0] : undefined
  if (event === undefined) throw new Error(JSON.stringify(received))
  return event
}

const data = { payment: 'pay_1', invoice: 'INV-1', amountMinor: 10000, currency: 'EUR' }

describe('events', () => {
  test('PAY-11 each step has its own kind, so that pending never uses up the key of paid', () => {
    expect(receive({ type: 'payment.processing', data }).outcome).toBe('ignored')
    expect(eventOf(receive({ type: 'payment.paid', data }))).toMatchObject({ kind: 'payment.paid', id: 'msg_1' })
    expect(receive({ type: 'payment.processing', data }).outcome).toBe('ignored')
  })

  test('PAY-10 two envelopes of one payment are two events with one money key', () => {
    const one = eventOf(receive({ type: 'payment.paid', data }, 'WH-1'))
    const two = eventOf(receive({ type: 'payment.paid', data }, 'WH-2'))
    expect([one.id, two.id]).toEqual(['WH-1', 'WH-2'])
    expect(one.content).toEqual(two.content)
    expect(one.fingerprint).toBe(two.fingerprint)
  })

  test('IDEM-11 IDEM-12 the webhook-id is taken byte by byte', () => {
    for (const id of ['evt_1AbCdE', 'evt_1aBcDe', 'P-12', 'P-12.1']) {
      expect(eventOf(receive({ type: 'payment.paid', data }, id)).id).toBe(id)
    }
  })

  test.each([
    ['message.received', { message: 'm_1' }],
    ['message.edited', { message: 'm_1' }],
    ['call.updated', { call: 'c_1' }],
    ['bank.line', { line: 'l_1' }],
  ])('%s is kept until it can be booked', (type, content) => {
    expect(eventOf(receive({ type, data: content }))).toEqual({
      source: 'sandbox',
      kind: type,
      id: 'msg_1',
      fingerprint: 'unclear:',
      content: { unclear: { code: 'type_not_supported', detail: expect.stringContaining(type), subject: null } },
    })
  })

  test('a type that is unknown or misspelled is kept, because it may be money', () => {
    for (const type of ['payment.payed', 'Payment.Paid', 'payment.paid ', '', 'x'.repeat(500)]) {
      expect(eventOf(receive({ type, data }))).toMatchObject({
        kind: 'unreadable',
        content: { unclear: { code: 'type_not_supported' } },
      })
    }
  })

  test('a payment without data is kept', () => {
    for (const odd of [undefined, null, [], 'x']) {
      expect(eventOf(receive({ type: 'payment.paid', data: odd }))).toMatchObject({
        id: 'msg_1',
        content: { unclear: { code: 'shape_unknown' } },
      })
    }
  })

  test('the payer may be an object, a name or absent, and the time needs a zone', () => {
    const read = (payer: unknown, timestamp?: unknown) => {
      const { content } = eventOf(receive({ type: 'payment.paid', timestamp, data: { ...data, payer } }))
      const fact = 'facts' in content ? content.facts[0] : undefined
      if (fact?.type !== 'payment') throw new Error(JSON.stringify(content))
      return [fact.payer.name, fact.payer.email, fact.occurredAt?.toISOString()]
    }
    expect(read({ name: 'Kim', email: 'k@example.test' }, '2026-03-10T12:00:00+02:00')).toEqual([
      'Kim',
      'k@example.test',
      '2026-03-10T10:00:00.000Z',
    ])
    expect(read('Kim', '2026-03-10T12:00:00')).toEqual(['Kim', null, undefined])
    expect(read(undefined, '2026-02-30T99:00:00Z')).toEqual([null, null, undefined])
    expect(read(7, 1789999990)).toEqual([null, null, undefined])
  })

  test('an invoice may be named by a number', () => {
    expect(eventOf(receive({ type: 'payment.paid', data: { ...data, invoice: 1001 } })).content).toMatchObject({
      facts: [{ invoiceReference: '1001' }],
    })
  })

  test('senders that count by themselves never meet', () => {
    const delivery = samples.paid(sampleContent)
    const shop = sandbox.settings.parse({ webhookSecrets: [secret], account: 'shop-2' })
    const event = eventOf(sandbox.receive(delivery, shop, SAMPLE_NOW_MS))
    expect(event).toMatchObject({ source: 'sandbox/shop-2', content: { facts: [{ source: 'sandbox/shop-2' }] } })
  })
})

describe('money that goes back', () => {
  const money = { payment: 'pay_1', amountMinor: 10000, currency: 'EUR' }
  const returnOf = (type: string, names: Record<string, unknown>, other: Partial<typeof settings> = {}) => {
    const { content } = eventOf(receive({ type, data: { ...money, ...names } }, 'msg_1', other))
    const fact = 'facts' in content ? content.facts[0] : undefined
    if (fact?.type !== 'return') throw new Error(`no return but ${Object.keys(content)}`)
    return fact
  }

  test('ORD-13 a dispute that takes, gives and takes again is three movements, if the sender names them', () => {
    const types = ['payment.charged_back', 'payment.chargeback_reversed', 'payment.charged_back']
    const facts = types.map((type, index) => returnOf(type, { dispute: 'dp_1', movement: `mv_${index}` }))
    expect(facts.map(({ kind, externalId, returnId }) => [kind, externalId, returnId])).toEqual([
      ['chargeback', 'mv_0', 'dp_1'],
      ['chargeback_reversal', 'mv_1', 'dp_1'],
      ['chargeback', 'mv_2', 'dp_1'],
    ])
  })

  test('a movement whose name is there and unusable is kept, and never named by its dispute instead', () => {
    for (const movement of ['', 'undefined', 0, true, {}]) {
      const type = 'payment.charged_back'
      expect(eventOf(receive({ type, data: { ...money, dispute: 'dp_1', movement } })).content).toMatchObject({
        unclear: { code: 'id_unusable', subject: null },
      })
    }
    const { content } = eventOf(receive({ type: 'payment.charged_back', data: { ...money, movement: 'mv_1' } }))
    expect(content).toMatchObject({ unclear: { code: 'id_unusable', subject: { externalId: 'mv_1' } } })
  })

  test('ORD-10 each running total of a payment is a fact of its own, and a resend is the same', () => {
    const name = (amountMinor: number) => returnOf('payment.refund_total', { amountMinor }).externalId
    expect([1200, 2000, 2000].map(name)).toEqual(['pay_1/total/1200', 'pay_1/total/2000', 'pay_1/total/2000'])
  })

  test('the payment has the same source as its refund, the account included', () => {
    expect(returnOf('payment.refunded', { refund: 're_1' }, { account: 'shop-2' })).toMatchObject({
      source: 'sandbox/shop-2',
      original: { source: 'sandbox/shop-2', externalId: 'pay_1' },
    })
  })

  test('AMT-11 a negative refund is kept: which way money goes is said by the type alone', () => {
    const type = 'payment.refunded'
    expect(eventOf(receive({ type, data: { ...money, refund: 're_1', amountMinor: -5 } })).content).toMatchObject({
      unclear: { code: 'amount_unreadable', subject: { externalId: 're_1' } },
    })
  })
})

describe('amounts as text', () => {
  const booked = (amounts: 'decimal' | 'decimal_grouped', amount: unknown, currency = 'EUR') => {
    const { content } = eventOf(
      receive({ type: 'payment.paid', data: { payment: 'pay_1', amount, currency } }, 'msg_1', { amounts }),
    )
    const fact = 'facts' in content ? content.facts[0] : undefined
    if ('unclear' in content) return content.unclear.code
    return fact?.amount === 'open_rest' ? null : fact?.amount.amountMinor
  }

  test('AMT-14 decimal text is read digit by digit, and nothing is cut off', () => {
    const texts = ['16.40', '1.15', '4.35', '81.20', '64.10']
    expect(texts.map((text) => booked('decimal', text))).toEqual([1640n, 115n, 435n, 8120n, 6410n])
    expect(texts.map((text) => booked('decimal_grouped', text))).toEqual([1640n, 115n, 435n, 8120n, 6410n])
  })

  test('AMT-03 thousands may be grouped where the settings say so, and the currency says what the digits mean', () => {
    expect(booked('decimal_grouped', '7,300', 'JPY')).toBe(7300n)
    expect(booked('decimal_grouped', '1,234.50', 'USD')).toBe(123450n)
    expect(booked('decimal_grouped', '73', 'JPY')).toBe(73n)
    expect(booked('decimal', '7,300', 'JPY')).toBe('amount_unreadable')
    expect(booked('decimal', '1,234.50', 'USD')).toBe('amount_unreadable')
  })

  test('AMT-03 what is written otherwise is kept, and an integer is no text', () => {
    for (const amount of ['1.190,00', '1,19', '12,34.00', '', '1e2', ' 1.00', '-1.00', '16.405', 1640, 16.4, null]) {
      expect(booked('decimal_grouped', amount)).toBe('amount_unreadable')
    }
    // The field of the other form is no way round the setting.
    expect(eventOf(receive({ type: 'payment.paid', data }, 'msg_1', { amounts: 'decimal' })).content).toMatchObject({
      unclear: { code: 'amount_unreadable' },
    })
    expect(
      eventOf(receive({ type: 'payment.paid', data: { ...data, amountMinor: undefined, amount: '100.00' } })).content,
    ).toMatchObject({
      unclear: { code: 'amount_unreadable' },
    })
  })

  test('refunds are written as payments are', () => {
    const type = 'payment.refunded'
    const content = { refund: 're_1', payment: 'pay_1', amount: '1,190.00', currency: 'EUR' }
    expect(eventOf(receive({ type, data: content }, 'msg_1', { amounts: 'decimal_grouped' })).content).toMatchObject({
      facts: [{ kind: 'refund', amount: { amountMinor: 119000n } }],
    })
  })
})

describe('a sender without ids', () => {
  const nameless = sandbox.settings.parse({ webhookSecrets: [secret], identityFields: ['type', 'data.payment'] })

  function receiveNameless(event: unknown, other: Partial<typeof settings> = {}): Received {
    const body = Buffer.from(JSON.stringify(event))
    const headers = signSandboxDelivery({ body, secret, nowMs: SAMPLE_NOW_MS })
    expect(Object.keys(headers)).not.toContain('webhook-id')
    return sandbox.receive({ headers, body }, { ...nameless, ...other }, SAMPLE_NOW_MS)
  }

  test('PAY-06 a repetition that is built anew has the same key and content, by the declared fields', () => {
    const sent = (createdAt: string) => ({ type: 'payment.paid', data, createdAt })
    const one = eventOf(receiveNameless(sent('2026-03-02T10:00:00.101Z')))
    const two = eventOf(receiveNameless(sent('2026-03-02T10:01:00.774Z')))
    expect(one).toEqual(two)
    expect(one).toMatchObject({ kind: 'payment.paid', id: 'data.payment=pay_1&type=payment.paid' })
    const other = eventOf(receiveNameless({ ...sent('2026-03-02T10:00:00.101Z'), data: { ...data, payment: 'pay_2' } }))
    expect(other.id).not.toBe(one.id)
  })

  test('PAY-06 the id is injective, whatever is in the fields', () => {
    const id = (payment: string, shop: string) =>
      eventOf(receiveNameless({ type: 'payment.paid', shop, data: { ...data, payment } }, { identityFields: ['shop'] }))
        .id
    const ids = [id('a', 'b'), id('a&shop=b', 'b'), id('a', 'b&data.payment=a'), id('a%26', 'b'), id('b', 'a')]
    expect(new Set(ids).size).toBe(5)
    expect(id('x'.repeat(5000), 'b')).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  test('PAY-14 refunds, movements and totals of one payment stay apart, though only its own name was declared', () => {
    const id = (type: string, names: Record<string, unknown>) =>
      eventOf(receiveNameless({ type, data: { ...data, ...names } })).id
    const ids = [
      id('payment.refunded', { refund: 're_1' }),
      id('payment.refunded', { refund: 're_2' }),
      id('payment.refund_total', { amountMinor: 1200 }),
      id('payment.refund_total', { amountMinor: 2000 }),
      id('payment.charged_back', { dispute: 'dp_1', movement: 'mv_1' }),
      id('payment.charged_back', { dispute: 'dp_1', movement: 'mv_2' }),
    ]
    expect(new Set(ids).size).toBe(6)
    expect(id('payment.refunded', { refund: 're_1' })).toBe(ids[0])
  })

  test.each([
    ['is missing', {}],
    ['is null', { ref: null }],
    ['is empty', { ref: '' }],
    ['is a placeholder', { ref: 'undefined' }],
    ['is an object', { ref: {} }],
    ['is a fraction', { ref: 1.5 }],
    ['is no more than a list', { ref: ['a'] }],
  ])('PAY-06 an event whose declared field %s is kept with its money key', (_why, fields) => {
    const sent = { type: 'payment.paid', data, ...fields }
    const event = eventOf(receiveNameless(sent, { identityFields: ['ref'] }))
    expect(event.id).toMatch(/^body:[0-9a-f]{32}$/)
    expect(event.content).toEqual({
      unclear: {
        code: 'id_unusable',
        detail: expect.stringMatching(/^ref is /),
        subject: { source: 'sandbox', externalId: 'pay_1' },
      },
    })
  })

  test('a kept event that says no money is named by the declared fields as well', () => {
    const sent = { type: 'message.received', data: { message: 'm_1' } }
    const event = eventOf(receiveNameless(sent, { identityFields: ['type', 'data.message'] }))
    expect(event).toMatchObject({ kind: 'message.received', id: 'data.message=m_1&type=message.received' })
  })

  test('the missing id is signed as an empty one, and nothing but declared fields makes up for it', () => {
    const body = Buffer.from(JSON.stringify({ type: 'payment.paid', data }))
    const headers = signSandboxDelivery({ body, secret, nowMs: SAMPLE_NOW_MS })
    expect(headers).toMatchObject({
      'webhook-signature': signSandboxDelivery({ id: '', body, secret, nowMs: SAMPLE_NOW_MS })['webhook-signature'],
    })
    expect(sandbox.receive({ headers, body }, settings, SAMPLE_NOW_MS).outcome).toBe('rejected')
    const foreign = { ...headers, 'webhook-id': 'msg_1' }
    expect(sandbox.receive({ headers: foreign, body }, nameless, SAMPLE_NOW_MS).outcome).toBe('rejected')
    const named = signSandboxDelivery({ id: 'msg_1', body, secret, nowMs: SAMPLE_NOW_MS })
    expect(eventOf(sandbox.receive({ headers: named, body }, nameless, SAMPLE_NOW_MS)).id).toBe(
      'data.payment=pay_1&type=payment.paid',
    )
  })

  test('whatever stands in the body, a value comes out', () => {
    const odd = fc.dictionary(fc.constantFrom('type', 'data', 'ref', 'timestamp'), fc.jsonValue())
    const typed = fc.record({
      type: fc.constantFrom(
        'payment.paid',
        'payment.refunded',
        'payment.refund_total',
        'payment.charged_back',
        'bank.line',
      ),
      data: fc.dictionary(
        fc.constantFrom('payment', 'refund', 'dispute', 'movement', 'amount', 'currency'),
        fc.jsonValue(),
      ),
      ref: fc.jsonValue(),
    })
    fc.assert(
      fc.property(fc.oneof(odd, typed), fc.constantFrom('minor', 'decimal', 'decimal_grouped'), (sent, amounts) => {
        const received = receiveNameless(sent, { identityFields: ['ref', 'data.payment', '__proto__'], amounts })
        expect(['ignored', 'events']).toContain(received.outcome)
        for (const event of received.outcome === 'events' ? received.events : [])
          expect(isUsableId(event.id)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('signature', () => {
  test('SIG-04 a repetition with the time of the event is believed as long as the settings say, after its signature', () => {
    const patient = { ...settings, toleranceSeconds: 604_800 }
    const delivery = samples.paid(sampleContent)
    const laterMs = (140 * 60 + 7) * 1000
    expect(sandbox.receive(delivery, settings, SAMPLE_NOW_MS + laterMs).outcome).toBe('rejected')
    const late = sandbox.receive(delivery, patient, SAMPLE_NOW_MS + laterMs)
    // The same key and content as a week ago: the register of ids knows it, whatever the clock says.
    expect(late).toEqual(sandbox.receive(delivery, settings, SAMPLE_NOW_MS))
    expect(sandbox.receive(delivery, patient, SAMPLE_NOW_MS + 604_800_000)).toEqual(late)
    expect(sandbox.receive(delivery, patient, SAMPLE_NOW_MS + 604_801_000).outcome).toBe('rejected')
    const forged = samples.paid(sampleContent, { secrets: [samples.secrets.former] })
    expect(sandbox.receive(forged, patient, SAMPLE_NOW_MS)).toMatchObject({ reason: expect.stringContaining('secret') })
  })

  test('the time may differ by 300 seconds, both ways', () => {
    const delivery = samples.paid(sampleContent)
    for (const [laterMs, outcome] of [
      [300_000, 'events'],
      [301_000, 'rejected'],
      [-300_000, 'events'],
      [-301_000, 'rejected'],
    ] as const) {
      expect(sandbox.receive(delivery, settings, SAMPLE_NOW_MS + laterMs).outcome).toBe(outcome)
    }
  })

  test('the id is signed: another id with the same signature is rejected', () => {
    const delivery = samples.paid(sampleContent)
    const headers = { ...delivery.headers, 'webhook-id': 'evt_sample_0002' }
    expect(sandbox.receive({ ...delivery, headers }, settings, SAMPLE_NOW_MS).outcome).toBe('rejected')
  })

  test('SIG-03 a list of signatures may have blanks to spare', () => {
    const delivery = samples.paid(sampleContent)
    const headers = { ...delivery.headers, 'webhook-signature': `v1,AAAA  ${delivery.headers['webhook-signature']} ` }
    expect(sandbox.receive({ ...delivery, headers }, settings, SAMPLE_NOW_MS).outcome).toBe('events')
  })

  // Published with the libraries of https://github.com/standard-webhooks/standard-webhooks.
  const published = {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    nowMs: 1_614_265_330_000,
    body: '{"test": 2432232314}',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }

  test('the published vector of Standard Webhooks is believed and kept, as it is no event of ours', () => {
    const headers = {
      'webhook-id': published.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': published.signature,
    }
    const known = sandbox.settings.parse({ webhookSecrets: [published.secret] })
    const received = sandbox.receive({ headers, body: Buffer.from(published.body) }, known, published.nowMs)
    expect(eventOf(received)).toMatchObject({ kind: 'unreadable', id: published.id })
    expect(signSandboxDelivery(published)).toMatchObject(headers)
  })

  describe('the package standardwebhooks', () => {
    afterEach(() => {
      vi.useRealTimers()
    })

    test('believes our signing, and we believe its', () => {
      vi.useFakeTimers({ now: SAMPLE_NOW_MS })
      const body = samples.paid(sampleContent).body
      const webhook = new Webhook(secret)
      const headers = signSandboxDelivery({ id: 'msg_1', body, secret, nowMs: SAMPLE_NOW_MS })
      expect(webhook.verify(body, headers)).toMatchObject({ type: 'payment.paid' })
      expect(webhook.sign('msg_1', new Date(SAMPLE_NOW_MS), body.toString())).toBe(headers['webhook-signature'])
    })
  })
})

test('settings want secrets of the specified form', () => {
  const isValid = (webhookSecrets: unknown, more = {}) =>
    sandbox.settings.safeParse({ webhookSecrets, ...more }).success
  expect(isValid([secret])).toBe(true)
  for (const wrong of ['whsec_', 'whsec_AAAA', secret.slice(6), `${secret}!`, 'whsk_AAAA', 7, null]) {
    expect(isValid([wrong])).toBe(false)
    expect(isValid([secret, wrong])).toBe(false)
  }
  expect(isValid([secret], { account: 'Shop/2' })).toBe(false)
  expect(isValid([secret], { mode: 'test' })).toBe(false)
  expect(isValid([secret], { amounts: 'float' })).toBe(false)
  for (const fields of [[], [''], ['a\0b'], 'type']) expect(isValid([secret], { identityFields: fields })).toBe(false)
  expect(isValid([secret], { identityFields: [' type ', 'data.номер'] })).toBe(true)
})
