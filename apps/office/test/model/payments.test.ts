import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createInProcessApp, type InProcessApp } from '../support/in-process-app.ts'
import { createTestOffice, stripePaid, type TestOffice, type TestOrganization } from '../support/office.ts'

/**
 * Any order, repetition and interleaving of the same facts, over two applications on one database, against an auditor
 * that knows nothing of the code: it only adds up.
 */
let office: TestOffice
let organization: TestOrganization
let apps: readonly [InProcessApp, InProcessApp]
let runCount = 0

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Model', 2)
  apps = [await createInProcessApp(office), await createInProcessApp(office)]
})

afterAll(async () => {
  for (const app of apps) await app.close()
  await office.close()
})

const currencies = ['EUR', 'USD'] as const

interface PlannedPayment {
  /** Index of the invoice that it names, or none. */
  readonly invoice: number | null
  /** How it names it; a number exists only once the invoice is issued. */
  readonly amount: number
  readonly currency: (typeof currencies)[number]
  /** How often each of its events is sent; the second event, if any, is the one that brings the reference. */
  readonly sends: readonly number[]
}

interface Plan {
  readonly invoices: readonly { readonly total: number; readonly currency: (typeof currencies)[number] }[]
  readonly payments: readonly PlannedPayment[]
  /** Decides the order of all steps and which application takes each. */
  readonly shuffle: readonly number[]
  /** Steps that run at the same time. */
  readonly width: number
}

const plan: fc.Arbitrary<Plan> = fc.record({
  invoices: fc.array(fc.record({ total: fc.integer({ min: 1, max: 300 }), currency: fc.constantFrom(...currencies) }), {
    minLength: 1,
    maxLength: 3,
  }),
  payments: fc.array(
    fc.record({
      invoice: fc.option(fc.nat({ max: 2 }), { freq: 5 }),
      amount: fc.integer({ min: 1, max: 250 }),
      currency: fc.oneof(
        { arbitrary: fc.constant('EUR' as const), weight: 3 },
        { arbitrary: fc.constantFrom(...currencies), weight: 1 },
      ),
      sends: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  shuffle: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
  width: fc.integer({ min: 1, max: 6 }),
})

type Step = (app: InProcessApp) => Promise<void>

test('any order, repetition and interleaving of the same facts ends in the sums that the facts add up to', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (planned) => {
      runCount += 1
      const run = `r${runCount}`
      const invoiceIds = await writeDrafts(planned)
      const steps = shuffled([...issueSteps(invoiceIds), ...deliverySteps(planned, invoiceIds, run)], planned.shuffle)
      for (let at = 0; at < steps.length; at += planned.width) {
        const together = steps.slice(at, at + planned.width)
        await Promise.all(together.map((step, index) => step(apps[(at + index) % 2 === 0 ? 0 : 1])))
      }
      await audit(planned, invoiceIds, run)
    }),
    { numRuns: 150 },
  )
}, 240_000)

async function writeDrafts(planned: Plan): Promise<string[]> {
  const ids: string[] = []
  for (const { total, currency } of planned.invoices) {
    const lines = [{ description: 'Work', unitPriceMinor: total }]
    const answer = await apps[0].post(organization, '/invoices', { currency, lines })
    ids.push(String(answer.body['id']))
  }
  return ids
}

function issueSteps(invoiceIds: readonly string[]): Step[] {
  return invoiceIds.map((id) => async (app) => {
    expect((await app.post(organization, `/invoices/${id}/issue`)).status).toBe(200)
  })
}

function deliverySteps(planned: Plan, invoiceIds: readonly string[], run: string): Step[] {
  return planned.payments.flatMap((payment, index) =>
    payment.sends.flatMap((times, event) => {
      const id = invoiceIds[payment.invoice ?? -1]
      // With two events about it, the first comes without the reference, as Stripe's do.
      const isNamed = id !== undefined && event === payment.sends.length - 1
      const body = stripePaid({
        eventId: `evt_${run}_${index}_${event}`,
        paymentId: `pi_${run}_${index}`,
        amount: payment.amount,
        currency: payment.currency.toLowerCase(),
        ...(isNamed ? { invoice: id } : {}),
      })
      return Array.from(
        { length: times },
        (): Step => async (app) => {
          const answer = await app.deliver(organization.stripe, body)
          expect(answer.status, JSON.stringify(answer.body)).toBe(200)
        },
      )
    }),
  )
}

function shuffled(steps: readonly Step[], by: readonly number[]): Step[] {
  const rest = [...steps]
  const order: Step[] = []
  for (let at = 0; rest.length > 0; at += 1) order.push(...rest.splice((by[at % by.length] ?? 0) % rest.length, 1))
  return order
}

/** What must be on record, by addition alone. */
async function audit(planned: Plan, invoiceIds: readonly string[], run: string): Promise<void> {
  const received = new Map<string, number>()
  for (const { invoice, amount, currency } of planned.payments) {
    const id = invoiceIds[invoice ?? -1]
    if (id === undefined || planned.invoices[invoice ?? -1]?.currency !== currency) continue
    received.set(id, (received.get(id) ?? 0) + amount)
  }
  for (const [index, id] of invoiceIds.entries()) {
    const total = planned.invoices[index]?.total ?? 0
    const paid = Math.min(total, received.get(id) ?? 0)
    const { rows } = await office.owner.query(
      `select paid_minor::int as paid,
        (select coalesce(sum(amount_minor), 0)::int from allocations where invoice_id = i.id and reversed_at is null) as allocated,
        (select count(*)::int from domain_events where type = 'invoice.paid' and subject_id = i.id) as settled
      from invoices as i where id = $1`,
      [id],
    )
    expect(rows[0]).toEqual({ paid, allocated: paid, settled: paid === total ? 1 : 0 })
  }
  const payments = await readPayments(run)
  expect(payments).toEqual(
    planned.payments.map(({ amount, currency, sends }, index) => ({
      externalId: `pi_${run}_${index}`,
      amount,
      currency,
      adds_up: true,
      activities: 1,
      notifications: organization.userIds.length,
      received: 1,
      arrivals: sends.reduce((sum, times) => sum + times, 0),
      deliveries: sends.reduce((sum, times) => sum + times, 0),
    })),
  )
}

async function readPayments(run: string) {
  const { rows } = await office.owner.query(
    `select p.external_id as "externalId", p.amount_minor::int as amount, p.currency,
      p.applied_minor = (select coalesce(sum(amount_minor), 0) from allocations where payment_id = p.id and reversed_at is null)
        and p.applied_minor + p.unapplied_minor + p.returned_minor = p.amount_minor as adds_up,
      (select count(*)::int from activities where type = 'payment.received' and data ->> 'paymentId' = p.id::text) as activities,
      (select count(*)::int from notifications where type = 'payment.received' and data ->> 'paymentId' = p.id::text) as notifications,
      (select count(*)::int from domain_events where type = 'payment.received' and subject_id = p.id) as received,
      (select sum(copies)::int from events where target_id = p.id::text and source = 'stripe') as arrivals,
      (select count(*)::int from delivery_events as l join events as e on e.id = l.event_id
        where e.target_id = p.id::text and e.source = 'stripe') as deliveries
    from payments as p where p.external_id like $1 order by p.external_id`,
    [`pi\\_${run}\\_%`],
  )
  return rows
}
