import { beforeEach, describe, expect, test } from 'vitest'
import { attempt, eventKey, KeyError, type KeylessPolicy, keylessKey, once } from '../src/index.ts'
import { createRegisterFixture } from './support/register-fixture.ts'

const fixture = createRegisterFixture(
  // Clocks a day apart: the window is the database's.
  { now: () => new Date('2026-11-30T12:00:00Z') },
  { now: () => new Date('2026-12-01T12:00:00Z') },
)
let count = 0
let text = ''

beforeEach(() => {
  count += 1
  text = `hello ${count}`
})

const policy: KeylessPolicy = {
  fields: ['email', 'text'],
  windowMs: 300_000,
  businessReason: 'a form sent twice within five minutes is a double click',
  reviewDate: new Date('2027-06-01T00:00:00Z'),
  version: 'v1',
}
const event = (more: object = {}) => ({
  ...{ scope: 'acme', source: 'form', kind: 'inquiry', policy },
  ...{ fields: { email: 'a@example.org', text, receivedAt: `2026-11-30T12:00:0${count % 10}Z` } },
  ...more,
})

/** As if the time since the window was opened had gone by. */
async function moveWindow(ms: number): Promise<void> {
  await fixture.database.pool.query(
    `update einmal_events_windows set opened_at = opened_at - $1::double precision * interval '1 millisecond'`,
    [ms],
  )
}

async function refusal(more: object) {
  const error = await keylessKey(fixture.here.db, event(more)).catch((thrown: unknown) => thrown)
  return error instanceof KeyError ? error.code : error
}

describe('an event without an id', () => {
  test('is the same event within the window of the first, whatever the times in it and the clocks around it', async () => {
    const keys = [
      await keylessKey(fixture.here.db, event()),
      await keylessKey(fixture.there.db, event({ fields: { text, email: 'a@example.org', receivedAt: 'later' } })),
      await keylessKey(fixture.here.db, event()),
    ]
    expect(new Set(keys.map(({ id }) => id)).size).toBe(1)
    const outcomes = []
    for (const key of keys) outcomes.push(await once(fixture.here.db, key, async () => ({})))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['done', 'duplicate', 'duplicate'])
  })

  test('is a new event after the window, which repetitions never make longer', async () => {
    const first = await keylessKey(fixture.here.db, event())
    for (let step = 0; step < 4; step += 1) {
      await moveWindow(70_000)
      expect((await keylessKey(fixture.there.db, event())).id).toBe(first.id)
    }
    await moveWindow(20_001)
    const second = await keylessKey(fixture.here.db, event())
    expect(second.id).not.toBe(first.id)
    expect((await keylessKey(fixture.there.db, event())).id).toBe(second.id)
    for (const key of [first, second]) {
      expect(await attempt(fixture.here.db, key, { perform: async () => ({}) })).toMatchObject({ outcome: 'done' })
    }
  })

  test('is another one with any other field, kind, source, scope or version of the policy', async () => {
    const variants = [
      event(),
      event({ fields: { email: 'b@example.org', text } }),
      event({ fields: { email: 'a@example.org', text: `${text}!` } }),
      event({ fields: { email: 'a@example.org&text=x', text } }),
      event({ policy: { ...policy, version: 'v2' } }),
      event({ kind: 'complaint' }),
      event({ source: 'other-form' }),
      event({ scope: 'other' }),
    ]
    const outcomes = []
    for (const each of variants)
      outcomes.push(await once(fixture.here.db, await keylessKey(fixture.here.db, each), async () => ({})))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(variants.map(() => 'done'))
  })

  test('at the end of a window opens one new one, however many come in that moment', async () => {
    const first = await keylessKey(fixture.here.db, event())
    await moveWindow(policy.windowMs)
    const keys = await Promise.all(
      Array.from({ length: 100 }, (_, index) => keylessKey((index % 2 ? fixture.here : fixture.there).db, event())),
    )
    expect(new Set(keys.map(({ id }) => id)).size).toBe(1)
    expect(keys[0]?.id).not.toBe(first.id)
  })

  test('uses nothing up before it is reserved: who dies in between leaves the name to the next', async () => {
    const given = await keylessKey(fixture.here.db, event())
    const next = await keylessKey(fixture.there.db, event())
    expect(next).toEqual(given)
    expect(await once(fixture.there.db, next, async () => ({}))).toMatchObject({ outcome: 'done' })
  })

  test('has a key that any other call takes as it is', async () => {
    const key = await keylessKey(fixture.here.db, event())
    expect(eventKey(key)).toEqual(key)
    expect(key).toMatchObject({
      scope: 'acme',
      source: 'form',
      kind: 'inquiry',
      id: expect.stringMatching(/^keyless:[0-9a-f]{64}:1$/),
    })
  })
})

describe('a policy is refused', () => {
  test('when it is made of times only, by their names or by their values', async () => {
    const onlyTimes = (fields: Record<string, unknown>) =>
      refusal({ fields, policy: { ...policy, fields: Object.keys(fields) } })
    for (const name of ['receivedAt', 'sent_at', 'timestamp', 'Date', 'bookedOn', 'event.time', 'created']) {
      expect(await onlyTimes({ [name]: 'x' })).toBe('time_stamp')
    }
    expect(await onlyTimes({ createdAt: 'x', when: 'y' })).toBe('time_stamp')
    expect(await onlyTimes({ a: '2026-03-02T10:00:00Z', b: 1_772_445_600 })).toBe('time_stamp')
    expect(await onlyTimes({ a: '2026-03-02' })).toBe('time_stamp')
    expect(await onlyTimes({ a: '2026-03-02', receivedAt: 'x' })).toBe('time_stamp')
    expect(await onlyTimes({ a: 'x', receivedAt: 'y' })).not.toBe('time_stamp')
  })

  test('without a reason, without a window, without fields, and past its review', async () => {
    const refused = (more: Partial<KeylessPolicy>) => refusal({ policy: { ...policy, ...more } })
    expect(await refused({ businessReason: ' ' })).toBe('no_reason')
    for (const windowMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(await refused({ windowMs })).toBe('no_window')
    expect(await refused({ fields: [] })).toBe('empty')
    for (const reviewDate of [new Date('2026-11-30T12:00:00Z'), new Date(Number.NaN)]) {
      expect(await refused({ reviewDate })).toBe('review_due')
    }
  })

  test('when a field is missing or names nothing, so that no two different events ever merge', async () => {
    const before = await countWindows()
    for (const fields of [
      {},
      { email: 'a@example.org' },
      { email: null, text },
      { email: '', text },
      { email: {}, text },
    ]) {
      expect(await refusal({ fields })).toBe('half_composite')
    }
    expect(await countWindows()).toBe(before)
  })
})

async function countWindows(): Promise<number> {
  const { rows } = await fixture.database.pool.query('select count(*)::int as count from einmal_events_windows')
  return rows[0]?.count
}
