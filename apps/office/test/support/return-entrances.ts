import { type About, AMOUNT, bySandbox, byStripe, type Entrance, type Ground, type SentMoney } from './entrances.ts'

/** What providers tell of money that went back, and of money that came again after it had. */

/** What a refund or dispute moves of a payment that lies on the invoice, and what its reversal brings back. */
const went = { moves: { returned: 1, applied: -1, paid: -1, open: 1 }, applied: -1 } as const
const cameBack = { moves: { returned: -1, applied: 1, paid: 1, open: -1 }, applied: 1 } as const

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

async function deliverAll(ground: Ground, provider: 'stripe' | 'sandbox', events: readonly object[]): Promise<void> {
  const { app, organization } = ground
  for (const event of events) {
    const answer = await app.deliver(organization[provider], JSON.stringify(event))
    if (answer.status !== 200) throw new Error(`the ground was not laid: ${JSON.stringify(answer.body)}`)
  }
}

function stripeEvent(type: string, object: Readonly<Record<string, unknown>>): object {
  const id = `evt_before_${String(object['id'])}`
  return { id, object: 'event', type, livemode: true, data: { object: { currency: 'eur', ...object } } }
}

function stripePayment({ invoice }: Ground, id: string, amount: number): object {
  const metadata = { invoice: invoice.number }
  return stripeEvent('payment_intent.succeeded', { id, object: 'payment_intent', amount_received: amount, metadata })
}

/** One payment on the invoice, as large as all that will go back of it. */
async function layStripePayment(ground: Ground, count: number): Promise<readonly About[]> {
  await deliverAll(ground, 'stripe', [stripePayment(ground, 'pi_before', ground.amountMinor * count)])
  return times(count, () => ({ payment: 'pi_before' }))
}

/** A payment for each: a running total says nothing of a second refund of the same amount. */
async function layStripePayments(ground: Ground, count: number): Promise<readonly About[]> {
  const about = times(count, (index) => ({ payment: `pi_before_${index}` }))
  await deliverAll(
    ground,
    'stripe',
    about.map(({ payment }) => stripePayment(ground, payment, ground.amountMinor)),
  )
  return about
}

type ReturnOf = (name: string, payment: string | undefined, amount: number) => Readonly<Record<string, unknown>>

async function layStripeReturns(ground: Ground, count: number, type: string, objectOf: ReturnOf) {
  await layStripePayment(ground, count)
  const about = times(count, (index) => ({ payment: 'pi_before', name: `before_${index}` }))
  const { amountMinor } = ground
  await deliverAll(
    ground,
    'stripe',
    about.map(({ payment, name }) => stripeEvent(type, objectOf(name, payment, amountMinor))),
  )
  return about
}

function refundOf(name: string, payment: string | undefined, amount: number, status = 'succeeded') {
  return { id: `re_${name}`, object: 'refund', status, amount, payment_intent: payment }
}

/** A dispute with every movement of its money so far, as Stripe lists them. */
function disputeOf(name: string, payment: string | undefined, ...amounts: readonly number[]) {
  const transactions = amounts.map((amount, index) => ({ id: `txn_${name}_${index}`, amount, currency: 'eur' }))
  return { id: `dp_${name}`, object: 'dispute', payment_intent: payment, balance_transactions: transactions }
}

const stripeReturns: readonly Entrance[] = [
  byStripe('refund.updated', ({ id, amountMinor, about }) => refundOf(id, about['payment'], amountMinor), {
    ...went,
    lay: layStripePayment,
  }),
  byStripe(
    'charge.refunded',
    ({ id, amountMinor, about }) => ({
      id: `ch_${id}`,
      object: 'charge',
      payment_intent: about['payment'],
      captured: true,
      amount: amountMinor,
      amount_captured: amountMinor,
      amount_refunded: amountMinor,
    }),
    { ...went, lay: layStripePayments },
  ),
  byStripe(
    'charge.dispute.funds_withdrawn',
    ({ id, amountMinor, about }) => disputeOf(id, about['payment'], -amountMinor),
    { ...went, lay: layStripePayment },
  ),
  byStripe(
    'charge.dispute.funds_reinstated',
    ({ amountMinor, about }) => disputeOf(about['name'] ?? '', about['payment'], -AMOUNT, amountMinor),
    {
      ...cameBack,
      lay: (ground, count) =>
        layStripeReturns(ground, count, 'charge.dispute.funds_withdrawn', (name, payment, amount) =>
          disputeOf(name, payment, -amount),
        ),
    },
  ),
  byStripe(
    'refund.failed',
    ({ amountMinor, about }) => refundOf(about['name'] ?? '', about['payment'], amountMinor, 'failed'),
    { ...cameBack, lay: (ground, count) => layStripeReturns(ground, count, 'refund.updated', refundOf) },
  ),
]

const sandboxPayment = ({ invoice, amountMinor }: Ground, payment: string, times_: number): object => ({
  type: 'payment.paid',
  data: { payment, amountMinor: amountMinor * times_, currency: 'EUR', invoice: invoice.number },
})

async function laySandboxPayment(ground: Ground, count: number): Promise<readonly About[]> {
  await deliverAll(ground, 'sandbox', [sandboxPayment(ground, 'pay_before', count)])
  return times(count, () => ({ payment: 'pay_before' }))
}

async function laySandboxReturns(ground: Ground, count: number, type: string, field: 'refund' | 'dispute') {
  await laySandboxPayment(ground, count)
  const { amountMinor } = ground
  const about = times(count, (index) => ({ payment: 'pay_before', [field]: `${field}_before_${index}` }))
  const events = about.map((data) => ({ type, data: { ...data, amountMinor, currency: 'EUR' } }))
  await deliverAll(ground, 'sandbox', events)
  return about
}

const sandboxReturns: readonly Entrance[] = [
  bySandbox('payment.refunded', ({ id, about }) => ({ ...about, refund: `rf_${id}` }), {
    ...went,
    lay: laySandboxPayment,
  }),
  bySandbox('payment.charged_back', ({ id, about }) => ({ ...about, dispute: `dp_${id}` }), {
    ...went,
    lay: laySandboxPayment,
  }),
  bySandbox('payment.refund_failed', ({ about }: SentMoney) => ({ ...about }), {
    ...cameBack,
    lay: (ground, count) => laySandboxReturns(ground, count, 'payment.refunded', 'refund'),
  }),
  bySandbox('payment.chargeback_reversed', ({ about }: SentMoney) => ({ ...about }), {
    ...cameBack,
    lay: (ground, count) => laySandboxReturns(ground, count, 'payment.charged_back', 'dispute'),
  }),
  bySandbox('payment.refund_total', ({ about }: SentMoney) => ({ ...about }), {
    ...went,
    async lay(ground, count) {
      const about = times(count, (index) => ({ payment: `pay_before_${index}` }))
      await deliverAll(
        ground,
        'sandbox',
        about.map(({ payment }) => sandboxPayment(ground, payment, 1)),
      )
      return about
    },
  }),
]

export const returnEntrances: readonly Entrance[] = [...stripeReturns, ...sandboxReturns]
