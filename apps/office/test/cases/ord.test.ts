import { describe, expect, test } from 'vitest'
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

// The acquirer's states as sandbox steps of one payment, in hryvnia as in the report.
test('ORD-02: success before processing is paid, and the older states change nothing', async () => {
  const { invoice, sandbox, books } = await fixture.openCase(10_000, 'UAH')
  const data = { payment: 'mi_40', amountMinor: 10_000, currency: 'UAH', invoice: invoice.number }
  const answers = []
  for (const type of ['payment.paid', 'payment.processing', 'payment.created'])
    answers.push(await sandbox({ type, data }))
  expect(answers).toMatchObject([booked(10_000, 'UAH'), ignored, ignored])
  expect(await books()).toMatchObject({
    payments: [{ ...paymentRow('mi_40', 10_000), currency: 'UAH' }],
    invoices: [settledInvoice(10_000)],
    deliveries: 3,
    reviewItems: [],
  })
})

describe('ORD-04: failed and then successful under one reference is booked once', () => {
  // The reference is the webhook's id and the payment's at once, so that nothing but the step tells the two apart.
  test('as sandbox steps under one id', async () => {
    const { invoice, sandbox, books } = await fixture.openCase()
    const data = { payment: 'PSP-A1', amountMinor: 10_000, currency: 'EUR', invoice: invoice.number }
    expect(await sandbox({ id: 'PSP-A1', type: 'payment.failed', data })).toMatchObject(ignored)
    expect(await books()).toMatchObject({ payments: [], invoices: [openInvoice(10_000)], events: [] })
    expect(await sandbox({ id: 'PSP-A1', data })).toMatchObject(booked(10_000))
    expect(await sandbox({ id: 'PSP-A1', data })).toMatchObject(duplicate())
    expect(await books()).toMatchObject({
      payments: [paymentRow('PSP-A1', 10_000)],
      invoices: [settledInvoice(10_000)],
    })
  })

  test('as events of one Stripe payment intent', async () => {
    const { invoice, stripe, books } = await fixture.openCase()
    const intent = { id: 'pi_A1', object: 'payment_intent', currency: 'eur', metadata: { invoice: invoice.number } }
    const failed = {
      id: 'evt_f',
      type: 'payment_intent.payment_failed',
      data: { object: { ...intent, status: 'requires_payment_method', amount_received: 0 } },
    }
    const succeeded = {
      id: 'evt_s',
      type: 'payment_intent.succeeded',
      data: { object: { ...intent, status: 'succeeded', amount_received: 10_000 } },
    }
    const answers = [await stripe(failed), await stripe(succeeded), await stripe(succeeded)]
    expect(answers).toMatchObject([ignored, booked(10_000), duplicate()])
    expect(await books()).toMatchObject({ payments: [paymentRow('pi_A1', 10_000)], invoices: [settledInvoice(10_000)] })
  })
})

// As sandbox steps of two payments, and as two attempts of Stripe.
describe('ORD-06: an abandoned attempt that declines hours later takes nothing from the one that succeeded', () => {
  test('as sandbox steps', async () => {
    const { invoice, sandbox, books } = await fixture.openCase()
    const data = { amountMinor: 10_000, currency: 'EUR', invoice: invoice.number }
    const answers = [
      await sandbox({ type: 'payment.processing', data: { ...data, payment: 'att_1' } }),
      await sandbox({ data: { ...data, payment: 'att_2' } }),
      await sandbox({ type: 'payment.failed', data: { ...data, payment: 'att_1' } }),
    ]
    expect(answers).toMatchObject([ignored, booked(10_000), ignored])
    expect(await books()).toMatchObject({
      payments: [paymentRow('att_2', 10_000)],
      invoices: [settledInvoice(10_000)],
      // The declined attempt is on record as it arrived, and nobody is told of it.
      deliveries: 3,
      told: { 'domain_event payment.received': 1, 'domain_event invoice.paid': 1 },
      activities: 1,
      domainEvents: 2,
      reviewItems: [],
    })
  })

  test('as attempts of Stripe', async () => {
    const { invoice, stripe, books } = await fixture.openCase()
    const intent = { object: 'payment_intent', currency: 'eur', metadata: { invoice: invoice.number } }
    const event = (type: string, object: Readonly<Record<string, unknown>>) => ({
      id: `evt_${String(object['id'])}_${type}`,
      type: `payment_intent.${type}`,
      data: { object: { ...intent, ...object } },
    })
    const answers = [
      await stripe(event('processing', { id: 'pi_att_1', status: 'processing', amount_received: 0 })),
      await stripe(event('succeeded', { id: 'pi_att_2', status: 'succeeded', amount_received: 10_000 })),
      await stripe(event('payment_failed', { id: 'pi_att_1', status: 'requires_payment_method', amount_received: 0 })),
      await stripe(event('canceled', { id: 'pi_att_1', status: 'canceled', amount_received: 0 })),
    ]
    expect(answers).toMatchObject([ignored, booked(10_000), ignored, ignored])
    expect(await books()).toMatchObject({
      payments: [paymentRow('pi_att_2', 10_000)],
      invoices: [settledInvoice(10_000)],
      domainEvents: 2,
    })
  })
})

describe('ORD-07: money that comes before its invoice waits for it, is applied once, and its resend is a duplicate', () => {
  test('named by the number that the invoice will get', async () => {
    const { organization, sandbox, books, desk } = await fixture.openCase()
    const data = { payment: 'pay_3', amountMinor: 10_000, currency: 'EUR', invoice: 'RE-00002' }
    expect(await sandbox({ id: 'evt_3', data })).toMatchObject(booked(0))
    expect(await desk()).toMatchObject([
      { kind: 'unapplied', data: { reason: 'invoice_unknown', unappliedMinor: 10_000 } },
    ])

    const invoice = await organization.issueInvoice({ amountMinor: 10_000n, currency: 'EUR' })
    expect(invoice.number).toBe('RE-00002')
    expect(await books()).toMatchObject({
      payments: [paymentRow('pay_3', 10_000)],
      invoices: [openInvoice(10_000), settledInvoice(10_000)],
      reviewItems: [{ kind: 'unapplied', state: 'decided' }],
    })
    expect(await desk()).toEqual([])

    expect(await sandbox({ id: 'evt_3', data })).toMatchObject(duplicate())
    expect(await books()).toMatchObject({
      payments: [paymentRow('pay_3', 10_000)],
      invoices: [openInvoice(10_000), settledInvoice(10_000)],
      // Received, and later applied.
      activities: 2,
      domainEvents: 2,
    })
  })

  test.each([
    ['as it is', (id: string) => id],
    ['in capitals', (id: string) => id.toUpperCase()],
  ])('named by the id of a draft, %s', async (_title, written) => {
    const { organization, sandbox, books, desk } = await fixture.openCase()
    const draft = await fixture.app.post(organization, '/invoices', {
      currency: 'EUR',
      lines: [{ description: 'Work', unitPriceMinor: 10_000 }],
    })
    const id = String(draft.body['id'])
    const data = { payment: 'pay_4', amountMinor: 4_000, currency: 'EUR', invoice: written(id) }
    expect(await sandbox({ id: 'evt_4', data })).toMatchObject(booked(0))
    expect(await desk()).toMatchObject([{ kind: 'unapplied', data: { reason: 'invoice_not_issued' } }])
    expect(await fixture.app.post(organization, `/invoices/${id}/issue`)).toMatchObject({ status: 200 })
    expect(await books()).toMatchObject({
      payments: [paymentRow('pay_4', 4_000)],
      invoices: [openInvoice(10_000), openInvoice(10_000, 4_000)],
    })
    expect(await sandbox({ id: 'evt_4', data })).toMatchObject(duplicate())
    expect(await desk()).toEqual([])
  })
})

// The checkout is complete at once, the direct debit days later.
test('ORD-15: a checkout that is complete and unpaid books nothing, and its success days later does', async () => {
  const { invoice, stripe, books } = await fixture.openCase()
  const session = {
    ...{ id: 'cs_1', object: 'checkout.session', payment_intent: 'pi_15', currency: 'eur', amount_total: 10_000 },
    metadata: { invoice: invoice.number },
  }
  const completed = {
    id: 'evt_completed',
    type: 'checkout.session.completed',
    data: { object: { ...session, payment_status: 'unpaid' } },
  }
  const succeeded = {
    id: 'evt_succeeded',
    type: 'checkout.session.async_payment_succeeded',
    data: { object: { ...session, payment_status: 'paid' } },
  }
  expect(await stripe(completed)).toMatchObject(ignored)
  expect(await books()).toMatchObject({ payments: [], invoices: [openInvoice(10_000)], events: [], domainEvents: 0 })
  expect([await stripe(succeeded), await stripe(completed)]).toMatchObject([booked(10_000), ignored])
  expect(await books()).toMatchObject({
    payments: [paymentRow('pi_15', 10_000)],
    invoices: [settledInvoice(10_000)],
    deliveries: 3,
    reviewItems: [],
  })
})

// The report's form field, as the field with which Stripe says that a checkout is paid, and a charge.
describe('ORD-16: only an explicit yes books money', () => {
  const values = [
    ['the text "false"', 'false'],
    ['false', false],
    ['0', 0],
    ['empty', ''],
    ['null', null],
    ['missing', undefined],
    ['an object', { paid: true }],
  ] as const

  test.each(values)('a checkout whose payment_status is %s', async (_title, value) => {
    const { invoice, stripe, books } = await fixture.openCase(3_300)
    const object = {
      ...{ id: 'cs_16', object: 'checkout.session', payment_intent: 'pi_16', currency: 'eur', amount_total: 3_300 },
      metadata: { invoice: invoice.number },
      payment_status: value,
    }
    const answer = await stripe({ id: 'evt_16', type: 'checkout.session.completed', data: { object } })
    expect(answer).toMatchObject({ status: 200, body: { duplicate: false } })
    expect(await books()).toMatchObject({ payments: [], invoices: [openInvoice(3_300)], domainEvents: 0 })
  })

  // A charge that leaves the field out is of a version that did not have it; the type of its event says yes.
  test.each(values.filter(([, value]) => value !== undefined))('a charge whose paid is %s', async (_title, value) => {
    const { invoice, stripe, books } = await fixture.openCase(3_300)
    const object = {
      ...{ id: 'ch_16', object: 'charge', captured: true, currency: 'eur', amount: 3_300, status: 'succeeded' },
      metadata: { invoice: invoice.number },
      paid: value,
    }
    const answer = await stripe({ id: 'evt_16', type: 'charge.succeeded', data: { object } })
    expect(answer).toMatchObject({ status: 200, body: { duplicate: false } })
    expect(await books()).toMatchObject({ payments: [], invoices: [openInvoice(3_300)], domainEvents: 0 })
  })

  test.each(['', 'false', 'failed', 0, null] as const)('an intent whose status is %j', async (status) => {
    const { invoice, stripe, books } = await fixture.openCase(3_300)
    const object = {
      id: 'pi_16',
      amount_received: 3_300,
      currency: 'eur',
      metadata: { invoice: invoice.number },
      status,
    }
    const answer = await stripe({ id: 'evt_16', type: 'payment_intent.succeeded', data: { object } })
    expect(answer).toMatchObject({ status: 200, body: { duplicate: false, kept: true } })
    expect(await books()).toMatchObject({ payments: [], invoices: [openInvoice(3_300)], domainEvents: 0 })
  })
})
