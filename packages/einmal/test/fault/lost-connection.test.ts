import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once as onceEmitted } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createGroup, type OnceOptions, type Outcome, once, reserve } from '../../src/index.ts'
import { createRandom } from '../../src/testing/random.ts'
import {
  drizzleNodePostgres,
  drizzlePostgresJs,
  kysely,
  type Open,
  type Opened,
  pgPipelined,
  pgPlain,
  postgresJsUntyped,
} from '../support/adapters.ts'
import { countEffects, createOwnDatabase, findRow, type OwnDatabase } from '../support/database.ts'
import { arrival, bookAll, completionOf, noon } from '../support/events.ts'
import { type Cut, type CuttingProxy, startProxy } from '../support/proxy.ts'
import { chooseSeed } from '../support/random.ts'

let database: OwnDatabase
let proxy: CuttingProxy
let ids = 0
const unhandled: unknown[] = []
const onUnhandled = (error: unknown) => unhandled.push(error)

beforeAll(async () => {
  process.on('unhandledRejection', onUnhandled)
  process.on('uncaughtException', onUnhandled)
  database = await createOwnDatabase(inject('ownerUrl'))
  proxy = await startProxy(database.url)
  const opened = pgPlain(database.url)
  await database.pool.query(opened.db.register.createTable)
  await opened.close()
})

afterAll(async () => {
  await proxy.close()
  await database.drop()
  process.off('unhandledRejection', onUnhandled)
  process.off('uncaughtException', onUnhandled)
})

function freshId(): string {
  ids += 1
  return `evt_${ids}`
}

const keyOf = (id: string) => ({ scope: 'acme', source: 'stripe', kind: 'payment.paid', id })
const row = (id: string) => findRow(database.pool, id)
const effects = (id: string) => countEffects(database.pool, id)

function book<Tx>(opened: Opened<Tx>, id: string) {
  return async (tx: Tx) => {
    await opened.run(tx, 'insert into effects (id) values ($1)', [id])
    return completionOf(id)
  }
}

async function knownBefore(id: string): Promise<void> {
  const direct = pgPlain(database.url)
  await once(direct.db, keyOf(id), book(direct, id))
  await direct.close()
}

async function failedBefore(id: string): Promise<void> {
  const direct = pgPlain(database.url)
  const failing = once(direct.db, keyOf(id), async () => {
    throw new Error('not yet')
  })
  await failing.catch(() => undefined)
  await direct.close()
}

/** Runs `work` on connections of its own, the first of them cut as told. */
async function withCuts<Tx, T>(
  open: Open<Tx>,
  cuts: readonly Cut[],
  work: (opened: Opened<Tx>) => Promise<T>,
): Promise<T> {
  proxy.plan(cuts)
  const opened = open(proxy.url, { now: () => noon })
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

/** The messages that `work` needs when nothing is cut. */
async function countMessages<Tx>(open: Open<Tx>, work: (opened: Opened<Tx>) => Promise<unknown>): Promise<number> {
  let count = 0
  await withCuts(open, [], async (opened) => {
    await work(opened)
    count = proxy.messages[0]?.length ?? 0
  })
  expect(count).toBeGreaterThan(5)
  return count
}

const ways = ['before', 'after', 'answer'] as const

/** Calls `check` with a cut at each message that `work` sends, in each way. */
async function atEveryMessage<Tx>(
  open: Open<Tx>,
  work: (opened: Opened<Tx>) => Promise<unknown>,
  check: (cut: Cut) => Promise<void>,
): Promise<void> {
  const last = await countMessages(open, work)
  for (let message = 1; message <= last; message += 1) {
    for (const how of ways) {
      try {
        await check({ message, how })
      } catch (error) {
        throw new Error(`connection cut ${how} message ${message} of ${last}`, { cause: error })
      }
    }
  }
  expect(unhandled).toEqual([])
}

function lostConnections<Tx>(name: string, open: Open<Tx>): void {
  describe(`once with ${name}, its connection cut at any message of the protocol`, { timeout: 180_000 }, () => {
    const run = (id: string, options?: OnceOptions) => (opened: Opened<Tx>) =>
      once(opened.db, keyOf(id), book(opened, id), options)

    test('a new event is done, once, with one copy', async () => {
      await atEveryMessage(open, run(freshId()), async (cut) => {
        const id = freshId()
        const outcome = await withCuts(open, [cut], run(id))
        expect(outcome).toMatchObject({ outcome: 'done', attempt: 1, copies: 1, ...completionOf(id) })
        expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1, copies: 1, target_id: `p-${id}` })
        expect(await effects(id)).toBe(1)
      })
    })

    test('a known event is a duplicate, and is counted once more, not twice', async () => {
      const measured = freshId()
      await knownBefore(measured)
      await atEveryMessage(open, run(measured), async (cut) => {
        const id = freshId()
        await knownBefore(id)
        const outcome = await withCuts(open, [cut], run(id))
        expect(outcome).toMatchObject({ outcome: 'duplicate', attempt: 1, copies: 2, ...completionOf(id) })
        expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1, copies: 2 })
        expect(await effects(id)).toBe(1)
      })
    })

    test('a failed event is taken over, once, as attempt 2', async () => {
      const measured = freshId()
      await failedBefore(measured)
      await atEveryMessage(open, run(measured), async (cut) => {
        const id = freshId()
        await failedBefore(id)
        const outcome = await withCuts(open, [cut], run(id))
        expect(outcome).toMatchObject({ outcome: 'done', attempt: 2, copies: 2, ...completionOf(id) })
        expect(await row(id)).toMatchObject({ state: 'completed', attempt: 2, copies: 2 })
        expect(await effects(id)).toBe(1)
      })
    })

    test('an effect that throws leaves nothing but its failure, and the next arrival is done', async () => {
      const failing = (id: string) => (opened: Opened<Tx>) =>
        once(opened.db, keyOf(id), async (tx) => {
          await book(opened, id)(tx)
          throw new Error('not today')
        }).catch((error: unknown) => error)
      await atEveryMessage(open, failing(freshId()), async (cut) => {
        const id = freshId()
        expect(await withCuts(open, [cut], failing(id))).toBeInstanceOf(Error)
        expect(await effects(id)).toBe(0)
        // The word of a failure may be lost, and is not repeated: the event is open then, and nothing of it happened.
        const next = await withCuts(open, [], run(id))
        expect(next).toMatchObject({ outcome: 'done', attempt: expect.toBeOneOf([1, 2]), copies: next.attempt })
        expect(await effects(id)).toBe(1)
      })
    })

    test('the answer to the commit lost twice in a row: still once, and copies exact', async () => {
      const commits = [freshId(), freshId(), freshId()]
      await Promise.all(commits.slice(1).map(knownBefore))
      await failedBefore(commits[2] ?? '')
      const last = await countMessages(open, run(commits[0] ?? ''))
      const id = freshId()
      const lost: Cut = { message: last, how: 'answer' }
      // The second connection only reads what is there: its commit comes earlier.
      const duplicate = commits[1] ?? ''
      const short = await countMessages(open, run(duplicate))
      const known = await withCuts(open, [lost, { message: short, how: 'answer' }], run(id))
      expect(known).toMatchObject({ outcome: 'done', copies: 1 })
      expect(await row(id)).toMatchObject({ state: 'completed', copies: 1 })
      expect(await effects(id)).toBe(1)

      const twice: Cut[] = [1, 2].map(() => ({ message: short, how: 'answer' }))
      expect(await withCuts(open, twice, run(duplicate))).toMatchObject({ outcome: 'duplicate', copies: 3 })
      expect(await row(duplicate)).toMatchObject({ copies: 3 })
    })

    test('the connection lost at every try is thrown; the same call made again finds its own commit', async () => {
      const last = await countMessages(open, run(freshId()))
      const id = freshId()
      const holder = randomUUID()
      const cuts: Cut[] = [
        { message: last, how: 'answer' },
        { message: 2, how: 'before' },
        { message: 1, how: 'before' },
      ]
      await expect(withCuts(open, cuts, run(id, { holder }))).rejects.toThrow()
      expect(await withCuts(open, [], run(id, { holder }))).toMatchObject({
        outcome: 'done',
        copies: 1,
        ...completionOf(id),
      })
      expect(await withCuts(open, [], run(id))).toMatchObject({ outcome: 'duplicate', copies: 2 })
      expect(await effects(id)).toBe(1)
    })

    test('a backend terminated while the effect is at work: the effect runs again and happens once', async () => {
      const opened = open(database.url)
      const id = freshId()
      let runs = 0
      const outcome = await once(opened.db, keyOf(id), async (tx) => {
        runs += 1
        const done = await book(opened, id)(tx)
        if (runs === 1) {
          await terminateIdleInTransaction()
          // Nobody asks anything of the connection at this moment: only an event of it tells.
          await opened.lost
        }
        return done
      })
      expect(runs).toBe(2)
      expect(outcome).toMatchObject({ outcome: 'done', attempt: 1, copies: 1 })
      expect(await effects(id)).toBe(1)
      await opened.close()
      expect(unhandled).toEqual([])
    })
  })
}

/** Ends the backend of whoever is between two statements of a transaction. */
async function terminateIdleInTransaction(): Promise<void> {
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'`,
  )
}

lostConnections('pg', pgPlain)
lostConnections('pg, pipelined', pgPipelined)
lostConnections('kysely', kysely)
/** One connection, so that the next try takes over whatever the lost one has left behind. */
function alone<Tx>(open: Open<Tx>): Open<Tx> {
  return (url, options) => open(url, options, { max: 1 })
}

lostConnections('postgres-js', alone(postgresJsUntyped))
lostConnections('drizzle over node-postgres', drizzleNodePostgres)
lostConnections('drizzle over postgres-js', alone(drizzlePostgresJs))

/** postgres-js gives a connection that was lost to the next caller while the effect of the one before is still at work. */
function lateEffects<Tx>(name: string, open: Open<Tx>): void {
  for (const ending of ['returns', 'throws']) {
    test(`with ${name}, an effect that goes on after its connection was lost and ${ending} touches no other transaction`, async () => {
      const opened = open(database.url, {}, { max: 1 })
      const [id, otherId] = [freshId(), freshId()]
      const otherBegan = Promise.withResolvers<void>()
      const lateEnded = Promise.withResolvers<void>()
      let runs = 0
      let refusal: unknown
      const outcome = once(opened.db, keyOf(id), async (tx) => {
        runs += 1
        if (runs > 1) return book(opened, id)(tx)
        await terminateIdleInTransaction()
        await opened.lost
        await otherBegan.promise
        try {
          refusal = await opened.run(tx, 'insert into effects (id) values ($1)', [id]).catch((error: unknown) => error)
          if (ending === 'throws') throw new Error('too late')
          return {}
        } finally {
          setImmediate(() => setImmediate(lateEnded.resolve))
        }
      })
      await opened.lost
      const other = once(opened.db, keyOf(otherId), async (tx) => {
        await book(opened, otherId)(tx)
        otherBegan.resolve()
        await lateEnded.promise
        await book(opened, otherId)(tx)
        throw new Error('the other one fails')
      })
      await expect(other).rejects.toThrow('the other one fails')
      expect(await outcome).toMatchObject({ outcome: 'done', attempt: 1, copies: 1 })
      expect(refusal).toMatchObject({ message: 'the transaction of this statement has ended' })
      expect([runs, await effects(id), await effects(otherId)]).toEqual([2, 1, 0])
      expect(await row(otherId)).toMatchObject({ state: 'failed' })
      await opened.close()
      expect(unhandled).toEqual([])
    })
  }
}

lateEffects('postgres-js', postgresJsUntyped)
lateEffects('drizzle over postgres-js', drizzlePostgresJs)

function lostGroups<Tx>(name: string, open: Open<Tx>): void {
  const title = `a group of 20 with ${name}, cut at any message: every outcome right, each effect once, copies exact`
  test(title, { timeout: 180_000 }, async () => {
    /** Ten new keys, five of them twice, and five that are known; two of those failed before. */
    const prepare = async () => {
      const fresh = Array.from({ length: 10 }, freshId)
      const known = Array.from({ length: 3 }, freshId)
      const failed = Array.from({ length: 2 }, freshId)
      await Promise.all([...known.map(knownBefore), ...failed.map(failedBefore)])
      return { fresh, known, failed, all: [...fresh.slice(0, 5), ...known, ...fresh, ...failed] }
    }
    const submit = (all: readonly string[]) => (opened: Opened<Tx>) => {
      const group = createGroup(opened.db, bookAll(opened))
      return Promise.all(all.map((id) => group.submit(arrival(id))))
    }
    await atEveryMessage(open, submit((await prepare()).all), async (cut) => {
      const { fresh, known, failed, all } = await prepare()
      expect(all).toHaveLength(20)
      const outcomes: Outcome[] = await withCuts(open, [cut], submit(all))
      for (const [index, id] of all.entries()) {
        const isDuplicate = known.includes(id) || all.indexOf(id) < index
        expect(outcomes[index]).toMatchObject({ outcome: isDuplicate ? 'duplicate' : 'done', ...completionOf(id) })
      }
      const { rows } = await database.pool.query<{
        id: string
        state: string
        copies: number
        attempt: number
        effects: number
      }>(
        `select external_id as id, state, copies, attempt,
          (select count(*)::int from effects where effects.id = external_id) as effects
        from einmal_events where external_id = any($1)`,
        [all],
      )
      expect(rows).toHaveLength(15)
      for (const { id, ...rest } of rows) {
        const isTwice = known.includes(id) || failed.includes(id) || fresh.indexOf(id) < 5
        const copies = isTwice ? 2 : 1
        expect(rest).toEqual({ state: 'completed', copies, attempt: failed.includes(id) ? 2 : 1, effects: 1 })
      }
    })
  })
}

lostGroups('pg', pgPlain)
lostGroups('pg, pipelined', pgPipelined)
lostGroups('kysely', kysely)
lostGroups('postgres-js', postgresJsUntyped)
lostGroups('drizzle over node-postgres', drizzleNodePostgres)
lostGroups('drizzle over postgres-js', drizzlePostgresJs)

test('a server that has committed and never says so: after the query timeout the call finds its own commit', async () => {
  for (const open of [pgPlain, pgPipelined]) {
    const withTimeout: Open<pg.PoolClient> = (url, options) => open(url, options, { query_timeout: 200 })
    const run = (id: string) => (opened: Opened<pg.PoolClient>) => once(opened.db, keyOf(id), book(opened, id))
    const last = await countMessages(withTimeout, run(freshId()))
    const id = freshId()
    expect(await withCuts(withTimeout, [{ message: last, how: 'stall' }], run(id))).toMatchObject({
      outcome: 'done',
      copies: 1,
    })
    expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1, copies: 1 })
    const short = await countMessages(withTimeout, run(id))
    expect(await withCuts(withTimeout, [{ message: short, how: 'stall' }], run(id))).toMatchObject({
      outcome: 'duplicate',
    })
    expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1, copies: 3 })
    expect(await effects(id)).toBe(1)
  }
})

test('an earlier transaction whose number a crash of the server took back counts for nothing', async () => {
  const opened = pgPlain(database.url)
  const id = freshId()
  await knownBefore(id)
  const again = arrival(id)
  const reserved = await opened.db.transaction('acme', (_tx, query) =>
    reserve(query, opened.db.register, [{ ...again, copies: 1 }], noon, ['9000000000']),
  )
  expect(reserved.reservations).toMatchObject([{ verdict: 'duplicate', copies: 2 }])
  await opened.close()
})

test('kill -9 in a loop of once: register and effects agree afterwards, and what was said to be done is there', async () => {
  const random = createRandom(chooseSeed())
  let from = 1_000_000
  let said = 0
  for (let round = 0; round < 5; round += 1) {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, '../support/once-loop.ts'), database.url, String(from)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const killAfter = 20 + Math.floor(random() * 60)
    const { begun, done } = await killAfterLines(child, killAfter)
    expect(done.length).toBeGreaterThan(0)
    said += done.length
    const { rows } = await database.pool.query<{ id: string }>(
      'select external_id as id from einmal_events where external_id = any($1) and state = $2',
      [done.map((number) => `evt_${number}`), 'completed'],
    )
    expect(rows).toHaveLength(done.length)
    // The next process begins with the last event again, of which nobody knows whether it happened.
    from = Math.max(...begun)
  }
  const { rows } = await database.pool.query<{ id: string; state: string; effects: number }>(
    `select coalesce(e.external_id, f.id) as id, e.state, f.effects from
      (select * from einmal_events where external_id like 'evt_1______') as e
      full join (select id, count(*)::int as effects from effects where id like 'evt_1______' group by id) as f
        on f.id = e.external_id`,
  )
  expect(rows.length).toBeGreaterThanOrEqual(said - 5)
  for (const found of rows) expect(found).toEqual({ id: found.id, state: 'completed', effects: 1 })
})

async function killAfterLines(child: ChildProcess, lines: number): Promise<{ begun: number[]; done: number[] }> {
  const begun: number[] = []
  const done: number[] = []
  if (child.stdout === null) throw new Error('the child has no output')
  const closed = onceEmitted(child, 'close')
  for await (const line of createInterface(child.stdout)) {
    const [word, number] = line.split(' ')
    if (word === 'begin') begun.push(Number(number))
    // A duplicate is the event whose end the process before did not live to tell.
    else done.push(Number(number))
    if (begun.length + done.length === lines) child.kill('SIGKILL')
  }
  await closed
  return { begun, done }
}
