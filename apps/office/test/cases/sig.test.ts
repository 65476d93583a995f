import { describe, expect, test } from 'vitest'
import { createIntegration } from '../../src/modules/integrations/index.ts'
import { signStripeDelivery } from '../../src/providers/index.ts'
import {
  booked,
  type Case,
  createCaseFixture,
  duplicate,
  ignored,
  openInvoice,
  paymentRow,
  settledInvoice,
} from '../support/case-fixture.ts'
import type { Sender } from '../support/office.ts'

const fixture = createCaseFixture()

const paid = (eventId: string, paymentId: string, invoice: string, further: Record<string, unknown> = {}) => ({
  id: eventId,
  object: 'event',
  livemode: true,
  type: 'payment_intent.succeeded',
  data: { object: { id: paymentId, amount_received: 10_000, currency: 'eur', metadata: { invoice } } },
  ...further,
})

// As a Stripe event whose text has the escapes of the report: written again, it would have other bytes.
test('SIG-01: the bytes that came are verified, whatever escapes they are written with', async () => {
  const { organization, invoice, books } = await fixture.openCase()
  const body = JSON.stringify(paid('evt_s1', 'pay_s1', invoice.number)).replace(
    '"livemode"',
    String.raw`"note":"a\u001Bb \/ \u00e9","livemode"`,
  )
  expect(JSON.stringify(JSON.parse(body))).not.toBe(body)
  expect(await fixture.app.deliver(organization.stripe, body)).toMatchObject(booked(10_000))
  expect(await books()).toMatchObject({ payments: [paymentRow('pay_s1', 10_000)], invoices: [settledInvoice(10_000)] })
  // The same content in other bytes has not been signed.
  const rewritten = JSON.stringify(JSON.parse(body))
  const answer = await fixture.app.deliver(organization.stripe, rewritten, organization.stripe.sign(body))
  expect(answer).toMatchObject({ status: 401, body: { code: 'signature_invalid' } })
  expect(await books()).toMatchObject({ events: [{ copies: 1 }], deliveries: 1 })
})

const OLD = 'whsec_beforeRotation4Zq7'
const NEW = 'whsec_afterRotation9Kd2'

describe('SIG-03: while a secret is changed, any signature that fits counts', () => {
  /** A Stripe address that knows these secrets. */
  async function addAddress({ organization }: Case, webhookSecrets: string[]): Promise<Sender> {
    const { db, secretKey, clock, newId } = fixture.office
    const { organizationId } = organization
    const { endpointId } = await db.transaction(organizationId, (tx) =>
      createIntegration(
        tx,
        { organizationId, secretKey, now: clock.now(), newId },
        { provider: 'stripe', label: 'Stripe', settings: { webhookSecrets } },
      ),
    )
    return { ...organization.stripe, path: `/webhooks/stripe/${endpointId}` }
  }

  function signatures(body: string): readonly Record<string, string>[] {
    const nowMs = Date.now()
    const headerOf = (secret: string) => signStripeDelivery({ body, secret, nowMs })['stripe-signature'] ?? ''
    const [time = '', old = ''] = headerOf(OLD).split(',')
    const [, fresh = ''] = headerOf(NEW).split(',')
    return [
      [time, old, fresh],
      [time, fresh, old],
      [time, fresh, 'v0=ffff'],
      [time, old],
    ].map((parts) => ({ 'content-type': 'application/json', 'stripe-signature': parts.join(',') }))
  }

  test('where only the new one is known, the old alone is refused', async () => {
    const opened = await fixture.openCase()
    const address = await addAddress(opened, [NEW])
    const body = JSON.stringify(paid('evt_s3', 'pay_s3', opened.invoice.number))
    const answers = []
    for (const headers of signatures(body)) answers.push(await fixture.app.deliver(address, body, headers))
    expect(answers).toMatchObject([booked(10_000), duplicate(), duplicate(), { status: 401 }])
    expect(await opened.books()).toMatchObject({
      payments: [paymentRow('pay_s3', 10_000)],
      invoices: [settledInvoice(10_000)],
      events: [{ copies: 3, deliveries: 3 }],
    })
  })

  test('where both are known, all four are taken and booked once', async () => {
    const opened = await fixture.openCase()
    const address = await addAddress(opened, [OLD, NEW])
    const body = JSON.stringify(paid('evt_s3', 'pay_s3', opened.invoice.number))
    const answers = []
    for (const headers of signatures(body)) answers.push(await fixture.app.deliver(address, body, headers))
    expect(answers).toMatchObject([booked(10_000), duplicate(), duplicate(), duplicate()])
    expect(await opened.books()).toMatchObject({ payments: [paymentRow('pay_s3', 10_000)], events: [{ copies: 4 }] })
  })
})

// As a sandbox address with a tolerance as long as its sender repeats.
test('SIG-04: a repetition that keeps the time of the event is taken, and what was booked once is not booked again however late it comes', async () => {
  const { organization, invoice, addSandbox, books } = await fixture.openCase()
  const sender = await addSandbox({ toleranceSeconds: 30 * 24 * 3600 })
  const HOUR_MS = 3_600_000
  const deliver = (payment: string, ageMs: number, to: Sender = sender) => {
    const data = { payment, amountMinor: 5_000, currency: 'EUR', invoice: invoice.number }
    const body = JSON.stringify({ type: 'payment.paid', data })
    const headers = to.sign(body, { id: `evt_${payment}`, nowMs: Date.now() - ageMs })
    return fixture.app.deliver(to, body, headers)
  }
  const lastWeek = await deliver('captured', 7 * 24 * HOUR_MS)
  expect(lastWeek).toMatchObject(booked(5_000))
  // An address that expects its senders to sign each attempt anew refuses it.
  expect(await deliver('fresh', 2.33 * HOUR_MS, organization.sandbox)).toMatchObject({ status: 401 })
  expect([
    await deliver('fresh', 2.33 * HOUR_MS),
    await deliver('fresh', 2.33 * HOUR_MS),
    await deliver('captured', 7 * 24 * HOUR_MS),
  ]).toMatchObject([booked(5_000), duplicate(), duplicate()])
  expect(await books()).toMatchObject({
    payments: [paymentRow('captured', 5_000), paymentRow('fresh', 5_000)],
    invoices: [settledInvoice(10_000)],
    activities: 2,
    events: [{ copies: 2 }, { copies: 2 }],
  })
  expect(await deliver('ancient', 31 * 24 * HOUR_MS)).toMatchObject({
    status: 401,
    body: { code: 'signature_invalid' },
  })
})

test('SIG-07: a test event on the live address books nothing and uses up no key of the live one', async () => {
  const { invoice, stripe, books } = await fixture.openCase()
  expect(await stripe(paid('evt_t7', 'pay_t7', invoice.number, { livemode: false }))).toMatchObject(ignored)
  expect(await books()).toMatchObject({
    payments: [],
    invoices: [openInvoice(10_000)],
    events: [],
    activities: 0,
    notifications: 0,
    domainEvents: 0,
    reviewItems: [],
  })
  expect(await stripe(paid('evt_t7', 'pay_t7', invoice.number))).toMatchObject(booked(10_000))
  expect(await books()).toMatchObject({ payments: [paymentRow('pay_t7', 10_000)], invoices: [settledInvoice(10_000)] })
})
