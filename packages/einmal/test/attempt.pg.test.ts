import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import {
  type AttemptOptions,
  attempt,
  type Db,
  FinalError,
  LeaseLostError,
  NotSentError,
  once,
  type Performing,
  reserveLeased,
  resolve,
  uuidv7,
} from '../src/index.ts'
import { type Opened, pgPipelined } from './support/adapters.ts'
import { createOwnDatabase, type OwnDatabase } from './support/database.ts'
import { createTables, endLease, findLeasedRow, findNotes, makeDue } from './support/leased.ts'
import { type OutsideTarget, performAt, startTarget } from './support/target.ts'

type Options = AttemptOptions<pg.PoolClient>

let database: OwnDatabase
let here: Opened<pg.PoolClient>
let there: Opened<pg.PoolClient>
let db: Db<pg.PoolClient>
let ids = 0
let target: OutsideTarget
let searchable: OutsideTarget
let blind: OutsideTarget

beforeAll(async () => {
  database = await createOwnDatabase(inject('ownerUrl'))
  here = pgPipelined(database.url)
  there = pgPipelined(database.url)
  db = here.db
  await createTables(database.pool, db.register)
})

afterAll(async () => {
  await Promise.all([here.close(), there.close()])
  await database.drop()
})

beforeEach(async () => {
  ;[target, searchable, blind] = await Promise.all([
    startTarget('accepts_key'),
    startTarget('searchable'),
    startTarget('neither'),
  ])
})

afterEach(async () => {
  await Promise.all([target, searchable, blind].map((each) => each.close()))
})

const freshId = () => {
  ids += 1
  return `evt_${ids}`
}
const key = (id: string) => ({ scope: 'acme', source: 'shop', kind: 'label.print', id })
const row = (id: string) => findLeasedRow(database.pool, id)
const notes = (id: string) => findNotes(database.pool, id)
const at = (outside: OutsideTarget): Options => performAt(outside.url, outside.capability)
const failing = (error: unknown, more: Partial<Options> = {}): Options => ({
  perform: () => Promise.reject(error),
  policy: { firstDelayMs: 60_000, jitter: (ms) => ms },
  ...more,
})

describe('the four tests of a register', () => {
  test('direct repetition: the same event twice is one effect, and the second is told the first’s answer', async () => {
    for (const outside of [target, searchable, blind]) {
      const id = freshId()
      const first = await attempt(db, key(id), at(outside))
      const second = await attempt(db, key(id), at(outside))
      expect(first).toMatchObject({ outcome: 'done', isFound: false, attempt: 1, copies: 1, answer: { number: 1 } })
      expect(second).toMatchObject({ outcome: 'duplicate', attempt: 1, copies: 2, answer: { number: 1 } })
      expect(outside.effects(id)).toBe(1)
      expect(await row(id)).toMatchObject({ state: 'completed', target_type: 'effect', target_id: '1', copies: 2 })
    }
  })

  test('parallel start: of two at the same moment one reserves, the other does nothing', async () => {
    for (const outside of [target, searchable, blind]) {
      const id = freshId()
      const held = outside.holdNext()
      const both = [here.db, there.db].map((each) => attempt(each, key(id), at(outside)))
      const { answer } = await held
      const first = await Promise.race(both)
      expect(first).toMatchObject({ outcome: 'in_progress', leaseUntil: expect.any(Date) })
      answer()
      expect((await Promise.all(both)).map(({ outcome }) => outcome).toSorted()).toEqual(['done', 'in_progress'])
      expect(outside.requests(id)).toBe(1)
    }
  })

  test('failure before the target: the state allows a controlled retry, and then it happens once', async () => {
    for (const outside of [target, searchable, blind]) {
      const id = freshId()
      const broken = { ...at(outside), ...failing(new NotSentError('no route')), target: outside.capability }
      const failed = await attempt(db, key(id), broken)
      expect(failed).toMatchObject({ outcome: 'failed', isFinal: false, willRetryAt: expect.any(Date) })
      expect(await row(id)).toMatchObject({ state: 'failed', error_code: 'NotSentError', error_message: 'no route' })
      expect(outside.effects(id)).toBe(0)
      await makeDue(database.pool, id)
      expect(await attempt(db, key(id), at(outside))).toMatchObject({ outcome: 'done', attempt: 2 })
      expect(outside.effects(id)).toBe(1)
    }
  })

  test('failure after the target: its answer is lost, and no retry makes a second effect', async () => {
    const ends = []
    for (const outside of [target, searchable, blind]) {
      const id = freshId()
      outside.loseAnswers(1)
      const lost = await attempt(db, key(id), { ...at(outside), policy: { firstDelayMs: 0, jitter: (ms) => ms } })
      const again = await attempt(db, key(id), at(outside))
      ends.push([lost.outcome, again.outcome])
      expect(outside.effects(id)).toBe(1)
    }
    expect(ends).toEqual([
      ['failed', 'done'],
      ['done', 'duplicate'],
      ['unknown', 'unknown'],
    ])
  })
})

describe('what an error of the effect means', () => {
  test.each(['accepts_key', 'searchable', 'neither'] as const)(
    'a final one is final on a target that is %s',
    async (capability) => {
      const id = freshId()
      const lookUp = async () => null
      const refused = failing(new FinalError('closed'), { target: capability, lookUp })
      expect(await attempt(db, key(id), refused)).toMatchObject({
        ...{ outcome: 'failed', isFinal: true, willRetryAt: null, error: { code: 'FinalError', message: 'closed' } },
        cause: expect.any(FinalError),
      })
      expect(await attempt(db, key(id), at(target))).toMatchObject({ outcome: 'failed', isFinal: true, copies: 2 })
    },
  )

  test('any other one on a target that is neither is unknown, and the target is never asked again', async () => {
    const id = freshId()
    blind.loseAnswers(1)
    const lost = await attempt(db, key(id), at(blind))
    expect(lost).toMatchObject({ outcome: 'unknown', error: { message: expect.stringContaining('hang up') } })
    for (let copy = 0; copy < 3; copy += 1) {
      expect(await attempt(db, key(id), at(blind))).toMatchObject({ outcome: 'unknown' })
    }
    expect(blind.requests(id)).toBe(1)
    expect(await notes(id)).toMatchObject([{ type: 'unknown' }])
  })

  test('on a searchable target the look-up finds what was done, and it is done', async () => {
    const id = freshId()
    searchable.loseAnswers(1)
    expect(await attempt(db, key(id), at(searchable))).toMatchObject({ outcome: 'done', isFound: true, attempt: 1 })
    expect(searchable.effects(id)).toBe(1)
  })

  test('on a searchable target whose look-up fails too, the next attempt looks before it does anything', async () => {
    const id = freshId()
    searchable.loseAnswers(1)
    searchable.refuseLookUps(2)
    const options = { ...at(searchable), policy: { firstDelayMs: 0 } }
    expect(await attempt(db, key(id), options)).toMatchObject({ outcome: 'failed', isFinal: false })
    expect(await attempt(db, key(id), options)).toMatchObject({ outcome: 'failed', attempt: 2 })
    expect(await attempt(db, key(id), options)).toMatchObject({ outcome: 'done', isFound: true, attempt: 3 })
    expect(searchable.requests(id)).toBe(1)
  })

  test('a searchable target without a look-up is refused before anything is reserved', async () => {
    const id = freshId()
    await expect(attempt(db, key(id), { target: 'searchable', perform: async () => ({}) })).rejects.toThrow(TypeError)
    expect(await row(id)).toBeUndefined()
  })

  test('something thrown that is no error is on record all the same', async () => {
    const id = freshId()
    expect(await attempt(db, key(id), failing('just a text\0'))).toMatchObject({ outcome: 'unknown' })
    expect(await row(id)).toMatchObject({ error_code: 'Error', error_message: 'just a text\u2400' })
  })
})

describe('after a failure', () => {
  test('trap 9: a copy never succeeds behind the caller’s back: it is told the failure, and when the next attempt is due', async () => {
    const id = freshId()
    const first = await attempt(db, key(id), { ...at(target), ...failing(new NotSentError('down')) })
    expect(first.outcome).toBe('failed')
    for (const copies of [2, 3, 4]) {
      const copy = await attempt(db, key(id), at(target))
      if (copy.outcome !== 'failed' || first.outcome !== 'failed') throw new Error(`the copy was ${copy.outcome}`)
      expect(copy).toMatchObject({ copies, isFinal: false, attempt: 1, error: { message: 'down' } })
      expect(copy.willRetryAt).toEqual(first.willRetryAt)
    }
    expect(target.requests(id)).toBe(0)
  })

  test('delays double up to their limit, by the database’s clock, and pass through the jitter', async () => {
    const id = freshId()
    const seen: number[] = []
    const delays: number[] = []
    const jitter = (ms: number) => {
      seen.push(ms)
      return ms + 7_000
    }
    const policy = { firstDelayMs: 10_000, maxDelayMs: 35_000, jitter }
    for (let count = 1; count <= 4; count += 1) {
      const { rows } = await database.pool.query<{ now: Date }>('select clock_timestamp() as now')
      const failed = await attempt(db, key(id), failing(new Error('x'), { target: 'accepts_key', policy }))
      if (failed.outcome !== 'failed') throw new Error(failed.outcome)
      delays.push((failed.willRetryAt?.getTime() ?? 0) - (rows[0]?.now.getTime() ?? 0))
      await makeDue(database.pool, id)
    }
    expect(seen).toEqual([10_000, 20_000, 35_000, 35_000])
    for (const [index, delay] of delays.entries()) {
      expect(delay).toBeGreaterThanOrEqual((seen[index] ?? 0) + 7_000)
      expect(delay).toBeLessThan((seen[index] ?? 0) + 17_000)
    }
  })

  test('by default the delay is between half of it and all of it', async () => {
    const { defaultFailurePolicy } = await import('../src/index.ts')
    const delays = Array.from({ length: 200 }, () => defaultFailurePolicy.jitter(1_000))
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(500)
    expect(Math.max(...delays)).toBeLessThanOrEqual(1_000)
    expect(new Set(delays).size).toBeGreaterThan(50)
    expect(defaultFailurePolicy.jitter(0)).toBe(0)
  })

  test('after the last attempt a person has to look: it is final, and says so with its last error', async () => {
    const id = freshId()
    const options = failing(new Error('full'), { target: 'accepts_key', policy: { maxAttempts: 2, firstDelayMs: 0 } })
    expect(await attempt(db, key(id), options)).toMatchObject({ outcome: 'failed', isFinal: false })
    const last = { code: 'attempts_exhausted', message: 'Error: full' }
    const exhausted = await attempt(db, key(id), options)
    expect(exhausted).toMatchObject({ outcome: 'failed', isFinal: true, willRetryAt: null, attempt: 2, error: last })
    expect(await attempt(db, key(id), at(target))).toMatchObject({ outcome: 'failed', isFinal: true, error: last })
    expect(await row(id)).toMatchObject({ state: 'failed', is_final: true, error_code: 'attempts_exhausted' })
  })
})

test('an event that ends every process which tries it is given up, too, and a person may have it tried again', async () => {
  const id = freshId()
  const policy = { maxAttempts: 3 }
  for (let died = 1; died <= 3; died += 1) {
    const reserved = await reserveLeased(db, key(id), { holder: uuidv7(died), leaseMs: 60_000, target: 'accepts_key' })
    expect(reserved).toMatchObject({ verdict: 'reserved', attempt: died, isAfterSilence: died > 1 })
    await endLease(database.pool, id)
  }
  expect(await attempt(db, key(id), { ...at(target), policy })).toMatchObject({
    ...{ outcome: 'failed', isFinal: true, attempt: 4 },
    error: { code: 'attempts_exhausted', message: expect.stringContaining('without a word') },
  })
  expect(target.requests(id)).toBe(0)
  await resolve(db, key(id), { outcome: 'retry', author: 'anna', note: 'more memory now' })
  expect(await attempt(db, key(id), { ...at(target), policy })).toMatchObject({ outcome: 'done', attempt: 5 })
  expect(await row(id)).toMatchObject({ state: 'completed', error_message: null })
})

describe('a lease', () => {
  test('is kept alive while the effect is at work, for longer than its length', async () => {
    const id = freshId()
    const first = await held(id, { leaseMs: 600 })
    const leases = new Set<number>()
    while (leases.size < 4) leases.add((await row(id))?.lease_until?.getTime() ?? 0)
    expect(await attempt(there.db, key(id), at(target))).toMatchObject({ outcome: 'in_progress' })
    first.end()
    expect(await first.outcome).toMatchObject({ outcome: 'done', attempt: 1 })
  })

  test('that was taken over fires the signal, and the late end is told it lost and kept beside', async () => {
    const id = freshId()
    const first = await held(id, { leaseMs: 600, target: 'accepts_key' })
    expect(await takeOver(id)).toMatchObject({ outcome: 'done', attempt: 2 })
    await first.aborted
    expect(first.signal().reason).toBeInstanceOf(LeaseLostError)
    first.end()
    expect(await first.outcome).toMatchObject({ outcome: 'lost', attempt: 1 })
    expect(await row(id)).toMatchObject({ state: 'completed', attempt: 2, answer: { number: 1 } })
    expect(await notes(id)).toMatchObject([{ type: 'late_completed', attempt: 1, data: { answer: 'held' } }])
  })

  test('that cannot be extended is over by the count of the process, although nobody took it', async () => {
    const id = freshId()
    let isAway = false
    const unsteady: Db<pg.PoolClient> = {
      ...db,
      transaction: (scope, work) =>
        isAway
          ? Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
          : db.transaction(scope, work),
    }
    const first = await held(id, { leaseMs: 120 }, unsteady)
    isAway = true
    await first.aborted
    expect(first.signal().reason).toBeInstanceOf(LeaseLostError)
    isAway = false
    first.end()
    expect(await first.outcome).toMatchObject({ outcome: 'done' })
  })

  test('may be asked for right before the request leaves, and stops one who has lost it', async () => {
    const id = freshId()
    const sent: string[] = []
    const outcome = await attempt(db, key(id), {
      async perform({ stillHeld }) {
        await stillHeld()
        sent.push('held')
        await endLease(database.pool, id)
        expect(await attempt(there.db, key(id), at(blind))).toMatchObject({ outcome: 'unknown' })
        await stillHeld()
        sent.push('lost')
        return {}
      },
    })
    expect(sent).toEqual(['held'])
    expect(outcome).toMatchObject({ outcome: 'lost', cause: expect.any(NotSentError) })
    expect(await row(id)).toMatchObject({ state: 'unknown' })
  })

  test('ends with the caller’s own signal: before anything began it is thrown, later it is an error of the effect', async () => {
    const id = freshId()
    const reason = new Error('shutting down')
    await expect(attempt(db, key(id), { ...at(target), signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(await row(id)).toBeUndefined()
    const controller = new AbortController()
    const outcome = await attempt(db, key(id), {
      target: 'accepts_key',
      signal: controller.signal,
      async perform({ signal }) {
        controller.abort(reason)
        signal.throwIfAborted()
        return {}
      },
    })
    expect(outcome).toMatchObject({ outcome: 'failed', isFinal: false, error: { message: 'shutting down' } })
  })
})

describe('a copy that waits', () => {
  test('gets the answer of the one at work', async () => {
    const id = freshId()
    const first = await held(id)
    const pauses: number[] = []
    const pause = async (ms: number) => {
      pauses.push(ms)
      if (pauses.length === 4) {
        first.end()
        await first.outcome
      }
    }
    const copy = await attempt(there.db, key(id), { ...at(target), wait: { maxMs: 60_000 }, pause })
    expect(copy).toMatchObject({ outcome: 'duplicate', answer: 'held', copies: 2 })
    expect(pauses).toEqual([50, 100, 200, 400])
    expect(target.requests(id)).toBe(0)
  })

  test('is told that somebody is at it when its time is over, and waited no longer than it said', async () => {
    const id = freshId()
    const first = await held(id)
    const pauses: number[] = []
    const pause = async (ms: number) => void pauses.push(ms)
    const copy = await attempt(there.db, key(id), { ...at(target), wait: { maxMs: 5_000 }, pause })
    expect(copy).toMatchObject({ outcome: 'in_progress', copies: 2 })
    expect(pauses.reduce((sum, ms) => sum + ms, 0)).toBe(5_000)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(2_000)
    first.end()
    await first.outcome
    expect(await row(id)).toMatchObject({ copies: 2 })
  })

  test('is told of a failure, and does not try again on its own', async () => {
    const id = freshId()
    const first = await held(id, { target: 'accepts_key' })
    const pause = async () => {
      first.fail(new Error('broken'))
      await first.outcome
    }
    const copy = await attempt(there.db, key(id), { ...at(target), wait: { maxMs: 1_000 }, pause })
    expect(copy).toMatchObject({ outcome: 'failed', willRetryAt: expect.any(Date), error: { message: 'broken' } })
    expect(target.requests(id)).toBe(0)
  })

  test('goes on itself where the lease of the one at work ended', async () => {
    const id = freshId()
    const holder = uuidv7(Date.now())
    await reserveLeased(db, key(id), { holder, leaseMs: 60_000, target: 'accepts_key' })
    const pause = () => endLease(database.pool, id)
    const copy = await attempt(there.db, key(id), { ...at(target), wait: { maxMs: 1_000 }, pause })
    expect(copy).toMatchObject({ outcome: 'done', attempt: 2, copies: 2 })
  })

  test('stops waiting when its caller does', async () => {
    const id = freshId()
    const first = await held(id)
    const controller = new AbortController()
    const copy = attempt(there.db, key(id), { ...at(target), wait: { maxMs: 60_000 }, signal: controller.signal })
    controller.abort(new Error('gone home'))
    await expect(copy).rejects.toThrow('gone home')
    first.end()
    await first.outcome
  })
})

describe('the end of an attempt', () => {
  test('is recorded in one transaction with what the caller writes beside it', async () => {
    const id = freshId()
    const record: Options['record'] = async (tx, { target: made }, { attempt: number }) => {
      await tx.query('insert into effects (id, note) values ($1, $2)', [id, `${made?.id} ${number}`])
    }
    await attempt(db, key(id), { ...at(target), record })
    await attempt(db, key(id), { ...at(target), record })
    const { rows } = await database.pool.query('select note from effects where id = $1', [id])
    expect(rows).toEqual([{ note: '1 1' }])
  })

  test('that cannot be recorded is tried again where that is safe, and is unknown with what was done where not', async () => {
    const record = () => Promise.reject(new Error('no such column'))
    const [safe, unsafe] = [freshId(), freshId()]
    const first = await attempt(db, key(safe), { ...at(target), record, policy: { firstDelayMs: 0 } })
    expect(first).toMatchObject({ outcome: 'failed', error: { message: 'no such column' } })
    expect(await attempt(db, key(safe), at(target))).toMatchObject({ outcome: 'done', attempt: 2 })
    expect(target.effects(safe)).toBe(1)
    expect(await attempt(db, key(unsafe), { ...at(blind), record })).toMatchObject({ outcome: 'unknown' })
    expect(await notes(unsafe)).toMatchObject([{ type: 'unknown', data: { targetType: 'effect', targetId: '1' } }])
  })

  test('is on record although its answer is none that JSON holds, and that is thrown', async () => {
    const id = freshId()
    const broken = attempt(db, key(id), { perform: async () => ({ target: { type: 'a', id: 'b' }, answer: 1n }) })
    await expect(broken).rejects.toThrow(TypeError)
    expect(await row(id)).toMatchObject({ state: 'completed', target_id: 'b', answer: null })
  })
})

test('trap 3: other content is a conflict while the first is running, after it and after its failure, and is never done', async () => {
  const id = freshId()
  const content = (amount: unknown) => ({ ...at(target), fields: { amount, currency: 'EUR' } })
  const first = await held(id, { fields: { amount: 10, currency: 'EUR' } })
  const refused = { outcome: 'conflict', differing: ['amount'] }
  expect(await attempt(db, key(id), content(11))).toMatchObject(refused)
  first.end()
  await first.outcome
  for (const amount of [11, '10', 10.01, -10, null]) {
    expect(await attempt(db, key(id), content(amount))).toMatchObject({ ...refused, answer: 'held' })
  }
  for (const text of ['{"currency":"EUR","amount":10.0}', '{ "amount" : 1e1 , "currency":"EUR" }']) {
    const copy = await attempt(db, key(id), { ...at(target), fields: JSON.parse(text) })
    expect(copy).toMatchObject({ outcome: 'duplicate', answer: 'held' })
  }
  await expect(attempt(db, key(id), content(2 ** 53))).rejects.toThrow('send it as text')
  expect(target.requests(id)).toBe(0)
})

test('trap 10: a fingerprint of a new version is not compared with an old one, so that both may run together', async () => {
  const id = freshId()
  await attempt(db, key(id), { ...at(target), fingerprint: 'v1:10' })
  expect(await attempt(db, key(id), { ...at(target), fingerprint: 'v2:EUR 10' })).toMatchObject({
    outcome: 'duplicate',
  })
  expect(await attempt(db, key(id), { ...at(target), fingerprint: 'v1:11' })).toMatchObject({ outcome: 'conflict' })
  expect(target.requests(id)).toBe(1)
})

test('an event of the one mode is known to the other: done by once, it is a duplicate of attempt', async () => {
  const [byOnce, byAttempt] = [freshId(), freshId()]
  await once(db, key(byOnce), async () => ({ answer: 'once' }))
  expect(await attempt(db, key(byOnce), at(target))).toMatchObject({ outcome: 'duplicate', answer: 'once' })
  const running = await held(byAttempt)
  expect(await once(db, key(byAttempt), async () => ({}))).toMatchObject({ outcome: 'in_progress' })
  running.end()
  await running.outcome
  expect(await once(db, key(byAttempt), async () => ({}))).toMatchObject({ outcome: 'duplicate', answer: 'held' })
})

/** Ends the lease and goes on, again where a heartbeat came between the two. */
async function takeOver(id: string) {
  for (;;) {
    await endLease(database.pool, id)
    const outcome = await attempt(there.db, key(id), at(target))
    if (outcome.outcome !== 'in_progress') return outcome
  }
}

/** An attempt that stands in its effect until it is told to end. */
async function held(id: string, more: Partial<Options> = {}, on: Db<pg.PoolClient> = db) {
  const begun = Promise.withResolvers<Performing>()
  const ended = Promise.withResolvers<{ answer: string }>()
  const outcome = attempt(on, key(id), {
    perform(performing) {
      begun.resolve(performing)
      return ended.promise
    },
    ...more,
  })
  const { signal } = await begun.promise
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  return { outcome, aborted, signal: () => signal, end: () => ended.resolve({ answer: 'held' }), fail: ended.reject }
}
