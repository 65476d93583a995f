import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ReceivedEvent } from '../../facts/index.ts'
import type { Received } from '../provider.ts'
import { SAMPLE_NOW_MS, sampleContent } from './samples/samples.ts'
import { samples } from './samples/sandbox.ts'
import { sandbox } from './sandbox.ts'
import { signSandboxDelivery } from './sign.ts'

const secret = samples.secrets.current
const settings = sandbox.settings.parse({ webhookSecrets: [secret] })

function receive(event: unknown, id = 'msg_1'): Received {
  const body = Buffer.from(JSON.stringify(event))
  const headers = signSandboxDelivery({ id, body, secret, nowMs: SAMPLE_NOW_MS })
  return sandbox.receive({ headers, body }, settings, SAMPLE_NOW_MS)
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
    ['payment.refunded', { refund: 're_1', payment: 'pay_1', amountMinor: 1, currency: 'EUR' }, 're_1'],
    ['payment.charged_back', { dispute: 'dp_1', payment: 'pay_1', amountMinor: 1, currency: 'EUR' }, null],
    ['payment.chargeback_reversed', { dispute: 'dp_1', payment: 'pay_1', amountMinor: 1, currency: 'EUR' }, null],
    ['message.received', { message: 'm_1' }, null],
    ['message.edited', { message: 'm_1' }, null],
    ['call.updated', { call: 'c_1' }, null],
    ['bank.line', { line: 'l_1' }, null],
  ])('%s is kept until it can be booked', (type, content, subject) => {
    expect(eventOf(receive({ type, data: content }))).toEqual({
      source: 'sandbox',
      kind: type,
      id: 'msg_1',
      fingerprint: 'v1:unclear',
      content: {
        unclear: {
          code: 'type_not_supported',
          detail: expect.stringContaining(type),
          subject: subject === null ? null : { source: 'sandbox', externalId: subject },
        },
      },
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
      return [fact?.payer.name, fact?.payer.email, fact?.occurredAt?.toISOString()]
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

describe('signature', () => {
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
})
