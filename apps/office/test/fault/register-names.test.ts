/**
 * Traps 3, 4, 5 and 9 on the register over HTTP, over two servers: what the name of a thing may be, what it stands for, and
 * what no likeness makes one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../support/entrances.ts'
import { createTestOffice, type TestOffice, type TestOrganization } from '../support/office.ts'
import { endLease, readNotes, readWork, tell, tellRaw } from '../support/outside-work.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'
import { callApi, times } from '../support/storm.ts'

let office: TestOffice
let organization: TestOrganization
let other: TestOrganization
let pair: ServerPair
let calls = 0

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Names')
  other = await office.addOrganization('Others')
  pair = await startServerPair(office)
})

afterAll(async () => {
  await pair.stop()
  await office.close()
})

/** Each call goes to the other server than the one before it. */
function url(): string {
  calls += 1
  return pair.url(calls)
}

const work = (more: object) => ({ source: 'shop', kind: 'refund.send', ...more })
const reserve = (more: object, key?: string) => tell(url(), organization, 'reserve', work(more), key)
const say = (word: string, body: object) => tell(url(), organization, word, body)
const row = (id: string) => readWork(office, organization, id)

async function hold(more: object): Promise<Record<string, unknown>> {
  const { status, body } = await reserve(more)
  expect({ status, body }).toMatchObject({ status: 201 })
  return body
}

describe('trap 3: the same key with other content', () => {
  const content = { amount: 10, currency: 'EUR', to: { iban: 'DE1', name: 'Kim' } }
  const sameMeaning = [
    '{"to":{"name":"Kim","iban":"DE1"},"currency":"EUR","amount":10}',
    '{ "amount": 10.0, "currency": "EUR", "to": { "iban": "DE1", "name": "Kim" } }',
    '{"amount":1e1,"currency":"\\u0045UR","to":{"iban":"DE1","name":"Kim"}}',
  ]
  const others: [string, object, string[]][] = [
    ['another amount', { ...content, amount: 11 }, ['amount']],
    ['the amount as text', { ...content, amount: '10' }, ['amount']],
    ['an extra blank', { ...content, currency: 'EUR ' }, ['currency']],
    ['a field deep inside', { ...content, to: { iban: 'DE2', name: 'Kim' } }, ['to']],
    ['a field less', { amount: 10, currency: 'EUR' }, ['to']],
    ['a field more', { ...content, note: '' }, ['note']],
    ['a null for a value', { ...content, amount: null, currency: 'USD' }, ['amount', 'currency']],
  ]

  const moments: [string, (held: Record<string, unknown>, id: string) => Promise<unknown>, string, number, string?][] =
    [
      ['while somebody is at it', async () => undefined, 'in_progress', 409, 'in_progress'],
      ['after it was done', ({ token }) => say('complete', { token, answer: 'first' }), 'completed', 200],
      [
        'after it failed',
        ({ token }) => say('fail', { token, error: { code: 'x' }, retryAfterSeconds: 900 }),
        'failed',
        409,
        'not_due',
      ],
      ['after it failed and is due', ({ token }) => say('fail', { token, error: { code: 'x' } }), 'failed', 201],
      ['when nobody knows', ({ token }) => say('unknown', { token }), 'unknown', 409, 'outcome_unknown'],
      ['when its lease is over', (_held, id) => endLease(office, organization, id), 'in_progress', 201],
    ]

  test.each(moments)(
    '%s: is refused with the fields that differ, and changes nothing; the same in other words is a copy',
    async (title, pass, state, status, code) => {
      const id = `content ${title}`
      const held = await hold({ id, content, target: 'accepts_key' })
      await pass(held, id)
      const before = await row(id)
      expect(before?.state).toBe(state)

      for (const [, otherContent, differing] of others) {
        const refused = await reserve({ id, content: otherContent, target: 'accepts_key' })
        expect(refused).toMatchObject({ status: 422, body: { code: 'content_differs', differing } })
        expect(JSON.stringify(refused.body)).not.toContain('first')
      }

      expect(await row(id)).toEqual({ ...before, copies: 1 + others.length })
      const answers: Answer[] = []
      for (const text of sameMeaning) {
        const body = `{"content":${text},"id":${JSON.stringify(id)},"kind":"refund.send","source":"shop","target":"accepts_key"}`
        answers.push(await tellRaw(url(), organization, 'reserve', body))
      }
      expect(answers[0]).toMatchObject({ status, body: code === undefined ? {} : { code } })
      const then = status === 201 ? { status: 409, body: { code: 'in_progress' } } : answers[0]
      for (const each of answers.slice(1)) expect(each).toMatchObject({ status: then?.status })
      if (state === 'completed') expect(answers.map(({ body }) => body['answer'])).toEqual(['first', 'first', 'first'])
    },
  )

  test('and an answer nested too deep to be kept is refused, and is no fault', async () => {
    const { token } = await hold({ id: 'too deep' })
    const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
    for (const word of ['complete', 'unknown']) {
      const body = `{"token":${JSON.stringify(token)},"answer":${deep}}`
      expect(await tellRaw(url(), organization, word, body)).toMatchObject({ status: 422, body: { code: 'invalid' } })
    }
  })

  test('and the answer to it is told to every copy as it came, whatever is in it', async () => {
    const id = 'whatever'
    const { token } = await hold({ id })
    const text = '{"big":1e21,"nul":"a\\u0000b","half":"\\ud800","deep":[[[{"a":null}]]],"money":10.50}'
    const body = `{"token":${JSON.stringify(token)},"answer":${text}}`
    expect(await tellRaw(url(), organization, 'complete', body)).toMatchObject({ status: 200 })
    expect(await tellRaw(url(), organization, 'complete', body)).toMatchObject({ status: 200 })
    expect((await reserve({ id })).body['answer']).toEqual(JSON.parse(text))
  })

  test('as one text it is compared byte by byte', async () => {
    await hold({ id: 'text', fingerprint: '10 EUR' })
    for (const fingerprint of ['10.0 EUR', '10 eur', '11 EUR']) {
      expect(await reserve({ id: 'text', fingerprint })).toMatchObject({ status: 422, body: { differing: null } })
    }
    expect(await reserve({ id: 'text', fingerprint: '10 EUR' })).toMatchObject({
      status: 409,
      body: { code: 'in_progress' },
    })
  })

  test('is said in one way: as a text beside fields, one of the two would not be compared', async () => {
    const refused = await reserve({ id: 'both', fingerprint: 'a', content: { amount: 10 } })
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid' } })
    expect(await row('both')).toBeUndefined()
  })

  test.each([
    ['a number that JSON readers round', '{"amount":9007199254740993}'],
    ['a number without end', '{"amount":1e999}'],
    ['half a character', '{"name":"\\ud800"}'],
    ['more nesting than a document has', `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
  ])('that has no exact form is refused, with or without an Idempotency-Key: %s', async (title, text) => {
    const body = `{"source":"shop","kind":"refund.send","id":${JSON.stringify(title)},"content":${text}}`
    expect(await tellRaw(url(), organization, 'reserve', body)).toMatchObject({
      status: 422,
      body: { code: 'invalid' },
    })
    const named = await tellRaw(url(), organization, 'reserve', body, { 'idempotency-key': 'run' })
    expect(named).toMatchObject({ status: 422, body: { code: 'invalid' } })
    expect(await row(title)).toBeUndefined()
  })

  test('may be a text that no column keeps', async () => {
    await hold({ id: 'nul', fingerprint: 'a\0b' })
    expect(await reserve({ id: 'nul', fingerprint: 'a\0c' })).toMatchObject({ status: 422 })
  })
})

describe('trap 4: a missing, half or poisoned key', () => {
  const poisoned: unknown[] = [
    ...[
      undefined,
      null,
      '',
      '   ',
      '\t\n',
      'undefined',
      'null',
      'NaN',
      'None',
      ' [object Object] ',
      [],
      ['a'],
      {},
      true,
    ],
    ...[false, 1.5, { order: null }, { order: 'a', line: '' }, { order: { id: 'a' } }, 'a\0b', '2026-11-30T10:00:00Z'],
    ...['1764500000', 1_764_500_000_000, { at: '2026-11-30T10:00:00Z' }, 'x'.repeat(1_025), 'ä'.repeat(513)],
  ]

  test('300 things without a usable id are 300 refusals that say why, and no row', async () => {
    const answers = await Promise.all(
      times(300, (index) =>
        tell(url(), organization, 'reserve', { source: 'nameless', kind: 'x', id: poisoned[index % poisoned.length] }),
      ),
    )
    for (const [index, { status, body }] of answers.entries()) {
      expect([index, status, body['code']]).toEqual([index, 422, 'key_unusable'])
      expect(body).toMatchObject({ reason: expect.any(String), part: expect.any(String) })
    }
    const { rows } = await office.owner.query(`select from events where source = 'external/nameless'`)
    expect(rows).toEqual([])
  })

  test.each([
    { source: undefined },
    { source: '  ' },
    { source: 'undefined' },
    { source: ' null ' },
    { kind: undefined },
    { kind: 'NaN' },
    { kind: 'label.print#2' },
  ])('a source or kind that names nothing is refused: %o', async (more) => {
    expect(await reserve({ id: 'named', ...more })).toMatchObject({ status: 422 })
    expect(await row('named')).toBeUndefined()
    const { source = 'shop', kind = 'x' } = { ...work({}), ...more } as Record<string, string>
    const window = { seconds: 60, reason: 'a double click', reviewOn: '2099-01-01' }
    const nameless = { source, kind, fields: { mail: 'kim@example.com' }, window }
    if (Object.values(more)[0] !== undefined) expect(await say('reserve', nameless)).toMatchObject({ status: 422 })
  })
})

describe('trap 5: what a key is made of, and whose it is', () => {
  test('separators, case, Unicode forms, long ids and large numbers keep things apart, in the register and at the target', async () => {
    const names: object[] = [
      { source: 'a:b', kind: 'c', id: '1' },
      { source: 'a', kind: 'b:c', id: '1' },
      { source: 'a', kind: 'b', id: 'c:1' },
      { source: 'a%3Ab', kind: 'c', id: '1' },
      { source: 'a', kind: 'b', id: { x: '1&y=2' } },
      { source: 'a', kind: 'b', id: { x: '1', y: '2' } },
      { source: 'a', kind: 'b', id: { 'x=1&y': '2' } },
      { source: 'a', kind: 'b', id: 'Straße' },
      { source: 'a', kind: 'b', id: 'STRASSE' },
      { source: 'a', kind: 'b', id: 'Strasse' },
      { source: 'a', kind: 'b', id: 'caf\u00e9' },
      { source: 'a', kind: 'b', id: 'cafe\u0301' },
      { source: 'a', kind: 'b', id: ' padded' },
      { source: 'a', kind: 'b', id: 'padded' },
      { source: 'a', kind: 'b', id: '9007199254740992' },
      { source: 'a', kind: 'b', id: '9007199254740993' },
      { source: 'a', kind: 'b', id: '01' },
      { source: 'a', kind: 'b', id: 1 },
      { source: 'a', kind: 'b', id: `${'x'.repeat(1_000)}1` },
      { source: 'a', kind: 'b', id: `${'x'.repeat(1_000)}2` },
      { source: 'A', kind: 'b', id: 'padded' },
      { source: 'a', kind: 'B', id: 'padded' },
    ]
    const answers = await Promise.all(names.map((name) => tell(url(), organization, 'reserve', name)))
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201))
    expect(new Set(answers.map(({ body }) => body['eventId'])).size).toBe(names.length)
    expect(new Set(answers.map(({ body }) => body['idempotencyKey'])).size).toBe(names.length)
  })

  test('a number that JSON readers round is refused, with or without an Idempotency-Key', async () => {
    const body = '{"source":"shop","kind":"x","id":9007199254740993}'
    expect(await tellRaw(url(), organization, 'reserve', body)).toMatchObject({
      status: 422,
      body: { code: 'key_unusable' },
    })
    const named = await tellRaw(url(), organization, 'reserve', body, { 'idempotency-key': 'run' })
    expect(named).toMatchObject({ status: 422, body: { code: 'invalid' } })
  })

  test('a token that somebody put together, of the right thing and attempt, is nobody’s', async () => {
    const [mine, theirs] = [await hold({ id: 'mine' }), await hold({ id: 'theirs' })]
    const bytes = Buffer.from(String(mine['token']), 'base64url')
    Buffer.from(String(theirs['token']), 'base64url').copy(bytes, 0, 0, 16)
    const token = bytes.toString('base64url')
    const before = await row('theirs')
    const lost = { status: 409, body: { code: 'lease_lost' } }
    expect(await say('heartbeat', { token, leaseSeconds: 900 })).toMatchObject(lost)
    for (const word of ['complete', 'unknown']) expect(await say(word, { token })).toMatchObject(lost)
    expect(await say('fail', { token, error: { code: 'x' } })).toMatchObject(lost)
    expect(await row('theirs')).toEqual(before)
    const kept = ['late_completed', 'late_unknown', 'late_failed'].map((type) => ({ type, attempt: 1 }))
    expect(await readNotes(url(), organization, String(theirs['eventId']))).toMatchObject(kept)
  })

  test('another organisation has things of the same name, and no token, id or decision reaches across', async () => {
    const id = 'shared-name'
    const held = await hold({ id, content: { secret: 'of the first' } })
    const { token, eventId } = held
    const theirs = await tell(url(), other, 'reserve', work({ id, content: { secret: 'of the other' } }))
    expect(theirs).toMatchObject({ status: 201, body: { attempt: 1, copies: 1 } })
    expect(theirs.body['eventId']).not.toBe(eventId)
    expect(theirs.body['idempotencyKey']).not.toBe(held['idempotencyKey'])
    const before = await row(id)

    const asOther = (word: string, body: object) => tell(url(), other, word, { token, ...body })
    const lost = { status: 409, body: { code: 'lease_lost', state: null } }
    expect(await asOther('complete', { answer: 'stolen' })).toMatchObject(lost)
    expect(await asOther('fail', { error: { code: 'x' }, final: true })).toMatchObject(lost)
    expect(await asOther('unknown', {})).toMatchObject(lost)
    expect(await asOther('heartbeat', {})).toMatchObject(lost)
    const notThere = { status: 404, body: { code: 'not_found' } }
    expect(await callApi(url(), other, { method: 'GET', path: `/events/${eventId}` })).toMatchObject(notThere)
    const decision = { outcome: 'completed', note: 'mine now' }
    expect(await callApi(url(), other, { path: `/events/${eventId}/resolve`, body: decision })).toMatchObject(notThere)

    expect(await row(id)).toEqual(before)
    expect(await readNotes(url(), organization, String(eventId))).toEqual([])
    // Their own thing of this name is what a decision of theirs is about.
    await tell(url(), other, 'unknown', { token: theirs.body['token'] })
    expect(await tell(url(), other, 'resolve', { key: work({ id }), ...decision })).toMatchObject({ status: 200 })
    expect(await row(id)).toEqual(before)
    expect(await say('complete', { token, answer: 'ours' })).toMatchObject({ status: 200 })
    expect((await tell(url(), other, 'reserve', work({ id }))).body).toMatchObject({ duplicate: true, answer: null })
  })
})

describe('trap 9: identity, not likeness; and what was undone', () => {
  const content = { amount: 10, customer: 'Kim' }

  test('two ids with one content are two things', async () => {
    const [first, second] = [await hold({ id: 'twin-1', content }), await hold({ id: 'twin-2', content })]
    expect(second['eventId']).not.toBe(first['eventId'])
    expect(second['idempotencyKey']).not.toBe(first['idempotencyKey'])
  })

  test('a copy after a reported failure is never told that it succeeded', async () => {
    const id = 'reported'
    const { token } = await hold({ id })
    await say('fail', { token, error: { code: 'no_paper', message: 'Out of paper' }, retryAfterSeconds: 900 })
    const failed = { error: { code: 'no_paper', message: 'Out of paper' } }
    expect(await reserve({ id })).toMatchObject({ status: 409, body: { code: 'not_due', ...failed } })
    await office.owner.query(`update events set next_attempt_at = clock_timestamp() where external_id = $1`, [id])
    const { token: second } = await hold({ id })
    await say('fail', { token: second, error: failed.error, final: true })
    expect(await reserve({ id })).toMatchObject({ status: 409, body: { code: 'failed_for_good', ...failed } })
    expect(await row(id)).toMatchObject({ state: 'failed', attempt: 2, answer: null })
  })

  test('what is done is done again only on purpose, and a second wish under one key is the first', async () => {
    const id = 'torn'
    const { token } = await hold({ id })
    const wish = (key: string) =>
      callApi(url(), organization, { path: '/register/repeat', body: { key: work({ id }), reason: 'torn' }, key })
    expect(await wish('too early')).toMatchObject({ status: 409, body: { code: 'nothing_to_repeat' } })
    await say('complete', { token, answer: 'one' })
    const opened = await Promise.all(times(6, () => wish('one wish')))
    expect(new Set(opened.map(({ body }) => body['generation']))).toEqual(new Set([2]))
    expect(await wish('another wish')).toMatchObject({ status: 201, body: { generation: 3 } })
    const again = await hold({ id, generation: 2 })
    expect(await say('complete', { token: again['token'], answer: 'two' })).toMatchObject({ status: 200 })
    expect((await reserve({ id })).body).toMatchObject({ duplicate: true, answer: 'one' })
    expect((await reserve({ id, generation: 2 })).body).toMatchObject({ duplicate: true, answer: 'two' })
  })
})
