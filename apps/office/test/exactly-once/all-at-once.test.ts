import { afterAll, beforeAll, expect, test } from 'vitest'
import { listImbalances, readBooks } from '../support/books.ts'
import { type Answer, send } from '../support/entrances.ts'
import { createTestOffice, stripePaid, type TestOrganization } from '../support/office.ts'
import { countDeadlocks, type ServerPair, startServerPair } from '../support/server-pair.ts'
import { type ApiCall, byClients, callApi, createChance, times, untilAnswered } from '../support/storm.ts'

/** Everything that people and providers do with money, at once and on few invoices. */
const office = await createTestOffice()
const chance = createChance('all at once')
let pair: ServerPair

beforeAll(async () => {
  pair = await startServerPair(office)
})

afterAll(() => office.close())

const ROUNDS = 8
const ACTS_EACH = 90
const CLIENTS = 30
const EUR = 'EUR'

/** What a round starts from: what the books hold by then. */
interface Known {
  readonly organization: TestOrganization
  readonly round: number
  readonly invoices: readonly { readonly id: string; readonly number: string | null }[]
  readonly payments: readonly { readonly id: string; readonly externalId: string }[]
  readonly adjustments: readonly { readonly invoiceId: string; readonly id: string }[]
  readonly returns: readonly { readonly paymentId: string; readonly id: string }[]
}

/** One thing that somebody does; `null` where nothing is there yet to do it with. */
type Act = (known: Known, name: string) => { readonly api: ApiCall } | { readonly event: object } | null

const some = (most: number) => ({ amountMinor: 1 + Math.floor(chance.random() * most), currency: EUR })
const line = (most: number) => ({ description: 'Work', unitPriceMinor: some(most).amountMinor })
const oneOf = <T>(items: readonly T[]): T | null => (items.length === 0 ? null : chance.pick(items))

const onPayment =
  (verb: string, bodyOf: (known: Known) => unknown): Act =>
  (known, key) => {
    const payment = oneOf(known.payments)
    return payment === null ? null : { api: { path: `/payments/${payment.id}/${verb}`, key, body: bodyOf(known) } }
  }
const onInvoice =
  (verb: string, bodyOf: () => unknown = () => undefined): Act =>
  ({ invoices }, key) => ({ api: { path: `/invoices/${chance.pick(invoices).id}/${verb}`, key, body: bodyOf() } })

const acts: Readonly<Record<string, Act>> = {
  'a payment arrives': ({ invoices, round }, name) => {
    // Also for numbers that are only given while it arrives.
    const number = chance.pick(invoices).number ?? `RE-${String(4 + round).padStart(5, '0')}`
    const { amountMinor: amount } = some(4_000)
    return {
      event: JSON.parse(stripePaid({ eventId: `evt_${name}`, paymentId: `pi_${name}`, amount, invoice: number })),
    }
  },
  'a refund arrives': ({ payments }, name) => {
    const payment = oneOf(payments)
    if (payment === null) return null
    const { amountMinor: amount } = some(900)
    const refund = { id: `re_${name}`, object: 'refund', status: 'succeeded', amount, currency: 'eur' }
    const object = { ...refund, payment_intent: payment.externalId }
    return { event: { id: `evt_${name}`, object: 'event', livemode: true, type: 'refund.updated', data: { object } } }
  },
  pay: onInvoice('pay', () => ({ amount: some(3_000) })),
  issue: onInvoice('issue'),
  // The first one stays, or by chance all may be void before anything else happened to one.
  void: (known, key) => onInvoice('void')({ ...known, invoices: known.invoices.slice(1) }, key),
  credit: onInvoice('credit-note', () => ({ lines: [line(900)] })),
  adjust: onInvoice('adjustments', () => ({ kind: 'cash_discount', amount: some(300) })),
  'reverse an adjustment': ({ adjustments }, key) => {
    const { invoiceId, id } = oneOf(adjustments) ?? {}
    const path = `/invoices/${invoiceId}/adjustments/${id}/reverse`
    return id === undefined ? null : { api: { path, key, body: { reason: 'wrong one' } } }
  },
  move: onPayment('move', ({ invoices }) => ({ toInvoiceId: chance.pick(invoices).id })),
  apply: onPayment('apply', ({ invoices }) => ({ invoiceId: chance.pick(invoices).id })),
  refund: onPayment('refund', () => ({ amount: some(500) })),
  'charge back': onPayment('chargeback', () => ({ amount: some(500) })),
  'reverse a return': ({ returns }, key) => {
    const { paymentId, id } = oneOf(returns) ?? {}
    return id === undefined ? null : { api: { path: `/payments/${paymentId}/returns/${id}/reverse`, key } }
  },
}

async function look(organization: TestOrganization, round: number): Promise<Known> {
  const list = async <Row extends object>(text: string) => {
    const { rows } = await office.owner.query<Row>(text, [organization.organizationId])
    return rows
  }
  return {
    organization,
    round,
    invoices: await list(`select id, number from invoices where organization_id = $1 and type = 'invoice' order by id`),
    payments: await list(
      `select id, external_id as "externalId" from payments where organization_id = $1 and source = 'stripe' order by id`,
    ),
    adjustments: await list(
      'select id, invoice_id as "invoiceId" from invoice_adjustments where organization_id = $1 and reversed_at is null',
    ),
    returns: await list(
      `select r.id, p.id as "paymentId" from payment_returns as r join payments as p on p.organization_id = r.organization_id
         and p.external_id = r.original_id and p.source = r.original_source
       where r.organization_id = $1 and r.kind in ('refund', 'chargeback')`,
    ),
  }
}

function carryOut(
  known: Known,
  what: { readonly api: ApiCall } | { readonly event: object },
  place: number,
): Promise<Answer> {
  const { organization } = known
  if ('api' in what) return callApi(pair.url(place), organization, what.api)
  const body = JSON.stringify(what.event)
  return send(pair.url(place), { path: organization.stripe.path, headers: organization.stripe.sign(body), body })
}

test('payments, refunds, moves, credit notes, adjustments, numbers and voids at once over two servers: no fault, no deadlock, and every counter is the sum of its rows', async () => {
  const organization = await office.addOrganization('Everything')
  for (const amountMinor of [20_000n, 30_000n, 40_000n]) await organization.issueInvoice({ amountMinor, currency: EUR })
  const outcomes = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round += 1) {
    const draft = { path: '/invoices', body: { currency: EUR, lines: [line(30_000)] } }
    expect((await callApi(pair.url(round), organization, draft)).status).toBe(201)
    const known = await look(organization, round)
    const names = Object.keys(acts)
    const planned = times(ACTS_EACH, (index) => {
      const act = names[index % names.length] ?? ''
      return { act, what: acts[act]?.(known, `${round}-${index}`) ?? null }
    })
    const answers = await byClients(CLIENTS, chance.shuffled(planned), async ({ act, what }, place) => {
      if (what === null) return null
      const { answer } = await untilAnswered(() => carryOut(known, what, place))
      return { act, what, answer }
    })
    for (const each of answers) {
      if (each === null) continue
      const { act, answer } = each
      expect(answer.status, `${act}: ${JSON.stringify(answer.body)}`).toBeLessThan(500)
      const outcome = `${act}: ${answer.status}`
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
    expect(await listImbalances(office, organization.organizationId)).toEqual([])
  }
  // Each of them went through at least once, so that they really met.
  const done = Object.keys(acts).filter((act) => [200, 201].some((status) => outcomes.has(`${act}: ${status}`)))
  expect(done, JSON.stringify([...outcomes])).toEqual(Object.keys(acts))
  const books = await readBooks(office, organization.organizationId)
  for (const payment of books.payments) {
    expect(payment).toMatchObject({ activities: 1, notifiedMembers: 3, notifications: 3, receivedEvents: 1 })
    expect(payment.appliedMinor + payment.unappliedMinor + payment.returnedMinor).toBe(payment.amountMinor)
  }
  await pair.stop()
  expect(await countDeadlocks(office)).toBe(0)
})
