import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type FaultPoint, faultPoints } from '../../src/platform/fault-points.ts'
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

// The list of points is the product's own, so that a new one cannot be forgotten: it has to be reached by one of the two
// requests below, or its test is red. Those of the register for programs outside are reached in `register-gap.test.ts`.

const AMOUNT = 10_000

/** The only point behind the commit: what it opens is the window in which all is done and nobody was told. */
const afterCommit: FaultPoint = 'pipeline.afterCommit'
/** The only one before the pipeline: nothing of the arrival is on record. */
const beforePipeline: FaultPoint = 'inbound.afterReceive'

let office: TestOffice
/** A second process, in which nothing was armed: what a crash left behind is judged by somebody who was not there. */
let other: TestServer
const servers: TestServer[] = []
let organizations = 0

beforeAll(async () => {
  office = await createTestOffice()
  other = await startServer(office)
})

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

afterAll(async () => {
  await other.stop()
  await office.close()
})

async function start(fault: string): Promise<TestServer> {
  const server = await startServer(office, { fault })
  servers.push(server)
  return server
}

function addOrganization(): Promise<TestOrganization> {
  organizations += 1
  return office.addOrganization(`Crash${organizations}`)
}

/** Sends a request that hits the armed point, and says what its sender sees: an answer, or none because all is gone. */
async function hit(server: TestServer, outgoing: Outgoing, action: 'throw' | 'kill'): Promise<Answer | null> {
  if (action === 'throw') return send(server.url, outgoing)
  const ended = once(server.process, 'exit')
  await expect(send(server.url, outgoing)).rejects.toThrow()
  expect(await ended).toEqual([null, 'SIGKILL'])
  return null
}

describe.each(faultPoints.filter((point) => !/^(money|register)\./.test(point)))('a delivery, and %s', (point) => {
  test.each(['throw', 'kill'] as const)(
    '%s: nothing half done is seen, and the repetition counts once',
    async (action) => {
      const organization = await addOrganization()
      const { organizationId } = organization
      const invoice = await organization.issueInvoice({ amountMinor: BigInt(AMOUNT), currency: 'EUR' })
      const delivery = stripeDelivery(organization, {
        id: `${point}-${action}`,
        amountMinor: AMOUNT,
        invoice: invoice.number,
      })
      const armed = await start(`${point}:${action}`)

      const broken = await hit(armed, delivery, action)

      if (action === 'throw') expect(broken).toMatchObject({ status: 500 })
      const isCommitted = point === afterCommit
      const isFailureKept = action === 'throw' && !isCommitted && point !== beforePipeline
      expect(await readBooks(office, organizationId)).toMatchObject(
        isCommitted ? paidOnce(organization, AMOUNT) : untouched,
      )
      const failed = { state: 'failed', attempt: 1, copies: 1, error: `fault point ${point}` }
      const completed = { state: 'completed', attempt: 1, copies: 1, error: null }
      const eventThen = isCommitted ? [completed] : isFailureKept ? [failed] : []
      const arrivalThen = isCommitted
        ? [{ verdict: 'accepted', status: 200, outcome: 'done' }]
        : isFailureKept
          ? [{ verdict: 'failed', status: 500, outcome: 'failed' }]
          : []
      expect(await readEvents(office, organizationId, PAID_KIND)).toEqual(eventThen)
      expect(await readArrivals(office, organizationId)).toEqual(arrivalThen)

      const server = action === 'throw' ? armed : other
      const repeated = await sendUntilSafe(server.url, delivery)

      expect(repeated).toHaveLength(1)
      expect(repeated[0]).toMatchObject({
        status: 200,
        body: { duplicate: isCommitted, applied: { amountMinor: isCommitted ? 0 : AMOUNT, currency: 'EUR' } },
      })
      expect(await send(server.url, delivery)).toMatchObject({ status: 200, body: { duplicate: true } })
      expect(await readBooks(office, organizationId)).toMatchObject(paidOnce(organization, AMOUNT))
      const copies = arrivalThen.length + 2
      expect(await readEvents(office, organizationId, PAID_KIND)).toEqual([
        { ...completed, attempt: isFailureKept ? 2 : 1, copies },
      ])
      expect(await readArrivals(office, organizationId)).toEqual([
        ...arrivalThen,
        { verdict: 'accepted', status: 200, outcome: isCommitted ? 'duplicate' : 'done' },
        { verdict: 'accepted', status: 200, outcome: 'duplicate' },
      ])
    },
  )
})

describe.each(faultPoints.filter((point) => point.startsWith('money.')))('issuing an invoice, and %s', (point) => {
  test.each(['throw', 'kill'] as const)(
    '%s: no number is lost, and the money that waited for the invoice counts once',
    async (action) => {
      const organization = await addOrganization()
      const { organizationId } = organization
      await organization.issueInvoice({ amountMinor: 500n, currency: 'EUR' })
      const armed = await start(`${point}:${action}`)
      const draft = await send(armed.url, draftRequest(organization))
      expect(draft.status).toBe(201)
      const waiting = stripeDelivery(organization, {
        id: `${point}-${action}`,
        amountMinor: AMOUNT,
        invoice: 'RE-00002',
      })
      expect(await send(armed.url, waiting)).toMatchObject({ status: 200, body: { applied: { amountMinor: 0 } } })
      const before = await readBooks(office, organizationId)
      const request = issueRequest(organization, String(draft.body['id']))

      const broken = await hit(armed, request, action)

      if (action === 'throw') expect(broken).toMatchObject({ status: 500, body: { code: 'internal' } })
      expect(await readBooks(office, organizationId)).toEqual(before)
      expect(await readNumbers(organizationId)).toEqual({ given: ['RE-00001'], next: '2' })
      const failed = { state: 'failed', attempt: 1, copies: 1, error: `fault point ${point}` }
      expect(await readEvents(office, organizationId, 'invoice.issue')).toEqual([
        issuedByFixture,
        ...(action === 'throw' ? [failed] : []),
      ])

      const server = action === 'throw' ? armed : other
      const [repeated, ...more] = await sendUntilSafe(server.url, request)

      expect(more).toEqual([])
      expect(repeated).toMatchObject({ status: 200, body: { number: 'RE-00002' } })
      const replayed = await send(server.url, request)
      expect(replayed.body).toEqual(repeated?.body)
      expect(replayed.headers.get('idempotent-replayed')).toBe('true')
      await organization.issueInvoice({ amountMinor: 500n, currency: 'EUR' })
      expect(await readNumbers(organizationId)).toEqual({ given: ['RE-00001', 'RE-00002', 'RE-00003'], next: '4' })
      const attempts = action === 'throw' ? 2 : 1
      expect(await readEvents(office, organizationId, 'invoice.issue')).toEqual([
        issuedByFixture,
        { state: 'completed', attempt: attempts, copies: attempts + 1, error: null },
        issuedByFixture,
      ])
      const paid = { appliedMinor: AMOUNT, allocatedMinor: AMOUNT, unappliedMinor: 0, receivedEvents: 1 }
      expect(await readBooks(office, organizationId)).toMatchObject({
        payments: [paid],
        invoices: [{ paidMinor: 0 }, { paidMinor: AMOUNT, paidEvents: 1, paymentState: 'settled' }, { paidMinor: 0 }],
        reviewItems: [{ kind: 'unapplied', state: 'decided' }],
        // The money came, and found its invoice.
        activities: 2,
        domainEvents: 2,
      })
    },
  )
})

const issuedByFixture = { state: 'completed', attempt: 1, copies: 1, error: null }

describe.each(faultPoints.filter((point) => point.startsWith('pipeline.') && point !== afterCommit))(
  'a delivery that fails at every attempt, at %s',
  (point) => {
    test('from the fifth on its sender is told to stop and a person is asked, once; what comes later still books', async () => {
      const organization = await addOrganization()
      const { organizationId } = organization
      const members = organization.userIds.length
      const invoice = await organization.issueInvoice({ amountMinor: BigInt(AMOUNT), currency: 'EUR' })
      const delivery = stripeDelivery(organization, {
        id: `${point}-five`,
        amountMinor: AMOUNT,
        invoice: invoice.number,
      })
      const server = await start(`${point}:throw:6`)

      for (let attempt = 1; attempt <= 4; attempt += 1) {
        expect(await send(server.url, delivery)).toMatchObject({ status: 500, body: { code: 'internal' } })
        expect(await readEvents(office, organizationId, PAID_KIND)).toMatchObject([{ state: 'failed', attempt }])
        expect(await readBooks(office, organizationId)).toMatchObject(untouched)
      }
      const kept = { status: 200, body: { duplicate: false, kept: true, reason: 'failed' } }
      for (let attempt = 5; attempt <= 6; attempt += 1) {
        expect(await send(server.url, delivery)).toMatchObject(kept)
        expect(await readEvents(office, organizationId, PAID_KIND)).toEqual([
          { state: 'failed', attempt, copies: attempt, error: `fault point ${point}` },
        ])
        expect(await readBooks(office, organizationId)).toMatchObject({
          ...untouched,
          reviewItems: [{ kind: 'failed', state: 'open' }],
          notifications: members,
        })
      }

      expect(await send(server.url, delivery)).toMatchObject({
        status: 200,
        body: { duplicate: false, applied: { amountMinor: AMOUNT, currency: 'EUR' } },
      })
      expect(await readEvents(office, organizationId, PAID_KIND)).toEqual([
        { state: 'completed', attempt: 7, copies: 7, error: null },
      ])
      expect(await readBooks(office, organizationId)).toMatchObject({
        ...paidOnce(organization, AMOUNT),
        notifications: 2 * members,
        // What the person was asked has been answered by the event itself.
        reviewItems: [{ kind: 'failed', state: 'decided' }],
      })
      const failed = { verdict: 'failed', outcome: 'failed' }
      expect(await readArrivals(office, organizationId)).toEqual([
        ...[500, 500, 500, 500, 200, 200].map((status) => ({ ...failed, status })),
        { verdict: 'accepted', status: 200, outcome: 'done' },
      ])
    })
  },
)

function draftRequest(organization: TestOrganization): Outgoing {
  return {
    path: '/api/v1/invoices',
    headers: { authorization: `Bearer ${organization.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ currency: 'EUR', lines: [{ description: 'Work', unitPriceMinor: String(AMOUNT) }] }),
  }
}

function issueRequest(organization: TestOrganization, invoiceId: string): Outgoing {
  return {
    path: `/api/v1/invoices/${invoiceId}/issue`,
    headers: { authorization: `Bearer ${organization.apiKey}`, 'idempotency-key': `issue ${invoiceId}` },
    body: '',
  }
}

async function readNumbers(organizationId: string): Promise<{ given: string[]; next: string } | undefined> {
  const { rows } = await office.owner.query<{ given: string[]; next: string }>(
    `select (select array_agg(number order by sequence) from invoices
        where organization_id = $1 and number is not null) as given, next_sequence as next
      from number_series where organization_id = $1 and name = 'invoice'`,
    [organizationId],
  )
  return rows[0]
}
