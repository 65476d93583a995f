/**
 * Trap 6: many identical calls at one moment, from several processes whose clocks are a day apart. Judge is a target that
 * knows no keys, so that every second request would be a second effect.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AttemptOutcome, failLeased, reserveLeased, type TargetCapability } from '../../src/index.ts'
import { type ChildOrder, keyOfChild, startChild } from '../support/attempt-child.ts'
import { findLeasedRow } from '../support/leased.ts'
import { createRegisterFixture } from '../support/register-fixture.ts'
import { type OutsideTarget, startTarget } from '../support/target.ts'

const fixture = createRegisterFixture()
let target: OutsideTarget
let ids = 0
let id = ''

beforeAll(async () => {
  target = await startTarget('neither')
})

afterAll(() => target.close())

beforeEach(() => {
  ids += 1
  id = `evt_${ids}`
})

const day = 86_400_000
const row = () => findLeasedRow(fixture.database.pool, id)

/** So many calls from so many processes, all at the moment when `go` is called. */
async function prepare(calls: number, processes: number, more: Partial<ChildOrder> = {}) {
  const children = await Promise.all(
    Array.from({ length: processes }, (_, index) =>
      startChild({
        ...{
          databaseUrl: fixture.database.url,
          targetUrl: target.url,
          capability: 'neither',
          id,
          calls: calls / processes,
        },
        clockOffsetMs: (index - 1) * day,
        ...more,
      }),
    ),
  )
  return {
    go() {
      for (const child of children) child.go()
    },
    outcomes: Promise.all(children.map((child) => child.outcomes)).then((all) => all.flat()),
  }
}

function count(outcomes: readonly AttemptOutcome[]): Record<string, number> {
  return Object.fromEntries(
    [...new Set(outcomes.map(({ outcome }) => outcome))]
      .toSorted()
      .map((kind) => [kind, outcomes.filter(({ outcome }) => outcome === kind).length]),
  )
}

/** Reserved by somebody who is gone, and its lease ends in a moment. */
async function abandon(capability: TargetCapability): Promise<void> {
  await reserveLeased(fixture.here.db, keyOfChild(id), { holder: randomUUID(), target: capability, leaseMs: 60_000 })
  await fixture.database.pool.query(
    `update einmal_events set lease_until = clock_timestamp() + interval '300 ms' where external_id = $1`,
    [id],
  )
}

describe('trap 6: identical calls at one moment, over processes whose clocks differ by days', () => {
  test.each([
    [2, 2],
    [16, 4],
    [100, 4],
    [500, 4],
  ])('%i calls of a new key from %i processes: one effect, and everybody else is told so', async (calls, processes) => {
    const burst = await prepare(calls, processes)
    burst.go()
    const outcomes = await burst.outcomes
    const { done, duplicate = 0, in_progress: busy = 0, ...others } = count(outcomes)
    expect({ done, rest: duplicate + busy, others }).toEqual({ done: 1, rest: calls - 1, others: {} })
    expect([target.requests(id), target.effects(id)]).toEqual([1, 1])
    expect(await row()).toMatchObject({ state: 'completed', attempt: 1, copies: calls })
  })

  test('200 calls while the lease of one who is gone comes to its end: one goes on, once', async () => {
    const burst = await prepare(200, 4, { capability: 'accepts_key', isPersistent: true })
    await abandon('accepts_key')
    burst.go()
    expect(count(await burst.outcomes)).toEqual({ done: 1, duplicate: 199 })
    expect(target.requests(id)).toBe(1)
    expect(await row()).toMatchObject({ state: 'completed', attempt: 2 })
  })

  test('200 calls while such a lease ends on a target that is neither: nobody goes on, and all are told', async () => {
    const burst = await prepare(200, 4, { isPersistent: true })
    await abandon('neither')
    burst.go()
    expect(count(await burst.outcomes)).toEqual({ unknown: 200 })
    expect(target.requests(id)).toBe(0)
  })

  test('200 calls while the next attempt of a failure comes due: one makes it, once', async () => {
    const burst = await prepare(200, 4, { isPersistent: true })
    const reserved = await reserveLeased(fixture.here.db, keyOfChild(id), { holder: randomUUID(), leaseMs: 60_000 })
    if (reserved.verdict !== 'reserved') throw new Error(reserved.verdict)
    await failLeased(fixture.here.db, reserved.held, { code: 'x', message: '' }, { retryAfterMs: 300 })
    burst.go()
    expect(count(await burst.outcomes)).toEqual({ done: 1, duplicate: 199 })
    expect(target.requests(id)).toBe(1)
    expect(await row()).toMatchObject({ state: 'completed', attempt: 2 })
  })

  test('60 calls while the one that came first is rolled back: one of them takes its place, once', async () => {
    const first = await startChild({
      ...{ databaseUrl: fixture.database.url, targetUrl: target.url, capability: 'neither', id },
      fault: { point: 'reserve.beforeCommit', signal: 'SIGSTOP' },
    })
    first.go()
    await first.untilStopped()
    const burst = await prepare(60, 3, { isPersistent: true })
    burst.go()
    await untilWaiting(40)
    first.kill()
    expect(count(await burst.outcomes)).toEqual({ done: 1, duplicate: 59 })
    expect(await first.outcomes).toEqual([])
    expect(target.requests(id)).toBe(1)
    expect(await row()).toMatchObject({ state: 'completed', attempt: 1 })
  })
})

/** A lock gives no signal to others, so this asks. Bounded by the time limit of the test. */
async function untilWaiting(many: number): Promise<void> {
  for (;;) {
    const { rows } = await fixture.database.pool.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if ((rows[0]?.waiting ?? 0) >= many) return
  }
}
