import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createRandom, shuffled } from '../../../../packages/einmal/src/testing/random.ts'
import { type CuttingProxy, startProxy } from '../../../../packages/einmal/test/support/proxy.ts'
import { chooseSeed } from '../../../../packages/einmal/test/support/random.ts'
import {
  PAID_KIND,
  paidOnce,
  readArrivals,
  readEvents,
  sendUntilSafe,
  stripeDelivery,
  untouched,
} from '../support/arrivals.ts'
import { readBooks } from '../support/books.ts'
import { type Answer, type Outgoing, send } from '../support/entrances.ts'
import {
  createTestOffice,
  startServer,
  type TestOffice,
  type TestOrganization,
  type TestServer,
} from '../support/office.ts'

// One server process behind a proxy that reads the protocol, for the whole file: it has to outlive every fault.

const AMOUNT = 100
/** As in `createPool` of the office and of better-auth, together. */
const CONNECTIONS_MAX = 10 + 4
const SERVER_NAME = 'einmal_under_fault'
const LOCK_TIMEOUT_MS = 250
const QUERY_TIMEOUT_MS = 2_000

let office: TestOffice
let proxy: CuttingProxy
let server: TestServer
let organizations = 0

beforeAll(async () => {
  office = await createTestOffice()
  const target = new URL(office.database.ownerUrl)
  target.searchParams.set('application_name', SERVER_NAME)
  target.searchParams.set('options', `-c lock_timeout=${LOCK_TIMEOUT_MS}`)
  target.searchParams.set('query_timeout', String(QUERY_TIMEOUT_MS))
  proxy = await startProxy(target.href)
  server = await startServer(office, { databaseUrl: proxy.url })
})

afterEach(async () => {
  expect(server.process.exitCode, server.output()).toBe(null)
  await untilReady()
  const { rows } = await office.owner.query<{ count: number }>(
    'select count(*)::int as count from pg_stat_activity where application_name = $1',
    [SERVER_NAME],
  )
  expect(rows[0]?.count).toBeLessThanOrEqual(CONNECTIONS_MAX)
})

/** A connection that was cut a moment ago may be found out by the next to use it; there are only so many of them. */
async function untilReady(): Promise<void> {
  for (let tries = 1; tries <= CONNECTIONS_MAX; tries += 1) {
    if ((await fetch(`${server.url}/readyz`)).status === 200) return
  }
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
}

afterAll(async () => {
  await server.stop()
  await proxy.close()
  await office.close()
})

function addOrganization(): Promise<TestOrganization> {
  organizations += 1
  return office.addOrganization(`Lost${organizations}`)
}

/** An organisation, an invoice that never ends, and payments on it, each remembered with the arrivals it must show. */
async function openLedger() {
  const organization = await addOrganization()
  const invoice = await organization.issueInvoice({ amountMinor: 1_000_000_000n, currency: 'EUR' })
  const arrivals = new Map<string, number>()
  const bookedNow = new Map<string, number>()
  const deliveryOf = (id: string) => stripeDelivery(organization, { id, amountMinor: AMOUNT, invoice: invoice.number })
  return {
    organization,
    deliveryOf,
    /** Sends it until it is safe; every success counts as an arrival, every other answer as none. */
    async arrive(id: string): Promise<void> {
      for (const answer of await sendUntilSafe(server.url, deliveryOf(id))) {
        expect([200, 503], `${id} was answered ${JSON.stringify(answer)}`).toContain(answer?.status)
        if (answer?.status === 503) expect(answer.headers.get('retry-after')).not.toBe(null)
        else arrivals.set(id, (arrivals.get(id) ?? 0) + 1)
        if (answer?.status !== 200 || answer.body['duplicate'] === true) continue
        expect(answer.body).toMatchObject({ duplicate: false, applied: { amountMinor: AMOUNT, currency: 'EUR' } })
        bookedNow.set(id, (bookedNow.get(id) ?? 0) + 1)
      }
    },
    arrivals,
    /** Every payment once everywhere, the invoice moved once by each, and the arrivals as told by `isCounted`. */
    async check(isCounted: (found: Found, answered: Answered) => boolean): Promise<void> {
      const books = await readBooks(office, organization.organizationId)
      const members = organization.userIds.length
      const once = {
        amountMinor: AMOUNT,
        appliedMinor: AMOUNT,
        allocatedMinor: AMOUNT,
        activities: 1,
        notifications: members,
        notifiedMembers: members,
        receivedEvents: 1,
      }
      expect(books.payments).toMatchObject(
        [...arrivals.keys()].toSorted().map((id) => ({ externalId: `pi_${id}`, ...once })),
      )
      const paidMinor = arrivals.size * AMOUNT
      expect(books.invoices).toMatchObject([{ paidMinor, allocatedMinor: paidMinor, paidEvents: 0 }])
      expect(books).toMatchObject({ reviewItems: [], domainEvents: arrivals.size, activities: arrivals.size })
      const miscounted = books.events.filter((event) => {
        const id = event.externalId.slice('evt_'.length)
        const answered = { successes: arrivals.get(id) ?? 0, bookedNow: bookedNow.get(id) ?? 0 }
        return event.state !== 'completed' || event.attempt !== 1 || !isCounted(event, answered)
      })
      expect(miscounted).toEqual([])
      expect(books.events).toHaveLength(arrivals.size)
    },
  }
}

type Ledger = Awaited<ReturnType<typeof openLedger>>

interface Found {
  readonly copies: number
  readonly deliveries: number
}

interface Answered {
  readonly successes: number
  /** Successes that said "through this arrival". */
  readonly bookedNow: number
}

const exactly = ({ copies, deliveries }: Found, { successes, bookedNow }: Answered) =>
  copies === successes && deliveries === successes && bookedNow === 1

/** A connection that was there before has its statements planned, and sends fewer messages: one that came through is no end yet. */
const MISSES_MAX = 3

/** Calls `work` with the connection cut ever later, until it comes through without a cut. Returns how often it was cut. */
async function cutEverywhere(
  cut: { how: 'before' | 'after' | 'answer'; onlyStatements?: boolean },
  work: (id: string) => Promise<void>,
  prepare: (id: string) => Promise<void> = async () => undefined,
): Promise<number> {
  let message = 1
  for (let misses = 0; misses < MISSES_MAX; ) {
    const id = `${cut.how}-${message}-${misses}`
    await prepare(id)
    proxy.arm({ message, ...cut })
    await work(id)
    if (proxy.hasCut) message += 1
    misses = proxy.hasCut ? 0 : misses + 1
  }
  proxy.plan([])
  return message - 1
}

/** What a group of one payment sends at the least, in statements; fewer cuts mean that the test went by its subject. */
const STATEMENTS_MIN = 11
/** The same of a copy, which is only counted and put on record. */
const COPY_STATEMENTS_MIN = 3

describe.each(['before', 'after', 'answer'] as const)('the connection cut %s a message', (how) => {
  test('at any message of one delivery: booked once, counted once, answered with success', async () => {
    const ledger = await openLedger()
    const cuts = await cutEverywhere({ how }, ledger.arrive)
    expect(cuts).toBeGreaterThan(3 * STATEMENTS_MIN)
    await ledger.check(exactly)
  })

  test('at any message of a delivery that had come before: counted once more, and nothing else', async () => {
    const ledger = await openLedger()
    const cuts = await cutEverywhere({ how }, ledger.arrive, ledger.arrive)
    expect(cuts).toBeGreaterThan(3 * COPY_STATEMENTS_MIN)
    await ledger.check(exactly)
  })

  test('at any statement of sixteen equal deliveries at once: booked once, each of them counted once', async () => {
    const ledger = await openLedger()
    const sixteen = async (id: string) => {
      await Promise.all(Array.from({ length: 16 }, () => ledger.arrive(id)))
    }
    const cuts = await cutEverywhere({ how, onlyStatements: true }, sixteen)
    expect(cuts).toBeGreaterThan(STATEMENTS_MIN)
    await ledger.check(exactly)
  })
})

test('a database that falls silent in the middle of a group: its connection is given up, and the payment counts once', async () => {
  const ledger = await openLedger()
  await ledger.arrive('before')
  for (const message of [1, STATEMENTS_MIN]) {
    proxy.arm({ message, how: 'stall', onlyStatements: true })
    await ledger.arrive(`silent-${message}`)
    expect(proxy.hasCut).toBe(true)
  }
  await ledger.check(exactly)
})

test('every backend of the server terminated over and over while 200 deliveries come in: each payment once', async () => {
  const ledger = await openLedger()
  const random = createRandom(chooseSeed())
  const ids = shuffled(
    Array.from({ length: 200 }, (_, index) => `storm-${index % 60}`),
    random,
  )
  let terminated = 0
  const terminate = async () => {
    const { rowCount } = await office.owner.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
      [SERVER_NAME],
    )
    terminated += rowCount ?? 0
  }
  const waiting = [...ids]
  const sender = async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      await ledger.arrive(id)
      // Paced by the answers: what has just gone well makes the next one go wrong.
      for (let blows = Math.floor(random() * 4); blows > 0; blows -= 1) await terminate()
    }
  }
  await Promise.all(Array.from({ length: 16 }, sender))
  expect(terminated).toBeGreaterThan(20)
  expect(ledger.arrivals.size).toBe(60)
  // Whoever was told to come again may have been counted all the same: the word of it was lost at the last try.
  await ledger.check(
    ({ copies, deliveries }, { successes, bookedNow }) =>
      copies === deliveries && copies >= successes && successes >= 3 && bookedNow <= 1,
  )
})

test('with the database away every request is told to come again, and nothing of it happens; then all goes on', async () => {
  const ledger = await openLedger()
  const { organization } = ledger
  // Known to the server, so that the next delivery gets as far as the group.
  await ledger.arrive('before')
  const before = await readBooks(office, organization.organizationId)
  await proxy.refuse()
  const requests: Outgoing[] = [
    ledger.deliveryOf('away'),
    ledger.deliveryOf('before'),
    draftRequest(organization),
    // Of an organisation of which the server has not heard yet.
    stripeDelivery(await addOrganization(), { id: 'unheard', amountMinor: AMOUNT, invoice: 'RE-00001' }),
  ]
  for (const request of [...requests, ...requests]) {
    const answer = await send(server.url, request)
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
  }
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  expect((await fetch(`${server.url}/readyz`)).status).toBe(503)
  expect(await readBooks(office, organization.organizationId)).toEqual(before)
  await proxy.admit()
  await ledger.arrive('away')
  await ledger.arrive('before')
  await ledger.check(exactly)
  expect((await send(server.url, draftRequest(organization))).status).toBe(201)
})

describe('a lock that somebody else holds for too long', () => {
  const held = [
    { what: 'the invoice', text: 'select 1 from invoices where organization_id = $1 for update' },
    { what: 'the register', text: 'lock table events in access exclusive mode' },
    {
      what: 'the money',
      text: `insert into money_subjects (external_id, source, organization_id) values ('pi_locked', 'stripe', $1)`,
    },
  ]
  test.each(held)('on $what: come again, nothing is on record; then booked once', async ({ text }) => {
    const organization = await addOrganization()
    const invoice = await organization.issueInvoice({ amountMinor: BigInt(AMOUNT), currency: 'EUR' })
    const { organizationId } = organization
    const delivery = stripeDelivery(organization, { id: 'locked', amountMinor: AMOUNT, invoice: invoice.number })
    await whileHolding(text, organizationId, async () => {
      const answer = await send(server.url, delivery)
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
      expect(answer.headers.get('retry-after')).not.toBe(null)
    })
    expect(await readBooks(office, organizationId)).toMatchObject(untouched)
    expect(await readEvents(office, organizationId, PAID_KIND)).toEqual([])
    expect(await readArrivals(office, organizationId)).toEqual([])

    expect(await send(server.url, delivery)).toMatchObject({ status: 200, body: { duplicate: false } })
    expect(await readBooks(office, organizationId)).toMatchObject(paidOnce(organization, AMOUNT))
    expect(await readEvents(office, organizationId, PAID_KIND)).toMatchObject([{ attempt: 1, copies: 1 }])
  })

  test('on one invoice: another organisation does not wait for it', async () => {
    const [slow, quick] = [await openLedger(), await openLedger()]
    await quick.arrive('first')
    await slow.arrive('first')
    const text = 'select 1 from invoices where organization_id = $1 for update'
    await whileHolding(text, slow.organization.organizationId, async () => {
      const blocked = send(server.url, slow.deliveryOf('blocked')).then((answer): Answer => answer)
      const order: string[] = []
      void blocked.then(() => order.push('slow'))
      await quick.arrive('meanwhile')
      order.push('quick')
      expect((await blocked).status).toBe(503)
      expect(order).toEqual(['quick', 'slow'])
    })
    await slow.arrive('blocked')
    await Promise.all([slow, quick].map((ledger: Ledger) => ledger.check(exactly)))
  })
})

/** Runs `work` while another session holds a lock in a transaction, which is then rolled back. */
async function whileHolding(text: string, organizationId: string, work: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: office.database.ownerUrl })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(text, text.includes('$1') ? [organizationId] : [])
    await work()
    await client.query('rollback')
  } finally {
    await client.end()
  }
}

function draftRequest(organization: TestOrganization): Outgoing {
  return {
    path: '/api/v1/invoices',
    headers: { authorization: `Bearer ${organization.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ currency: 'EUR', lines: [{ description: 'Work', unitPriceMinor: '100' }] }),
  }
}
