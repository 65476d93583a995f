import { afterAll, beforeEach, expect, test } from 'vitest'
import { type BookedInvoice, type BookedPayment, type Books, readBooks } from '../support/books.ts'
import { createTestOffice, deliver, stripePaid, type TestOrganization } from '../support/office.ts'
import { countDeadlocks, type ServerPair, startServerPair } from '../support/server-pair.ts'
import { type ApiCall, callApi, createChance, times } from '../support/storm.ts'

const office = await createTestOffice()
let pair: ServerPair | null = null

beforeEach(async () => {
  pair ??= await startServerPair(office)
})

afterAll(async () => {
  await pair?.stop()
  await office.close()
})

const { shuffled } = createChance('storms')

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

function issueOf(id: string, key: string | null = null): ApiCall {
  return { path: `/invoices/${id}/issue`, ...(key === null ? {} : { key }) }
}

async function createDraft(organization: TestOrganization, serverUrl: string, amountMinor: number): Promise<string> {
  const lines = [{ description: 'Work', unitPriceMinor: amountMinor }]
  const created = await callApi(serverUrl, organization, { path: '/invoices', body: { currency: 'EUR', lines } })
  expect(created.status).toBe(201)
  return String(created.body['id'])
}

/** Every payment as one row with all that follows of it, and its counters as its ledger says. */
function expectEachOnce(books: Books, organization: TestOrganization): void {
  const members = organization.userIds.length
  for (const payment of books.payments) {
    expect(payment).toMatchObject({
      activities: 1,
      notifications: members,
      notifiedMembers: members,
      receivedEvents: 1,
    })
    expect(payment.allocatedMinor).toBe(payment.appliedMinor)
    expect(payment.appliedMinor + payment.unappliedMinor).toBe(payment.amountMinor)
  }
  for (const invoice of books.invoices) expect(invoice.allocatedMinor).toBe(invoice.paidMinor)
}

function whole(amountMinor: number): Partial<BookedPayment> {
  return { amountMinor, appliedMinor: amountMinor, unappliedMinor: 0 }
}

function settled(paidMinor: number): Partial<BookedInvoice> {
  return { paymentState: 'settled', paidMinor, openMinor: 0, paidEvents: 1 }
}

test('16 identical deliveries at once over two servers, 50 rounds: booked once, told once, every copy counted', async () => {
  const organization = await office.addOrganization('Identical')
  for (let round = 0; round < 50; round += 1) {
    const { number } = await organization.issueInvoice({ amountMinor: 10_000n, currency: 'EUR' })
    const body = stripePaid({ eventId: `evt_${round}`, paymentId: `pi_${round}`, amount: 10_000, invoice: number })
    const answers = await Promise.all(times(16, (index) => deliver(url(index), organization.stripe, body)))
    expect(answers.map((answer) => answer.status)).toEqual(times(16, () => 200))
    expect(answers.filter((answer) => answer.body['duplicate'] === false)).toHaveLength(1)
  }
  const books = await readBooks(office, organization.organizationId)
  expectEachOnce(books, organization)
  expect(books).toMatchObject({
    payments: times(50, () => whole(10_000)),
    invoices: times(50, () => settled(10_000)),
    events: times(50, () => ({ state: 'completed', attempt: 1, copies: 16, deliveries: 16 })),
    deliveries: 800,
    activities: 50,
    notifications: 50 * organization.userIds.length,
    domainEvents: 100,
    reviewItems: [],
  })
})

test('500 different payments on one invoice, each twice, over two servers: the sum is exact and nothing deadlocks', async () => {
  const organization = await office.addOrganization('Different')
  const amounts = times(500, (index) => 9_701 + index)
  const sum = amounts.reduce((total, amount) => total + amount, 0)
  // To the cent, so that only who saw all the others sees that it is paid.
  const { number } = await organization.issueInvoice({ amountMinor: BigInt(sum), currency: 'EUR' })
  const bodies = amounts.map((amount, index) =>
    stripePaid({ eventId: `evt_${index}`, paymentId: `pi_${index}`, amount, invoice: number }),
  )
  const deliveries = shuffled([...bodies.entries(), ...bodies.entries()])
  const answers = await Promise.all(deliveries.map(([, body], place) => deliver(url(place), organization.stripe, body)))
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]))
  expect(answers.filter((answer) => answer.body['duplicate'] === false)).toHaveLength(500)
  const books = await readBooks(office, organization.organizationId)
  expectEachOnce(books, organization)
  expect(books.payments).toHaveLength(500)
  expect(books.payments.every((payment) => payment.appliedMinor === payment.amountMinor)).toBe(true)
  expect(books.invoices).toMatchObject([settled(sum)])
  expect(books.events.every((event) => event.copies === 2 && event.deliveries === 2)).toBe(true)
  expect(books.deliveries).toBe(1000)
  await expectNoDeadlock()
})

test('news of a payment without a reference and with one, at once over two servers, 100 rounds: the money finds its invoice', async () => {
  const organization = await office.addOrganization('Reference')
  for (let round = 0; round < 100; round += 1) {
    const { number } = await organization.issueInvoice({ amountMinor: 10_000n, currency: 'EUR' })
    const paymentId = `pi_${round}`
    const news = [
      stripePaid({ eventId: `evt_${round}_without`, paymentId, amount: 10_000 }),
      stripePaid({ eventId: `evt_${round}_with`, paymentId, amount: 10_000, invoice: number }),
    ]
    // Either one first, and either one at either server.
    const order = round % 2 === 0 ? news : news.toReversed()
    const answers = await Promise.all(
      order.map((body, index) => deliver(url(index + Math.floor(round / 2)), organization.stripe, body)),
    )
    expect(answers.map((answer) => answer.status)).toEqual([200, 200])
  }
  const books = await readBooks(office, organization.organizationId)
  expectEachOnce(books, organization)
  expect(books).toMatchObject({
    payments: times(100, () => whole(10_000)),
    invoices: times(100, () => settled(10_000)),
    events: times(200, () => ({ state: 'completed', attempt: 1, copies: 1 })),
  })
  expect(books.reviewItems.filter((item) => item.state === 'open')).toEqual([])
})

test('issuing an invoice while the payment for its coming number arrives, 100 rounds: the money is never left waiting', async () => {
  const organization = await office.addOrganization('Coming')
  for (let round = 0; round < 100; round += 1) {
    const draft = await createDraft(organization, url(0), 20_000)
    const number = `RE-${String(round + 1).padStart(5, '0')}`
    // One payment by each server, so that the issuing one has to look beyond its own process.
    const payments = times(2, (index) =>
      stripePaid({
        eventId: `evt_${round}_${index}`,
        paymentId: `pi_${round}_${index}`,
        amount: 10_000,
        invoice: number,
      }),
    )
    const requests = shuffled([
      () => callApi(url(round), organization, issueOf(draft)),
      ...payments.map((body, index) => () => deliver(url(round + 1 + index), organization.stripe, body)),
    ])
    const answers = await Promise.all(requests.map((request) => request()))
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200])
  }
  const books = await readBooks(office, organization.organizationId)
  expectEachOnce(books, organization)
  expect(books).toMatchObject({
    payments: times(200, () => whole(10_000)),
    invoices: times(100, () => settled(20_000)),
  })
  expect(books.reviewItems.filter((item) => item.state === 'open')).toEqual([])
})

test('40 invoices issued at once over two servers: numbers without a gap and without a twin, refusals among them', async () => {
  const organization = await office.addOrganization('Numbers')
  const drafts = await Promise.all(times(40, (index) => createDraft(organization, url(index), 100)))
  const nobody = times(10, () => office.newId())
  const requests = shuffled([
    ...drafts.map((id, index) => ({ id, key: `issue-${index}` })),
    ...nobody.map((id) => ({ id, key: null })),
  ])
  const answers = await Promise.all(
    requests.map(({ id, key }, place) => callApi(url(place), organization, issueOf(id, key))),
  )
  // A refused one had its number for a moment, and has to give it back.
  expect(answers.map((answer) => answer.status).toSorted()).toEqual([...times(40, () => 200), ...times(10, () => 404)])
  const numbers = times(40, (index) => `RE-${String(index + 1).padStart(5, '0')}`)
  const { invoices } = await readBooks(office, organization.organizationId)
  expect(invoices.map((invoice) => invoice.number)).toEqual(numbers)

  // Every request again at the other server: the first answers, and not one number more.
  const again = await Promise.all(
    requests
      .filter(({ key }) => key !== null)
      .map(({ id, key }, place) => callApi(url(place + 1), organization, issueOf(id, key))),
  )
  expect(again.map((answer) => answer.body['number']).toSorted()).toEqual(numbers)
  const next = await callApi(url(0), organization, issueOf(await createDraft(organization, url(0), 100)))
  expect(next.body['number']).toBe('RE-00041')
})

test('two payments of 7000 at once on an invoice of 10000, 50 rounds (AMT-12): 10000 applied, 4000 left over, paid once', async () => {
  const organization = await office.addOrganization('Together')
  for (let round = 0; round < 50; round += 1) {
    const { number } = await organization.issueInvoice({ amountMinor: 10_000n, currency: 'EUR' })
    const bodies = times(2, (index) =>
      stripePaid({
        eventId: `evt_${round}_${index}`,
        paymentId: `pi_${round}_${index}`,
        amount: 7_000,
        invoice: number,
      }),
    )
    const answers = await Promise.all(bodies.map((body, index) => deliver(url(index), organization.stripe, body)))
    expect(answers.map((answer) => answer.status)).toEqual([200, 200])
    const applied = answers.map((answer) => (answer.body['applied'] as { amountMinor: number }).amountMinor)
    expect(applied.toSorted()).toEqual([3_000, 7_000])
  }
  const books = await readBooks(office, organization.organizationId)
  expectEachOnce(books, organization)
  expect(books.payments).toHaveLength(100)
  expect(books.payments.reduce((total, payment) => total + payment.unappliedMinor, 0)).toBe(50 * 4_000)
  expect(books).toMatchObject({
    invoices: times(50, () => settled(10_000)),
    reviewItems: times(50, () => ({ kind: 'unapplied', state: 'open', reason: 'overpaid' })),
  })
})

test('groups with the same keys in opposite order at two servers: each payment once, and nothing deadlocks', async () => {
  const organization = await office.addOrganization('Opposite')
  const KEYS = 40
  const ROUNDS = 10
  const invoices = await Promise.all(
    times(KEYS, () => organization.issueInvoice({ amountMinor: BigInt(10_000 * ROUNDS), currency: 'EUR' })),
  )
  for (let round = 0; round < ROUNDS; round += 1) {
    // Invoices run against the order of the keys, so that sorting by one of the two is not enough.
    const bodies = times(KEYS, (index) =>
      stripePaid({
        eventId: `evt_${round}_${String(index).padStart(2, '0')}`,
        paymentId: `pi_${round}_${String((index * 17) % KEYS).padStart(2, '0')}`,
        amount: 10_000,
        invoice: invoices[KEYS - 1 - index]?.number ?? '',
      }),
    )
    const answers = await Promise.all([
      ...bodies.map((body) => deliver(url(0), organization.stripe, body)),
      ...bodies.toReversed().map((body) => deliver(url(1), organization.stripe, body)),
    ])
    expect(answers.map((answer) => answer.status)).toEqual(times(2 * KEYS, () => 200))
    expect(answers.filter((answer) => answer.body['duplicate'] === false)).toHaveLength(KEYS)
  }
  const books = await readBooks(office, organization.organizationId)
  expectEachOnce(books, organization)
  expect(books).toMatchObject({
    payments: times(KEYS * ROUNDS, () => whole(10_000)),
    invoices: times(KEYS, () => settled(10_000 * ROUNDS)),
    events: times(KEYS * ROUNDS, () => ({ state: 'completed', copies: 2, deliveries: 2 })),
  })
  await expectNoDeadlock()
})
