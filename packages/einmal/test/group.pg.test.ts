import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import {
  createGroup,
  type Db,
  FinalError,
  type Group,
  GroupFullError,
  type GroupOptions,
  type Incoming,
  type Outcome,
  once,
  type Settled,
  type Work,
} from '../src/index.ts'
import { createRandom, shuffled } from '../src/testing/random.ts'
import { type Opened, pgPipelined } from './support/adapters.ts'
import { countEffects, createOwnDatabase, findRow, type OwnDatabase } from './support/database.ts'
import { arrival, type Booking, bookAll, completionOf, noon } from './support/events.ts'
import { gateSecondTransaction } from './support/gate.ts'
import { chooseSeed } from './support/random.ts'

type Tx = pg.PoolClient

describe('group commit', () => {
  let database: OwnDatabase
  let here: ReturnType<typeof pgPipelined>
  let there: Opened<Tx>

  beforeAll(async () => {
    database = await createOwnDatabase(inject('ownerUrl'))
  })

  afterAll(async () => {
    await database.drop()
  })

  beforeEach(async () => {
    // Two pools that share nothing but the database, as two processes would.
    here = pgPipelined(database.url, { now: () => noon }, { max: 4 })
    there = pgPipelined(database.url, { now: () => noon }, { max: 4 })
    await database.pool.query('drop table if exists einmal_events; truncate effects')
    await database.pool.query(here.db.register.createTable)
  })

  afterEach(async () => {
    vi.useRealTimers()
    await Promise.all([here.close(), there.close()])
  })

  const group = (opened: Opened<Tx>, options?: GroupOptions, work = bookAll(opened)) =>
    createGroup(opened.db, work, options)
  const row = (id: string) => findRow(database.pool, id)
  const effects = (id: string) => countEffects(database.pool, id)
  const kindsOf = (outcomes: readonly Outcome[]) => outcomes.map(({ outcome }) => outcome)
  const submitAll = (to: Group<Booking>, incoming: readonly Incoming<Booking>[]) =>
    Promise.all(incoming.map((item) => to.submit(item)))

  async function totals() {
    const { rows } = await database.pool.query(
      `select state, count(*)::int as events, sum(copies)::int as copies, max(copies) as most, min(copies) as least,
        max(attempt) as attempts from einmal_events group by state order by state`,
    )
    const found = await database.pool.query('select count(*)::int as rows, count(distinct id)::int as ids from effects')
    return { events: rows, effects: found.rows[0] }
  }

  test('500 keys, each twice, over two processes in random order: each once, two copies each, and no deadlock', async () => {
    const random = createRandom(chooseSeed())
    const before = await countDeadlocks(database)
    for (const round of [1, 2, 3, 4]) {
      await database.pool.query('truncate effects, einmal_events')
      const ids = Array.from({ length: 500 }, (_, index) => `evt_${round}_${index}`)
      const groups = [group(here, { maxSize: 100 }), group(there, { maxSize: 70 })]
      // Half of the keys meet themselves in the other process, the rest in either.
      const arrivals = shuffled([...ids, ...ids], random)
      const outcomes = await Promise.all(
        arrivals.map((id) => {
          const to = groups[random() < 0.5 ? 0 : 1]
          if (to === undefined) throw new Error('there are two groups')
          return to.submit(arrival(id))
        }),
      )
      const kinds = kindsOf(outcomes)
      expect(kinds.filter((kind) => kind === 'done')).toHaveLength(500)
      expect(kinds.filter((kind) => kind === 'duplicate')).toHaveLength(500)
      for (const [index, outcome] of outcomes.entries())
        expect(outcome).toMatchObject(completionOf(arrivals[index] ?? ''))
      expect(await totals()).toEqual({
        events: [{ state: 'completed', events: 500, copies: 1000, most: 2, least: 2, attempts: 1 }],
        effects: { rows: 500, ids: 500 },
      })
    }
    await Promise.all([here.close(), there.close()])
    expect(await countDeadlocks(database)).toBe(before)
    here = pgPipelined(database.url)
    there = pgPipelined(database.url)
  })

  test('trap 7: one file imported by two processes at once, in opposite order, and then again', async () => {
    const ids = Array.from({ length: 400 }, (_, index) => `line_${index}`)
    const before = await countDeadlocks(database)
    const both = await Promise.all([
      submitAll(
        group(here, { maxSize: 400 }),
        ids.map((id) => arrival(id)),
      ),
      submitAll(
        group(there, { maxSize: 400 }),
        ids.toReversed().map((id) => arrival(id)),
      ),
    ])
    expect(kindsOf(both.flat()).filter((kind) => kind === 'done')).toHaveLength(400)
    const again = await submitAll(
      group(here),
      ids.map((id) => arrival(id)),
    )
    expect(new Set(kindsOf(again))).toEqual(new Set(['duplicate']))
    expect(await totals()).toEqual({
      events: [{ state: 'completed', events: 400, copies: 1200, most: 3, least: 3, attempts: 1 }],
      effects: { rows: 400, ids: 400 },
    })
    await Promise.all([here.close(), there.close()])
    expect(await countDeadlocks(database)).toBe(before)
    here = pgPipelined(database.url)
    there = pgPipelined(database.url)
  })

  test('equal keys in one group are one effect; the first is done, the others are its copies', async () => {
    const counted = countTransactions(here.db)
    const outcomes = await submitAll(
      createGroup(counted.db, bookAll(here)),
      ['b', 'a', 'b', 'b', 'c'].map((id) => arrival(id)),
    )
    expect(kindsOf(outcomes)).toEqual(['done', 'done', 'duplicate', 'duplicate', 'done'])
    expect(outcomes.map(({ copies }) => copies)).toEqual([3, 1, 3, 3, 1])
    expect(counted.transactions()).toBe(1)
    expect(await row('b')).toMatchObject({ copies: 3, attempt: 1 })
    expect(await effects('b')).toBe(1)
  })

  test('keys that differ only in where a separator stands are not folded', async () => {
    const parts = [
      { source: 'a:b', kind: 'c' },
      { source: 'a', kind: 'b:c' },
      { source: 'a', kind: 'b' },
      { source: 'b', kind: 'a' },
    ]
    const incoming = parts.map(({ source, kind }, index) => {
      const item = arrival(index === 2 ? 'c:x' : 'x')
      return { ...item, key: { ...item.key, source, kind } }
    })
    const outcomes = await submitAll(group(here), incoming)
    expect(kindsOf(outcomes)).toEqual(['done', 'done', 'done', 'done'])
    expect(new Set(outcomes.map(({ eventId }) => eventId)).size).toBe(4)
  })

  test('IDEM-08: other content inside a group is a conflict, whoever is first decides', async () => {
    const contents = ['v1:100', 'v1:100', 'v1:90', 'v2:90', '']
    const outcomes = await submitAll(
      group(here),
      contents.map((fingerprint) => arrival('evt', { fingerprint })),
    )
    expect(kindsOf(outcomes)).toEqual(['done', 'duplicate', 'conflict', 'duplicate', 'duplicate'])
    // Who comes first in a group says nothing about who is right: the content on record does.
    const later = ['v1:90', 'v1:100', '', 'v1:80', 'v1:90']
    const more = await submitAll(
      group(there),
      later.map((fingerprint) => arrival('evt', { fingerprint })),
    )
    expect(kindsOf(more)).toEqual(['conflict', 'duplicate', 'duplicate', 'conflict', 'conflict'])
    for (const outcome of [...outcomes, ...more]) expect(outcome).toMatchObject(completionOf('evt'))
    expect(await effects('evt')).toBe(1)
    expect(await row('evt')).toMatchObject({ copies: 10 })
  })

  test('a failed event goes to the arrival with its content, though one with other content came first in the group', async () => {
    await group(here).submit(arrival('evt', { note: 'poison', fingerprint: 'v1:100' }))
    const outcomes = await submitAll(group(there), [
      arrival('evt', { fingerprint: 'v1:90' }),
      arrival('other'),
      arrival('evt', { fingerprint: 'v1:100' }),
      arrival('evt', { fingerprint: 'v2:whatever' }),
    ])
    expect(outcomes).toMatchObject([
      { outcome: 'conflict', attempt: 2, ...completionOf('evt') },
      { outcome: 'done', attempt: 1, ...completionOf('other') },
      { outcome: 'done', attempt: 2, ...completionOf('evt') },
      { outcome: 'duplicate', attempt: 2, copies: 4, ...completionOf('evt') },
    ])
    expect(await row('evt')).toMatchObject({ state: 'completed', attempt: 2, copies: 4 })
    expect(await effects('evt')).toBe(1)
  })

  test('trap 7: one poisoned event among 1,000 fails alone, is on record, and can be mended by its next arrival', async () => {
    const incoming = Array.from({ length: 1_000 }, (_, index) =>
      arrival(`evt_${index}`, index === 637 ? { note: 'poison' } : {}),
    )
    const outcomes = await submitAll(group(here), incoming)
    expect(kindsOf(outcomes).filter((kind) => kind === 'done')).toHaveLength(999)
    expect(outcomes[637]).toMatchObject({
      outcome: 'failed',
      attempt: 1,
      copies: 1,
      error: { message: expect.stringContaining('effects_note_check') },
      cause: expect.objectContaining({ code: '23514' }),
    })
    expect(await row('evt_637')).toMatchObject({ state: 'failed', attempt: 1, copies: 1 })
    expect(await totals()).toMatchObject({
      events: [
        { state: 'completed', events: 999, copies: 999 },
        { state: 'failed', events: 1, copies: 1 },
      ],
      effects: { rows: 999, ids: 999 },
    })
    const again = await submitAll(
      group(there),
      incoming.map((item) => arrival(item.input.id)),
    )
    expect(again[637]).toMatchObject({ outcome: 'done', attempt: 2 })
    expect(kindsOf(again).filter((kind) => kind === 'duplicate')).toHaveLength(999)
    expect(await totals()).toMatchObject({ effects: { rows: 1_000, ids: 1_000 } })
  })

  test('two copies of a poisoned event in one group are two attempts; a final failure is one, told to the other', async () => {
    const twice = await submitAll(group(here), [
      arrival('evt_1'),
      arrival('evt_2', { note: 'poison' }),
      arrival('evt_2', { note: 'poison' }),
    ])
    expect(twice).toMatchObject([
      { outcome: 'done' },
      { outcome: 'failed', attempt: 1 },
      { outcome: 'failed', attempt: 2 },
    ])
    expect(await row('evt_2')).toMatchObject({ attempt: 2, copies: 2 })

    const work: Work<Tx, Booking> = {
      effect: async () => {
        throw new FinalError('closed')
      },
    }
    const final = await submitAll(group(here, {}, work), [arrival('evt_3'), arrival('evt_3')])
    expect(final).toMatchObject([
      { outcome: 'failed' },
      { outcome: 'failed', error: { code: 'FinalError', message: 'closed' } },
    ])
    expect(await row('evt_3')).toMatchObject({ is_final: true, attempt: 1, copies: 2 })
  })

  test('a failure that meets a conflict tells how often the event arrived, not how often it was tried', async () => {
    const poisoned = () => arrival('evt', { note: 'poison', fingerprint: 'v1:1' })
    await group(here).submit(poisoned())
    expect(await group(here).submit(arrival('evt', { fingerprint: 'v1:2' }))).toMatchObject({
      outcome: 'conflict',
      copies: 2,
    })
    expect(await group(here).submit(poisoned())).toMatchObject({ outcome: 'failed', attempt: 2, copies: 3 })
    expect(await row('evt')).toMatchObject({ attempt: 2, copies: 3 })
  })

  test('a failure whose event somebody else finished meanwhile is a duplicate', async () => {
    const gate = gateSecondTransaction(here.db)
    const late = createGroup(gate.db, bookAll(here)).submit(arrival('evt', { note: 'poison' }))
    await gate.reached
    expect(await group(there).submit(arrival('evt'))).toMatchObject({ outcome: 'done' })
    gate.open()
    expect(await late).toMatchObject({ outcome: 'duplicate', copies: 2, ...completionOf('evt') })
    expect(await row('evt')).toMatchObject({ state: 'completed', attempt: 1, copies: 2, error_code: null })
  })

  test('a split group keeps the order of arrival within it: the first of a key decides, and nobody overtakes', async () => {
    const finished: string[] = []
    const to = group(here, { maxSize: 8 })
    const submit = (id: string, more: { note?: string; fingerprint?: string } = {}) =>
      to.submit(arrival(id, more)).then((outcome) => {
        finished.push(`${id} ${outcome.outcome}`)
      })
    await Promise.all([
      submit('a', { fingerprint: 'v1:first' }),
      submit('b'),
      submit('poisoned', { note: 'poison' }),
      submit('c'),
      submit('d'),
      submit('e'),
      submit('f'),
      submit('a', { fingerprint: 'v1:second' }),
    ])
    expect(finished).toEqual([
      ...['a done', 'b done', 'poisoned failed', 'c done'],
      ...['d done', 'e done', 'f done', 'a conflict'],
    ])
  })

  test('one more than maxWaiting is refused, nothing of it happens, and there is room again afterwards', async () => {
    const to = group(here, { maxWaiting: 3 })
    const settled = await Promise.allSettled(['a', 'b', 'c', 'refused'].map((id) => to.submit(arrival(id))))
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
    expect(settled[3]).toMatchObject({ reason: expect.any(GroupFullError) })
    expect(await row('refused')).toBeUndefined()
    expect(await to.submit(arrival('refused'))).toMatchObject({ outcome: 'done', copies: 1 })
  })

  test('drain resolves when all that was submitted is settled, at once when nothing was, and again and again', async () => {
    const to = group(here, { maxSize: 10 })
    await to.drain()
    for (const round of [1, 2, 3]) {
      let settled = 0
      const submitted = Array.from({ length: 95 }, (_, index) =>
        to.submit(arrival(`evt_${round}_${index}`, { scope: `scope_${index % 3}` })).then(() => {
          settled += 1
        }),
      )
      await Promise.all([to.drain(), to.drain()])
      expect(settled).toBe(95)
      await Promise.all(submitted)
    }
    await to.drain()
    expect(await totals()).toMatchObject({ effects: { rows: 285 } })
  })

  test('whoever drains anew while an older drain resolves waits for the newer events', async () => {
    const to = group(here)
    const order: string[] = []
    const first = to.submit(arrival('first'))
    const drained = to.drain()
    const later = drained.then(async () => {
      const second = to.submit(arrival('second')).then(() => order.push('second settled'))
      await Promise.all([to.drain(), to.drain()])
      await second
      order.push('drained')
    })
    await Promise.all([first, later, to.drain()])
    expect(order).toEqual(['second settled', 'drained'])
  })

  test('a scope with a long queue does not hold up another scope, even on a single connection', async () => {
    const narrow = pgPipelined(database.url, { now: () => noon }, { max: 1 })
    const to = createGroup(narrow.db, bookAll(narrow), { maxSize: 20 })
    let settled = 0
    const many = Array.from({ length: 1_000 }, (_, index) =>
      to.submit(arrival(`evt_${index}`, { scope: 'busy' })).then(() => {
        settled += 1
      }),
    )
    await to.submit(arrival('evt_small', { scope: 'quiet' }))
    expect(settled).toBeLessThanOrEqual(40)
    await Promise.all(many)
    await narrow.close()
    expect(await totals()).toMatchObject({ effects: { rows: 1_001 } })
  })

  test('an idle group commits at once, by no timer; what arrives during a commit forms the next group', async () => {
    await here.pool.query('select 1')
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] })
    const sizes: number[] = []
    const work: Work<Tx, Booking> = {
      async effect(tx, events) {
        sizes.push(events.length)
        if (sizes.length === 1)
          for (let index = 0; index < 50; index += 1) waiting.push(to.submit(arrival(`evt_${index}`)))
        return bookAll(here).effect(tx, events)
      },
    }
    const to = group(here, {}, work)
    const waiting: Promise<Outcome>[] = []
    expect(await to.submit(arrival('evt_first'))).toMatchObject({ outcome: 'done' })
    await Promise.all(waiting)
    expect(sizes).toEqual([1, 50])
  })

  test.each(['40001', '40P01'])('SQLSTATE %s twice: the group runs again, and no event happens twice', async (code) => {
    await once(there.db, { scope: 'acme', source: 'stripe', kind: 'payment.paid', id: 'known' }, async () =>
      completionOf('known'),
    )
    let runs = 0
    const work: Work<Tx, Booking> = {
      async effect(tx, events) {
        runs += 1
        const completions = await bookAll(here).effect(tx, events)
        if (runs < 3) await tx.query(`do $$ begin raise exception sqlstate '${code}'; end $$`)
        return completions
      },
    }
    const outcomes = await submitAll(
      group(here, {}, work),
      ['a', 'b', 'a', 'known'].map((id) => arrival(id)),
    )
    expect(kindsOf(outcomes)).toEqual(['done', 'done', 'duplicate', 'duplicate'])
    expect(runs).toBe(3)
    expect(outcomes.map(({ copies, attempt }) => [copies, attempt])).toEqual([
      [2, 1],
      [1, 1],
      [2, 1],
      [2, 1],
    ])
    expect(await totals()).toMatchObject({ effects: { rows: 2, ids: 2 } })
  })

  test('a deadlock three times in a row rejects, leaves nothing on record, and the sender may come again', async () => {
    const work: Work<Tx, Booking> = {
      async effect(tx, events) {
        const completions = await bookAll(here).effect(tx, events)
        await tx.query(`do $$ begin raise exception sqlstate '40P01'; end $$`)
        return completions
      },
    }
    const settled = await Promise.allSettled(['a', 'b'].map((id) => arrival(id)).map(group(here, {}, work).submit))
    expect(settled).toMatchObject([
      { status: 'rejected', reason: { code: '40P01' } },
      { status: 'rejected', reason: { code: '40P01' } },
    ])
    expect(await totals()).toMatchObject({ events: [], effects: { rows: 0 } })
    expect(await group(there).submit(arrival('a'))).toMatchObject({ outcome: 'done', attempt: 1, copies: 1 })
  })

  test('an expected completion stands only where it came true: copies are told what the effect led to, or nothing', async () => {
    const led = new Map([
      ['as_expected', completionOf('as_expected')],
      ['otherwise', { target: { type: 'review', id: '7' }, answer: 'kept' }],
      ['to_nothing', {}],
      ['after_failure', completionOf('after_failure')],
    ])
    const ids = [...led.keys()]
    await group(here).submit(arrival('after_failure', { note: 'poison' }))
    const work: Work<Tx, Booking> = {
      effect: async (_tx, events) => events.map(({ incoming }) => led.get(incoming.input.id) ?? {}),
    }
    const submit = (opened: Opened<Tx>) =>
      submitAll(
        group(opened, {}, work),
        ids.map((id) => ({ ...arrival(id), expected: completionOf(id) })),
      )
    const told = ids.map((id) => ({ target: led.get(id)?.target, answer: led.get(id)?.answer }))
    for (const outcomes of [await submit(here), await submit(there)]) {
      expect(outcomes.map(({ target, answer }) => ({ target, answer }))).toEqual(told)
    }
  })

  test('every arrival is written down with its outcome in the same transaction, copies and conflicts too', async () => {
    await database.pool.query('create table deliveries (id text, outcome text)')
    const settle = async (tx: Tx, settled: readonly Settled<Booking>[]) => {
      const values = [settled.map(({ incoming }) => incoming.input.id), settled.map(({ outcome }) => outcome.outcome)]
      await tx.query('insert into deliveries select * from unnest($1::text[], $2::text[])', values)
    }
    const work = { ...bookAll(here), settle }
    await submitAll(group(here, {}, work), [
      arrival('a', { fingerprint: 'v1:1' }),
      arrival('b'),
      arrival('a', { fingerprint: 'v1:1' }),
      arrival('a', { fingerprint: 'v1:2' }),
    ])
    const { rows } = await database.pool.query('select id, outcome from deliveries order by id, outcome')
    expect(rows.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(['a conflict', 'a done', 'a duplicate', 'b done'])
    const failing = { ...bookAll(here), settle: (tx: Tx) => tx.query('select 1 / 0').then(() => undefined) }
    expect(await group(here, {}, failing).submit(arrival('c'))).toMatchObject({ outcome: 'failed' })
    expect(await effects('c')).toBe(0)
  })
})

function countTransactions<T>(db: Db<T>): { db: Db<T>; transactions: () => number } {
  let count = 0
  return {
    transactions: () => count,
    db: {
      ...db,
      transaction(scope, work) {
        count += 1
        return db.transaction(scope, work)
      },
    },
  }
}

/** Backends hand in their counts when they end: close the pools first. */
async function countDeadlocks(database: OwnDatabase): Promise<number> {
  const { rows } = await database.pool.query<{ deadlocks: number }>(
    'select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()',
  )
  return rows[0]?.deadlocks ?? -1
}
