import { describe, expect, test } from 'vitest'
import { listImbalances } from '../support/books.ts'
import {
  booked,
  type Case,
  createCaseFixture,
  duplicate,
  openInvoice,
  paymentRow,
  reopenedInvoice,
  returnedRow,
} from '../support/case-fixture.ts'
import { holdInvoice } from '../support/held-invoice.ts'

/** The cases of ORD in which money goes back. */
const fixture = createCaseFixture()

const tookBack = (amountMinor: number) => booked(-amountMinor)

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]))
}

function stripeEvent(id: string, type: string, object: Readonly<Record<string, unknown>>) {
  return { id, type, data: { object: { currency: 'eur', ...object } } }
}

function charge(opened: Case, id: string) {
  return stripeEvent(`evt_${id}`, 'charge.succeeded', {
    ...{ id, object: 'charge', paid: true, captured: true, status: 'succeeded', amount: 10_000 },
    metadata: { invoice: opened.invoice.number },
  })
}

// As sandbox events, and as events of Stripe with its own words.
describe('ORD-01: a refund before its payment waits for it, and both orders end equal', () => {
  const senders = {
    sandbox: (opened: Case) => ({
      paid: () =>
        opened.sandbox({
          id: 'evt_paid',
          data: { payment: 'pay_1', amountMinor: 10_000, currency: 'EUR', invoice: opened.invoice.number },
        }),
      refunded: () =>
        opened.sandbox({
          id: 'evt_refunded',
          type: 'payment.refunded',
          data: { refund: 'rf_1', payment: 'pay_1', amountMinor: 10_000, currency: 'EUR' },
        }),
    }),
    stripe: (opened: Case) => ({
      paid: () => opened.stripe(charge(opened, 'pay_1')),
      refunded: () =>
        opened.stripe(
          stripeEvent('evt_refunded', 'refund.updated', {
            ...{ id: 'rf_1', object: 'refund', status: 'succeeded', amount: 10_000, charge: 'pay_1' },
          }),
        ),
    }),
  }
  const ended = { payments: [returnedRow('pay_1', 10_000, 10_000)], returns: [{ kind: 'refund', amountMinor: 10_000 }] }

  test.each(['sandbox', 'stripe'] as const)('from %s, the payment first', async (sender) => {
    const opened = await fixture.openCase()
    const { paid, refunded } = senders[sender](opened)
    const answers = [await paid(), await refunded(), await refunded(), await paid()]
    expect(answers).toMatchObject([booked(10_000), tookBack(10_000), duplicate(), duplicate()])
    expect(await opened.books()).toMatchObject({ ...ended, invoices: [reopenedInvoice(10_000)] })
    expect(await opened.desk()).toEqual([])
  })

  test.each(['sandbox', 'stripe'] as const)('from %s, the refund first', async (sender) => {
    const opened = await fixture.openCase()
    const { paid, refunded } = senders[sender](opened)
    expect(await refunded()).toMatchObject({ status: 200, body: { duplicate: false, applied: { amountMinor: 0 } } })
    expect(await opened.books()).toMatchObject({ payments: [], invoices: [openInvoice(10_000)] })
    expect(await opened.desk()).toMatchObject([{ kind: 'waiting', data: { original: { externalId: 'pay_1' } } }])
    expect(await paid()).toMatchObject(booked(0))
    // Applied once: neither event does it again, and the invoice was never told of as paid.
    expect([await refunded(), await paid()]).toMatchObject([duplicate(), duplicate()])
    expect(await opened.books()).toMatchObject({
      ...ended,
      invoices: [openInvoice(10_000)],
      reviewItems: [{ kind: 'waiting', state: 'decided', decision: 'arrived' }],
      told: { 'domain_event payment.received': 1, 'domain_event payment.refunded': 1 },
    })
    expect(await opened.desk()).toEqual([])
    expect(await listImbalances(fixture.office, opened.organization.organizationId)).toEqual([])
  })
})

// As a sandbox payment and its refund.
describe('ORD-09: paid and reversed within a second is two events and a sum of nothing', () => {
  const prepare = async () => {
    const opened = await fixture.openCase()
    const data = { payment: 'tx_5', amountMinor: 10_000, currency: 'EUR' }
    return {
      ...opened,
      paid: () => opened.sandbox({ id: 'tx_5', data: { ...data, invoice: opened.invoice.number } }),
      reversed: () =>
        opened.sandbox({ id: 'tx_6', type: 'payment.refunded', data: { ...data, refund: 'tx_6' } }, fixture.otherApp),
    }
  }

  async function expectSumOfNothing({ books, organization }: Case): Promise<void> {
    const { payments, returns, invoices, told } = await books()
    expect(payments).toMatchObject([returnedRow('tx_5', 10_000, 10_000)])
    expect(returns).toMatchObject([{ externalId: 'tx_6', amountMinor: 10_000 }])
    expect(invoices).toMatchObject([{ openMinor: 10_000, paidMinor: 0, paymentState: 'open' }])
    // If the invoice was told of as paid, then once, and once that it is open again.
    const [invoice] = invoices
    expect(invoice?.reopenedEvents).toBe(invoice?.paidEvents)
    expect(told).toMatchObject({ 'domain_event payment.received': 1, 'domain_event payment.refunded': 1 })
    expect(await listImbalances(fixture.office, organization.organizationId)).toEqual([])
  }

  test('in parallel, 20 rounds', async () => {
    for (let round = 0; round < 20; round += 1) {
      const opened = await prepare()
      const answers = await Promise.all([opened.paid(), opened.reversed()])
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      await expectSumOfNothing(opened)
    }
  })

  test('one after the other: paid once, and open again once', async () => {
    const opened = await prepare()
    expect([await opened.paid(), await opened.reversed()]).toMatchObject([booked(10_000), tookBack(10_000)])
    await expectSumOfNothing(opened)
    expect((await opened.books()).invoices).toMatchObject([{ paidEvents: 1, reopenedEvents: 1 }])
  })

  test('the reversal first: never told of as paid', async () => {
    const opened = await prepare()
    expect([await opened.reversed(), await opened.paid()]).toMatchObject([booked(0), booked(0)])
    await expectSumOfNothing(opened)
    expect((await opened.books()).invoices).toMatchObject([{ paidEvents: 0, reopenedEvents: 0 }])
  })
})

describe('ORD-10: a running total is what was refunded so far, and not another refund', () => {
  const total = (id: string, refunded: number) =>
    stripeEvent(id, 'charge.refunded', { id: 'ch_3', object: 'charge', amount: 10_000, amount_refunded: refunded })

  test('1200, then 2000, then 2000 again: 2000', async () => {
    const opened = await fixture.openCase()
    expect(await opened.stripe(charge(opened, 'ch_3'))).toMatchObject(booked(10_000))
    const answers = []
    for (const [id, refunded] of [
      ['evt_r1', 1_200],
      ['evt_r2', 2_000],
      ['evt_r2', 2_000],
    ] as const) {
      answers.push(await opened.stripe(total(id, refunded)))
    }
    expect(answers).toMatchObject([tookBack(1_200), tookBack(800), duplicate()])
    expect(await opened.books()).toMatchObject({
      payments: [returnedRow('ch_3', 10_000, 2_000)],
      invoices: [reopenedInvoice(10_000, 8_000)],
      reviewItems: [],
    })
  })

  test.each(permutations(['paid', 1_200, 2_000]).map((order) => [order.join(', then '), order] as const))(
    'in the order %s: 2000',
    async (_title, order) => {
      const opened = await fixture.openCase()
      for (const step of order) {
        const event = step === 'paid' ? charge(opened, 'ch_3') : total(`evt_${step}`, Number(step))
        expect((await opened.stripe(event)).status).toBe(200)
      }
      expect(await opened.books()).toMatchObject({
        payments: [returnedRow('ch_3', 10_000, 2_000)],
        invoices: [{ openMinor: 2_000, paidMinor: 8_000 }],
      })
      expect(await opened.desk()).toEqual([])
    },
  )
})

describe('ORD-12: a refund told by its object and by the total of its charge is one refund', () => {
  const refund = (id: string, eventId: string, amount: number) =>
    stripeEvent(eventId, 'refund.updated', { id, object: 'refund', status: 'succeeded', amount, charge: 'ch_6' })
  const total = (eventId: string, refunded: number) =>
    stripeEvent(eventId, 'charge.refunded', { id: 'ch_6', object: 'charge', amount: 10_000, amount_refunded: refunded })
  const told = [
    refund('re_1', 'evt_1', 400),
    total('evt_2', 400),
    refund('re_2', 'evt_3', 600),
    total('evt_4', 1_000),
    refund('re_1', 'evt_1', 400),
  ]
  const ended = {
    payments: [returnedRow('ch_6', 10_000, 1_000)],
    returns: [
      { externalId: 'ch_6/total/1000', kind: 'refund_total' },
      { externalId: 'ch_6/total/400', kind: 'refund_total' },
      { externalId: 're_1', kind: 'refund', amountMinor: 400 },
      { externalId: 're_2', kind: 'refund', amountMinor: 600 },
    ],
    invoices: [reopenedInvoice(10_000, 9_000)],
    reviewItems: [],
  }

  test('as it came', async () => {
    const opened = await fixture.openCase()
    await opened.stripe(charge(opened, 'ch_6'))
    const answers = []
    for (const event of told) answers.push(await opened.stripe(event))
    expect(answers).toMatchObject([tookBack(400), booked(0), tookBack(600), booked(0), duplicate()])
    expect(await opened.books()).toMatchObject(ended)
  })

  test('in any order', async () => {
    for (const order of permutations(told.slice(0, 4))) {
      const opened = await fixture.openCase()
      await opened.stripe(charge(opened, 'ch_6'))
      for (const event of order) expect((await opened.stripe(event)).status).toBe(200)
      const { payments, returns, reviewItems } = await opened.books()
      expect({ payments, returns, reviewItems }).toMatchObject({
        payments: ended.payments,
        returns: ended.returns,
        reviewItems: ended.reviewItems,
      })
      expect(await listImbalances(fixture.office, opened.organization.organizationId)).toEqual([])
    }
  })
})

describe('ORD-13: a dispute that is won and then lost takes the money, gives it back, and takes it again', () => {
  const movements = [
    { id: 'txn_1', amount: -10_000, currency: 'eur' },
    { id: 'txn_2', amount: 10_000, currency: 'eur' },
    { id: 'txn_3', amount: -10_000, currency: 'eur' },
  ]
  /** Each event of a dispute lists every movement so far. */
  const dispute = (id: string, type: string, count: number) =>
    stripeEvent(id, `charge.dispute.${type}`, {
      ...{ id: 'dp_1', object: 'dispute', charge: 'ch_7', balance_transactions: movements.slice(0, count) },
    })
  const withdrawn = dispute('evt_opened', 'funds_withdrawn', 1)
  const won = dispute('evt_won', 'funds_reinstated', 2)
  const lost = dispute('evt_lost', 'funds_withdrawn', 3)
  const ended = {
    payments: [returnedRow('ch_7', 10_000, 10_000)],
    returns: [
      { externalId: 'txn_1', kind: 'chargeback', amountMinor: 10_000 },
      { externalId: 'txn_2', kind: 'chargeback_reversal', amountMinor: 10_000 },
      { externalId: 'txn_3', kind: 'chargeback', amountMinor: 10_000 },
    ],
  }

  test('with the resend of the win in between', async () => {
    const opened = await fixture.openCase()
    await opened.stripe(charge(opened, 'ch_7'))
    const open: number[] = []
    const answers = []
    for (const event of [withdrawn, won, won, lost]) {
      answers.push(await opened.stripe(event))
      open.push((await opened.books()).invoices[0]?.openMinor ?? -1)
    }
    expect(answers).toMatchObject([tookBack(10_000), booked(10_000), duplicate(), tookBack(10_000)])
    expect(open).toEqual([10_000, 0, 0, 10_000])
    expect(await opened.books()).toMatchObject({
      ...ended,
      invoices: [{ paidEvents: 2, reopenedEvents: 2, paymentState: 'open' }],
      reviewItems: [],
      told: { 'domain_event payment.charged_back': 2, 'domain_event payment.chargeback_reversed': 1 },
    })
  })

  test.each(
    permutations(['paid', 'opened', 'won', 'lost'] as const).map((order) => [order.join(', then '), order] as const),
  )('in the order %s the end is the same', async (_title, order) => {
    const opened = await fixture.openCase()
    const events = { paid: charge(opened, 'ch_7'), opened: withdrawn, won, lost }
    for (const step of order) expect((await opened.stripe(events[step])).status).toBe(200)
    expect(await opened.books()).toMatchObject({ ...ended, invoices: [{ openMinor: 10_000, paidMinor: 0 }] })
    expect(await listImbalances(fixture.office, opened.organization.organizationId)).toEqual([])
  })
})

// Once as Stripe tells it, once by hand.
describe('ORD-17: a full refund after a partial one is a sum, and no forbidden step', () => {
  const amounts = [3_000, 7_000]

  test('from Stripe', async () => {
    const opened = await fixture.openCase()
    await opened.stripe(charge(opened, 'ch_17'))
    const refund = (amount: number) =>
      stripeEvent(`evt_${amount}`, 'refund.updated', {
        ...{ id: `re_${amount}`, object: 'refund', status: 'succeeded', amount, charge: 'ch_17' },
      })
    for (const amount of amounts) expect(await opened.stripe(refund(amount))).toMatchObject(tookBack(amount))
    expect(await opened.books()).toMatchObject({
      payments: [returnedRow('ch_17', 10_000, 10_000)],
      invoices: [reopenedInvoice(10_000)],
      reviewItems: [],
    })
  })

  test('by hand, the second one without an amount', async () => {
    const opened = await fixture.openCase()
    const { body } = await opened.stripe(charge(opened, 'ch_17'))
    const refund = `/payments/${(body['target'] as { id: string }).id}/refund`
    expect(await opened.call(refund, { amount: { amountMinor: 3_000, currency: 'EUR' } })).toMatchObject(
      tookBack(3_000),
    )
    expect(await opened.call(refund)).toMatchObject(tookBack(7_000))
    expect(await opened.call(refund)).toMatchObject({ status: 409, body: { code: 'amount_exceeds' } })
    expect(await opened.books()).toMatchObject({
      payments: [returnedRow('ch_17', 10_000, 10_000)],
      invoices: [reopenedInvoice(10_000)],
    })
  })
})

// Beside the cases: the fault that a refund which waited was passed over where its payment came in a group with known ones.
test('a refund that waits is counted also where its payment arrives together with news of others', async () => {
  const opened = await fixture.openCase(100_000)
  const { invoice, sandbox, books, organization } = opened
  const pay = (payment: string, id: string) =>
    sandbox({ id, data: { payment, amountMinor: 1_000, currency: 'EUR', invoice: invoice.number } })
  await pay('known', 'evt_known')
  await sandbox({
    type: 'payment.refunded',
    data: { refund: 'rf_waits', payment: 'late', amountMinor: 400, currency: 'EUR' },
  })
  await using held = await holdInvoice(fixture.office, invoice.id)
  const running = pay('running', 'evt_running')
  await held.waiting(1)
  // What arrives now forms the next group: two events about the known payment, and the payment that was refunded.
  const next = [pay('known', 'evt_known_b'), pay('known', 'evt_known_c'), pay('late', 'evt_late')]
  await fixture.app.get(organization, '/review-items')
  await held.release()
  expect(await running).toMatchObject(booked(1_000))
  expect(await Promise.all(next)).toMatchObject([duplicate(), duplicate(), booked(600)])
  const { payments } = await books()
  expect(payments.find(({ externalId }) => externalId === 'late')).toMatchObject(returnedRow('late', 1_000, 400))
  expect(payments.find(({ externalId }) => externalId === 'known')).toMatchObject(paymentRow('known', 1_000))
  expect(await listImbalances(fixture.office, organization.organizationId)).toEqual([])
})
