import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  booked,
  type Case,
  createCaseFixture,
  duplicate,
  kept,
  openInvoice,
  paymentRow,
  settledInvoice,
} from '../support/case-fixture.ts'
import { holdInvoice } from '../support/held-invoice.ts'

const fixture = createCaseFixture()

const money = (opened: Case, payment: unknown, amountMinor = 10_000) => ({
  payment,
  amountMinor,
  currency: 'EUR',
  invoice: opened.invoice.number,
})

describe('IDEM-06: one key in two organisations names two things, and neither learns of the other', () => {
  test('as an Idempotency-Key', async () => {
    const [a, b] = [await fixture.openCase(), await fixture.openCase()]
    const ofA = await a.pay('2026-03-02-001', 4_000)
    const ofB = await b.pay('2026-03-02-001', 3_000)
    expect([ofA, ofB]).toMatchObject([booked(4_000), booked(3_000)])
    for (const answer of [ofA, ofB]) expect(answer.headers).not.toHaveProperty('idempotent-replayed')
    expect(await a.pay('2026-03-02-001', 4_000)).toMatchObject({
      body: ofA.body,
      headers: { 'idempotent-replayed': 'true' },
    })
    expect(await b.pay('2026-03-02-001', 3_000)).toMatchObject({
      body: ofB.body,
      headers: { 'idempotent-replayed': 'true' },
    })
    expect(await a.books()).toMatchObject({
      payments: [{ amountMinor: 4_000 }],
      invoices: [openInvoice(10_000, 4_000)],
    })
    expect(await b.books()).toMatchObject({
      payments: [{ amountMinor: 3_000 }],
      invoices: [openInvoice(10_000, 3_000)],
    })
    // Nor does an invoice of the one exist for the other.
    const foreign = await fixture.app.post(
      a.organization,
      `/invoices/${b.invoice.id}/pay`,
      {},
      { 'idempotency-key': 'k' },
    )
    expect(foreign).toMatchObject({ status: 404 })
  })

  test('as the same webhook body', async () => {
    const [a, b] = [await fixture.openCase(), await fixture.openCase()]
    for (const opened of [a, b]) {
      expect(await opened.sandbox({ id: 'evt_6', data: money(opened, 'pay_6') })).toMatchObject(booked(10_000))
      expect(await opened.books()).toMatchObject({
        payments: [paymentRow('pay_6', 10_000)],
        invoices: [settledInvoice(10_000)],
        events: [{ copies: 1 }],
      })
    }
  })
})

describe('IDEM-08: one key with other content changes nothing, and is said', () => {
  test('to a program: 422 while the first runs and after it, and the first answer stays', async () => {
    const opened = await fixture.openCase(20_000)
    await using held = await holdInvoice(fixture.office, opened.invoice.id)
    const first = opened.pay('k-8', 10_000, fixture.app)
    await held.waiting(1)
    const during = opened.pay('k-8', 5_000, fixture.otherApp)
    await held.waiting(2)
    await held.release()
    const stored = await first
    expect(stored).toMatchObject(booked(10_000))
    expect(await during).toMatchObject({ status: 422, body: { code: 'content_differs' } })
    expect(await opened.pay('k-8', 5_000)).toMatchObject({ status: 422, body: { code: 'content_differs' } })
    expect(await opened.pay('k-8', 10_000)).toMatchObject({ status: 200, body: stored.body })
    expect(await opened.books()).toMatchObject({
      payments: [{ amountMinor: 10_000 }],
      invoices: [openInvoice(20_000, 10_000)],
    })
  })

  test.each([
    ['under one event id', 'evt_8'],
    ['under another event id', 'evt_8_again'],
  ])('to a provider: a success, with the contradiction on the desk, %s', async (_title, secondId) => {
    const opened = await fixture.openCase()
    expect(await opened.sandbox({ id: 'evt_8', data: money(opened, 'pay_8', 10_000) })).toMatchObject(booked(10_000))
    const other = { id: secondId, data: money(opened, 'pay_8', 9_000) }
    expect(await opened.sandbox(other)).toMatchObject(kept('content_differs'))
    const again = await opened.sandbox(other, fixture.otherApp)
    expect(again.status).toBe(200)
    expect(await opened.books()).toMatchObject({
      payments: [paymentRow('pay_8', 10_000)],
      invoices: [settledInvoice(10_000)],
    })
    expect(await opened.desk()).toMatchObject([{ kind: 'conflict' }])
  })

  test('also where both contents wait in one group, whichever is the right one', async () => {
    const opened = await fixture.openCase(100_000)
    await using held = await holdInvoice(fixture.office, opened.invoice.id)
    const running = opened.sandbox({ id: 'evt_7', data: money(opened, 'pay_7', 7_000) })
    await held.waiting(1)
    // What arrives now forms the next group: a new event in two contents, and the running one in two contents.
    const next = [
      opened.sandbox({ id: 'evt_8', data: money(opened, 'pay_8', 10_000) }),
      opened.sandbox({ id: 'evt_8', data: money(opened, 'pay_8', 9_000) }),
      opened.sandbox({ id: 'evt_7', data: money(opened, 'pay_7', 6_000) }),
      opened.sandbox({ id: 'evt_7', data: money(opened, 'pay_7', 7_000) }),
    ]
    // All four have reached the server when a fifth request is answered.
    await fixture.app.get(opened.organization, '/review-items')
    await held.release()
    expect(await running).toMatchObject(booked(7_000))
    expect(await Promise.all(next)).toMatchObject([
      booked(10_000),
      kept('content_differs'),
      kept('content_differs'),
      duplicate(),
    ])
    const { payments, reviewItems } = await opened.books()
    expect(payments).toMatchObject([paymentRow('pay_7', 7_000), paymentRow('pay_8', 10_000)])
    expect(reviewItems).toMatchObject([{ kind: 'conflict' }, { kind: 'conflict' }])
  })
})

test('IDEM-11: ids that differ only in capitals are two payments, and each is found by its own', async () => {
  const opened = await fixture.openCase(20_000)
  for (const id of ['pay_1AbCdE', 'pay_1aBcDe']) {
    expect(await opened.sandbox({ id, data: money(opened, id) })).toMatchObject(booked(10_000))
  }
  expect(await opened.books()).toMatchObject({
    payments: [paymentRow('pay_1AbCdE', 10_000), paymentRow('pay_1aBcDe', 10_000)].toSorted(byExternalId),
    invoices: [settledInvoice(20_000)],
  })
  for (const id of ['pay_1AbCdE', 'pay_1aBcDe']) {
    const found = await fixture.app.get(opened.organization, `/events?q=${id}`)
    expect(found.body['items']).toMatchObject([{ externalId: id, copies: 1 }])
  }
})

function byExternalId(a: { externalId?: string }, b: { externalId?: string }): number {
  return (a.externalId ?? '') < (b.externalId ?? '') ? -1 : 1
}

describe('IDEM-12: blank, padded and missing keys', () => {
  test.each([
    ['missing', null, 'idempotency_key_missing'],
    ['empty', '', 'idempotency_key_invalid'],
    ['three blanks', '   ', 'idempotency_key_invalid'],
  ])('a header that is %s is refused where money moves, and nothing happens', async (_title, key, code) => {
    const { organization, invoice, books } = await fixture.openCase()
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key }
      const answer = await fixture.app.post(organization, `/invoices/${invoice.id}/pay`, {}, headers)
      expect(answer).toMatchObject({ status: 400, body: { code } })
    }
    expect(await books()).toMatchObject({ payments: [], events: [], invoices: [openInvoice(10_000)] })
  })

  test('a padded header is the same key', async () => {
    const { pay, books } = await fixture.openCase()
    const first = await pay(' k-12 ', 4_000)
    expect(first).toMatchObject(booked(4_000))
    expect(await pay('k-12', 4_000)).toMatchObject({ body: first.body, headers: { 'idempotent-replayed': 'true' } })
    expect(await books()).toMatchObject({ payments: [{ amountMinor: 4_000 }], events: [{ copies: 2 }] })
  })

  test('a padded id in JSON is another id', async () => {
    const opened = await fixture.openCase(20_000)
    expect(await opened.sandbox({ data: money(opened, 'P-12') })).toMatchObject(booked(10_000))
    expect(await opened.sandbox({ data: money(opened, 'P-12 ') })).toMatchObject(booked(10_000))
    expect(await opened.books()).toMatchObject({
      payments: [paymentRow('P-12', 10_000), paymentRow('P-12 ', 10_000)],
      invoices: [settledInvoice(20_000)],
    })
  })

  test.each([null, '', '   ', 'undefined', '[object Object]'])(
    'an id in JSON that is %j names no payment',
    async (id) => {
      const opened = await fixture.openCase()
      expect(await opened.sandbox({ data: money(opened, id) })).toMatchObject(kept('id_unusable'))
      expect(await opened.sandbox({ data: money(opened, id) })).toMatchObject(kept('id_unusable'))
      // Two events that name their money by nothing are two questions, never one payment.
      expect(await opened.books()).toMatchObject({ payments: [], invoices: [openInvoice(10_000)] })
      expect(await opened.desk()).toMatchObject([{ kind: 'unclear' }, { kind: 'unclear' }])
    },
  )
})

test('IDEM-13: ids that agree in their first 64 characters are two payments', async () => {
  const opened = await fixture.openCase()
  const ids = ['A1', 'A2'].map((end) => `payment-${'x'.repeat(56)}${end}`)
  for (const id of ids) {
    expect(await opened.sandbox({ id, data: money(opened, id, 5_000) })).toMatchObject(booked(5_000))
    expect(await opened.sandbox({ id, data: money(opened, id, 5_000) })).toMatchObject(duplicate())
  }
  expect(await opened.books()).toMatchObject({
    payments: ids.map((id) => paymentRow(id, 5_000)),
    invoices: [settledInvoice(10_000)],
  })
})

describe('IDEM-15: very long, random keys', () => {
  // As sandbox ids; the longer one is beyond what any index row holds.
  test.each([482, 20_000])('of %i characters from a provider are taken and counted once', async (length) => {
    const opened = await fixture.openCase()
    const id = randomBytes(length).toString('base64url').slice(0, length)
    const event = { id: 'evt_15', data: money(opened, id) }
    expect([await opened.sandbox(event), await opened.sandbox(event)]).toMatchObject([booked(10_000), duplicate()])
    expect(await opened.sandbox({ ...event, id: 'evt_15_again' })).toMatchObject(duplicate())
    const { payments, invoices } = await opened.books()
    expect(payments).toHaveLength(1)
    expect(invoices).toMatchObject([settledInvoice(10_000)])
  })

  test('of 10,000 characters from a program are refused with the reason', async () => {
    const { pay, books } = await fixture.openCase()
    const key = randomBytes(10_000).toString('base64url').slice(0, 10_000)
    expect(await pay(key)).toMatchObject({ status: 400, body: { code: 'idempotency_key_invalid' } })
    expect(await books()).toMatchObject({ payments: [], events: [] })
  })
})

describe('IDEM-16: a NUL character in the payload', () => {
  // As Stripe events: the sandbox carries the event's id in a header, where no NUL can be.
  const event = (opened: Case, id: string, paymentId: string) => ({
    id,
    type: 'charge.succeeded',
    data: {
      object: {
        id: 'ch_16',
        payment_intent: paymentId,
        amount: 10_000,
        currency: 'eur',
        billing_details: { name: 'Kim\0 GmbH', email: null },
        metadata: { invoice: opened.invoice.number },
      },
    },
  })

  test('in a name does not stop the money, and the bytes are kept as they came', async () => {
    const opened = await fixture.openCase()
    const answers = [
      await opened.stripe(event(opened, 'evt_16', 'pay_16')),
      await opened.stripe(event(opened, 'evt_16', 'pay_16')),
    ]
    expect(answers).toMatchObject([booked(10_000), duplicate()])
    expect(await opened.books()).toMatchObject({
      payments: [paymentRow('pay_16', 10_000)],
      invoices: [settledInvoice(10_000)],
    })
    const { rows } = await fixture.office.owner.query<{ payer_name: string; body: Buffer }>(
      'select payer_name, body from payments, delivery_bodies as b where payments.organization_id = $1 and b.organization_id = $1',
      [opened.organization.organizationId],
    )
    expect(rows).toMatchObject([{ payer_name: 'Kim GmbH' }])
    expect(rows[0]?.body.toString()).toContain(String.raw`Kim\u0000 GmbH`)
  })

  test('in the id of the payment is kept for a person, and answered with success each time', async () => {
    const opened = await fixture.openCase()
    const answers = [
      await opened.stripe(event(opened, 'evt_17', 'pay\0_17')),
      await opened.stripe(event(opened, 'evt_17', 'pay\0_17')),
    ]
    expect(answers).toMatchObject([kept('id_unusable'), { status: 200, body: { duplicate: true } }])
    expect(await opened.books()).toMatchObject({ payments: [], invoices: [openInvoice(10_000)] })
    expect(await opened.desk()).toMatchObject([{ kind: 'unclear', data: { code: 'id_unusable' } }])
  })

  test('in the id of the event is kept for a person, and answered with success each time', async () => {
    const opened = await fixture.openCase()
    const answers = [
      await opened.stripe(event(opened, 'evt\0_18', 'pay_18')),
      await opened.stripe(event(opened, 'evt\0_18', 'pay_18')),
    ]
    expect(answers).toMatchObject([kept('id_unusable'), { status: 200, body: { duplicate: true } }])
    expect(await opened.desk()).toMatchObject([{ kind: 'unclear', data: { subject: { externalId: 'pay_18' } } }])
  })
})

// As Stripe events, whose body holds the event's id too; written as text, since JavaScript could not write the numbers.
test('IDEM-17: numbers beyond 2^53 as ids stay apart', async () => {
  const { organization, invoice, books } = await fixture.openCase()
  const bodies = ['9007199254740993', '9007199254740992', '9007199254740993'].map(
    (id) => `{"id":${id},"object":"event","livemode":true,"type":"payment_intent.succeeded","data":{"object":
      {"id":${id},"amount_received":5000,"currency":"eur","metadata":{"invoice":"${invoice.number}"}}}}`,
  )
  const answers = []
  for (const body of bodies) answers.push(await fixture.app.deliver(organization.stripe, body))
  expect(answers).toMatchObject([booked(5_000), booked(5_000), duplicate()])
  expect(await books()).toMatchObject({
    payments: [paymentRow('9007199254740992', 5_000), paymentRow('9007199254740993', 5_000)],
    invoices: [settledInvoice(10_000)],
    events: [
      { externalId: '9007199254740992', copies: 1 },
      { externalId: '9007199254740993', copies: 2 },
    ],
  })
})

// A manual entry has no id at any source; the request names it.
test('IDEM-18: a double click on "record a payment" is one entry, and the same on purpose is two', async () => {
  const { organization, invoice, pay, books } = await fixture.openCase(20_000)
  const doubleClick = await Promise.all([pay('click-1', 5_000, fixture.app), pay('click-1', 5_000, fixture.otherApp)])
  expect(doubleClick.map((answer) => answer.status)).toEqual([200, 200])
  expect(await books()).toMatchObject({ payments: [{ amountMinor: 5_000 }], activities: 1 })
  expect(await pay('click-2', 5_000)).toMatchObject(booked(5_000))
  const { payments, invoices } = await books()
  expect(payments).toHaveLength(2)
  expect(invoices).toMatchObject([openInvoice(20_000, 10_000)])
  // Without an organisation there is nobody to book for.
  const nobody = { ...organization, apiKey: 'no-such-key' }
  const refused = await fixture.app.post(nobody, `/invoices/${invoice.id}/pay`, {}, { 'idempotency-key': 'click-3' })
  expect(refused).toMatchObject({ status: 401 })
})

describe('IDEM-20: whoever loses the race hears of success, and the connections stay usable', () => {
  test.each([
    ['one event', 'evt_20', 'evt_20'],
    ['two events about one payment', 'evt_20', 'evt_20_again'],
  ])('for %s', async (_title, oneId, otherId) => {
    const opened = await fixture.openCase(1_000_000)
    await using held = await holdInvoice(fixture.office, opened.invoice.id)
    const winner = opened.sandbox({ id: oneId, data: money(opened, 'pay_20') }, fixture.app)
    await held.waiting(1)
    const loser = opened.sandbox({ id: otherId, data: money(opened, 'pay_20') }, fixture.otherApp)
    await held.waiting(2)
    await held.release()
    expect([await winner, await loser]).toMatchObject([booked(10_000), duplicate()])

    // More than the pools have connections, so that a broken one would be met.
    const more = Array.from({ length: 24 }, (_, index) => index)
    const answers = await Promise.all(
      more.map((index) =>
        opened.sandbox({ data: money(opened, `more_${index}`) }, index % 2 === 0 ? fixture.app : fixture.otherApp),
      ),
    )
    expect(answers).toMatchObject(more.map(() => booked(10_000)))
    const { payments, events, invoices } = await opened.books()
    expect(payments).toHaveLength(25)
    expect(events.filter((event) => event.state !== 'completed' || event.attempt !== 1)).toEqual([])
    expect(invoices).toMatchObject([openInvoice(1_000_000, 250_000)])
  })
})
