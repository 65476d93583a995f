import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestOffice, startServer, type TestOrganization } from '../support/office.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'

const office = await createTestOffice()
let pair: ServerPair
let organizationCount = 0

beforeAll(async () => {
  pair = await startServerPair(office)
})

afterAll(async () => {
  await pair?.stop()
  await office.close()
})

interface Answer {
  readonly status: number
  readonly isReplayed: boolean
  readonly body: Readonly<Record<string, unknown>>
}

async function post(
  organization: TestOrganization,
  url: string,
  path: string,
  key: string,
  body?: unknown,
  method = 'POST',
): Promise<Answer> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${organization.apiKey}`,
      'idempotency-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const isReplayed = response.headers.get('idempotent-replayed') === 'true'
  return { status: response.status, isReplayed, body: (await response.json()) as Record<string, unknown> }
}

const draft = { currency: 'EUR', lines: [{ description: 'Work', unitPriceMinor: 10_000 }] }

/** Every write of the API that needs no key and takes one, with what it leaves behind. */
async function issuePathOfDraft(organization: TestOrganization): Promise<string> {
  const created = await post(organization, pair.url(0), '/invoices', 'its-draft', draft)
  return `/invoices/${String(created.body['id'])}/issue`
}

async function pathOfDeal(organization: TestOrganization): Promise<string> {
  const draft = { title: 'Website', contactId: organization.contactId, amount: { amountMinor: 1, currency: 'EUR' } }
  const created = await post(organization, pair.url(0), '/deals', 'its-deal', draft)
  return `/deals/${String(created.body['id'])}`
}

/** A write of the API, with what it leaves behind. */
interface Write {
  readonly name: string
  readonly table: string
  readonly rows: number
  readonly action: string
  readonly method?: 'PATCH'
  readonly path: (organization: TestOrganization) => Promise<string>
  readonly body: unknown
  readonly otherBody: unknown
}

const writes: readonly Write[] = [
  {
    name: 'a contact changed',
    table: 'contacts where version = 2 and true',
    rows: 1,
    action: 'contact.change',
    method: 'PATCH',
    path: async ({ contactId }) => `/contacts/${contactId}`,
    body: { name: 'Muster AG' },
    otherBody: { name: 'Muster SE' },
  },
  {
    name: 'a contact point added',
    table: 'contact_points',
    rows: 1,
    action: 'contact_point.add',
    path: async ({ contactId }) => `/contacts/${contactId}/points`,
    body: { kind: 'phone', value: '+49 30 123456' },
    otherBody: { kind: 'phone', value: '+49 30 1234567' },
  },
  {
    name: 'a note written',
    table: "activities where type = 'note' and true",
    rows: 1,
    action: 'note.add',
    path: async ({ contactId }) => `/contacts/${contactId}/notes`,
    body: { text: 'Called.' },
    otherBody: { text: 'Called again.' },
  },
  {
    name: 'a deal won',
    table: "activities where type = 'deal.stage_changed' and true",
    rows: 1,
    action: 'deal.change',
    method: 'PATCH',
    path: pathOfDeal,
    body: { stage: 'won' },
    otherBody: { stage: 'lost' },
  },
  {
    name: 'the news that a deal was won',
    table: "domain_events where type like 'deal.%' and true",
    rows: 1,
    action: 'deal.change',
    method: 'PATCH',
    path: pathOfDeal,
    body: { stage: 'won' },
    otherBody: { stage: 'lost' },
  },
  {
    name: 'a contact added',
    table: 'contacts',
    // The fixture has added one itself.
    rows: 2,
    action: 'contact.create',
    path: async () => '/contacts',
    body: { name: 'Kim Roth' },
    otherBody: { name: 'Kim Rot' },
  },
  {
    name: 'a draft written',
    table: 'invoices',
    rows: 1,
    action: 'invoice.create',
    path: async () => '/invoices',
    body: draft,
    otherBody: { ...draft, currency: 'USD' },
  },
  {
    name: 'an invoice issued',
    table: 'invoices where number is not null and true',
    rows: 1,
    action: 'invoice.issue',
    path: issuePathOfDraft,
    body: undefined,
    otherBody: { and: 'more' },
  },
  {
    name: 'the news that an invoice was issued',
    table: "domain_events where type = 'invoice.issued' and true",
    rows: 1,
    action: 'invoice.issue',
    path: issuePathOfDraft,
    body: undefined,
    otherBody: { and: 'more' },
  },
] as const

describe.each(writes.map((write) => [write.name, write] as const))('%s through the API', (_name, write) => {
  async function prepare() {
    organizationCount += 1
    const organization = await office.addOrganization(`Writes${organizationCount}`)
    const path = await write.path(organization)
    return { organization, path }
  }

  async function count(organization: TestOrganization, table: string): Promise<number | undefined> {
    const and = table.includes(' where ') ? 'and' : 'where'
    const { rows } = await office.owner.query<{ count: number }>(
      `select count(*)::int as count from ${table} ${and} organization_id = $1`,
      [organization.organizationId],
    )
    return rows[0]?.count
  }

  test('is there once, whatever how often its key comes to two servers at once and later, and all hear the first answer', async () => {
    const { organization, path } = await prepare()
    const send = (index: number) => post(organization, pair.url(index), path, 'key-1', write.body, write.method)
    const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => send(index)))
    answers.push(await send(0), await send(1))
    expect(answers.filter((answer) => !answer.isReplayed)).toHaveLength(1)
    const [first] = answers
    expect(first?.status).toBeLessThan(300)
    for (const answer of answers) expect(answer).toMatchObject({ status: first?.status, body: first?.body })
    expect(await count(organization, write.table)).toBe(write.rows)
    expect(await count(organization, `audit_entries where action = '${write.action}'`)).toBe(1)
    expect(await count(organization, `events where kind = '${write.action}' and copies = 18`)).toBe(1)
  })

  test('stands, and its key with other content is refused', async () => {
    const { organization, path } = await prepare()
    const first = await post(organization, pair.url(0), path, 'key-1', write.body, write.method)
    const other = await post(organization, pair.url(1), path, 'key-1', write.otherBody, write.method)
    expect(other).toMatchObject({ status: 422, body: { code: 'content_differs' } })
    const again = await post(organization, pair.url(1), path, 'key-1', write.body, write.method)
    expect(again).toMatchObject({ isReplayed: true, body: first.body })
    expect(await count(organization, write.table)).toBe(write.rows)
  })
})

describe('a number that was taken is given back', () => {
  test.each(['throw:1', 'kill'])('when the server ends the work with %s before the invoice has it', async (action) => {
    organizationCount += 1
    const organization = await office.addOrganization(`Writes${organizationCount}`)
    const path = await issuePathOfDraft(organization)
    const server = await startServer(office, { fault: `money.afterNumber:${action}` })
    try {
      const broken = post(organization, server.url, path, 'key-1')
      if (action === 'kill') await expect(broken).rejects.toThrow()
      else expect(await broken).toMatchObject({ status: 500, body: { code: 'internal' } })
    } finally {
      await server.stop()
    }
    const answers = [
      await post(organization, pair.url(0), path, 'key-1'),
      await post(organization, pair.url(1), path, 'key-1'),
    ]
    expect(answers).toMatchObject([
      { status: 200, isReplayed: false, body: { number: 'RE-00001' } },
      { status: 200, isReplayed: true, body: { number: 'RE-00001' } },
    ])
    expect(await organization.issueInvoice({ amountMinor: 100n, currency: 'EUR' })).toMatchObject({
      number: 'RE-00002',
    })
  })
})
