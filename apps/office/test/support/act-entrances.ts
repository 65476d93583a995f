import { MAX_ATTEMPTS } from '../../src/pipeline/commit-group.ts'
import { armFault } from '../../src/platform/fault-points.ts'
import { type About, AMOUNT, byRequest, type Entrance, type Ground } from './entrances.ts'
import { addIntegration, changeSettings } from './integrations.ts'
import type { Sender } from './office.ts'

/** What people do with money at the desk, each as a request of their own. */

const euros = (amountMinor: number) => ({ amountMinor, currency: 'EUR' })

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

/** Does `make` one after the other: for each of the arrivals to come. */
async function each<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = []
  for (const index of times(count, (place) => place)) made.push(await make(index))
  return made
}

async function post({ app, organization, office }: Ground, path: string, body?: object) {
  const answer = await app.post(organization, path, body, { 'idempotency-key': office.newId() })
  if (answer.status >= 300) throw new Error(`the ground was not laid: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** A payment by the sandbox; without an invoice it lies nowhere. Returns its id. */
async function pay(
  ground: Ground,
  amountMinor: number,
  invoice?: string,
  name = ground.office.newId(),
): Promise<string> {
  const { app, organization } = ground
  const body = JSON.stringify({ type: 'payment.paid', data: { payment: name, ...euros(amountMinor), invoice } })
  const answer = await app.deliver(organization.sandbox, body)
  if (answer.status !== 200) throw new Error(`the ground was not laid: ${JSON.stringify(answer.body)}`)
  return (answer.body['target'] as { id: string }).id
}

async function layPayment(ground: Ground, count: number, invoice?: string): Promise<readonly About[]> {
  const payment = await pay(ground, ground.amountMinor * count, invoice)
  return times(count, () => ({ payment }))
}

/** The questions on the desk, oldest first. */
async function readDesk({ app, organization }: Ground): Promise<readonly { readonly id: string }[]> {
  const { body } = await app.get(organization, '/review-items')
  return (body['items'] as { id: string }[]).toReversed()
}

async function aboutItems(ground: Ground): Promise<readonly About[]> {
  return (await readDesk(ground)).map(({ id }) => ({ item: id }))
}

function decision(
  name: string,
  body: Parameters<typeof byRequest>[1]['body'],
  moving: Parameters<typeof byRequest>[2],
) {
  return byRequest(name, { path: ({ about }) => `/review-items/${about['item']}/decide`, body }, moving)
}

const went = { moves: { returned: 1, applied: -1, paid: -1, open: 1 }, applied: -1 } as const
const placed = { moves: { applied: 1, unapplied: -1, paid: 1, open: -1 }, applied: 1 } as const
const paid = { moves: { received: 1, applied: 1, paid: 1, open: -1 }, applied: 1 } as const

const byHand: readonly Entrance[] = [
  ...(['refund', 'chargeback'] as const).map((kind) =>
    byRequest(
      `a ${kind} by hand`,
      {
        path: ({ about }) => `/payments/${about['payment']}/${kind}`,
        body: ({ amountMinor }) => ({ amount: euros(amountMinor) }),
      },
      { ...went, lay: (ground, count) => layPayment(ground, count, ground.invoice.number) },
    ),
  ),
  byRequest(
    'the reversal of a refund by hand',
    {
      path: ({ about }) => `/payments/${about['payment']}/returns/${about['refund']}/reverse`,
      // No body belongs here, and one that comes is content all the same.
      body: ({ amountMinor }) => (amountMinor === AMOUNT ? null : { amountMinor }),
    },
    {
      moves: { returned: -1, applied: 1, paid: 1, open: -1 },
      applied: 1,
      async lay(ground, count) {
        const payment = await pay(ground, ground.amountMinor * count, ground.invoice.number)
        return each(count, async () => {
          const refund = await post(ground, `/payments/${payment}/refund`, { amount: euros(ground.amountMinor) })
          return { payment, refund: (refund['target'] as { id: string }).id }
        })
      },
    },
  ),
  byRequest(
    'an application',
    {
      path: ({ about }) => `/payments/${about['payment']}/apply`,
      body: ({ invoice, amountMinor }) => ({ invoiceId: invoice.id, amount: euros(amountMinor) }),
    },
    { ...placed, lay: (ground, count) => layPayment(ground, count) },
  ),
  byRequest(
    'a move',
    {
      path: ({ about }) => `/payments/${about['payment']}/move`,
      body: ({ about, amountMinor, invoice }) => ({
        toInvoiceId: about['elsewhere'],
        ...(amountMinor === AMOUNT ? {} : { fromInvoiceId: invoice.id }),
      }),
    },
    {
      moves: { paid: -1, open: 1, elsewhere: 1 },
      applied: 1,
      async lay(ground, count) {
        const { amountMinor, invoice, organization } = ground
        const other = await organization.issueInvoice(bigEuros(amountMinor * count))
        return each(count, async () => ({
          payment: await pay(ground, amountMinor, invoice.number),
          elsewhere: other.id,
        }))
      },
    },
  ),
  byRequest(
    'a credit note',
    {
      path: ({ invoice }) => `/invoices/${invoice.id}/credit-note`,
      body: ({ amountMinor }) => ({ lines: [{ description: 'Work that was not done', unitPriceMinor: amountMinor }] }),
    },
    { moves: { credited: 1, open: -1 }, applied: null },
  ),
  byRequest(
    'an adjustment',
    {
      path: ({ invoice }) => `/invoices/${invoice.id}/adjustments`,
      body: ({ amountMinor }) => ({ kind: 'bad_debt', amount: euros(amountMinor) }),
    },
    { moves: { adjusted: 1, open: -1 }, applied: null },
  ),
  byRequest(
    'the reversal of an adjustment',
    {
      path: ({ invoice, about }) => `/invoices/${invoice.id}/adjustments/${about['adjustment']}/reverse`,
      body: ({ amountMinor }) => ({ reason: `It was no fee of ${amountMinor}.` }),
    },
    {
      moves: { adjusted: -1, open: 1 },
      applied: null,
      async lay(ground, count) {
        const { app, organization, invoice, amountMinor } = ground
        await each(count, () =>
          post(ground, `/invoices/${invoice.id}/adjustments`, { kind: 'fee', amount: euros(amountMinor) }),
        )
        const { body } = await app.get(organization, `/invoices/${invoice.id}`)
        return (body['adjustments'] as { id: string }[]).map(({ id }) => ({ adjustment: id }))
      },
    },
  ),
]

const decisions: readonly Entrance[] = [
  decision(
    'the decision to enter what could not be read',
    ({ amountMinor, invoice }) => ({ decision: 'enter', amount: euros(amountMinor), invoice: invoice.number }),
    {
      ...paid,
      async lay(ground, count) {
        await layUnreadable(ground, count, ground.organization.sandbox)
        return aboutItems(ground)
      },
    },
  ),
  decision(
    'the decision to book a difference',
    ({ amountMinor }) => ({ decision: 'book_difference', note: `of ${amountMinor}` }),
    {
      moves: { received: 1, applied: 1, elsewhere: 1 },
      applied: 1,
      async lay(ground, count) {
        const { amountMinor, organization } = ground
        const other = await organization.issueInvoice(bigEuros((amountMinor + 5) * count))
        await each(count, async (index) => {
          for (const told of [5, amountMinor + 5]) await pay(ground, told, other.number, `told_${index}`)
        })
        return aboutItems(ground)
      },
    },
  ),
  decision(
    'the decision to apply what lies nowhere',
    ({ amountMinor, invoice }) => ({ decision: 'apply', invoiceId: invoice.id, note: `of ${amountMinor}` }),
    {
      ...placed,
      async lay(ground, count) {
        await each(count, () => pay(ground, ground.amountMinor))
        return aboutItems(ground)
      },
    },
  ),
  decision('the decision to read again', ({ amountMinor }) => ({ decision: 'retry', note: `of ${amountMinor}` }), {
    ...paid,
    async lay(ground, count) {
      const { office, organization } = ground
      const sender = await addIntegration(office, organization, 'sandbox', { account: 'shop', amounts: 'minor' })
      await layUnreadable(ground, count, sender)
      await changeSettings(office, sender, { amounts: 'decimal' })
      return aboutItems(ground)
    },
  }),
  decision(
    'the decision to book again what failed',
    ({ amountMinor }) => ({ decision: 'retry', note: `of ${amountMinor}` }),
    {
      ...paid,
      async lay(ground, count) {
        await layFailed(ground, count, MAX_ATTEMPTS)
        return aboutItems(ground)
      },
    },
  ),
  byRequest(
    'a further attempt of an event that failed',
    {
      path: ({ about }) => `/events/${about['event']}/retry`,
      body: ({ amountMinor }) => (amountMinor === AMOUNT ? null : { amountMinor }),
    },
    { ...paid, lay: (ground, count) => layFailed(ground, count, 1) },
  ),
]

function bigEuros(amountMinor: number) {
  return { amountMinor: BigInt(amountMinor), currency: 'EUR' }
}

/** Payments whose amount is written as the address does not expect it: kept for a person. */
async function layUnreadable(ground: Ground, count: number, sender: Sender): Promise<void> {
  const { app, amountMinor, invoice } = ground
  await each(count, async (index) => {
    const amount = (amountMinor / 100).toFixed(2)
    const data = { payment: `unread_${index}`, amount, currency: 'EUR', invoice: invoice.number }
    const answer = await app.deliver(sender, JSON.stringify({ type: 'payment.paid', data }))
    if (answer.body['kept'] !== true) throw new Error(`it was read: ${JSON.stringify(answer.body)}`)
  })
}

/** Payments that our own fault kept from being booked, so many times; with the events that stand for them. */
async function layFailed(ground: Ground, count: number, attempts: number): Promise<readonly About[]> {
  const { app, organization, office, amountMinor, invoice } = ground
  return each(count, async (index) => {
    const data = { payment: `failed_${index}`, ...euros(amountMinor), invoice: invoice.number }
    const body = JSON.stringify({ type: 'payment.paid', data })
    armFault({ at: 'pipeline.afterReserve', action: 'throw', times: attempts })
    await each(attempts, () =>
      app.deliver(organization.sandbox, body, organization.sandbox.sign(body, { id: `msg_failed_${index}` })),
    )
    armFault(null)
    const { rows } = await office.owner.query<{ event: string }>(
      `select id as event from events where organization_id = $1 and external_id = $2 and state = 'failed'`,
      [organization.organizationId, `msg_failed_${index}`],
    )
    return { event: rows[0]?.event ?? '' }
  })
}

export const actEntrances: readonly Entrance[] = [...byHand, ...decisions]
