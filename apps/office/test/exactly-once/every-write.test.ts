import { describe, expect, test } from 'vitest'
import { armFault } from '../../src/platform/fault-points.ts'
import { readBooks } from '../support/books.ts'
import { type Case, createCaseFixture } from '../support/case-fixture.ts'
import type { InProcessAnswer, InProcessApp } from '../support/in-process-app.ts'

/**
 * Every call that writes, one by one. The list is compared with the contract, so that a new call cannot do without what all of
 * them promise: with an `Idempotency-Key` it happens once, and its repetition is told what the first was told.
 */
const fixture = createCaseFixture()

interface Write {
  /** Where it is sent in a case, with what has to be there laid before. */
  readonly path: (opened: Case) => Promise<string>
  readonly body: (opened: Case) => object | undefined
  /** Another content under the same key. Left out: a body where none belongs. */
  readonly other?: (opened: Case) => object
  /** Without the header it is refused. */
  readonly needsKey?: true
}

const euros = (amountMinor: number) => ({ amountMinor, currency: 'EUR' })
const lines = (unitPriceMinor: number) => [{ description: 'Work', unitPriceMinor }]
const nothing = () => undefined

const to = (path: string) => async () => path
const onContact = (rest: string) => async (opened: Case) => `/contacts/${opened.organization.contactId}${rest}`
const onInvoice = (rest: string) => async (opened: Case) => `/invoices/${opened.invoice.id}${rest}`

async function made(opened: Case, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
  const answer = await opened.call(path, body)
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

async function draft(opened: Case): Promise<string> {
  return String((await made(opened, '/invoices', { currency: 'EUR', lines: lines(500) }))['id'])
}

/** A payment on the invoice of the case, or on none. */
async function pay(opened: Case, invoice?: string): Promise<string> {
  const { body } = await opened.sandbox({ data: { payment: 'p_1', ...euros(4_000), invoice } })
  return (body['target'] as { id: string }).id
}

const onPayment = (rest: string) => async (opened: Case) =>
  `/payments/${await pay(opened, opened.invoice.number)}${rest}`

async function deal(opened: Case): Promise<string> {
  const body = { title: 'Website', contactId: opened.organization.contactId, amount: euros(1) }
  return `/deals/${String((await made(opened, '/deals', body))['id'])}`
}

async function question(opened: Case): Promise<string> {
  await pay(opened)
  return `/review-items/${(await opened.desk())[0]?.id}`
}

const work = { source: 'shop', kind: 'label.print', id: 'order-1' }

async function reservedToken(opened: Case): Promise<string> {
  return String((await made(opened, '/register/reserve', work))['token'])
}

/** Work of which nobody knows how it ended. */
async function unknownWork(opened: Case): Promise<string> {
  return String((await made(opened, '/register/unknown', { token: await reservedToken(opened) }))['eventId'])
}

/** Steps of a program: they are named by the thing itself and by its token, and are once without a key. */
const steps = ['reserve', 'complete', 'fail', 'unknown', 'heartbeat'].map((step) => `POST /api/v1/register/${step}`)

const company = { name: 'Muster AG', points: [] }

/** By the name that the contract gives the call. */
const writes: Readonly<Record<string, Write>> = {
  'POST /api/v1/contacts': {
    path: to('/contacts'),
    body: () => ({ name: 'Kim Roth' }),
    other: () => ({ name: 'Kim Rot' }),
  },
  'PATCH /api/v1/contacts/{id}': { path: onContact(''), body: () => named('A'), other: () => named('B') },
  'POST /api/v1/contacts/{id}/points': {
    path: onContact('/points'),
    body: () => ({ kind: 'phone', value: '+49 30 123456' }),
    other: () => ({ kind: 'phone', value: '+49 30 1234567' }),
  },
  'POST /api/v1/contacts/{id}/points/{pointId}/remove': {
    async path(opened) {
      const at = `/contacts/${opened.organization.contactId}/points`
      const { points } = await made(opened, at, { kind: 'phone', value: '+49 30 123456' })
      return `${at}/${(points as { id: string }[])[0]?.id}/remove`
    },
    body: nothing,
  },
  'POST /api/v1/contacts/{id}/notes': {
    path: onContact('/notes'),
    body: () => ({ text: 'Called.' }),
    other: () => ({ text: 'Called again.' }),
  },
  'POST /api/v1/companies': {
    path: to('/companies'),
    body: () => company,
    other: () => ({ ...company, name: 'Other' }),
  },
  'PATCH /api/v1/companies/{id}': {
    path: async (opened) => `/companies/${opened.organization.contactId}`,
    body: () => named('A'),
    other: () => named('B'),
  },
  'POST /api/v1/deals': {
    path: to('/deals'),
    body: ({ organization }) => ({ title: 'Website', contactId: organization.contactId, amount: euros(1) }),
    other: ({ organization }) => ({ title: 'Shop', contactId: organization.contactId, amount: euros(1) }),
  },
  'PATCH /api/v1/deals/{id}': { path: deal, body: () => ({ stage: 'won' }), other: () => ({ stage: 'lost' }) },
  'POST /api/v1/deals/{id}/notes': {
    path: async (opened) => `${await deal(opened)}/notes`,
    body: () => ({ text: 'Called.' }),
    other: () => ({ text: 'Called again.' }),
  },
  'POST /api/v1/invoices': {
    path: to('/invoices'),
    body: () => ({ currency: 'EUR', lines: lines(1) }),
    other: () => ({ currency: 'EUR', lines: lines(2) }),
  },
  'PATCH /api/v1/invoices/{id}': {
    path: async (opened) => `/invoices/${await draft(opened)}`,
    body: () => ({ notes: 'a' }),
    other: () => ({ notes: 'b' }),
  },
  'POST /api/v1/invoices/{id}/issue': {
    path: async (opened) => `/invoices/${await draft(opened)}/issue`,
    body: nothing,
  },
  'POST /api/v1/invoices/{id}/duplicate': { path: onInvoice('/duplicate'), body: nothing },
  'POST /api/v1/invoices/{id}/void': { path: onInvoice('/void'), body: nothing },
  'POST /api/v1/invoices/{id}/pay': {
    path: onInvoice('/pay'),
    body: () => ({ amount: euros(1_000) }),
    other: () => ({ amount: euros(1_001) }),
    needsKey: true,
  },
  'POST /api/v1/invoices/{id}/credit-note': {
    path: onInvoice('/credit-note'),
    body: () => ({ lines: lines(100) }),
    other: () => ({ lines: lines(101) }),
    needsKey: true,
  },
  'POST /api/v1/invoices/{id}/adjustments': {
    path: onInvoice('/adjustments'),
    body: () => ({ kind: 'fee', amount: euros(10) }),
    other: () => ({ kind: 'fee', amount: euros(11) }),
    needsKey: true,
  },
  'POST /api/v1/invoices/{id}/adjustments/{adjustmentId}/reverse': {
    async path(opened) {
      const at = `/invoices/${opened.invoice.id}`
      await made(opened, `${at}/adjustments`, { kind: 'fee', amount: euros(10) })
      const { body } = await fixture.app.get(opened.organization, at)
      return `${at}/adjustments/${(body['adjustments'] as { id: string }[])[0]?.id}/reverse`
    },
    body: () => ({ reason: 'a' }),
    other: () => ({ reason: 'b' }),
    needsKey: true,
  },
  'POST /api/v1/payments': {
    path: to('/payments'),
    body: ({ invoice }) => ({ source: 'bank', externalId: 'b_1', amount: euros(5), invoice: invoice.number }),
    other: ({ invoice }) => ({ source: 'bank', externalId: 'b_2', amount: euros(5), invoice: invoice.number }),
    needsKey: true,
  },
  'POST /api/v1/payments/{id}/apply': {
    path: async (opened) => `/payments/${await pay(opened)}/apply`,
    body: ({ invoice }) => ({ invoiceId: invoice.id, amount: euros(1_000) }),
    other: ({ invoice }) => ({ invoiceId: invoice.id, amount: euros(1_001) }),
    needsKey: true,
  },
  'POST /api/v1/payments/{id}/move': {
    path: onPayment('/move'),
    body: ({ invoice }) => ({ toInvoiceId: invoice.id }),
    other: ({ invoice }) => ({ toInvoiceId: invoice.id, fromInvoiceId: invoice.id }),
    needsKey: true,
  },
  ...Object.fromEntries(
    ['refund', 'chargeback'].map((kind): [string, Write] => [
      `POST /api/v1/payments/{id}/${kind}`,
      {
        path: onPayment(`/${kind}`),
        body: () => ({ amount: euros(1_000) }),
        other: () => ({ amount: euros(1_001) }),
        needsKey: true,
      },
    ]),
  ),
  'POST /api/v1/payments/{id}/returns/{returnId}/reverse': {
    async path(opened) {
      const at = await onPayment('')(opened)
      const { target } = await made(opened, `${at}/refund`, { amount: euros(1_000) })
      return `${at}/returns/${(target as { id: string }).id}/reverse`
    },
    body: nothing,
    needsKey: true,
  },
  'POST /api/v1/review-items/{id}/decide': {
    path: async (opened) => `${await question(opened)}/decide`,
    body: ({ invoice }) => ({ decision: 'apply', invoiceId: invoice.id }),
    other: () => ({ decision: 'dismiss' }),
    needsKey: true,
  },
  'POST /api/v1/review-items/{id}/reopen': {
    async path(opened) {
      const at = await question(opened)
      await made(opened, `${at}/decide`, { decision: 'dismiss' })
      return `${at}/reopen`
    },
    body: nothing,
  },
  'POST /api/v1/events/{id}/retry': {
    async path(opened) {
      armFault({ at: 'pipeline.afterWrite', action: 'throw', times: 1 })
      await opened.sandbox({ data: { payment: 'p_1', ...euros(4_000), invoice: opened.invoice.number } })
      armFault(null)
      const [event] = (await opened.books()).events
      return `/events/${event?.id}/retry`
    },
    body: nothing,
  },
  'POST /api/v1/events/{id}/resolve': {
    path: async (opened) => `/events/${await unknownWork(opened)}/resolve`,
    body: () => ({ outcome: 'completed', note: 'found it' }),
    other: () => ({ outcome: 'failed', note: 'found nothing' }),
  },
  'POST /api/v1/register/resolve': {
    async path(opened) {
      await unknownWork(opened)
      return '/register/resolve'
    },
    body: () => ({ key: work, outcome: 'completed', note: 'found it' }),
    other: () => ({ key: work, outcome: 'failed', note: 'found nothing' }),
  },
  'POST /api/v1/register/repeat': {
    async path(opened) {
      await made(opened, '/register/complete', { token: await reservedToken(opened) })
      return '/register/repeat'
    },
    body: () => ({ key: work, reason: 'the label was torn' }),
    other: () => ({ key: work, reason: 'the label was lost' }),
    needsKey: true,
  },
  'POST /api/v1/notifications/{id}/read': {
    async path(opened) {
      await pay(opened)
      const { body } = await fixture.app.get(opened.organization, `/notifications?recipientId=${recipientOf(opened)}`)
      return `/notifications/${(body['items'] as { id: string }[])[0]?.id}/read`
    },
    body: (opened) => ({ recipientId: recipientOf(opened) }),
    other: (opened) => ({ recipientId: opened.organization.userIds[1] }),
  },
}

function named(name: string) {
  return { name }
}

function recipientOf({ organization }: Case): string | undefined {
  return organization.userIds[0]
}

function send(
  opened: Case,
  call: string,
  path: string,
  body: object | undefined,
  key: string | null,
  app: InProcessApp = fixture.app,
): Promise<InProcessAnswer> {
  const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key }
  if (call.startsWith('PATCH')) return app.patch(opened.organization, path, body ?? {}, headers)
  return app.post(opened.organization, path, body, headers)
}

async function prepare(call: string) {
  const write = writes[call]
  if (write === undefined) throw new Error(`${call} is not in the list`)
  const opened = await fixture.openCase()
  const path = await write.path(opened)
  return { opened, path, body: write.body(opened), other: write.other?.(opened) ?? { and: 'more' } }
}

test('every call of the contract that writes is in this list', async () => {
  const url = await fixture.app.listen()
  const { paths } = (await (await fetch(`${url}/api/docs/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>
  }
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const writing = calls.filter((call) => /^(?!GET )\S+ \/api\/v1\//.test(call))
  expect([...Object.keys(writes), ...steps].toSorted()).toEqual(writing.toSorted())
})

test.each([
  ['half a surrogate pair', '/name', { name: 'a\ud800' }],
  ['a number that may have lost digits', '/size', { name: 'a', size: 2 ** 53 + 2 }],
])('a body with %s is refused at %s, since no repetition could be compared with it', async (_what, place, body) => {
  const opened = await fixture.openCase()
  const refused = await opened.call('/contacts', body)
  expect(refused).toMatchObject({
    status: 422,
    body: { code: 'invalid', detail: expect.stringContaining(`${place}: `) },
  })
})

test('what a program says of its work is once for its token: said again, it is said again', async () => {
  const opened = await fixture.openCase()
  const say = (step: string, body: object, app = fixture.app) =>
    app.post(opened.organization, `/register/${step}`, body)
  const reserved = await say('reserve', work)
  const token = reserved.body['token']
  const ends = [
    ['complete', { token, target: { type: 'label', id: 'L-1' } }],
    ['complete', { token, target: { type: 'label', id: 'L-1' } }],
  ] as const
  for (const [step, body] of ends) {
    for (const app of [fixture.app, fixture.otherApp]) expect(await say(step, body, app)).toMatchObject({ status: 200 })
  }
  expect(await say('fail', { token, error: { code: 'late' } })).toMatchObject({
    status: 409,
    body: { code: 'lease_lost' },
  })
})

describe.each(Object.keys(writes))('%s', (call) => {
  test('happens once for its Idempotency-Key, and the repetition is told what the first was told', async () => {
    const { opened, path, body } = await prepare(call)
    const first = await send(opened, call, path, body, 'key-1')
    expect([200, 201], JSON.stringify(first.body)).toContain(first.status)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
    const { events: _events, ...after } = await readBooks(fixture.office, opened.organization.organizationId)
    for (const app of [fixture.app, fixture.otherApp]) {
      const again = await send(opened, call, path, body, 'key-1', app)
      expect(again).toMatchObject({ status: first.status, headers: { 'idempotent-replayed': 'true' } })
      expect(again.body).toEqual(first.body)
    }
    const { events: _again, ...now } = await readBooks(fixture.office, opened.organization.organizationId)
    expect(now).toEqual(after)
  })

  test('refuses other content under a key that was used', async () => {
    const { opened, path, body, other } = await prepare(call)
    const first = await send(opened, call, path, body, 'key-1')
    const { events: _events, ...after } = await readBooks(fixture.office, opened.organization.organizationId)
    const differs = await send(opened, call, path, other, 'key-1', fixture.otherApp)
    expect(differs).toMatchObject({ status: 422, body: { code: 'content_differs' } })
    const { events: _again, ...now } = await readBooks(fixture.office, opened.organization.organizationId)
    expect(now).toEqual(after)
    expect(await send(opened, call, path, body, 'key-1')).toMatchObject({ body: first.body })
  })
})

describe.each(Object.keys(writes).filter((call) => writes[call]?.needsKey === true))(
  '%s moves money, or has a thing done again',
  (call) => {
    test('and without the header it is refused, and nothing of it happens', async () => {
      const { opened, path, body } = await prepare(call)
      const before = await readBooks(fixture.office, opened.organization.organizationId)
      const refused = await send(opened, call, path, body, null)
      expect(refused).toMatchObject({ status: 400, body: { code: 'idempotency_key_missing' } })
      expect(await readBooks(fixture.office, opened.organization.organizationId)).toEqual(before)
    })
  },
)
