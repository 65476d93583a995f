import { afterAll, beforeEach, expect, test } from 'vitest'
import { listImbalances, readBooks } from '../support/books.ts'
import type { Answer } from '../support/entrances.ts'
import { holdInvoice, holdPayment } from '../support/held-invoice.ts'
import { createTestOffice, deliver, stripePaid, type TestOrganization } from '../support/office.ts'
import { countDeadlocks, type ServerPair, startServerPair } from '../support/server-pair.ts'
import { byClients, callApi, createChance, times, untilAnswered } from '../support/storm.ts'

/** Acts of people at once, over two servers: moves, refunds, numbers. */
const office = await createTestOffice()
const chance = createChance('money desk')
let pair: ServerPair | null = null

beforeEach(async () => {
  pair ??= await startServerPair(office)
})

afterAll(async () => {
  await pair?.stop()
  await office.close()
})

/** For a machine that has much else to do. */
const TIMEOUT_MS = 240_000

/** So many at once that every connection of both servers is in use, and nobody waits for one until it is too late. */
const CLIENTS = 48
const EUR = 'EUR'

function url(index: number): string {
  if (pair === null) throw new Error('no servers')
  return pair.url(index)
}

/** The servers are started anew by the next test. */
async function expectNoDeadlock(): Promise<void> {
  await pair?.stop()
  pair = null
  expect(await countDeadlocks(office)).toBe(0)
}

interface Invoice {
  readonly id: string
  readonly number: string
}

async function issueInvoices(organization: TestOrganization, count: number, total: number): Promise<Invoice[]> {
  const invoices: Invoice[] = []
  for (let index = 0; index < count; index += 1) {
    invoices.push(await organization.issueInvoice({ amountMinor: BigInt(total), currency: EUR }))
  }
  return invoices
}

/** Books a payment by webhook and returns its id. */
async function pay(organization: TestOrganization, id: string, amount: number, invoice?: Invoice): Promise<string> {
  const named = invoice === undefined ? {} : { invoice: invoice.number }
  const body = stripePaid({ eventId: `evt_${id}`, paymentId: `pi_${id}`, amount, ...named })
  const answer = await deliver(url(0), organization.stripe, body)
  expect(answer).toMatchObject({ status: 200, body: { duplicate: false } })
  return (answer.body['target'] as { id: string }).id
}

function appliedOf(answer: Answer): number {
  return (answer.body['applied'] as { amountMinor: number }).amountMinor
}

function statusesOf(answers: readonly { readonly status: number }[]): number[] {
  return [...new Set(answers.map((answer) => answer.status))]
}

/** 960 moves of one payment to any of the invoices, by programs that come again where they are told to. */
async function moveToAndFro(organization: TestOrganization, paymentId: string, invoices: readonly Invoice[]) {
  const moves = times(960, (index) => ({ key: `move-${index}`, toInvoiceId: chance.pick(invoices).id }))
  const ended = await byClients(CLIENTS, moves, ({ key, toInvoiceId }, index) => {
    const call = { path: `/payments/${paymentId}/move`, key, body: { toInvoiceId } }
    return untilAnswered(() => callApi(url(index), organization, call))
  })
  const toldToComeAgain = ended.reduce((sum, each) => sum + each.toldToComeAgain, 0)
  return { answers: ended.map(({ answer }) => answer), toldToComeAgain }
}

test(
  '960 moves of one payment over four invoices, at once over two servers: none fails, and it lies in one place, whole',
  async () => {
    const organization = await office.addOrganization('Moves')
    const invoices = await issueInvoices(organization, 4, 10_000)
    const [first] = invoices
    const paymentId = await pay(organization, 'moved', 10_000, first)

    const { answers, toldToComeAgain } = await moveToAndFro(organization, paymentId, invoices)

    expect(statusesOf(answers)).toEqual([200])
    expect(toldToComeAgain).toBe(0)
    // Each took the whole payment along, or it lay there already.
    const moved = answers.filter((answer) => appliedOf(answer) === 10_000).length
    expect(answers.filter((answer) => appliedOf(answer) === 0)).toHaveLength(960 - moved)
    expect(moved).toBeGreaterThan(300)
    const books = await readBooks(office, organization.organizationId)
    expect(books.payments).toMatchObject([{ appliedMinor: 10_000, allocatedMinor: 10_000, unappliedMinor: 0 }])
    expect(books.invoices.map((invoice) => invoice.paidMinor).toSorted((a, b) => a - b)).toEqual([0, 0, 0, 10_000])
    expect(await listImbalances(office, organization.organizationId)).toEqual([])
    // Every change told once: an invoice paid and another one open again, for each move that moved.
    expect(books.told).toMatchObject({ 'domain_event payment.moved': moved, 'audit_entry payment.move': 960 })
    expect(books.invoices.reduce((sum, { paidEvents }) => sum + paidEvents, 0)).toBe(moved + 1)
    expect(books.invoices.reduce((sum, { reopenedEvents }) => sum + reopenedEvents, 0)).toBe(moved)
    expect(await readHistory(organization, paymentId)).toEqual({ live: 1, reversed: moved })

    // Wherever it lies by now, it comes back to where it was first, and again.
    for (const [index, to] of [first, invoices[1], first].entries()) {
      const call = { path: `/payments/${paymentId}/move`, key: `back-${index}`, body: { toInvoiceId: to?.id } }
      expect((await callApi(url(index), organization, call)).status).toBe(200)
    }
    expect((await readBooks(office, organization.organizationId)).invoices[0]).toMatchObject({ paidMinor: 10_000 })
    expect(await listImbalances(office, organization.organizationId)).toEqual([])
    await expectNoDeadlock()
  },
  TIMEOUT_MS,
)

async function readHistory(organization: TestOrganization, paymentId: string) {
  const { rows } = await office.owner.query<{ live: number; reversed: number }>(
    `select count(*) filter (where reversed_at is null)::int as live,
       count(*) filter (where reversed_at is not null)::int as reversed
     from allocations where organization_id = $1 and payment_id = $2`,
    [organization.organizationId, paymentId],
  )
  return rows[0]
}

test(
  '960 moves of one payment while 200 others arrive for the same invoices: all are done, and no money waits beside an open invoice',
  async () => {
    const organization = await office.addOrganization('MovesAndPayments')
    const invoices = await issueInvoices(organization, 4, 10_000)
    const paymentId = await pay(organization, 'moved', 10_000, invoices[0])
    const arriving = times(200, (index) =>
      stripePaid({
        eventId: `evt_${index}`,
        paymentId: `pi_${index}`,
        amount: 100,
        invoice: invoices[index % 4]?.number ?? '',
      }),
    )

    const [moves, arrivals] = await Promise.all([
      moveToAndFro(organization, paymentId, invoices),
      byClients(8, arriving, (body, index) => deliver(url(index), organization.stripe, body)),
    ])

    expect(statusesOf(moves.answers)).toEqual([200])
    expect(statusesOf(arrivals)).toEqual([200])
    // Where money began to wait for an invoice while a move looked what waits there, three times in a row.
    expect(moves.toldToComeAgain).toBeLessThan(10)
    const books = await readBooks(office, organization.organizationId)
    expect(books.payments).toHaveLength(201)
    for (const payment of books.payments) expect(payment).toMatchObject({ activities: 1, receivedEvents: 1 })
    // What arrived can all be placed by now: each invoice has room for its fifty and for the one that is moved, bit by bit.
    const arrived = books.payments.filter((payment) => payment.externalId !== 'pi_moved')
    expect(arrived.reduce((sum, { appliedMinor, unappliedMinor }) => sum + appliedMinor + unappliedMinor, 0)).toBe(
      20_000,
    )
    expect(await listImbalances(office, organization.organizationId)).toEqual([])
    await expectNoDeadlock()
  },
  TIMEOUT_MS,
)

test('an act on a payment waits for the one before it, and only then looks where the payment lies', async () => {
  const organization = await office.addOrganization('Queue')
  const invoices = await issueInvoices(organization, 3, 10_000)
  const [first, second, third] = invoices
  const paymentId = await pay(organization, 'moved', 10_000, first)
  const move = (index: number, toInvoiceId: string | undefined) =>
    callApi(url(index), organization, {
      path: `/payments/${paymentId}/move`,
      key: `to-${index}`,
      body: { toInvoiceId },
    })
  await using held = await holdInvoice(office, first?.id ?? '')
  const one = move(0, second?.id)
  await held.waiting(1)
  const other = move(1, third?.id)
  await held.waiting(2)
  const { rows } = await office.owner.query<{ events: string[] }>(
    `select array_agg(wait_event order by wait_event) as events from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  expect(rows).toEqual([{ events: ['advisory', 'transactionid'] }])
  await held.release()
  expect([appliedOf(await one), appliedOf(await other)]).toEqual([10_000, 10_000])
  const books = await readBooks(office, organization.organizationId)
  expect(books.invoices.map((invoice) => invoice.paidMinor)).toEqual([0, 0, 10_000])
})

test('money that begins to wait for an invoice while a payment is moved off it takes its place', async () => {
  const organization = await office.addOrganization('Waiting')
  const [to, from] = await issueInvoices(organization, 2, 10_000)
  const paymentId = await pay(organization, 'moved', 10_000, from)
  // The move has looked what waits for the invoice that it opens, and stops before it locks it.
  await using held = await holdInvoice(office, to?.id ?? '')
  const call = { path: `/payments/${paymentId}/move`, key: 'move', body: { toInvoiceId: to?.id } }
  const moved = callApi(url(0), organization, call)
  await held.waiting(1)
  const body = stripePaid({ eventId: 'evt_late', paymentId: 'pi_late', amount: 300, invoice: from?.number ?? '' })
  const late = await deliver(url(1), organization.stripe, body)
  expect(late).toMatchObject({ status: 200, body: { applied: { amountMinor: 0 } } })
  await held.release()
  expect(appliedOf(await moved)).toBe(10_000)
  const books = await readBooks(office, organization.organizationId)
  expect(books.invoices.map((invoice) => invoice.paidMinor)).toEqual([10_000, 300])
  expect(books.reviewItems).toMatchObject([{ kind: 'unapplied', state: 'decided', decision: 'nothing_left' }])
  expect(await listImbalances(office, organization.organizationId)).toEqual([])
})

test('a payment that arrives while its invoice is credited is released by the credit note', async () => {
  const organization = await office.addOrganization('Credited')
  const [invoice] = await issueInvoices(organization, 1, 10_000)
  await pay(organization, 'first', 1_000, invoice)
  // The credit note has looked which payments lie on the invoice, and stops at the one that it has seen.
  await using held = await holdPayment(office, 'pi_first')
  const credited = callApi(url(0), organization, { path: `/invoices/${invoice?.id}/credit-note`, key: 'credit' })
  await held.waiting(1)
  const body = stripePaid({ eventId: 'evt_1', paymentId: 'pi_late', amount: 4_000, invoice: invoice?.number ?? '' })
  const arrived = await deliver(url(1), organization.stripe, body)
  expect(arrived.body).toMatchObject({ applied: { amountMinor: 4_000 } })
  await held.release()
  expect((await credited).status).toBe(201)
  const books = await readBooks(office, organization.organizationId)
  expect(books.payments).toMatchObject([
    { externalId: 'pi_first', appliedMinor: 0, unappliedMinor: 1_000 },
    { externalId: 'pi_late', appliedMinor: 0, unappliedMinor: 4_000 },
  ])
  expect(books.invoices.find(({ type }) => type === 'invoice')).toMatchObject({ creditedMinor: 10_000, openMinor: 0 })
  expect(await listImbalances(office, organization.organizationId)).toEqual([])
})

test('1,280 refunds with 40 keys from 32 clients on one payment: 40 refunds, each once, and every caller hears of its own', async () => {
  const organization = await office.addOrganization('Refunds')
  const [invoice] = await issueInvoices(organization, 1, 100_000)
  const paymentId = await pay(organization, 'refunded', 100_000, invoice)
  const refunds = times(40, (index) => ({ key: `refund-${index}`, amountMinor: 100 + index }))
  const sum = refunds.reduce((total, { amountMinor }) => total + amountMinor, 0)

  const calls = chance.shuffled(times(32, () => refunds).flat())
  const answers = await byClients(32, calls, async ({ key, amountMinor }, index) => {
    const body = { amount: { amountMinor, currency: EUR } }
    return {
      key,
      answer: await callApi(url(index), organization, { path: `/payments/${paymentId}/refund`, key, body }),
    }
  })

  expect(statusesOf(answers.map(({ answer }) => answer))).toEqual([200])
  for (const [key, ofKey] of Map.groupBy(answers, (each) => each.key)) {
    expect(ofKey, key).toHaveLength(32)
    expect(ofKey.filter(({ answer }) => answer.headers.get('idempotent-replayed') === null)).toHaveLength(1)
    for (const { answer } of ofKey) expect(answer.body).toEqual(ofKey[0]?.answer.body)
  }
  const books = await readBooks(office, organization.organizationId)
  expect(books.payments).toMatchObject([{ returnedMinor: sum, appliedMinor: 100_000 - sum, unappliedMinor: 0 }])
  expect(books.returns.map(({ amountMinor }) => amountMinor).toSorted((a, b) => a - b)).toEqual(
    refunds.map(({ amountMinor }) => amountMinor),
  )
  expect(books.invoices).toMatchObject([{ openMinor: sum, paidMinor: 100_000 - sum, paidEvents: 1, reopenedEvents: 1 }])
  expect(books.told).toMatchObject({
    'domain_event payment.refunded': 40,
    'activity payment.refunded': 40,
    'notification payment.refunded': 40 * organization.userIds.length,
    'audit_entry payment.refund': 40,
  })
  expect(books.events.filter((event) => event.kind === 'payment.refund' && event.copies === 32)).toHaveLength(40)
  expect(await listImbalances(office, organization.organizationId)).toEqual([])
  await expectNoDeadlock()
})

test('refunds that together exceed the payment, 64 at once: as many as fit, and the others are told that nothing is left', async () => {
  const organization = await office.addOrganization('TooMany')
  const [invoice] = await issueInvoices(organization, 1, 10_000)
  const paymentId = await pay(organization, 'refunded', 10_000, invoice)
  const answers = await byClients(
    CLIENTS,
    times(64, (index) => index),
    (index) =>
      callApi(url(index), organization, {
        path: `/payments/${paymentId}/refund`,
        key: `refund-${index}`,
        body: { amount: { amountMinor: 1_000, currency: EUR } },
      }),
  )
  expect(answers.map((answer) => answer.status).toSorted()).toEqual([...times(10, () => 200), ...times(54, () => 409)])
  expect(answers.find((answer) => answer.status === 409)?.body).toMatchObject({ code: 'amount_exceeds' })
  const books = await readBooks(office, organization.organizationId)
  expect(books).toMatchObject({ payments: [{ returnedMinor: 10_000, appliedMinor: 0 }], reviewItems: [] })
  expect(books.returns).toHaveLength(10)
  expect(await listImbalances(office, organization.organizationId)).toEqual([])
})

test('200 drafts issued and 60 credit notes written at once, refusals among them: two series, neither with a gap or a twin', async () => {
  const organization = await office.addOrganization('Series')
  const invoices = await issueInvoices(organization, 20, 300)
  const drafts = await byClients(
    CLIENTS,
    times(200, (index) => index),
    async (index) => {
      const lines = [{ description: 'Work', unitPriceMinor: 100 + index }]
      const answer = await callApi(url(index), organization, { path: '/invoices', body: { currency: EUR, lines } })
      return String(answer.body['id'])
    },
  )
  const credit = { lines: [{ description: 'Work that was not done', unitPriceMinor: 100 }] }
  // Four for each invoice, of which three fit: the fourth had its number, and has to give it back.
  const credits = times(80, (index) => ({
    path: `/invoices/${invoices[index % 20]?.id}/credit-note`,
    key: `credit-${index}`,
    body: credit,
  }))
  const issues = drafts.map((id) => ({ path: `/invoices/${id}/issue`, key: `issue-${id}` }))
  const nobody = times(20, (index) => ({ path: `/invoices/${office.newId()}/issue`, key: `nobody-${index}` }))

  const calls = chance.shuffled([...issues, ...credits, ...nobody])
  const answers = await byClients(CLIENTS, calls, (call, index) => callApi(url(index), organization, call))

  const counted = Map.groupBy(answers, (answer) => `${answer.status} ${answer.body['type']}`)
  expect(Object.fromEntries([...counted].map(([outcome, of]) => [outcome, of.length]))).toEqual({
    '200 invoice': 200,
    '201 credit_note': 60,
    '404 urn:einmal:error:not_found': 20,
    '409 urn:einmal:error:credit_exceeds': 20,
  })
  const numbers = (type: string) =>
    answers.flatMap(({ body }) => (body['type'] === type ? [String(body['number'])] : [])).toSorted()
  const series = (prefix: string, from: number, count: number) =>
    times(count, (index) => `${prefix}-${String(from + index).padStart(5, '0')}`)
  expect(numbers('invoice')).toEqual(series('RE', 21, 200))
  expect(numbers('credit_note')).toEqual(series('GS', 1, 60))
  expect(await listImbalances(office, organization.organizationId)).toEqual([])
  await expectNoDeadlock()
})
