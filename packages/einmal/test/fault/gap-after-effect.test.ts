/**
 * Trap 2: the gap between the effect and the word of it. A process is killed at every named point, its answer is lost, its
 * record fails, its commit goes through unheard; on three kinds of target. Judge is the target: one effect, or one at most
 * and the state `unknown` with a person to ask.
 */
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { attempt, resolve, sweep } from '../../src/index.ts'
import { type CrashPoint, crashPoints, onCrashPoint } from '../../src/testing/index.ts'
import { type Open, pgPipelined, pgPlain } from '../support/adapters.ts'
import { keyOfChild, startChild } from '../support/attempt-child.ts'
import { endLease, findLeasedRow, makeDue } from '../support/leased.ts'
import { type CuttingProxy, startProxy } from '../support/proxy.ts'
import { createRegisterFixture } from '../support/register-fixture.ts'
import { type OutsideTarget, performAt, startTarget } from '../support/target.ts'

const fixture = createRegisterFixture()
let proxy: CuttingProxy
let target: OutsideTarget
let ids = 0
let id = ''

beforeAll(async () => {
  proxy = await startProxy(fixture.database.url)
})

afterAll(() => proxy.close())

beforeEach(() => freshId())

function freshId(): void {
  ids += 1
  id = `evt_${ids}`
}

const row = () => findLeasedRow(fixture.database.pool, id)
const performance = () => performAt<pg.PoolClient>(target.url, target.capability)
const arrive = () => attempt(fixture.here.db, keyOfChild(id), performance())

/** Brings to its end what a crash has left, as a later arrival would, when the lease is over. */
async function comeAgain() {
  if ((await row())?.state === 'in_progress') await endLease(fixture.database.pool, id)
  if ((await row())?.state === 'failed') await makeDue(fixture.database.pool, id)
  return arrive()
}

/** The points that the way of one attempt leads by; the others have tests of their own below. */
const onTheWay = crashPoints.filter((point) => !/^(sweep|purge)\.|beforeLookUp|afterError/.test(point))
const reservedNothing: CrashPoint[] = ['reserve.beforeCommit']
const isOnRecord: CrashPoint[] = ['finish.afterCommit']

describe.each(['accepts_key', 'searchable', 'neither'] as const)('on a target that is %s', (capability) => {
  beforeAll(async () => {
    target = await startTarget(capability)
  })

  afterAll(async () => {
    await target.close()
  })

  /** What has to be there after everything: the effect once, or nobody knows. */
  async function expectOnce(how: { mayBeUnknown: boolean }): Promise<void> {
    const found = await row()
    expect(target.effects(id)).toBeLessThanOrEqual(1)
    if (capability === 'neither' && how.mayBeUnknown) {
      expect(found).toMatchObject({ state: 'unknown' })
      const settled = await resolve(fixture.here.db, keyOfChild(id), {
        outcome: 'completed',
        author: 'anna',
        note: 'asked them',
      })
      expect(settled.outcome).toBe('resolved')
    } else {
      expect(found).toMatchObject({ state: 'completed' })
      expect(target.effects(id)).toBe(1)
    }
    expect(await arrive()).toMatchObject({ outcome: 'duplicate' })
    expect(target.effects(id)).toBeLessThanOrEqual(1)
  }

  async function killedAt(point: CrashPoint | 'request.sent'): Promise<void> {
    const fault = { point, signal: 'SIGKILL' } as const
    const child = await startChild({ databaseUrl: fixture.database.url, targetUrl: target.url, capability, id, fault })
    child.go()
    expect(await child.outcomes).toEqual([])
  }

  test.each([...onTheWay, 'request.sent' as const])(
    'trap 2: killed at %s, the next arrival brings it to an end: once, or unknown',
    async (point) => {
      await killedAt(point)
      await comeAgain()
      await expectOnce({ mayBeUnknown: ![...reservedNothing, ...isOnRecord].includes(point as CrashPoint) })
    },
  )

  test.each(['request.sent', 'attempt.beforePerform'] as const)(
    'trap 2: killed at %s, a sweep brings it to an end: once, or unknown',
    async (point) => {
      await killedAt(point)
      await endLease(fixture.database.pool, id)
      const { source, kind, scope } = keyOfChild(id)
      await sweep(fixture.here.db, scope, { handlers: [{ source, kind, ...performance() }] })
      await expectOnce({ mayBeUnknown: true })
    },
  )

  test('trap 2: killed in the sweep that went on with it, the next sweep goes on again', async () => {
    await killedAt('request.sent')
    await endLease(fixture.database.pool, id)
    const { source, kind, scope } = keyOfChild(id)
    const handlers = [{ source, kind, ...performance() }]
    onCrashPoint((point) => {
      if (point === 'sweep.afterClaim') throw new Error('dies')
    })
    await sweep(fixture.here.db, scope, { handlers }).catch(() => undefined)
    onCrashPoint(null)
    if (capability !== 'neither') {
      expect(await row()).toMatchObject({ state: 'in_progress', attempt: 2 })
      await endLease(fixture.database.pool, id)
    }
    await sweep(fixture.here.db, scope, { handlers })
    await expectOnce({ mayBeUnknown: true })
  })

  test('trap 2: its answer lost, and the process killed before it could say so', async () => {
    target.loseAnswers(1)
    await killedAt('attempt.afterError')
    await comeAgain()
    await expectOnce({ mayBeUnknown: true })
  })

  test('trap 2: its answer lost: the target takes the key again, or is looked into, or nobody knows', async () => {
    target.loseAnswers(1)
    const outcomes = { accepts_key: 'failed', searchable: 'done', neither: 'unknown' }
    expect((await arrive()).outcome).toBe(outcomes[capability])
    await comeAgain()
    await expectOnce({ mayBeUnknown: true })
  })

  test('trap 2: the record of its end fails once, for a reason of the database: it is written again', async () => {
    await fixture.database.pool.query(`create sequence if not exists failures`)
    await fixture.database.pool.query(`create or replace function fail_once() returns trigger language plpgsql as $$ begin
      if new.external_id = '${id}' and nextval('failures') = 1 then raise exception 'disk full' using errcode = '53100'; end if;
      return new; end $$`)
    await fixture.database.pool.query(`select setval('failures', 1, false)`)
    await fixture.database.pool.query(
      `create or replace trigger fail_once before update on einmal_events for each row
        when (new.state = 'completed') execute function fail_once()`,
    )
    expect(await arrive()).toMatchObject({ outcome: 'done', attempt: 1 })
    await fixture.database.pool.query('drop trigger fail_once on einmal_events')
    await expectOnce({ mayBeUnknown: false })
  })

  test('trap 2: the database away for good after the effect: the error is thrown, and the lease brings it to an end', async () => {
    let isAway = false
    const away: typeof fixture.here.db = {
      ...fixture.here.db,
      transaction: (scope, work) =>
        isAway
          ? Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNREFUSED' }))
          : fixture.here.db.transaction(scope, work),
    }
    const { perform, ...rest } = performance()
    const lost = attempt(away, keyOfChild(id), {
      ...rest,
      pause: async () => undefined,
      async perform(performing) {
        const completion = await perform(performing)
        isAway = true
        return completion
      },
    })
    await expect(lost).rejects.toThrow('gone')
    expect(await row()).toMatchObject({ state: 'in_progress' })
    await comeAgain()
    await expectOnce({ mayBeUnknown: true })
  })

  const drivers: [string, Open<pg.PoolClient>][] = [
    ['pg', pgPlain],
    ['pg, pipelined', pgPipelined],
  ]

  test.each(drivers)(
    'trap 2: with %s, its connection cut at any message: done at the first call, with one copy and one effect',
    async (_title, open) => {
      const withCut = async (cuts: Parameters<CuttingProxy['plan']>[0]) => {
        freshId()
        proxy.plan(cuts)
        const through = open(proxy.url, {}, { max: 1 })
        const outcome = await attempt(through.db, keyOfChild(id), performance())
        await through.close()
        return outcome
      }
      await withCut([])
      const last = proxy.messages[0]?.length ?? 0
      expect(last).toBeGreaterThan(8)
      for (let message = 1; message <= last; message += 1) {
        for (const how of ['before', 'after', 'answer'] as const) {
          const outcome = await withCut([{ message, how }])
          const about = `connection cut ${how} message ${message} of ${last}`
          expect({ about, ...outcome }).toMatchObject({ about, outcome: 'done', attempt: 1, copies: 1 })
          expect([about, target.effects(id), (await row())?.copies]).toEqual([about, 1, 1])
        }
      }
    },
  )

  test('a copy whose connection is cut at any message is counted once, and does nothing', async () => {
    await arrive()
    const known = id
    const withCut = async (cuts: Parameters<CuttingProxy['plan']>[0]) => {
      proxy.plan(cuts)
      const through = pgPipelined(proxy.url, {}, { max: 1 })
      const outcome = await attempt(through.db, keyOfChild(known), performance())
      await through.close()
      return outcome
    }
    await withCut([])
    const last = proxy.messages[0]?.length ?? 0
    let copies = 2
    for (let message = 1; message <= last; message += 1) {
      for (const how of ['before', 'after', 'answer'] as const) {
        copies += 1
        expect(await withCut([{ message, how }])).toMatchObject({ outcome: 'duplicate', copies })
      }
    }
    expect([target.requests(known), (await row())?.copies]).toEqual([1, copies])
  })
})

test('every point of the list is passed by a test here or by a test of the purge', () => {
  const here = [...onTheWay, 'attempt.afterError', 'attempt.beforeLookUp', 'sweep.afterClaim', 'purge.beforeCommit']
  expect(here.toSorted()).toEqual([...crashPoints].toSorted())
})

test('trap 2: killed at every point while it goes on with a searchable one: found once, done once', async () => {
  target = await startTarget('searchable')
  for (const point of [
    'attempt.beforeLookUp',
    'reserve.afterCommit',
    'finish.beforeCommit',
    'finish.afterCommit',
  ] as const) {
    for (const wasSent of [true, false]) {
      freshId()
      const order = { databaseUrl: fixture.database.url, targetUrl: target.url, capability: 'searchable', id } as const
      for (const at of [wasSent ? ('request.sent' as const) : ('attempt.beforePerform' as const), point]) {
        const child = await startChild({ ...order, fault: { point: at, signal: 'SIGKILL' } })
        child.go()
        expect(await child.outcomes).toEqual([])
        if ((await row())?.state === 'in_progress') await endLease(fixture.database.pool, id)
      }
      const last = await arrive()
      expect(last.outcome).toBe(point === 'finish.afterCommit' ? 'duplicate' : 'done')
      expect([point, wasSent, target.effects(id)]).toEqual([point, wasSent, 1])
    }
  }
  await target.close()
})
