import { describe, expect, test } from 'vitest'
import {
  booked,
  createCaseFixture,
  duplicate,
  kept,
  openInvoice,
  paymentRow,
  settledInvoice,
} from '../support/case-fixture.ts'

const fixture = createCaseFixture()

function stripePaid(paymentId: string, amount: unknown, currency: unknown, invoice: string): Record<string, unknown> {
  return {
    id: `evt_${paymentId}`,
    type: 'payment_intent.succeeded',
    data: {
      object: { id: paymentId, object: 'payment_intent', amount_received: amount, currency, metadata: { invoice } },
    },
  }
}

describe('AMT-01: currencies without minor units are booked as they are', () => {
  // As Stripe events. Ugandan shillings have no minor units either, and Stripe sends them with two places all the same.
  test.each([
    ['JPY', 4600, 4600],
    ['KRW', 4600, 4600],
    ['VND', 4600, 4600],
    ['UGX', 500, 5],
  ] as const)('%s', async (currency, sent, minor) => {
    const { organization, invoice, stripe, books } = await fixture.openCase(minor, currency)
    expect(await stripe(stripePaid('pj_1', sent, currency.toLowerCase(), invoice.number))).toMatchObject(
      booked(minor, currency),
    )
    expect(await books()).toMatchObject({
      payments: [{ ...paymentRow('pj_1', minor), currency }],
      invoices: [settledInvoice(minor)],
      reviewItems: [],
    })
    expect(await fixture.app.get(organization, `/invoices/${invoice.id}`)).toMatchObject({
      status: 200,
      body: {
        total: { amountMinor: minor, currency },
        paid: { amountMinor: minor, currency },
        open: { amountMinor: 0 },
      },
    })
  })
})

// As a sender that writes amounts as text with groups. What we send to a provider is no part of this version.
describe('AMT-03: an amount with groups is read as it is meant', () => {
  test.each([
    ['7,300', 'JPY', 7_300, 7_300],
    ['1,234.50', 'USD', 123_450, 123_450],
    // One percent was collected: that is what the invoice shows.
    ['73', 'JPY', 7_300, 73],
  ] as const)('%s %s', async (amount, currency, total, minor) => {
    const { invoice, addSandbox, books } = await fixture.openCase(total, currency)
    const sender = await addSandbox({ amounts: 'decimal_grouped' })
    const data = { payment: 'ph_1', amount, currency, invoice: invoice.number }
    const answer = await fixture.app.deliver(sender, JSON.stringify({ type: 'payment.paid', data }))
    expect(answer).toMatchObject(booked(minor, currency))
    expect(await books()).toMatchObject({
      payments: [{ ...paymentRow('ph_1', minor), currency }],
      invoices: [minor === total ? settledInvoice(total) : openInvoice(total, minor)],
      reviewItems: [],
    })
  })
})

describe('AMT-04: sums of cents leave no rest', () => {
  test.each([
    [
      '32.59 and 64.90',
      [
        ['1', '3259'],
        ['1', '6490'],
      ],
      '97.49',
      9_749,
    ],
    ['ten times 0.10', [['10', '10']], '1.00', 100],
    [
      '0.1 and 0.2',
      [
        ['1', '10'],
        ['1', '20'],
      ],
      '0.30',
      30,
    ],
  ] as const)('%s', async (_title, prices, amount, total) => {
    const { organization, addSandbox, books } = await fixture.openCase()
    const lines = prices.map(([quantity, unitPriceMinor]) => ({ description: 'Work', quantity, unitPriceMinor }))
    const draft = await fixture.app.post(organization, '/invoices', { currency: 'EUR', lines })
    const issued = await fixture.app.post(organization, `/invoices/${draft.body['id']}/issue`)
    expect(issued.body).toMatchObject({ total: { amountMinor: total }, open: { amountMinor: total } })
    const sender = await addSandbox({ amounts: 'decimal' })
    const data = { payment: 'pay_f', amount, currency: 'EUR', invoice: issued.body['number'] }
    expect(await fixture.app.deliver(sender, JSON.stringify({ type: 'payment.paid', data }))).toMatchObject(
      booked(total),
    )
    expect(await books()).toMatchObject({
      payments: [paymentRow('pay_f', total)],
      invoices: [openInvoice(10_000), settledInvoice(total)],
      reviewItems: [],
    })
  })
})

test('AMT-06: the right number in the wrong currency leaves the invoice alone, keeps the money and tells a person', async () => {
  const { invoice, stripe, books, desk } = await fixture.openCase()
  expect(await stripe(stripePaid('pay_c1', 10_000, 'usd', invoice.number))).toMatchObject(booked(0, 'USD'))
  expect(await books()).toMatchObject({
    payments: [{ ...paymentRow('pay_c1', 10_000, 0), currency: 'USD' }],
    invoices: [openInvoice(10_000)],
  })
  expect(await desk()).toMatchObject([
    { kind: 'unapplied', data: { reason: 'currency_differs', unappliedMinor: 10_000, currency: 'USD' } },
  ])
})

test('AMT-07: one of forty-five and its resend leave the invoice open; the rest pays it, once', async () => {
  const { invoice, sandbox, books } = await fixture.openCase(4500)
  const paid = (id: string, amountMinor: number) =>
    sandbox({ id: `evt_${id}`, data: { payment: id, amountMinor, currency: 'EUR', invoice: invoice.number } })
  expect(await paid('pay_u1', 100)).toMatchObject(booked(100))
  expect(await books()).toMatchObject({ invoices: [openInvoice(4500, 100)] })
  expect(await paid('pay_u1', 100)).toMatchObject(duplicate())
  expect(await books()).toMatchObject({ payments: [paymentRow('pay_u1', 100)], invoices: [openInvoice(4500, 100)] })
  expect(await paid('pay_u2', 4400)).toMatchObject(booked(4400))
  expect(await books()).toMatchObject({
    payments: [paymentRow('pay_u1', 100), paymentRow('pay_u2', 4400)],
    invoices: [settledInvoice(4500)],
  })
})

// As a sandbox payment in place of the bank line; its resend, and other news of it, stand for the second assignment.
test('AMT-08: an overpayment pays the invoice, its surplus stays as credit, and a second time changes nothing', async () => {
  const { invoice, sandbox, books, desk } = await fixture.openCase(72_000)
  const data = { payment: 'b-1', amountMinor: 100_000, currency: 'EUR', invoice: invoice.number }
  const answers = [
    await sandbox({ id: 'line-1', data }),
    await sandbox({ id: 'line-1', data }),
    await sandbox({ id: 'line-1-again', data }),
  ]
  expect(answers).toMatchObject([booked(72_000), duplicate(), duplicate()])
  expect(await books()).toMatchObject({
    payments: [paymentRow('b-1', 100_000, 72_000)],
    invoices: [settledInvoice(72_000)],
    activities: 1,
    domainEvents: 2,
  })
  expect(await desk()).toMatchObject([{ kind: 'unapplied', data: { reason: 'overpaid', unappliedMinor: 28_000 } }])
})

describe('AMT-10: a button without an amount pays the open rest', () => {
  test('and a rest of nothing is a success that leaves no payment and no line', async () => {
    const { invoice, sandbox, pay, books } = await fixture.openCase()
    const data = { currency: 'EUR', invoice: invoice.number }
    await sandbox({ data: { ...data, payment: 'part_1', amountMinor: 6_000 } })
    await sandbox({ data: { ...data, payment: 'part_2', amountMinor: 4_000 } })
    const before = await books()
    for (const key of ['press-1', 'press-2']) {
      expect(await pay(key)).toMatchObject({
        status: 200,
        body: { duplicate: false, applied: { amountMinor: 0, currency: 'EUR' } },
      })
    }
    const { events: _events, audits: _audits, told, ...after } = await books()
    expect(told).toEqual({ ...before.told, 'audit_entry invoice.pay': 2 })
    expect(before).toMatchObject({ ...after, invoices: [settledInvoice(10_000)], activities: 2 })
  })

  test('and exactly that, where 4000 are left', async () => {
    const { invoice, sandbox, pay, books } = await fixture.openCase()
    await sandbox({ data: { payment: 'part_1', amountMinor: 6_000, currency: 'EUR', invoice: invoice.number } })
    expect(await pay('press-1')).toMatchObject(booked(4_000))
    const { payments, invoices } = await books()
    expect(payments.map((payment) => payment.amountMinor).toSorted()).toEqual([4_000, 6_000])
    expect(invoices).toMatchObject([settledInvoice(10_000)])
  })

  test('and not twice, when two people press at the same moment', async () => {
    const { pay, books } = await fixture.openCase()
    const answers = await Promise.all([
      pay('press-1', undefined, fixture.app),
      pay('press-2', undefined, fixture.otherApp),
    ])
    expect(answers.map((answer) => answer.status)).toEqual([200, 200])
    const applied = answers.map((answer) => (answer.body['applied'] as { amountMinor: number }).amountMinor)
    expect(applied.toSorted()).toEqual([0, 10_000])
    expect(await books()).toMatchObject({
      payments: [{ amountMinor: 10_000 }],
      invoices: [settledInvoice(10_000)],
      activities: 1,
    })
  })
})

describe('AMT-11: an amount that cannot be read is never booked, and kept for a person', () => {
  // The six of the case in the sandbox's fields, and two more that a parser of JSON would round without a word.
  const unreadable = [
    ['missing, under another name', '"amount_usd":"120.00"'],
    ['zero', '"amountMinor":0'],
    ['null', '"amountMinor":null'],
    ['empty', '"amountMinor":""'],
    ['a word', '"amountMinor":"abc"'],
    ['negative', '"amountMinor":-500'],
    ['with a point', '"amountMinor":100.0'],
    ['beyond 2^53', '"amountMinor":9007199254740993'],
  ] as const

  test.each(unreadable)('%s, from the sandbox', async (_title, field) => {
    const { organization, invoice, books, desk } = await fixture.openCase()
    const body = `{"type":"payment.paid","data":{"payment":"z1","currency":"EUR","invoice":"${invoice.number}",${field}}}`
    const answers = []
    for (const app of [fixture.app, fixture.otherApp, fixture.app]) {
      answers.push(await app.deliver(organization.sandbox, body, organization.sandbox.sign(body, { id: 'evt_z1' })))
    }
    // A repetition hears of success as well, or the sender would come again for ever.
    const again = { status: 200, body: { duplicate: true } }
    expect(answers).toMatchObject([kept('amount_unreadable'), again, again])
    expect(await books()).toMatchObject({
      payments: [],
      invoices: [openInvoice(10_000)],
      events: [{ state: 'completed', copies: 3, deliveries: 3 }],
      activities: 0,
      domainEvents: 0,
      // The question, once to each member.
      notifications: 3,
    })
    expect(await desk()).toMatchObject([
      { kind: 'unclear', data: { code: 'amount_unreadable', subject: { source: 'sandbox', externalId: 'z1' } } },
    ])
  })

  test.each(unreadable)('%s, from Stripe', async (_title, field) => {
    const { organization, invoice, books, desk } = await fixture.openCase()
    const body = `{"id":"evt_z1","object":"event","livemode":true,"type":"payment_intent.succeeded","data":{"object":
      {"id":"pi_z1","object":"payment_intent","currency":"eur","metadata":{"invoice":"${invoice.number}"},
      ${field.replace('amountMinor', 'amount_received')}}}}`
    expect(await fixture.app.deliver(organization.stripe, body)).toMatchObject(kept('amount_unreadable'))
    expect(await books()).toMatchObject({ payments: [], invoices: [openInvoice(10_000)], domainEvents: 0 })
    expect(await desk()).toMatchObject([{ kind: 'unclear', data: { code: 'amount_unreadable' } }])
  })
})

test('AMT-12: two payments of 7000 at the same moment fill an invoice of 10000, and 4000 are left over', async () => {
  const { invoice, sandbox, books, desk } = await fixture.openCase()
  const data = { amountMinor: 7_000, currency: 'EUR', invoice: invoice.number }
  const answers = await Promise.all([
    sandbox({ data: { ...data, payment: 'pay_p1' } }, fixture.app),
    sandbox({ data: { ...data, payment: 'pay_p2' } }, fixture.otherApp),
  ])
  expect(answers.map((answer) => answer.status)).toEqual([200, 200])
  const { payments, invoices } = await books()
  expect(payments.map((payment) => payment.appliedMinor).toSorted()).toEqual([3_000, 7_000])
  expect(invoices).toMatchObject([settledInvoice(10_000)])
  expect(await desk()).toMatchObject([{ kind: 'unapplied', data: { reason: 'overpaid', unappliedMinor: 4_000 } }])
})

// As a sender that writes amounts as text.
describe('AMT-14: an amount is read and not cut off', () => {
  test.each([
    ['16.40', 1_640],
    ['1.15', 115],
    ['4.35', 435],
    ['81.20', 8_120],
    ['64.10', 6_410],
  ])('%s', async (amount, minor) => {
    const { invoice, addSandbox, books } = await fixture.openCase(minor)
    const sender = await addSandbox({ amounts: 'decimal' })
    const data = { payment: 'pay_14', amount, currency: 'EUR', invoice: invoice.number }
    expect(await fixture.app.deliver(sender, JSON.stringify({ type: 'payment.paid', data }))).toMatchObject(
      booked(minor),
    )
    expect(await books()).toMatchObject({ payments: [paymentRow('pay_14', minor)], invoices: [settledInvoice(minor)] })
  })
})
