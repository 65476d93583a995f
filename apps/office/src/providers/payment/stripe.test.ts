import Stripe from 'stripe'
import { describe, expect, test } from 'vitest'
import type { PaymentFact, ReceivedEvent } from '../../facts/index.ts'
import type { Received } from '../provider.ts'
import { SAMPLE_NOW_MS, sampleContent } from './samples/samples.ts'
import { samples } from './samples/stripe.ts'
import { signStripeDelivery } from './sign.ts'
import { stripe } from './stripe.ts'

const secret = samples.secrets.current
const settings = stripe.settings.parse({ webhookSecrets: [secret] })

function receive(event: unknown, other: Partial<typeof settings> = {}): Received {
  const body = Buffer.from(JSON.stringify(event))
  const headers = signStripeDelivery({ body, secret, nowMs: SAMPLE_NOW_MS })
  return stripe.receive({ headers, body }, { ...settings, ...other }, SAMPLE_NOW_MS)
}

function eventOf(received: Received): ReceivedEvent {
  const event = received.outcome === 'events' ? received.events[0] : undefined
  if (event === undefined) throw new Error(JSON.stringify(received))
  return event
}

function factOf(received: Received): PaymentFact {
  const { content } = eventOf(received)
  const fact = 'facts' in content ? content.facts[0] : undefined
  if (fact?.type !== 'payment') throw new Error(JSON.stringify(content))
  return fact
}

function event(id: string, type: string, object: Record<string, unknown>) {
  return { id, object: 'event', created: 1789999990, livemode: true, pending_webhooks: 1, type, data: { object } }
}

const money = { currency: 'eur', metadata: { invoice: 'R-2026-0117' } }
const intent = {
  id: 'pi_77',
  object: 'payment_intent',
  status: 'succeeded',
  amount: 12000,
  amount_received: 10000,
  ...money,
}
const charge = {
  id: 'ch_77',
  object: 'charge',
  payment_intent: 'pi_77',
  status: 'succeeded',
  paid: true,
  captured: true,
  amount: 12000,
  amount_captured: 10000,
  ...money,
}
const session = {
  id: 'cs_77',
  object: 'checkout.session',
  payment_intent: 'pi_77',
  payment_status: 'paid',
  amount_total: 10000,
  ...money,
}

describe('one money key', () => {
  test('PAY-02 PAY-10 intent, charge and checkout session of one payment meet in the id of the intent', () => {
    const all = [
      receive(event('evt_a1', 'payment_intent.succeeded', intent)),
      receive(event('evt_a2', 'charge.succeeded', charge)),
      receive(event('evt_a3', 'checkout.session.completed', session)),
      receive(event('evt_a4', 'checkout.session.async_payment_succeeded', session)),
    ]
    for (const received of all) {
      expect(factOf(received)).toMatchObject({
        source: 'stripe',
        externalId: 'pi_77',
        amount: { amountMinor: 10000n, currency: 'EUR' },
        invoiceReference: 'R-2026-0117',
      })
    }
    expect(new Set(all.map((received) => eventOf(received).fingerprint)).size).toBe(1)
    expect(new Set(all.map((received) => eventOf(received).id)).size).toBe(4)
  })

  test('a charge without payment intent is named by itself, also when it was captured later', () => {
    for (const type of ['charge.succeeded', 'charge.captured']) {
      const fact = factOf(receive(event('evt_1', type, { ...charge, payment_intent: null })))
      expect(fact.externalId).toBe('ch_77')
    }
  })

  test('a charge of a version without amount_captured counts its amount', () => {
    const { amount_captured: _, ...old } = charge
    expect(factOf(receive(event('evt_1', 'charge.succeeded', old))).amount).toMatchObject({ amountMinor: 12000n })
  })

  test.each(['invoice.paid', 'invoice.payment_succeeded'])(
    '%s is the same money under a name that cannot meet: ignored',
    (type) => {
      const invoice = { id: 'in_1', object: 'invoice', amount_paid: 10000, currency: 'eur' }
      expect(receive(event('evt_1', type, invoice)).outcome).toBe('ignored')
    },
  )

  test('the checkout of a subscription is ignored, because the payment intent of its invoice books', () => {
    const subscription = {
      ...session,
      mode: 'subscription',
      payment_intent: null,
      subscription: 'sub_1',
      invoice: 'in_1',
    }
    expect(receive(event('evt_1', 'checkout.session.completed', subscription)).outcome).toBe('ignored')
  })

  test('a paid checkout that names no payment is kept, unless it cost nothing', () => {
    const nameless = { ...session, payment_intent: null }
    expect(eventOf(receive(event('evt_1', 'checkout.session.completed', nameless)))).toMatchObject({
      kind: 'payment.paid',
      id: 'evt_1',
      content: { unclear: { code: 'id_unusable', subject: null } },
    })
    const free = { ...nameless, amount_total: 0 }
    expect(receive(event('evt_1', 'checkout.session.completed', free)).outcome).toBe('ignored')
  })
})

test('ORD-15 a checkout that is complete and not paid takes no key, and the success days later books', () => {
  const unpaid = event('evt_c1', 'checkout.session.completed', { ...session, payment_status: 'unpaid' })
  expect(receive(unpaid).outcome).toBe('ignored')
  expect(factOf(receive(event('evt_c2', 'checkout.session.async_payment_succeeded', session)))).toMatchObject({
    externalId: 'pi_77',
    amount: { amountMinor: 10000n, currency: 'EUR' },
  })
  expect(receive(unpaid).outcome).toBe('ignored')
})

test('an expanded payment intent is the same name as its id', () => {
  const expanded = { payment_intent: { id: 'pi_77', object: 'payment_intent' } }
  expect(factOf(receive(event('evt_1', 'charge.succeeded', { ...charge, ...expanded }))).externalId).toBe('pi_77')
  expect(factOf(receive(event('evt_1', 'checkout.session.completed', { ...session, ...expanded }))).externalId).toBe(
    'pi_77',
  )
  const nameless = { ...charge, payment_intent: { object: 'payment_intent' } }
  expect(eventOf(receive(event('evt_1', 'charge.succeeded', nameless))).content).toMatchObject({
    unclear: { code: 'id_unusable', subject: null },
  })
})

describe('ORD-16 only a yes that Stripe is known to write books a charge', () => {
  const { paid: _, status: __, ...silent } = charge

  test.each([
    ['the text "false"', { paid: 'false' }],
    ['false', { paid: false }],
    ['0', { paid: 0 }],
    ['an empty text', { paid: '' }],
    ['the text "true"', { paid: 'true' }],
    ['1', { paid: 1 }],
    ['a status in capitals', { status: 'SUCCEEDED' }],
    ['a status that is true', { status: true }],
    ['null', { paid: null }],
    ['a status of null', { status: null }],
  ])('%s is none', (_name, object) => {
    const received = receive(event('evt_1', 'charge.succeeded', { ...silent, ...object }))
    const booked = received.outcome === 'events' && received.events.some(({ content }) => 'facts' in content)
    expect(booked).toBe(false)
  })

  test('a form with success=false is none', () => {
    const body = Buffer.from('success=false&reason=&eventCode=AUTHORISATION&value=3300')
    const headers = signStripeDelivery({ body, secret, nowMs: SAMPLE_NOW_MS })
    expect(eventOf(stripe.receive({ headers, body }, settings, SAMPLE_NOW_MS)).content).toMatchObject({
      unclear: { code: 'body_unreadable' },
    })
  })

  test('paid or the status alone is one, and the type of the event where neither is sent', () => {
    for (const object of [{ paid: true }, { status: 'succeeded' }, {}]) {
      expect(factOf(receive(event('evt_1', 'charge.succeeded', { ...silent, ...object }))).externalId).toBe('pi_77')
    }
  })
})

describe('states that contradict their event', () => {
  test.each([
    ['charge.succeeded', { ...charge, captured: 'false' }],
    ['charge.succeeded', { ...charge, paid: 'true' }],
    ['charge.succeeded', { ...charge, status: 'pending' }],
    ['payment_intent.succeeded', { ...intent, status: 'processing' }],
    ['checkout.session.completed', { ...session, payment_status: undefined }],
    ['checkout.session.completed', { ...session, payment_status: 'PAID' }],
  ])('ORD-04 %s with such an object is kept, neither booked nor dropped', (type, object) => {
    expect(eventOf(receive(event('evt_1', type, object)))).toMatchObject({
      kind: 'unreadable',
      id: 'evt_1',
      content: { unclear: { code: 'shape_unknown', subject: { source: 'stripe', externalId: 'pi_77' } } },
    })
  })
})

describe('amounts', () => {
  const booked = (currency: string, amount: number) => {
    const { content } = eventOf(
      receive(event('evt_1', 'payment_intent.succeeded', { ...intent, currency, amount_received: amount })),
    )
    return 'facts' in content ? content.facts[0]?.amount : content.unclear.code
  }

  test('AMT-01 ISK and UGX come with two decimals that they do not have', () => {
    expect(booked('isk', 500)).toEqual({ amountMinor: 5n, currency: 'ISK' })
    expect(booked('ugx', 460000)).toEqual({ amountMinor: 4600n, currency: 'UGX' })
    expect(booked('isk', 550)).toBe('amount_unreadable')
    expect(booked('ugx', 1)).toBe('amount_unreadable')
  })

  test('AMT-01 MGA comes without the two decimals that it has', () => {
    expect(booked('mga', 500)).toEqual({ amountMinor: 50000n, currency: 'MGA' })
  })

  test('AMT-01 HUF and TWD come with the two decimals that they have', () => {
    expect(booked('huf', 120000)).toEqual({ amountMinor: 120000n, currency: 'HUF' })
    expect(booked('twd', 120000)).toEqual({ amountMinor: 120000n, currency: 'TWD' })
  })

  test('three-decimal amounts end in 0', () => {
    expect(booked('kwd', 5120)).toEqual({ amountMinor: 5120n, currency: 'KWD' })
    expect(booked('kwd', 5124)).toBe('amount_unreadable')
  })

  test('AMT-11 the sentence for a person names the field and the value', () => {
    const { content } = eventOf(receive(event('evt_1', 'charge.succeeded', { ...charge, amount_captured: -500 })))
    expect(content).toMatchObject({ unclear: { detail: 'amount_captured is negative: -500 EUR.' } })
  })
})

describe('mode', () => {
  test('SIG-07 an event of the other mode is ignored, whatever it says, and takes no key', () => {
    const sent = event('evt_t7', 'payment_intent.succeeded', intent)
    expect(receive({ ...sent, livemode: false }).outcome).toBe('ignored')
    expect(receive({ ...sent, livemode: false, type: 'refund.updated' }).outcome).toBe('ignored')
    expect(receive(sent).outcome).toBe('events')
    expect(receive(sent, { livemode: false }).outcome).toBe('ignored')
    expect(receive({ ...sent, livemode: false }, { livemode: false }).outcome).toBe('events')
  })

  test('SIG-07 a mode that is no boolean is never taken for live', () => {
    expect(
      eventOf(receive({ ...event('evt_t8', 'payment_intent.succeeded', intent), livemode: 'false' })),
    ).toMatchObject({
      id: 'evt_t8',
      content: { unclear: { code: 'shape_unknown' } },
    })
  })
})

test.each(['payout.paid', 'customer.created', 'balance.available', 'refund', 'charge.refund', 'radar.dispute.created'])(
  '%s is ignored',
  (type) => {
    expect(receive(event('evt_1', type, { id: 'x_1' })).outcome).toBe('ignored')
  },
)

describe('bodies', () => {
  test('a thin event is kept under its own id', () => {
    const thin = {
      id: 'evt_test_65',
      object: 'v2.core.event',
      type: 'v1.billing.meter.error_report_triggered',
      livemode: true,
    }
    expect(eventOf(receive(thin))).toMatchObject({
      kind: 'unreadable',
      id: 'evt_test_65',
      content: { unclear: { code: 'shape_unknown' } },
    })
  })

  test('a paid event without its object is kept under its own id', () => {
    expect(eventOf(receive({ id: 'evt_9', type: 'payment_intent.succeeded', data: {} }))).toMatchObject({
      id: 'evt_9',
      content: { unclear: { code: 'shape_unknown' } },
    })
  })

  test('IDEM-16 a kept event has the same key when pending_webhooks has changed', () => {
    const sent = event('evt_17', 'payment_intent.succeeded', { ...intent, id: 'pi\0_17' })
    expect(eventOf(receive({ ...sent, pending_webhooks: 7 }))).toEqual(eventOf(receive(sent)))
  })

  test('IDEM-17 a large number anywhere in the body changes no other field', () => {
    const sent = { ...event('evt_1', 'payment_intent.succeeded', intent), trace: Number.MAX_SAFE_INTEGER * 16 }
    expect(factOf(receive(sent))).toEqual(factOf(receive(event('evt_1', 'payment_intent.succeeded', intent))))
  })
})

describe('invoice reference', () => {
  const reference = (object: Record<string, unknown>, invoiceReferenceFields = settings.invoiceReferenceFields) =>
    factOf(receive(event('evt_1', 'checkout.session.completed', { ...session, ...object }), { invoiceReferenceFields }))
      .invoiceReference

  test('the first field that is filled counts', () => {
    expect(reference({ metadata: { invoice: 'A' }, client_reference_id: 'B' })).toBe('A')
    expect(reference({ metadata: { invoice: ' ' }, client_reference_id: 'B' })).toBe('B')
    expect(reference({ metadata: {}, client_reference_id: ' B ' })).toBe('B')
    expect(reference({ metadata: null, client_reference_id: null })).toBeNull()
    expect(reference({ metadata: { invoice: 'x'.repeat(201) }, client_reference_id: 'B' })).toBe('B')
  })

  test('the fields are settings, and a key of the metadata may have a point in it', () => {
    expect(reference({ metadata: { 'order.no': 'C' } }, ['metadata.order.no'])).toBe('C')
    expect(reference({ metadata: { order: { no: 17 } } }, ['metadata.order.no'])).toBe('17')
    expect(reference({}, ['constructor.name', 'metadata.constructor.name', '__proto__', '', '.'])).toBeNull()
  })
})

test('payer comes from wherever the object carries it', () => {
  const payer = (type: string, object: Record<string, unknown>) => factOf(receive(event('evt_1', type, object))).payer
  expect(payer('payment_intent.succeeded', { ...intent, receipt_email: 'a@example.test' })).toEqual({
    name: null,
    email: 'a@example.test',
  })
  expect(
    payer('checkout.session.completed', { ...session, customer_details: { name: ' Kim ', email: 'k@example.test' } }),
  ).toEqual({
    name: 'Kim',
    email: 'k@example.test',
  })
  expect(
    payer('charge.succeeded', { ...charge, billing_details: { name: null, email: null }, receipt_email: 'no address' }),
  ).toEqual({
    name: null,
    email: null,
  })
})

describe("the stripe package's own verifier", () => {
  const { signature } = Stripe.webhooks
  if (signature === null) throw new Error('the package has no verifier')

  function theirs(body: Buffer, header: string, nowMs: number): boolean {
    try {
      return signature?.verifyHeader(body, header, secret, 300, undefined, nowMs) ?? false
    } catch {
      return false
    }
  }
  const ours = (body: Buffer, header: string, nowMs: number) =>
    stripe.receive({ headers: { 'stripe-signature': header }, body }, settings, nowMs).outcome !== 'rejected'

  const body = samples.paid(sampleContent).body
  const good = samples.paid(sampleContent).headers['stripe-signature'] ?? ''
  const other = samples.paid(sampleContent, { secrets: [samples.secrets.former] }).headers['stripe-signature'] ?? ''

  test.each([
    ['good', good, 0, true],
    ['300 s old', good, 300_000, true],
    ['301 s old', good, 301_000, false],
    ['an hour ahead', good, -3_600_000, true],
    ['other secret', other, 0, false],
    ['other, then good', `${other},${good.split(',')[1]}`, 0, true],
    ['good, then other', `${good},${other.split(',')[1]}`, 0, true],
    ['v0 only', good.replace('v1=', 'v0='), 0, false],
    ['capital hex', good.replace(/v1=.*/, (text) => `v1=${text.slice(3).toUpperCase()}`), 0, false],
    ['no time', good.replace(/^t=\d+,/, ''), 0, false],
    ['time last', good.split(',').reverse().join(','), 0, true],
    ['empty', '', 0, false],
    ['prototype', '__proto__=1', 0, false],
  ])('agrees on: %s', (_name, header, laterMs, expected) => {
    const nowMs = SAMPLE_NOW_MS + laterMs
    expect(ours(body, header, nowMs)).toBe(expected)
    expect(theirs(body, header, nowMs)).toBe(expected)
  })

  test('believes our signing, and we believe its', () => {
    const payload = body.toString()
    const header = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: SAMPLE_NOW_MS / 1000 })
    expect(header).toBe(signStripeDelivery({ body, secret, nowMs: SAMPLE_NOW_MS })['stripe-signature'])
  })

  test('is not used because it signs decoded text: it takes other bytes for the same', () => {
    const signed = Buffer.from('{"x":"\uFFFD"}')
    const header = signStripeDelivery({ body: signed, secret, nowMs: SAMPLE_NOW_MS })['stripe-signature'] ?? ''
    const changed = Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff]), Buffer.from('"}')])
    expect(theirs(changed, header, SAMPLE_NOW_MS)).toBe(true)
    expect(ours(changed, header, SAMPLE_NOW_MS)).toBe(false)
  })
})

test('settings have defaults and refuse what would silently mean something else', () => {
  expect(stripe.settings.parse({ webhookSecrets: [' whsec_a\n'] })).toEqual({
    webhookSecrets: ['whsec_a'],
    livemode: true,
    toleranceSeconds: 300,
    invoiceReferenceFields: ['metadata.invoice', 'client_reference_id'],
  })
  const wrong = [
    {},
    { webhookSecrets: ['a', ' '] },
    { webhookSecrets: ['a'], liveMode: false },
    { webhookSecrets: ['a'], toleranceSeconds: 0 },
  ]
  for (const settings of wrong) expect(stripe.settings.safeParse(settings).success).toBe(false)
})
