import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InProcessApp } from '../../../test/support/in-process-app.ts'
import { createTestOffice, type TestOffice, type TestOrganization } from '../../../test/support/office.ts'
import { createTwoApps, readPages, type TwoApps } from '../../../test/support/two-apps.ts'

let office: TestOffice
let both: TwoApps
let organizationCount = 0

beforeAll(async () => {
  office = await createTestOffice()
  both = await createTwoApps(office)
})

afterAll(async () => {
  await both.close()
  await office.close()
})

const amount = { amountMinor: 250_000, currency: 'EUR' }

async function addDeal(change: object = {}): Promise<{ organization: TestOrganization; id: string }> {
  organizationCount += 1
  const organization = await office.addOrganization(`Deals${organizationCount}`, 1)
  const draft = { title: 'Website', contactId: organization.contactId, amount, ...change }
  const answer = await both.app.post(organization, '/deals', draft)
  expect(answer).toMatchObject({ status: 201, body: { stage: 'new', version: 1, closedAt: null } })
  return { organization, id: String(answer.body['id']) }
}

/** What people and rules see of a deal. */
async function seenOf(organization: TestOrganization, id: string) {
  const { body } = await both.app.get(organization, `/deals/${id}/activity`)
  const { rows } = await office.owner.query<{ type: string; key: string }>(
    'select type, key from domain_events where subject_id = $1 order by key',
    [id],
  )
  return {
    lines: (body['items'] as { type: string; data: object }[]).map(({ type, data }) => ({ type, ...data })),
    events: rows,
  }
}

describe('a deal that is won', () => {
  test('is closed with one line and one event, however often its request comes at once and later', async () => {
    const { organization, id } = await addDeal()
    const win = (server: InProcessApp) =>
      server.patch(organization, `/deals/${id}`, { stage: 'won' }, { 'idempotency-key': 'win-1' })
    const answers = await both.atOnce(10, win)
    answers.push(await win(both.app))
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] !== 'true')).toHaveLength(1)
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: answers[0]?.body ?? {} })
    expect(answers[0]?.body).toMatchObject({ stage: 'won', version: 2, closedAt: expect.any(String) })
    expect(await seenOf(organization, id)).toEqual({
      lines: [{ type: 'deal.stage_changed', before: 'new', after: 'won' }],
      events: [{ type: 'deal.won', key: `${id}:2` }],
    })
  })

  test('by ten requests without a key is won once as well: the others find it so', async () => {
    const { organization, id } = await addDeal()
    const answers = await both.atOnce(10, (server) => server.patch(organization, `/deals/${id}`, { stage: 'won' }))
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: { stage: 'won', version: 2 } })
    const { lines, events } = await seenOf(organization, id)
    expect([lines.length, events.length]).toEqual([1, 1])
  })

  test('again, after it was opened again, is news again', async () => {
    const { organization, id } = await addDeal()
    for (const stage of ['won', 'proposal', 'won', 'lost'])
      await both.app.patch(organization, `/deals/${id}`, { stage })
    expect((await seenOf(organization, id)).events).toEqual([
      { type: 'deal.won', key: `${id}:2` },
      { type: 'deal.won', key: `${id}:4` },
      { type: 'deal.lost', key: `${id}:5` },
    ])
    expect((await seenOf(organization, id)).lines).toHaveLength(4)
  })

  test('and opened again is not closed any more', async () => {
    const { organization, id } = await addDeal()
    await both.app.patch(organization, `/deals/${id}`, { stage: 'lost' })
    const answer = await both.app.patch(organization, `/deals/${id}`, { stage: 'qualified' })
    expect(answer.body).toMatchObject({ stage: 'qualified', closedAt: null, version: 3 })
  })
})

describe('a change of a deal', () => {
  test('that has read an older version changes nothing, moves nothing, and is told what is there now', async () => {
    const { organization, id } = await addDeal()
    await both.app.patch(organization, `/deals/${id}`, { title: 'Shop' }, { 'if-match': '"1"' })
    const answer = await both.app.patch(organization, `/deals/${id}`, { stage: 'won' }, { 'if-match': '"1"' })
    expect(answer).toMatchObject({
      status: 409,
      body: { code: 'version_stale', version: 2, current: { id, title: 'Shop', stage: 'new', amount, version: 2 } },
    })
    expect(await seenOf(organization, id)).toEqual({ lines: [], events: [] })
  })

  test('puts on record who made it and the fields that changed, before and after, and no others', async () => {
    const { organization, id } = await addDeal({ expectedOn: '2026-05-01' })
    const other = { amountMinor: 1, currency: 'JPY' }
    await both.app.patch(organization, `/deals/${id}`, {
      title: 'Website',
      amount: other,
      expectedOn: null,
      stage: 'proposal',
    })
    const { body } = await both.app.get(organization, `/audit-entries?subjectId=${id}`)
    expect(body['items']).toMatchObject([
      { actor: { type: 'api_key' }, action: 'deal.change', subject: { type: 'deal', id } },
      { action: 'deal.create', data: { before: {}, after: { title: 'Website', stage: 'new', amount } } },
    ])
    expect((body['items'] as { data: object }[])[0]?.data).toEqual({
      before: { stage: 'new', amount, expectedOn: '2026-05-01' },
      after: { stage: 'proposal', amount: other, expectedOn: null },
    })
  })

  test('that says what is there already changes nothing and leaves no row', async () => {
    const { organization, id } = await addDeal()
    for (const change of [{}, { stage: 'new', amount, title: 'Website', expectedOn: null }]) {
      expect(await both.app.patch(organization, `/deals/${id}`, change)).toMatchObject({
        status: 200,
        body: { version: 1 },
      })
    }
    const { body } = await both.app.get(organization, `/audit-entries?subjectId=${id}`)
    expect(body['items']).toHaveLength(1)
  })

  test.each([
    [{ amount: { amountMinor: -1, currency: 'EUR' } }, 'amount.amountMinor: '],
    [{ amount: { amountMinor: 1, currency: 'XYZ' } }, 'amount.currency: XYZ is no currency'],
    [{ stage: 'maybe' }, 'stage: '],
    [{ closedAt: null }, ''],
  ])('to what cannot be, %j, is refused, for a new deal as well', async (change, detail) => {
    const { organization, id } = await addDeal()
    const refusal = { status: 422, body: { code: 'invalid', detail: expect.stringContaining(detail) } }
    expect(await both.app.patch(organization, `/deals/${id}`, change)).toMatchObject(refusal)
    const draft = { title: 'Website', contactId: organization.contactId, amount, ...change }
    if (detail !== '') expect(await both.app.post(organization, '/deals', draft)).toMatchObject(refusal)
  })
})

describe('deals of two organisations', () => {
  test('have no contact of the other one, neither from the beginning nor by a change', async () => {
    const [ours, theirs] = [await addDeal(), await addDeal()]
    const { contactId } = theirs.organization
    const refusal = { status: 422, body: { code: 'invalid', detail: `contactId: there is no contact ${contactId}` } }
    const draft = { title: 'Website', contactId, amount }
    expect(await both.app.post(ours.organization, '/deals', draft)).toMatchObject(refusal)
    expect(await both.app.patch(ours.organization, `/deals/${ours.id}`, { contactId })).toMatchObject(refusal)
  })

  test('are not found by the other one', async () => {
    const [ours, theirs] = [await addDeal(), await addDeal()]
    const calls = [
      both.app.get(ours.organization, `/deals/${theirs.id}`),
      both.app.get(ours.organization, `/deals/${theirs.id}/activity`),
      both.app.patch(ours.organization, `/deals/${theirs.id}`, { stage: 'won' }),
      both.app.post(ours.organization, `/deals/${theirs.id}/notes`, { text: 'Hello' }),
    ]
    for (const answer of await Promise.all(calls)) expect(answer).toMatchObject({ status: 404 })
    const listed = await both.app.get(ours.organization, `/deals?contactId=${theirs.organization.contactId}`)
    expect(listed.body).toEqual({ items: [], nextCursor: null })
  })
})

test('the list of deals is read newest first, page by page, by stage and by contact', async () => {
  const { organization, id } = await addDeal()
  const other = await both.app.post(organization, '/contacts', { name: 'Kim Roth' })
  const ids = [id]
  for (const contactId of [organization.contactId, other.body['id'], other.body['id']]) {
    const answer = await both.app.post(organization, '/deals', { title: 'Shop', contactId, amount, stage: 'proposal' })
    ids.push(String(answer.body['id']))
  }
  await both.app.patch(organization, `/deals/${ids[3]}`, { stage: 'lost' })
  const idsOf = (query: string) => readPages((page) => both.app.get(organization, `/deals?${page}&${query}`), 1)
  const newestFirst = ids.toSorted().toReversed()
  const only = (...wanted: (string | undefined)[]) => newestFirst.filter((each) => wanted.includes(each))
  expect(await idsOf('')).toEqual(newestFirst)
  expect(await idsOf('stage=proposal')).toEqual(only(ids[1], ids[2]))
  expect(await idsOf(`contactId=${other.body['id']}`)).toEqual(only(ids[2], ids[3]))
  expect(await idsOf(`contactId=${other.body['id']}&stage=lost`)).toEqual(only(ids[3]))
})

test('a note stands on the time line of its deal', async () => {
  const { organization, id } = await addDeal()
  await both.app.patch(organization, `/deals/${id}`, { stage: 'qualified' })
  await both.app.post(organization, `/deals/${id}/notes`, { text: 'Wants a discount.' })
  const { lines } = await seenOf(organization, id)
  expect(lines.toSorted((a, b) => (a.type < b.type ? -1 : 1))).toMatchObject([
    { type: 'deal.stage_changed' },
    { type: 'note', text: 'Wants a discount.' },
  ])
})
