import { describe, expect, test } from 'vitest'
import { createContactFixture } from '../../../test/support/contact-fixture.ts'
import type { InProcessApp } from '../../../test/support/in-process-app.ts'
import type { TestOrganization } from '../../../test/support/office.ts'
import { readPages, statusesOf } from '../../../test/support/two-apps.ts'

const fixture = createContactFixture('Contacts')
const { add, addOrganization, audits, count } = fixture

const phone = { kind: 'phone', value: '+49 30 123456' }

describe('a change of a contact', () => {
  test.each(['1', '"1"', 'W/"1"'])(
    'that names the version it has read, %s, is made, and counts it up',
    async (version) => {
      const organization = fixture.shared
      const id = await add(organization, { name: 'Kim Roth' })
      const answer = await fixture.both.app.patch(
        organization,
        `/contacts/${id}`,
        { name: 'Kim Rot' },
        { 'if-match': version },
      )
      expect(answer).toMatchObject({ status: 200, body: { name: 'Kim Rot', version: 2 } })
    },
  )

  test('that has read an older version changes nothing and is told what is there now', async () => {
    const organization = fixture.shared
    const id = await add(organization, { name: 'Kim Roth', email: 'kim@muster.example' })
    await fixture.both.app.patch(organization, `/contacts/${id}`, { taxId: 'DE123456789' })
    const calls = [
      fixture.both.app.patch(organization, `/contacts/${id}`, { name: 'Kim Rot' }, { 'if-match': '"1"' }),
      fixture.both.app.post(organization, `/contacts/${id}/points`, phone, { 'if-match': '"1"' }),
    ]
    for (const answer of await Promise.all(calls)) {
      expect(answer).toMatchObject({
        status: 409,
        headers: { 'content-type': expect.stringContaining('application/problem+json') },
        body: {
          code: 'version_stale',
          version: 2,
          current: { id, name: 'Kim Roth', taxId: 'DE123456789', email: 'kim@muster.example', version: 2 },
        },
      })
    }
    expect(await fixture.both.app.get(organization, `/contacts/${id}`)).toMatchObject({
      body: { name: 'Kim Roth', version: 2 },
    })
  })

  test.each(['', '*', '"a"', '1, 2', 'W/1', '"1', '-1', '9'.repeat(20)])(
    'with the header If-Match: %s is refused: it names no version',
    async (version) => {
      const organization = fixture.shared
      const id = await add(organization, { name: 'Kim Roth' })
      const answer = await fixture.both.app.patch(
        organization,
        `/contacts/${id}`,
        { name: 'Kim Rot' },
        { 'if-match': version },
      )
      expect(answer).toMatchObject({ status: 400, body: { code: 'if_match_invalid' } })
    },
  )

  test('that ten make at once of the same version is made by one, and nine are told so', async () => {
    const organization = await addOrganization()
    const id = await add(organization, { name: 'Kim Roth' })
    const answers = await fixture.both.atOnce(10, (server, index) =>
      server.patch(organization, `/contacts/${id}`, { name: `Name ${index}` }, { 'if-match': '"1"' }),
    )
    expect(statusesOf(answers)).toEqual({ 200: 1, 409: 9 })
    expect(await count(organization, 'contacts where version = 2')).toBe(1)
    expect(await audits(organization, id)).toHaveLength(2)
  })

  test('that ten make at once without a version is made ten times, and none undoes what another one says of another field', async () => {
    const organization = await addOrganization()
    const id = await add(organization, { name: 'Kim Roth' })
    const answers = await fixture.both.atOnce(10, (server, index) =>
      server.patch(
        organization,
        `/contacts/${id}`,
        index % 4 < 2 ? { name: `Name ${index}` } : { taxId: `Number ${index}` },
      ),
    )
    expect(statusesOf(answers)).toEqual({ 200: 10 })
    expect(await fixture.both.app.get(organization, `/contacts/${id}`)).toMatchObject({
      body: { name: expect.stringMatching(/^Name /), taxId: expect.stringMatching(/^Number /), version: 11 },
    })
    expect(await audits(organization, id)).toHaveLength(11)
  })

  test('that comes again under its key gets the first answer, also when the version has gone on', async () => {
    const organization = await addOrganization()
    const id = await add(organization, { name: 'Kim Roth' })
    const change = () =>
      fixture.both.app.patch(
        organization,
        `/contacts/${id}`,
        { name: 'Kim Rot' },
        { 'if-match': '"1"', 'idempotency-key': 'key-1' },
      )
    const first = await change()
    await fixture.both.app.patch(organization, `/contacts/${id}`, { name: 'Kim Roth' })
    const again = await change()
    expect(again).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' }, body: first.body })
    expect(await fixture.both.app.get(organization, `/contacts/${id}`)).toMatchObject({
      body: { name: 'Kim Roth', version: 3 },
    })
  })

  test('puts on record who made it and the fields that changed, before and after, and no others', async () => {
    const organization = fixture.shared
    const company = await add(organization, { name: 'Muster GmbH' }, '/companies')
    const id = await add(organization, { name: 'Kim Roth', taxId: '4711' })
    const address = { street: 'Weg 1', city: 'Berlin', country: 'DE' }
    await fixture.both.app.patch(organization, `/contacts/${id}`, { companyId: company, taxId: null, address })
    const [entry] = await audits(organization, id)
    expect(entry).toMatchObject({
      actor: { type: 'api_key', id: expect.any(String) },
      action: 'contact.change',
      subject: { type: 'contact', id },
    })
    expect(entry?.data).toEqual({
      before: { companyId: null, taxId: '4711', address: null },
      after: { companyId: company, taxId: null, address: { ...address, postalCode: null } },
    })
  })

  test('that says what is there already changes nothing and leaves no row', async () => {
    const organization = fixture.shared
    const address = { street: 'Weg 1' }
    const id = await add(organization, { name: 'Kim Roth', address })
    for (const change of [{}, { name: 'Kim Roth', taxId: null, companyId: null }, { address }]) {
      expect(await fixture.both.app.patch(organization, `/contacts/${id}`, change)).toMatchObject({
        status: 200,
        body: { version: 1 },
      })
    }
    expect(await audits(organization, id)).toHaveLength(1)
  })

  test.each([
    { email: 'kim@muster.example' },
    { type: 'company' },
    { name: null },
    { name: ' ' },
    { address: { country: 'Germany' } },
  ])('of what cannot be changed, %j, is refused and not passed over', async (change) => {
    const organization = fixture.shared
    const id = await add(organization, { name: 'Kim Roth' })
    expect(await fixture.both.app.patch(organization, `/contacts/${id}`, change)).toMatchObject({
      status: 422,
      body: { code: 'invalid' },
    })
  })

  test('of another organisation’s contact finds none', async () => {
    const [ours, theirs] = [await addOrganization(), await addOrganization()]
    const id = await add(theirs, { name: 'Kim Roth', points: [phone] })
    const detail = await fixture.both.app.get(theirs, `/contacts/${id}`)
    const [point] = detail.body['points'] as { id: string }[]
    const calls = [
      fixture.both.app.get(ours, `/contacts/${id}`),
      fixture.both.app.get(ours, `/contacts/${id}/activity`),
      fixture.both.app.patch(ours, `/contacts/${id}`, { name: 'Kim Rot' }),
      fixture.both.app.post(ours, `/contacts/${id}/points`, phone),
      fixture.both.app.post(ours, `/contacts/${id}/points/${point?.id}/remove`),
      fixture.both.app.post(ours, `/contacts/${ours.contactId}/points/${point?.id}/remove`),
      fixture.both.app.post(ours, `/contacts/${id}/notes`, { text: 'Called.' }),
    ]
    for (const answer of await Promise.all(calls))
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await fixture.both.app.get(theirs, `/contacts/${id}`)).toMatchObject({ body: detail.body })
  })
})

describe('a company', () => {
  test('has people, who show it; a company and a person are no company of anybody', async () => {
    const organization = await addOrganization()
    const company = await add(organization, { name: 'Muster GmbH' }, '/companies')
    const person = await add(organization, { name: 'Kim Roth', companyId: company })
    const detail = await fixture.both.app.get(organization, `/contacts/${person}`)
    expect(detail.body).toMatchObject({
      companyId: company,
      company: { id: company, name: 'Muster GmbH' },
      balances: [],
    })
    const people = await fixture.both.app.get(organization, `/contacts?companyId=${company}`)
    expect(people.body).toMatchObject({ items: [{ id: person }], nextCursor: null })
    for (const body of [
      { name: 'Robin', companyId: person },
      { name: 'Sub GmbH', type: 'company', companyId: company },
      { name: 'Robin', companyId: fixture.office.newId() },
    ]) {
      const answer = await fixture.both.app.post(organization, '/contacts', body)
      expect(answer).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/^companyId: /) } })
    }
  })

  test('of another organisation cannot be named, neither for a new contact nor by a change', async () => {
    const [ours, theirs] = [await addOrganization(), await addOrganization()]
    const company = await add(theirs, { name: 'Muster GmbH' }, '/companies')
    const id = await add(ours, { name: 'Kim Roth' })
    const refusal = { status: 422, body: { code: 'invalid', detail: `companyId: there is no company ${company}` } }
    expect(await fixture.both.app.post(ours, '/contacts', { name: 'Kim', companyId: company })).toMatchObject(refusal)
    expect(await fixture.both.app.patch(ours, `/contacts/${id}`, { companyId: company })).toMatchObject(refusal)
  })

  test('stands among the companies, and a person does not', async () => {
    const organization = await addOrganization()
    const company = await add(organization, { name: 'Acme AG', points: [phone] }, '/companies')
    const person = await add(organization, { name: 'Acme Fan', email: 'fan@acme.example' })
    const idsOf = async (path: string) =>
      ((await fixture.both.app.get(organization, path)).body['items'] as { id: string }[]).map(({ id }) => id)
    expect(await idsOf('/companies')).toEqual([company, organization.contactId])
    expect(await idsOf('/contacts')).toEqual([person, company, organization.contactId])
    expect(await idsOf('/companies?q=acme')).toEqual([company])
    expect(await idsOf('/companies?q=fan@acme.example')).toEqual([])
    expect(await fixture.both.app.get(organization, `/companies/${company}`)).toMatchObject({
      status: 200,
      body: { type: 'company' },
    })
    for (const path of [`/companies/${person}`, `/companies/${person}/activity`]) {
      expect(await fixture.both.app.get(organization, path)).toMatchObject({ status: 404 })
    }
    expect(await fixture.both.app.patch(organization, `/companies/${person}`, { name: 'Acme' })).toMatchObject({
      status: 404,
    })
    expect(await fixture.both.app.patch(organization, `/companies/${company}`, { name: 'Acme SE' })).toMatchObject({
      body: { name: 'Acme SE', version: 2 },
    })
  })

  test('shows what it owes, per currency', async () => {
    const organization = await addOrganization()
    await organization.issueInvoice({ amountMinor: 10_000n, currency: 'EUR' })
    await organization.issueInvoice({ amountMinor: 500n, currency: 'USD' })
    const { body } = await fixture.both.app.get(organization, `/companies/${organization.contactId}`)
    expect(body['balances']).toEqual([
      { currency: 'EUR', open: { amountMinor: 10_000, currency: 'EUR' }, credit: { amountMinor: 0, currency: 'EUR' } },
      { currency: 'USD', open: { amountMinor: 500, currency: 'USD' }, credit: { amountMinor: 0, currency: 'USD' } },
    ])
  })
})

describe('a search', () => {
  async function fill() {
    const organization = await addOrganization()
    for (const name of ['Müller A', 'MÜLLER B', 'mu\u0308ller c', 'Muller', 'Müll']) await add(organization, { name })
    await add(organization, { name: 'Kim Roth', points: [{ kind: 'iban', value: 'DE89 3704 0044 0532 0130 00' }] })
    return organization
  }

  async function namesIn(organization: TestOrganization, query: string) {
    const { body } = await fixture.both.app.get(organization, `/contacts?${query}`)
    return { names: (body['items'] as { name: string }[]).map(({ name }) => name), next: body['nextCursor'] }
  }

  test('finds names by their beginning, in any spelling, in their order, and pages without a gap or a twin', async () => {
    const organization = await fill()
    const q = `q=${encodeURIComponent('müLLER')}`
    expect(await namesIn(organization, q)).toEqual({ names: ['Müller A', 'MÜLLER B', 'mu\u0308ller c'], next: null })
    const names: string[] = []
    let cursor: unknown = null
    do {
      const page = await namesIn(organization, `${q}&limit=1${cursor === null ? '' : `&cursor=${cursor}`}`)
      names.push(...page.names)
      cursor = page.next
    } while (cursor !== null)
    expect(names).toEqual(['Müller A', 'MÜLLER B', 'mu\u0308ller c'])
  })

  test('finds a contact point exactly, in any spelling, and else takes the text for a name', async () => {
    const organization = await fill()
    expect((await namesIn(organization, 'q=de89370400440532013000')).names).toEqual(['Kim Roth'])
    await add(organization, { name: 'x:1 Ltd' })
    expect((await namesIn(organization, 'q=x:1')).names).toEqual(['x:1 Ltd'])
    expect((await namesIn(organization, 'q=Nobody')).names).toEqual([])
    expect((await namesIn(organization, 'q=a%00b')).names).toEqual([])
  })

  test('refuses a cursor that is no contact, and a company beside a text', async () => {
    const organization = await fill()
    for (const query of [`q=m&cursor=${fixture.office.newId()}`, `q=m&companyId=${fixture.office.newId()}`]) {
      expect(await fixture.both.app.get(organization, `/contacts?${query}`)).toMatchObject({
        status: 422,
        body: { code: 'invalid' },
      })
    }
  })
})

describe('a time line', () => {
  test('has a note once, however often its request comes at once and later, with its author and an audit row', async () => {
    const organization = await addOrganization()
    const id = await add(organization, { name: 'Kim Roth' })
    const send = (server: InProcessApp) =>
      server.post(
        organization,
        `/contacts/${id}/notes`,
        { text: 'Called, comes back.' },
        { 'idempotency-key': 'note-1' },
      )
    const answers = await fixture.both.atOnce(10, send)
    answers.push(await send(fixture.both.app))
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] !== 'true')).toHaveLength(1)
    for (const answer of answers) expect(answer).toMatchObject({ status: 201, body: answers[0]?.body ?? {} })
    const { body } = await fixture.both.app.get(organization, `/contacts/${id}/activity`)
    expect(body).toMatchObject({
      items: [
        {
          id: answers[0]?.body['id'],
          type: 'note',
          subject: { type: 'contact', id },
          data: { text: 'Called, comes back.', author: { type: 'api_key' } },
        },
      ],
      nextCursor: null,
    })
    const event = await fixture.both.app.get(organization, `/events/${answers[0]?.body['eventId']}`)
    expect(event.body).toMatchObject({
      kind: 'note.add',
      copies: 11,
      effects: [{ type: 'activity', id: answers[0]?.body['id'], data: { kind: 'note' } }],
    })
    expect(await audits(organization, id)).toMatchObject([
      { action: 'note.add', data: { after: { activityId: answers[0]?.body['id'] } } },
      { action: 'contact.create' },
    ])
  })

  test('has two notes of the same words where two requests wrote them', async () => {
    const organization = await addOrganization()
    for (const _ of [1, 2])
      await fixture.both.app.post(organization, `/contacts/${organization.contactId}/notes`, { text: 'Called.' })
    const { body } = await fixture.both.app.get(organization, `/contacts/${organization.contactId}/activity`)
    expect(body['items']).toHaveLength(2)
  })

  test('is read newest first, page by page, each line once, and a company has its own lines', async () => {
    const organization = await addOrganization()
    const company = organization.contactId
    const person = await add(organization, { name: 'Kim Roth', companyId: company })
    const written: unknown[] = []
    for (let index = 0; index < 5; index += 1) {
      const answer = await fixture.both.app.post(organization, `/contacts/${company}/notes`, { text: `Note ${index}` })
      written.push(answer.body['id'])
    }
    await fixture.both.app.post(organization, `/contacts/${person}/notes`, { text: 'Of the person' })
    const read = await readPages(
      (page) => fixture.both.app.get(organization, `/companies/${company}/activity?${page}`),
      2,
    )
    expect(read).toEqual((written as string[]).toSorted().toReversed())
  })
})

describe('the audit', () => {
  test('is read newest first, page by page, and shows no other organisation’s entries', async () => {
    const [ours, theirs] = [await addOrganization(), await addOrganization()]
    const foreign = await add(theirs, { name: 'Kim Roth' })
    for (let index = 0; index < 3; index += 1) await add(ours, { name: `Contact ${index}` })
    const ids = await readPages((page) => fixture.both.app.get(ours, `/audit-entries?${page}`), 2)
    // One more tells how the organisation began.
    expect(ids).toHaveLength(4)
    expect(ids).toEqual([...new Set(ids)].toSorted().toReversed())
    expect(await audits(ours, foreign)).toEqual([])
  })

  test('shows a new contact with everything that was entered', async () => {
    const organization = await addOrganization()
    const id = await add(organization, { name: 'Kim Roth', email: 'kim@muster.example', taxId: '4711' })
    expect(await audits(organization, id)).toMatchObject([
      {
        action: 'contact.create',
        data: {
          before: {},
          after: { type: 'person', name: 'Kim Roth', taxId: '4711', points: [{ value: 'kim@muster.example' }] },
        },
      },
    ])
  })
})
