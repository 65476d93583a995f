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
