import { describe, expect, test } from 'vitest'
import { signSandboxDelivery } from '../../src/providers/index.ts'
import {
  booked,
  createCaseFixture,
  duplicate,
  ignored,
  openInvoice,
  paymentRow,
  settledInvoice,
} from '../support/case-fixture.ts'

const fixture = createCaseFixture()

// As a Stripe event: the very bytes twice.
test('PAY-01: one event delivered twice in the same second is booked once, and both answers are a success', async () => {
  const { organization, invoice, books } = await fixture.openCase()
  const body = JSON.stringify({
    id: 'evt_1001',
    object: 'event',
    livemode: true,
    type: 'payment_intent.succeeded',
    data: {
      object: { id: 'pi_1001', amount_received: 10_000, currency: 'eur', metadata: { invoice: invoice.number } },
    },
  })
  const answers = await Promise.all([
    fixture.app.deliver(organization.stripe, body),
    fixture.otherApp.deliver(organization.stripe, body),
  ])
  expect(answers.toSorted((a, b) => Number(a.body['duplicate']) - Number(b.body['duplicate']))).toMatchObject([
    booked(10_000),
    duplicate(),
  ])
  expect(await books()).toMatchObject({
    payments: [paymentRow('pi_1001', 10_000)],
    invoices: [settledInvoice(10_000)],
    events: [{ state: 'completed', copies: 2, deliveries: 2 }],
    deliveries: 2,
    activities: 1,
    notifications: 3,
    domainEvents: 2,
    reviewItems: [],
  })
})

describe('PAY-02: one charge announced by three event types is one payment', () => {
  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ] as const
  const typeOf = ['charge', 'payment intent', 'checkout session'] as const

  test.each(orders.map((order) => [order.map((index) => typeOf[index]).join(', then '), order] as const))(
    'in the order %s',
    async (_title, order) => {
      const { invoice, stripe, books } = await fixture.openCase()
      const metadata = { invoice: invoice.number }
      const money = { currency: 'eur', metadata }
      const events = [
        {
          id: 'evt_a1',
          type: 'charge.succeeded',
          data: { object: { ...money, object: 'charge', id: 'ch_77', payment_intent: 'pi_77', amount: 10_000 } },
        },
        {
          id: 'evt_a2',
          type: 'payment_intent.succeeded',
          data: { object: { ...money, object: 'payment_intent', id: 'pi_77', amount_received: 10_000 } },
        },
        {
          id: 'evt_a3',
          type: 'checkout.session.completed',
          data: {
            object: {
              ...money,
              object: 'checkout.session',
              id: 'cs_77',
              payment_intent: 'pi_77',
              payment_status: 'paid',
              amount_total: 10_000,
            },
          },
        },
      ]
      const answers = []
      for (const index of order) answers.push(await stripe(events[index] ?? {}))
      expect(answers).toMatchObject([booked(10_000), duplicate(), duplicate()])
      expect(await books()).toMatchObject({
        payments: [paymentRow('pi_77', 10_000)],
        invoices: [settledInvoice(10_000)],
        events: [1, 2, 3].map((number) => ({
          externalId: `evt_a${number}`,
          state: 'completed',
          copies: 1,
          deliveries: 1,
        })),
        activities: 1,
        notifications: 3,
        domainEvents: 2,
        reviewItems: [],
      })
    },
  )
})

// As sandbox payments; the payer's two tabs are two ids.
test('PAY-04: a second real payment of a settled invoice stays on record as surplus, and a person is told', async () => {
  const { invoice, sandbox, books, desk } = await fixture.openCase()
  const data = { amountMinor: 10_000, currency: 'EUR', invoice: invoice.number, payer: { name: 'Kim Roth' } }
  expect(await sandbox({ data: { ...data, payment: 'tr_A' } })).toMatchObject(booked(10_000))
  expect(await sandbox({ data: { ...data, payment: 'tr_B' } })).toMatchObject(booked(0))
  expect(await books()).toMatchObject({
    payments: [paymentRow('tr_A', 10_000), paymentRow('tr_B', 10_000, 0)],
    invoices: [settledInvoice(10_000)],
    activities: 2,
    // Two payments and one question, each to three members.
    notifications: 9,
    domainEvents: 3,
  })
  expect(await desk()).toMatchObject([
    { kind: 'unapplied', data: { reason: 'invoice_settled', unappliedMinor: 10_000 } },
  ])
})

// As the sandbox of a sender without ids, whose address says which fields name an event. The bodies differ in their time alone.
describe('PAY-06: a sender without ids that builds each attempt anew is understood by what stays the same', () => {
  test.each([
    ['type and payment', ['type', 'data.payment']],
    ['the type, since the payment is always part of it', ['type']],
  ])('named by %s', async (_title, identityFields) => {
    const { invoice, addSandbox, books } = await fixture.openCase()
    const sender = await addSandbox({ identityFields })
    const attempt = (timestamp: string, payment = 'P-881') => {
      const data = { payment, amountMinor: 5_000, currency: 'EUR', invoice: invoice.number }
      const body = JSON.stringify({ type: 'payment.paid', data, timestamp })
      const headers = signSandboxDelivery({ body, secret: sender.secret, nowMs: Date.now() })
      expect(headers).not.toHaveProperty('webhook-id')
      return fixture.app.deliver(sender, body, headers)
    }
    const answers = [await attempt('2026-03-02T10:00:00.101Z'), await attempt('2026-03-02T10:01:00.774Z')]
    expect(answers).toMatchObject([booked(5_000), duplicate()])
    expect(await attempt('2026-03-02T10:01:00.774Z', 'P-882')).toMatchObject(booked(5_000))
    expect(await books()).toMatchObject({
      payments: [paymentRow('P-881', 5_000), paymentRow('P-882', 5_000)],
      invoices: [settledInvoice(10_000)],
      events: [{ copies: 2 }, { copies: 1 }],
      deliveries: 3,
    })
  })
})

// As two sandbox events, each with an id of its own, about one payment.
test('PAY-10: two envelopes for one capture at the same moment are one payment', async () => {
  const { invoice, sandbox, books } = await fixture.openCase()
  const data = { payment: 'CAP-3', amountMinor: 10_000, currency: 'EUR', invoice: invoice.number }
  const answers = await Promise.all([
    sandbox({ id: 'WH-1', data }, fixture.app),
    sandbox({ id: 'WH-2', data }, fixture.otherApp),
  ])
  expect(answers.toSorted((a, b) => Number(a.body['duplicate']) - Number(b.body['duplicate']))).toMatchObject([
    booked(10_000),
    duplicate(),
  ])
  expect(await books()).toMatchObject({
    payments: [paymentRow('CAP-3', 10_000)],
    invoices: [settledInvoice(10_000)],
    events: [
      { externalId: 'WH-1', state: 'completed', copies: 1, deliveries: 1 },
      { externalId: 'WH-2', state: 'completed', copies: 1, deliveries: 1 },
    ],
    activities: 1,
    notifications: 3,
  })
})

// As sandbox steps, once all under one webhook id and once each under its own.
describe('PAY-11: a late pending between two completed re-opens nothing', () => {
  test.each([
    ['under one event id', ['T1', 'T1', 'T1', 'T1']],
    ['under four event ids', ['T1-a', 'T1-b', 'T1-c', 'T1-d']],
  ] as const)('%s', async (_title, ids) => {
    const { invoice, sandbox, books } = await fixture.openCase()
    const data = { payment: 'T1', amountMinor: 10_000, currency: 'EUR', invoice: invoice.number }
    const types = ['payment.processing', 'payment.paid', 'payment.processing', 'payment.paid']
    const answers = []
    for (const [index, type] of types.entries()) answers.push(await sandbox({ id: ids[index] ?? '', type, data }))
    expect(answers).toMatchObject([ignored, booked(10_000), ignored, duplicate()])
    expect(await books()).toMatchObject({
      payments: [paymentRow('T1', 10_000)],
      invoices: [settledInvoice(10_000)],
      deliveries: 4,
      activities: 1,
    })
  })
})

// As sandbox steps under one webhook id: the strictest form, since even the event's id is used again.
test('PAY-13: pending changes nothing and does not use up the key of completed', async () => {
  const { invoice, sandbox, books } = await fixture.openCase(1500)
  const data = { payment: 'T3', amountMinor: 1500, currency: 'EUR', invoice: invoice.number }
  expect(await sandbox({ id: 'T3', type: 'payment.processing', data })).toMatchObject(ignored)
  expect(await books()).toMatchObject({ payments: [], invoices: [openInvoice(1500)], events: [], deliveries: 1 })
  expect(await sandbox({ id: 'T3', data })).toMatchObject(booked(1500))
  expect(await sandbox({ id: 'T3', data })).toMatchObject(duplicate())
  expect(await books()).toMatchObject({ payments: [paymentRow('T3', 1500)], invoices: [settledInvoice(1500)] })
})

test('PAY-14: twins with two ids in the same second are two payments', async () => {
  const { invoice, sandbox, books } = await fixture.openCase(20_000)
  const data = { amountMinor: 10_000, currency: 'EUR', invoice: invoice.number, payer: { name: 'Kim Roth' } }
  const answers = await Promise.all([
    sandbox({ data: { ...data, payment: 'pay_21' } }),
    sandbox({ data: { ...data, payment: 'pay_22' } }),
  ])
  expect(answers).toMatchObject([booked(10_000), booked(10_000)])
  expect(await books()).toMatchObject({
    payments: [paymentRow('pay_21', 10_000), paymentRow('pay_22', 10_000)],
    invoices: [settledInvoice(20_000)],
    activities: 2,
    reviewItems: [],
  })
})

// As a Stripe payment intent: our own call hears of it in its answer, and records it under Stripe's own name.
describe('PAY-17: our own call and the webhook about one charge are one payment', () => {
  const prepare = async () => {
    const opened = await fixture.openCase()
    const { invoice } = opened
    const amount = { amountMinor: 10_000, currency: 'EUR' }
    return {
      ...opened,
      ownCall: () =>
        opened.call('/payments', { source: 'stripe', externalId: 'pi_9', amount, invoice: invoice.number }),
      webhook: () =>
        opened.stripe(
          {
            id: 'evt_9',
            type: 'payment_intent.succeeded',
            data: {
              object: { id: 'pi_9', amount_received: 10_000, currency: 'eur', metadata: { invoice: invoice.number } },
            },
          },
          fixture.otherApp,
        ),
    }
  }
  const once = {
    payments: [{ ...paymentRow('pi_9', 10_000), source: 'stripe' }],
    invoices: [settledInvoice(10_000)],
    activities: 1,
    notifications: 3,
    domainEvents: 2,
    reviewItems: [],
  }

  test('the call first', async () => {
    const { ownCall, webhook, books } = await prepare()
    expect([await ownCall(), await webhook()]).toMatchObject([booked(10_000), duplicate()])
    expect(await books()).toMatchObject(once)
  })

  test('the webhook first', async () => {
    const { ownCall, webhook, books } = await prepare()
    expect([await webhook(), await ownCall()]).toMatchObject([booked(10_000), duplicate()])
    expect(await books()).toMatchObject(once)
  })

  test('at the same moment', async () => {
    const { ownCall, webhook, books } = await prepare()
    const answers = await Promise.all([ownCall(), webhook()])
    expect(answers.filter(({ body }) => body['duplicate'] === false)).toMatchObject([booked(10_000)])
    expect(await books()).toMatchObject(once)
  })

  test('and the call without an invoice takes the one that the webhook brings', async () => {
    const { call, webhook, books, desk } = await prepare()
    const amount = { amountMinor: 10_000, currency: 'EUR' }
    expect(await call('/payments', { source: 'stripe', externalId: 'pi_9', amount })).toMatchObject(booked(0))
    expect(await webhook()).toMatchObject({ status: 200, body: { duplicate: true, applied: { amountMinor: 10_000 } } })
    expect(await books()).toMatchObject({ payments: once.payments, invoices: once.invoices })
    expect(await desk()).toEqual([])
  })
})
