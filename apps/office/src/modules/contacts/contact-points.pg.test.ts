import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { createContactFixture } from '../../../test/support/contact-fixture.ts'
import { countDeadlocks } from '../../../test/support/server-pair.ts'
import { createTwoApps, statusesOf } from '../../../test/support/two-apps.ts'

const fixture = createContactFixture('Points')
const { add, addOrganization, audits, count } = fixture

const phone = { kind: 'phone', value: '+49 30 123456' }

describe('a contact point belongs to one contact', () => {
  test('when twenty contacts are added at once with one phone number, however it is written: one has it, the others do not come to be and are told whose it is', async () => {
    const organization = await addOrganization()
    const spellings = ['+49 30 123456', '+49 (0)30 12 34 56', '+4930123456', '+49-30/123456']
    const answers = await fixture.both.atOnce(20, (server, index) =>
      server.post(organization, '/contacts', {
        name: `Contact ${index}`,
        points: [{ kind: 'phone', value: spellings[index % 4] }],
      }),
    )
    expect(statusesOf(answers)).toEqual({ 201: 1, 409: 19 })
    const winner = answers.find(({ status }) => status === 201)?.body['id']
    for (const { body } of answers.filter(({ status }) => status === 409)) {
      expect(body).toMatchObject({
        code: 'contact_point_taken',
        contactId: winner,
        kind: 'phone',
        value: '+4930123456',
        detail: expect.stringContaining(`+4930123456 belongs to the contact ${winner}`),
      })
    }
    expect(await count(organization, 'contact_points')).toBe(1)
    expect(await count(organization, 'contacts')).toBe(2)
    expect(await count(organization, "audit_entries where action = 'contact.create'")).toBe(1)
  })

  test('when twenty contacts are given it at once: one has it, and the versions of the others stay', async () => {
    const organization = await addOrganization()
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, index) => add(organization, { name: `Contact ${index}` })),
    )
    const answers = await fixture.both.atOnce(20, (server, index) =>
      server.post(organization, `/contacts/${ids[index]}/points`, phone),
    )
    expect(statusesOf(answers)).toEqual({ 201: 1, 409: 19 })
    expect(await count(organization, "contact_points where value = '+4930123456'")).toBe(1)
    expect(await count(organization, 'contacts where version > 1')).toBe(1)
    expect(await count(organization, "audit_entries where action = 'contact_point.add'")).toBe(1)
  })

  test('when the same forty come at once in either order, 10 rounds: one contact has all, nobody is left with some or with a fault, and nothing deadlocks', async () => {
    const organization = await addOrganization()
    const own = await createTwoApps(fixture.office)
    for (let round = 0; round < 10; round += 1) {
      const points = Array.from({ length: 40 }, (_, index) => ({
        kind: 'email',
        value: `kim${index}@round${round}.example`,
      }))
      const answers = await own.atOnce(4, (server, index) =>
        server.post(organization, '/contacts', {
          name: 'Kim Roth',
          points: index < 2 ? points : points.toReversed(),
        }),
      )
      expect(statusesOf(answers)).toEqual({ 201: 1, 409: 3 })
    }
    await own.close()
    expect(await count(organization, 'contact_points')).toBe(400)
    expect(await countDeadlocks(fixture.office)).toBe(0)
  })

  test('and to as many as like where it is marked shared, beside the one whose own it is', async () => {
    const organization = await addOrganization()
    const company = await add(organization, { name: 'Muster GmbH', points: [phone] }, '/companies')
    const answers = await fixture.both.atOnce(10, (server, index) =>
      server.post(organization, '/contacts', { name: `Contact ${index}`, points: [{ ...phone, isShared: true }] }),
    )
    expect(statusesOf(answers)).toEqual({ 201: 10 })
    const ids = [company, ...answers.map(({ body }) => String(body['id']))]
    const found = await fixture.both.app.get(organization, `/contacts?q=${encodeURIComponent('+49 (0)30 123456')}`)
    expect(found.body['items']).toHaveLength(11)
    expect((found.body['items'] as { id: string }[]).map(({ id }) => id)).toEqual(ids.toSorted().toReversed())
    const other = await fixture.both.app.post(organization, '/contacts', { name: 'Kim Roth', points: [phone] })
    expect(other).toMatchObject({ status: 409, body: { contactId: company } })
  })

  test('in one organisation: in another one it is free', async () => {
    for (const organization of [await addOrganization(), await addOrganization()]) {
      await add(organization, { name: 'Kim Roth', points: [phone] })
    }
  })

  test('until it is taken away: it stays on record, is free for others, and a second time changes nothing', async () => {
    const organization = await addOrganization()
    const first = await fixture.both.app.post(organization, '/contacts', { name: 'Kim Roth', points: [phone] })
    const id = String(first.body['id'])
    const [point] = first.body['points'] as { id: string }[]
    const path = `/contacts/${id}/points/${point?.id}/remove`
    const elsewhere = path.replace(id, organization.contactId)
    expect(await fixture.both.app.post(organization, elsewhere)).toMatchObject({ status: 404 })
    expect(await fixture.both.app.post(organization, path)).toMatchObject({
      status: 200,
      body: { points: [], version: 2 },
    })
    expect(await fixture.both.app.post(organization, path)).toMatchObject({
      status: 200,
      body: { points: [], version: 2 },
    })
    expect(await audits(organization, id)).toMatchObject([
      {
        action: 'contact_point.remove',
        data: { before: { points: [{ value: '+4930123456' }] }, after: { points: [] } },
      },
      { action: 'contact.create' },
    ])
    await add(organization, { name: 'Robin Roth', points: [phone] })
    expect(await count(organization, 'contact_points')).toBe(2)
    const again = await fixture.both.app.post(organization, `/contacts/${id}/points`, phone)
    expect(again).toMatchObject({ status: 409, body: { code: 'contact_point_taken' } })
  })

  test('also when it is taken away between the attempt to add it and the look whose it is: then it is added', async () => {
    const organization = await addOrganization()
    const first = await fixture.both.app.post(organization, '/contacts', { name: 'Kim Roth', points: [phone] })
    const [point] = first.body['points'] as { id: string }[]
    const second = await add(organization, { name: 'Robin Roth' })
    const restore = beforeStatement(/ from contact_points\s.* and \(not is_shared or /s, () =>
      fixture.office.owner.query('update contact_points set removed_at = now() where id = $1', [point?.id]),
    )
    const answer = await fixture.both.app.post(organization, `/contacts/${second}/points`, phone).finally(restore)
    expect(answer).toMatchObject({ status: 201, body: { version: 2, points: [{ value: '+4930123456' }] } })
  })

  test('which has it once: adding it again changes nothing, whether shared or not', async () => {
    const organization = await addOrganization()
    const id = await add(organization, { name: 'Kim Roth', points: [phone, { kind: 'phone', value: '+4930123456' }] })
    for (const point of [phone, { ...phone, isShared: true }]) {
      const answer = await fixture.both.app.post(organization, `/contacts/${id}/points`, point)
      expect(answer).toMatchObject({ status: 200, body: { version: 1, points: [{ value: '+4930123456' }] } })
    }
    expect(await audits(organization, id)).toHaveLength(1)
  })

  test('also when somebody else has it shared, and this one for its own', async () => {
    const organization = await addOrganization()
    const shared = { ...phone, isShared: true }
    const first = await add(organization, { name: 'Kim Roth', points: [shared] })
    const second = await add(organization, { name: 'Robin Roth', points: [phone] })
    expect(await fixture.both.app.post(organization, `/contacts/${first}/points`, shared)).toMatchObject({
      status: 200,
    })
    expect(await fixture.both.app.post(organization, `/contacts/${second}/points`, shared)).toMatchObject({
      status: 200,
    })
    expect(await count(organization, 'contact_points')).toBe(2)
  })

  test.each([
    [{ kind: 'email', value: 'kim@' }, 'value: kim@ is no e-mail address'],
    [{ kind: 'phone', value: '030 123456' }, 'value: 030 123456 has neither a + with the country’s number'],
    [{ kind: 'phone', value: '030 123456', country: 'XX' }, 'XX is no country that has phone numbers'],
    [{ kind: 'iban', value: 'DE88370400440532013000' }, 'value: DE88370400440532013000 is no IBAN'],
    [{ kind: 'messenger', value: 'KimRoth' }, 'value: KimRoth is no messenger id'],
  ])(
    'and one that cannot be normalised, %j, belongs to none: the refusal names field and text',
    async (point, detail) => {
      const organization = fixture.shared
      const id = await add(organization, { name: 'Kim Roth' })
      const alone = await fixture.both.app.post(organization, `/contacts/${id}/points`, point)
      expect(alone).toMatchObject({ status: 422, body: { code: 'invalid', detail: expect.stringContaining(detail) } })
      const together = await fixture.both.app.post(organization, '/contacts', {
        name: 'Never made',
        points: [{ ...phone, isShared: true }, point],
      })
      expect(together).toMatchObject({
        status: 422,
        body: { detail: expect.stringContaining(`points.1.${detail.startsWith('value') ? 'value' : ''}`) },
      })
      const short = await fixture.both.app.post(organization, '/contacts', { name: 'Never made', email: '' })
      expect(short).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/^email: /) } })
      expect(await count(organization, "contacts where name = 'Never made'")).toBe(0)
      expect(await count(organization, `contact_points where contact_id = '${id}'`)).toBe(0)
    },
  )

  test('and the first e-mail address of the request is the one that is shown', async () => {
    const organization = await addOrganization()
    const points = ['b', 'a', 'c'].map((name) => ({ kind: 'email', value: `${name}@muster.example` }))
    const answer = await fixture.both.app.post(organization, '/contacts', {
      name: 'Kim Roth',
      email: 'Z@muster.example',
      points,
    })
    expect(answer.body).toMatchObject({
      email: 'z@muster.example',
      points: ['z', 'b', 'a', 'c'].map((name) => ({ kind: 'email', value: `${name}@muster.example` })),
    })
  })
})

/** Runs `work` before a statement of that text is sent, once. Returns what ends the watch. */
function beforeStatement(text: RegExp, work: () => Promise<unknown>): () => void {
  const original = pg.Client.prototype.query as (...given: unknown[]) => unknown
  const restore = () => Object.assign(pg.Client.prototype, { query: original })
  function query(this: pg.Client, ...given: unknown[]): unknown {
    const [statement] = given
    const isAwaited =
      typeof statement === 'object' && statement !== null && 'text' in statement && text.test(String(statement.text))
    if (!isAwaited) return original.apply(this, given)
    restore()
    return work().then(() => original.apply(this, given))
  }
  Object.assign(pg.Client.prototype, { query })
  return restore
}
