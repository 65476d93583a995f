import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { armFault, type FaultPoint } from '../../src/platform/fault-points.ts'
import { paymentProviders } from '../../src/providers/index.ts'
import { listImbalances, readBooks } from '../support/books.ts'
import { AMOUNT, type Answer, type Entrance, type Sums, send } from '../support/entrances.ts'
import { entrances } from '../support/every-entrance.ts'
import { createInProcessApp, type InProcessApp } from '../support/in-process-app.ts'
import { createTestOffice, startServer, type TestOrganization, type TestServer } from '../support/office.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'
import { addUp, changesOf, shapeOf } from '../support/shape.ts'

const office = await createTestOffice()
let pair: ServerPair
/** In this process: one lays the ground, in the other a fault can be armed for a moment, and no server has to be started for it. */
let apps: readonly InProcessApp[] = []
let faultyUrl: string
/** What a test that restarted it has left to the next one. */
let running: TestServer | null = null

beforeAll(async () => {
  pair = await startServerPair(office)
  apps = [await createInProcessApp(office), await createInProcessApp(office)]
  faultyUrl = (await apps[1]?.listen()) ?? ''
})

afterAll(async () => {
  for (const app of apps) await app.close()
  await running?.stop()
  await pair?.stop()
  await office.close()
})

const IDS = ['4Zq7', '9Kd2'] as const
let organizationCount = 0

/** An organisation of its own for each test, so that its books hold this scenario and nothing else. */
async function prepare(entrance: Entrance, count = 1) {
  organizationCount += 1
  const organization = await office.addOrganization(`Matrix${organizationCount}`)
  const invoice = await organization.issueInvoice({ amountMinor: BigInt(AMOUNT * count), currency: 'EUR' })
  const [app] = apps
  if (app === undefined) throw new Error('no application')
  const about = (await entrance.lay?.({ office, organization, invoice, app, amountMinor: AMOUNT }, count)) ?? []
  const money = (of: number) => ({ id: IDS[of] ?? '', amountMinor: AMOUNT, invoice, about: about[of] ?? {} })
  const before = await readBooks(office, organization.organizationId)
  const answers: { readonly of: number; readonly answer: Answer }[] = []
  return {
    organization,
    forge: (url: string) => send(url, entrance.forge(organization, money(0))),
    /** The first or the second of them arrives, once more. */
    async arrive(url: string, { of = 0, attempt = 0 } = {}): Promise<Answer> {
      const answer = await send(url, entrance.request(organization, { ...money(of), attempt }))
      answers.push({ of, answer })
      return answer
    },
    /** Sends one whose answer is no part of what is expected of the others. */
    arriveOtherwise: (url: string, changed: { amountMinor?: number } = {}) =>
      send(url, entrance.request(organization, { ...money(0), ...changed })),
    books: () => readBooks(office, organization.organizationId),
    before,
    answers,
  }
}

type Prepared = Awaited<ReturnType<typeof prepare>>

/** What the books look like after each of them arrived exactly once, with nobody in its way; and what that moved. */
async function readReference(entrance: Entrance, count: number) {
  const prepared = await prepare(entrance, count)
  for (let of = 0; of < count; of += 1) await prepared.arrive(pair.url(of), { of })
  const after = await prepared.books()
  return { shape: shapeOf(after), moves: changesOf(addUp(prepared.before), addUp(after)) }
}

const references = new Map<string, ReturnType<typeof readReference>>()

function referenceOf(entrance: Entrance, count: number): ReturnType<typeof readReference> {
  const key = `${entrance.name} ${count}`
  const known = references.get(key) ?? readReference(entrance, count)
  references.set(key, known)
  return known
}

/**
 * The one assertion of everything that arrives more than once: the books are what they are when it arrives once, and that is what
 * it shall move; every arrival is counted; and no sender was given a reason to worry.
 */
async function expectOnce(
  entrance: Entrance,
  prepared: Prepared,
  expected: { arrivals: number; count?: number; firstAnswers?: number; reviewItems?: readonly string[] },
): Promise<void> {
  const { arrivals, count = 1, firstAnswers = count, reviewItems = [] } = expected
  const { organization, before, answers } = prepared
  expectAnswers(entrance, answers, firstAnswers)
  const reference = await referenceOf(entrance, count)
  const moves = Object.entries(entrance.moves).map(([sum, of]) => [sum, of * count * AMOUNT])
  expect(reference.moves, 'what one arrival moves').toEqual(Object.fromEntries(moves))

  const books = await prepared.books()
  expect(shapeOf(books)).toEqual(withQuestions(reference.shape, reviewItems, organization))
  expect(await listImbalances(office, organization.organizationId)).toEqual([])
  const isWebhook = entrance.provider !== null
  const known = new Set(before.events.map((event) => event.id))
  const events = books.events.filter((event) => !known.has(event.id))
  expect(events).toMatchObject(Array.from({ length: count }, () => ({ state: 'completed', done: isWebhook ? 1 : 0 })))
  const copies = events.reduce((sum, event) => sum + event.copies, 0)
  expect(copies, 'copies in the register').toBe(arrivals)
  for (const event of events) expect(event.deliveries).toBe(isWebhook ? event.copies : 0)
  expect(books.deliveries - before.deliveries).toBe(isWebhook ? arrivals : 0)
}

function expectAnswers(entrance: Entrance, answers: Prepared['answers'], firstAnswers: number): void {
  for (const { answer } of answers) expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status)
  const firsts = answers.filter(({ answer }) => !entrance.isCopy(answer))
  expect(firsts.length, 'answers that say: done through this arrival').toBe(firstAnswers)
  for (const { of, answer } of answers) {
    if (entrance.provider === null) {
      // The API gives the first answer again, word for word.
      const first = answers.find((other) => other.of === of)
      expect(answer.body).toEqual(first?.answer.body)
    }
    if (entrance.applied === null) continue
    // A webhook is told what moved through this very arrival.
    const moved = entrance.provider !== null && entrance.isCopy(answer) ? 0 : entrance.applied * AMOUNT
    expect(appliedOf(answer)).toEqual({ amountMinor: moved, currency: 'EUR' })
  }
}

function appliedOf({ body }: Answer): unknown {
  return body['applied'] ?? (body['outcome'] as { applied?: unknown } | undefined)?.applied
}

/** The same books with further questions on the desk, of which every member is told. */
function withQuestions(shape: ReturnType<typeof shapeOf>, kinds: readonly string[], organization: TestOrganization) {
  const told = { ...shape.told }
  for (const kind of kinds) {
    const name = `notification review.${kind}`
    told[name] = (told[name] ?? 0) + organization.userIds.length
  }
  const questions = kinds.map((kind) => JSON.stringify({ kind, state: 'open', decision: null, reason: null }))
  return { ...shape, told, reviewItems: [...shape.reviewItems, ...questions].toSorted() }
}

/** A server process that ends where the fault says, for as long as `work` takes. */
async function withServer<T>(fault: string, work: (server: TestServer) => Promise<T>): Promise<T> {
  const server = await startServer(office, { fault })
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

/** Every place between the reservation and the commit at which our code can fail. */
const onTheWay: readonly FaultPoint[] = [
  'pipeline.afterReserve',
  'pipeline.afterLoad',
  'pipeline.afterWrite',
  'pipeline.afterConsequences',
]

// By place and not by field: vitest cuts long texts of a field.
describe.each(entrances.map((entrance) => [entrance.name, entrance] as const))('%s counts once', (_name, entrance) => {
  test('when it comes again at once', async () => {
    const prepared = await prepare(entrance)
    for (const server of [0, 0, 1]) await prepared.arrive(pair.url(server))
    await expectOnce(entrance, prepared, { arrivals: 3 })
  })

  test('when it comes again after the server was restarted', async () => {
    const prepared = await prepare(entrance)
    running ??= await startServer(office)
    await prepared.arrive(running.url)
    await running.stop()
    running = await startServer(office)
    await prepared.arrive(running.url, { attempt: 1 })
    await expectOnce(entrance, prepared, { arrivals: 2 })
  })

  test('when it comes 16 times in parallel to two servers', async () => {
    const prepared = await prepare(entrance)
    await Promise.all(Array.from({ length: 16 }, (_, index) => prepared.arrive(pair.url(index))))
    await expectOnce(entrance, prepared, { arrivals: 16 })
  })

  test('when booking it fails, and the sender comes again', async () => {
    const prepared = await prepare(entrance)
    const untouched = shapeOf(prepared.before)
    for (const at of onTheWay) {
      armFault({ at, action: 'throw', times: 1 })
      const failed = await prepared.arriveOtherwise(faultyUrl)
      armFault(null)
      expect(failed, at).toMatchObject({ status: 500, body: { code: 'internal' } })
      expect(shapeOf(await prepared.books())).toEqual(untouched)
    }
    for (const url of [faultyUrl, pair.url(0)]) await prepared.arrive(url)
    await expectOnce(entrance, prepared, { arrivals: onTheWay.length + 2 })
  })

  test('when the server dies before the effect', async () => {
    const prepared = await prepare(entrance)
    await withServer('pipeline.afterReserve:kill', (server) =>
      expectNoAnswer(server, prepared.arriveOtherwise(server.url)),
    )
    // What died with the process left nothing behind, not even its arrival.
    for (const server of [0, 1]) await prepared.arrive(pair.url(server))
    await expectOnce(entrance, prepared, { arrivals: 2 })
  })

  test('when the server dies with everything written and nothing committed', async () => {
    const prepared = await prepare(entrance)
    await withServer('pipeline.beforeCommit:kill', (server) =>
      expectNoAnswer(server, prepared.arriveOtherwise(server.url)),
    )
    for (const server of [0, 1]) await prepared.arrive(pair.url(server))
    await expectOnce(entrance, prepared, { arrivals: 2 })
  })

  test('when the server dies after the effect and before its answer', async () => {
    const prepared = await prepare(entrance)
    await withServer('pipeline.afterCommit:kill', (server) =>
      expectNoAnswer(server, prepared.arriveOtherwise(server.url)),
    )
    for (const server of [0, 1]) await prepared.arrive(pair.url(server))
    await expectOnce(entrance, prepared, { arrivals: 3, firstAnswers: 0 })
  })

  test('when the sender signs or writes the same event anew', async () => {
    const prepared = await prepare(entrance)
    await prepared.arrive(pair.url(0))
    await prepared.arrive(pair.url(0), { attempt: 1 })
    await prepared.arrive(pair.url(1), { attempt: 3 })
    await expectOnce(entrance, prepared, { arrivals: 3 })
  })

  test('and twice when a second one with the same content has another id', async () => {
    const prepared = await prepare(entrance, 2)
    await Promise.all([
      prepared.arrive(pair.url(0)),
      prepared.arrive(pair.url(1), { of: 1 }),
      prepared.arrive(pair.url(1)),
      prepared.arrive(pair.url(0), { of: 1 }),
    ])
    await expectOnce(entrance, prepared, { arrivals: 4, count: 2 })
  })

  test('and the first stands when other content comes under its id', async () => {
    const prepared = await prepare(entrance)
    await prepared.arrive(pair.url(0))
    for (const server of [0, 1]) {
      const other = await prepared.arriveOtherwise(pair.url(server), { amountMinor: AMOUNT - 1 })
      expect(other).toMatchObject(entrance.otherContent)
    }
    await prepared.arrive(pair.url(1))
    // The same contradiction twice is one question; a program that contradicts itself is only refused.
    const reviewItems = entrance.otherContent.status === 200 ? ['conflict'] : []
    await expectOnce(entrance, prepared, { arrivals: 4, reviewItems })
  })

  test('after nothing was stored of the same one from somebody who may not send it', async () => {
    const prepared = await prepare(entrance)
    for (const server of [0, 1]) expect((await prepared.forge(pair.url(server))).status).toBe(401)
    expect(await prepared.books()).toEqual(prepared.before)
    for (const server of [0, 1]) await prepared.arrive(pair.url(server))
    await expectOnce(entrance, prepared, { arrivals: 2 })
  })
})

test('every kind of event that a provider delivers is an entrance, and every sum is moved by one', async () => {
  const invoice = { id: 'invoice', number: 'RE-00001' }
  const about = { payment: 'pay_1', name: 'before', refund: 'rf_1', dispute: 'dp_1' }
  const organization = await office.addOrganization('Kinds')
  const kinds = new Map<string, Set<string>>()
  for (const { provider: source, request } of entrances) {
    const provider = source === null ? undefined : paymentProviders[source]
    if (source === null || provider === undefined) continue
    const { headers, body } = request(organization, { id: '1', amountMinor: AMOUNT, invoice, about })
    const settings = provider.settings.parse({ webhookSecrets: [organization.sandbox.secret] })
    const received = provider.reread({ headers, body: Buffer.from(body) }, settings)
    const events = received.outcome === 'events' ? received.events : []
    kinds.set(source, new Set([...(kinds.get(source) ?? []), ...events.map(({ kind }) => kind)]))
  }
  for (const [source, { capabilities }] of Object.entries(paymentProviders)) {
    expect([...(kinds.get(source) ?? [])].toSorted(), source).toEqual([...capabilities.delivers].toSorted())
  }
  const sums: Sums = {
    ...{ received: 0, applied: 0, unapplied: 0, returned: 0, open: 0 },
    ...{ paid: 0, credited: 0, adjusted: 0, elsewhere: 0 },
  }
  const moved = new Set(entrances.flatMap(({ moves }) => Object.keys(moves)))
  expect([...moved].toSorted()).toEqual(Object.keys(sums).toSorted())
})
