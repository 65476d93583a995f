import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectOnce, readBooks } from '../support/books.ts'
import { type Answer, type Entrance, entrances, type SentMoney, send } from '../support/entrances.ts'
import { createTestOffice, startServer, type TestOrganization, type TestServer } from '../support/office.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'

const office = await createTestOffice()
let pair: ServerPair

beforeAll(async () => {
  pair = await startServerPair(office)
})

afterAll(async () => {
  await pair?.stop()
  await office.close()
})

const AMOUNT = 10_000
let organizationCount = 0

/** An organisation of its own for each test, so that its books hold this scenario and nothing else. */
async function prepare(entrance: Entrance, options: { payments?: number } = {}) {
  organizationCount += 1
  const organization = await office.addOrganization(`Matrix${organizationCount}`)
  const total = BigInt(AMOUNT * (options.payments ?? 1))
  const invoice = await organization.issueInvoice({ amountMinor: total, currency: 'EUR' })
  const money: SentMoney = { id: '4Zq7', amountMinor: AMOUNT, invoice }
  return {
    organization,
    money,
    arrive: (url: string, changed: Partial<SentMoney> = {}) =>
      send(url, entrance.request(organization, { ...money, ...changed })),
    expectOnce: (expected: {
      arrivals: number
      answers: readonly Answer[]
      payments?: number
      firstAnswers?: number
      reviewItems?: string[]
    }) => expectOnce(office, organization, { entrance, amountMinor: AMOUNT, ...expected }),
  }
}

/** A server process that ends or stumbles where the fault says, for as long as `work` takes. */
async function withServer<T>(fault: string | null, work: (server: TestServer) => Promise<T>): Promise<T> {
  const server = await startServer(office, fault === null ? {} : { fault })
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

/** Sends to a server that dies meanwhile: the sender gets no answer at all. */
async function expectNoAnswer(server: TestServer, arrival: Promise<Answer>): Promise<void> {
  const ended = new Promise((resolve) => server.process.once('exit', (_code, signal) => resolve(signal)))
  await expect(arrival).rejects.toThrow()
  expect(await ended).toBe('SIGKILL')
}

async function expectNothingStored(organization: TestOrganization): Promise<void> {
  expect(await readBooks(office, organization.organizationId)).toMatchObject({
    payments: [],
    invoices: [{ paidMinor: 0, allocatedMinor: 0, paidEvents: 0 }],
    events: [],
    deliveries: 0,
    activities: 0,
    notifications: 0,
    domainEvents: 0,
    audits: 0,
    reviewItems: [],
  })
}

// By place and not by field: vitest cuts long texts of a field.
describe.each(entrances.map((entrance) => [entrance.name, entrance] as const))(
  'a payment by %s counts once',
  (_name, entrance) => {
    test('when it comes again at once', async () => {
      const { arrive, expectOnce } = await prepare(entrance)
      const answers = [await arrive(pair.url(0)), await arrive(pair.url(0)), await arrive(pair.url(1))]
      await expectOnce({ arrivals: 3, answers })
    })

    test('when it comes again after the server was restarted', async () => {
      const { arrive, expectOnce } = await prepare(entrance)
      const before = await withServer(null, (server) => arrive(server.url))
      const after = await withServer(null, (server) => arrive(server.url, { attempt: 1 }))
      await expectOnce({ arrivals: 2, answers: [before, after] })
    })

    test('when it comes 16 times in parallel to two servers', async () => {
      const { arrive, expectOnce } = await prepare(entrance)
      const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => arrive(pair.url(index))))
      await expectOnce({ arrivals: 16, answers })
    })

    test('when booking it fails, and the sender comes again', async () => {
      const { arrive, expectOnce } = await prepare(entrance)
      await withServer('pipeline.afterReserve:throw:1', async (server) => {
        const failed = await arrive(server.url)
        expect(failed).toMatchObject({ status: 500, body: { code: 'internal' } })
        const answers = [await arrive(server.url), await arrive(pair.url(0))]
        await expectOnce({ arrivals: 3, answers })
      })
    })

    test('when the server dies before the effect', async () => {
      const { arrive, expectOnce } = await prepare(entrance)
      await withServer('pipeline.afterReserve:kill', (server) => expectNoAnswer(server, arrive(server.url)))
      // What died with the process left nothing behind, not even its arrival.
      const answers = [await arrive(pair.url(0)), await arrive(pair.url(1))]
      await expectOnce({ arrivals: 2, answers })
    })

    test('when the server dies after the effect and before its answer', async () => {
      const { arrive, expectOnce } = await prepare(entrance)
      await withServer('pipeline.afterCommit:kill', (server) => expectNoAnswer(server, arrive(server.url)))
      const answers = [await arrive(pair.url(0)), await arrive(pair.url(1))]
      await expectOnce({ arrivals: 3, answers, firstAnswers: 0 })
    })

    test('when the sender signs or writes the same event anew', async () => {
      const { arrive, expectOnce } = await prepare(entrance)
      const answers = [
        await arrive(pair.url(0)),
        await arrive(pair.url(0), { attempt: 1 }),
        await arrive(pair.url(1), { attempt: 3 }),
      ]
      await expectOnce({ arrivals: 3, answers })
    })

    test('and twice when a second one with the same content has another id', async () => {
      const { arrive, expectOnce } = await prepare(entrance, { payments: 2 })
      const answers = await Promise.all([
        arrive(pair.url(0)),
        arrive(pair.url(1), { id: '9Kd2' }),
        arrive(pair.url(1)),
        arrive(pair.url(0), { id: '9Kd2' }),
      ])
      await expectOnce({ arrivals: 4, answers, payments: 2 })
    })

    test('and the first stands when other content comes under its id', async () => {
      const { arrive, expectOnce } = await prepare(entrance)
      const first = await arrive(pair.url(0))
      for (const server of [0, 1]) {
        const other = await arrive(pair.url(server), { amountMinor: AMOUNT - 1 })
        expect(other).toMatchObject(entrance.otherContent)
      }
      const again = await arrive(pair.url(1))
      // The same contradiction twice is one question; a program that contradicts itself is only refused.
      const reviewItems = entrance.otherContent.status === 200 ? ['conflict'] : []
      await expectOnce({ arrivals: 4, answers: [first, again], reviewItems })
    })

    test('after nothing was stored of the same one from somebody who may not send it', async () => {
      const { organization, money, arrive, expectOnce } = await prepare(entrance)
      for (const server of [0, 1]) {
        const forged = await send(pair.url(server), entrance.forge(organization, money))
        expect(forged.status).toBe(401)
      }
      await expectNothingStored(organization)
      const answers = [await arrive(pair.url(0)), await arrive(pair.url(1))]
      await expectOnce({ arrivals: 2, answers })
    })
  },
)
