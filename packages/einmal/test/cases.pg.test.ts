/** Faults that others had in public, on the library, each by its id. The judge is the target. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  attempt,
  compositeId,
  heartbeat,
  type LeasedReserved,
  once,
  purge,
  reserveLeased,
  retentionFor,
  sweep,
  type TargetCapability,
} from '../src/index.ts'
import { countEffects } from './support/database.ts'
import { endLease, findLeasedRow, makeDue, makeOld } from './support/leased.ts'
import { createRegisterFixture } from './support/register-fixture.ts'
import { performAt, startTargets, type Targets } from './support/target.ts'

const fixture = createRegisterFixture({ memory: true })
let targets: Targets

beforeAll(async () => {
  targets = await startTargets()
})

afterAll(async () => {
  await targets.close()
})

const key = (id: string, scope = 'acme') => ({ scope, source: 'shop', kind: 'order.create', id })
const row = (id: string) => findLeasedRow(fixture.database.pool, id)

/** A call of one of two processes. */
function call(id: string, capability: TargetCapability = 'accepts_key', place = 0) {
  const { db } = place % 2 === 0 ? fixture.here : fixture.there
  return attempt(db, key(id), performAt(targets[capability].url, capability))
}

/** A process that reserved and died, before its effect or after it. */
async function died(id: string, capability: TargetCapability, how: { afterEffect: boolean }): Promise<LeasedReserved> {
  const arrival = { holder: randomUUID(), leaseMs: 60_000, target: capability }
  const reserved = (await reserveLeased(fixture.here.db, key(id), arrival)) as LeasedReserved
  const { eventId, idempotencyKey } = reserved
  const performing = {
    ...{ key: { ...key(id), generation: 1 }, eventId, idempotencyKey, attempt: 1 },
    ...{ signal: new AbortController().signal, stillHeld: async () => undefined },
  }
  if (how.afterEffect) await performAt(targets[capability].url, capability).perform(performing)
  return reserved
}

test('IDEM-01: a key whose process died is in progress until its lease ends, and then one of many goes on', async () => {
  await died('k-1', 'accepts_key', { afterEffect: false })
  for (const place of [0, 1]) expect(await call('k-1', 'accepts_key', place)).toMatchObject({ outcome: 'in_progress' })
  expect(targets.accepts_key.effects('k-1')).toBe(0)
  await endLease(fixture.database.pool, 'k-1')
  const outcomes = await Promise.all(Array.from({ length: 16 }, (_, place) => call('k-1', 'accepts_key', place)))
  expect(outcomes.filter(({ outcome }) => outcome === 'done')).toMatchObject([{ attempt: 2 }])
  expect(targets.accepts_key.effects('k-1')).toBe(1)
})

describe('IDEM-03: a process died after the target did it', () => {
  test.each([
    ['accepts_key', 'done'],
    ['searchable', 'done'],
    ['neither', 'unknown'],
  ] as const)('and the target is %s: %s, with one effect', async (capability, outcome) => {
    const id = `t-9-${capability}`
    await died(id, capability, { afterEffect: true })
    await endLease(fixture.database.pool, id)
    expect(await call(id, capability)).toMatchObject({ outcome })
    expect(targets[capability].effects(id)).toBe(1)
  })
})

test('IDEM-04, IDEM-23: what failed in passing is done by the next attempt, and is a duplicate from then on', async () => {
  targets.accepts_key.loseAnswers(1)
  expect(await call('k-23')).toMatchObject({ outcome: 'failed', isFinal: false })
  expect(await call('k-23')).toMatchObject({ outcome: 'failed', attempt: 1 })
  await makeDue(fixture.database.pool, 'k-23')
  expect(await call('k-23')).toMatchObject({ outcome: 'done', attempt: 2 })
  expect(await call('k-23')).toMatchObject({ outcome: 'duplicate' })
  expect(targets.accepts_key.effects('k-23')).toBe(1)
})

test('IDEM-09: the order of fields is no content, that of a list is, and a number is no text', async () => {
  const reserve = (fields: Record<string, unknown>) =>
    reserveLeased(fixture.there.db, key('k-9'), { holder: randomUUID(), leaseMs: 60_000, fields })
  const items = [
    { sku: 'x', count: 1 },
    { sku: 'y', count: 2 },
  ]
  await reserve({ amount: 10, items })
  const reordered = { items: [{ count: 1, sku: 'x' }, items[1]], amount: 10.0 }
  expect(await reserve(reordered)).toMatchObject({ verdict: 'in_progress' })
  expect(await reserve({ amount: 10, items: items.toReversed() })).toMatchObject({ verdict: 'conflict' })
  expect(await reserve({ amount: '10', items })).toMatchObject({ verdict: 'conflict', differing: ['amount'] })
})

test('IDEM-17, IDEM-18: ids beyond 2^53 stay apart, and half of a composite id names nothing', async () => {
  for (const id of ['9007199254740993', '9007199254740992']) expect(await call(id)).toMatchObject({ outcome: 'done' })
  expect(() => compositeId({ account: 'a', line: null })).toThrow(expect.objectContaining({ code: 'half_composite' }))
  await expect(call(compositeId({ account: 'a:b', line: 'c' }))).resolves.toMatchObject({ outcome: 'done' })
  await expect(call(compositeId({ account: 'a', line: 'b:c' }))).resolves.toMatchObject({ outcome: 'done' })
})

test('IDEM-21: what comes again after 2, 20 and 400 days is a duplicate, also after its details were forgotten', async () => {
  const id = 'evt_21'
  const book = () =>
    once(fixture.here.db, key(id), async (tx) => {
      await tx.query('insert into effects (id) values ($1)', [id])
      return undefined
    })
  await book()
  for (const age of ['2 days', '18 days', '380 days']) {
    await makeOld(fixture.database.pool, id, age)
    expect(await book()).toMatchObject({ outcome: 'duplicate' })
    await makeOld(fixture.database.pool, id, age)
    const days = 86_400_000
    const retention = retentionFor({ providerRetryMs: days, manualResendMs: 30 * days, longestOutageMs: days })
    await purge(fixture.there.db, 'acme', { olderThanMs: 32 * days, retention })
  }
  expect(await row(id)).toBe(undefined)
  expect(await book()).toMatchObject({ outcome: 'duplicate', remembered: true })
  expect(await countEffects(fixture.database.pool, id)).toBe(1)
})

test('IDEM-25: a recovery takes nothing from a process that lives and says so', async () => {
  const { held } = await died('k-25', 'accepts_key', { afterEffect: false })
  expect(await heartbeat(fixture.here.db, held, { leaseMs: 60_000 })).toMatchObject({ outcome: 'held' })
  const { source, kind } = key('')
  const handlers = [{ source, kind, ...performAt<never>(targets.accepts_key.url, 'accepts_key') }]
  expect(await sweep(fixture.there.db, 'acme', { handlers })).toMatchObject({ attempts: [] })
  expect([targets.accepts_key.effects('k-25'), await row('k-25')]).toMatchObject([0, { state: 'in_progress' }])
})

test('AUTO-01: one event that reaches two processes at the same moment, 100 times, is 100 effects and no error', async () => {
  for (let round = 1; round <= 100; round += 1) {
    const outcomes = await Promise.all([call(`ev_${round}`, 'accepts_key', 0), call(`ev_${round}`, 'accepts_key', 1)])
    expect(outcomes.filter(({ outcome }) => outcome === 'done')).toHaveLength(1)
    expect(targets.accepts_key.requests(`ev_${round}`)).toBe(1)
  }
})

test('AUTO-10: a new change of the same thing is done, and a late copy of an old one never is', async () => {
  for (const id of ['ev_a', 'ev_b']) expect(await call(id)).toMatchObject({ outcome: 'done' })
  await makeOld(fixture.database.pool, 'ev_a', '2 days')
  expect(await call('ev_a')).toMatchObject({ outcome: 'duplicate' })
  expect(targets.accepts_key.requests('ev_a')).toBe(1)
})
