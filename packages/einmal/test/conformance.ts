/**
 * The guarantees of the library, run for every adapter. An adapter that passes may be trusted with money.
 *
 * Judge is always the database: the table `effects`, on which nothing is unique, and the row of the register.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PgOptions } from '../src/adapters/pg.ts'
import {
  classifyError,
  commitEvents,
  type Db,
  eventKey,
  FinalError,
  KeyError,
  type Outcome,
  once,
  uuidv7,
} from '../src/index.ts'
import { type Open, type Opened, type Place, server } from './support/adapters.ts'
import { countEffects, findRow, type OwnDatabase } from './support/database.ts'
import { gateSecondTransaction } from './support/gate.ts'

export function conformance<Tx>(name: string, open: Open<Tx>, place: Place = server): void {
  describe(`once with ${name}`, () => {
    let database: OwnDatabase
    let opened: Opened<Tx>
    let now = new Date('2026-11-30T10:00:00.000Z')
    const others: Opened<Tx>[] = []
    const warnings: string[] = []
    const onWarning = (warning: Error) => warnings.push(warning.message)
    const options: PgOptions = { now: () => now }

    const openAnother = (more: PgOptions = {}) => {
      const another = open(database.url, { ...options, ...more })
      others.push(another)
      return another
    }
    const key = (id: string) => ({ scope: 'acme', source: 'stripe', kind: 'payment.paid', id })
    /** The effect every test uses: one row, and what a copy shall be told. */
    const book = (id: string, note = '', from: Opened<Tx> = opened) => {
      return async (tx: Tx) => {
        await from.run(tx, 'insert into effects (id, note) values ($1, $2)', [id, note])
        return { target: { type: 'payment', id: `p-${id}` }, answer: { booked: id } }
      }
    }
    const effects = (id: string) => countEffects(database.pool, id)
    const row = (id: string) => findRow(database.pool, id)

    beforeAll(async () => {
      process.on('warning', onWarning)
      database = await place.createDatabase()
      opened = open(database.url, options)
      await database.pool.query(opened.db.register.createTable)
    })

    afterAll(async () => {
      await Promise.all([opened, ...others].map((one) => one.close()))
      await database.drop()
      process.off('warning', onWarning)
    })

    test('the first arrival is done, every later one a duplicate with the same target and answer', async () => {
      const id = 'evt_first'
      const first = await once(opened.db, key(id), book(id))
      const told = { target: { type: 'payment', id: 'p-evt_first' }, answer: { booked: id }, attempt: 1 }
      expect(first).toEqual({ outcome: 'done', eventId: first.eventId, copies: 1, ...told })
      for (const copies of [2, 3]) {
        const again = await once(opened.db, key(id), book(id))
        expect(again).toEqual({ outcome: 'duplicate', eventId: first.eventId, copies, ...told })
      }
      expect(await effects(id)).toBe(1)
      expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1, copies: 3 })
    })

    test('an effect that returns nothing leaves nothing to tell', async () => {
      const first = await once(opened.db, key('evt_silent'), async () => undefined)
      const again = await once(opened.db, key('evt_silent'), async () => undefined)
      expect(first).toMatchObject({ outcome: 'done', target: undefined, answer: undefined })
      expect(again).toMatchObject({ outcome: 'duplicate', target: undefined, answer: undefined })
      const empty = await once(opened.db, key('evt_null'), async () => ({ answer: null }))
      const emptyAgain = await once(opened.db, key('evt_null'), async () => ({ answer: null }))
      expect(emptyAgain.answer).toBe(empty.answer)
    })

    test('the times on record are those of the injected clock', async () => {
      const id = 'evt_time'
      await once(opened.db, key(id), book(id))
      now = new Date('2026-11-30T11:00:00.000Z')
      await once(opened.db, key(id), book(id))
      // A machine whose clock is behind never moves the last arrival back.
      now = new Date('2026-11-30T09:00:00.000Z')
      await once(opened.db, key(id), book(id))
      now = new Date('2026-11-30T10:00:00.000Z')
      const { rows } = await database.pool.query(
        'select first_arrived_at, last_arrived_at, finished_at from einmal_events where external_id = $1',
        [id],
      )
      expect(rows).toEqual([
        {
          first_arrived_at: new Date('2026-11-30T10:00:00.000Z'),
          last_arrived_at: new Date('2026-11-30T11:00:00.000Z'),
          finished_at: new Date('2026-11-30T10:00:00.000Z'),
        },
      ])
    })

    test('IDEM-20: 16 at once over four pools are one effect and 15 duplicates, and no error', async () => {
      const pools = [opened, openAnother(), openAnother(), openAnother()]
      for (const round of [1, 2, 3]) {
        const id = `evt_burst_${round}`
        const outcomes = await Promise.all(
          Array.from({ length: 16 }, (_, index) => {
            const from = pools[index % pools.length] ?? opened
            return once(from.db, key(id), book(id, '', from))
          }),
        )
        expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['done', ...Array(15).fill('duplicate')])
        expect(new Set(outcomes.map(({ eventId }) => eventId)).size).toBe(1)
        expect(outcomes.map(({ target }) => target?.id)).toEqual(Array(16).fill(`p-${id}`))
        expect(await effects(id)).toBe(1)
        expect(await row(id)).toMatchObject({ state: 'completed', copies: 16 })
      }
    })

    test('16 at once, whose first holder rolls back, are still one effect', async () => {
      const id = 'evt_burst_failing'
      let failed = false
      const from = [opened, openAnother()]
      const settled = await Promise.allSettled(
        Array.from({ length: 16 }, (_, index) =>
          once((from[index % 2] ?? opened).db, key(id), async (tx) => {
            const done = await book(id)(tx)
            if (failed) return done
            failed = true
            throw new Error('the first one fails')
          }),
        ),
      )
      expect(settled.filter(({ status }) => status === 'rejected').length).toBeLessThanOrEqual(1)
      expect(await effects(id)).toBe(1)
      expect(await row(id)).toMatchObject({ state: 'completed', copies: 16 })
    })

    test('IDEM-04, IDEM-23: a failed effect is rolled back and on record, the next arrival is attempt 2, then duplicates', async () => {
      const id = 'evt_fails_once'
      const failing = once(opened.db, key(id), async (tx) => {
        await book(id)(tx)
        throw new TypeError('the ledger is closed')
      })
      await expect(failing).rejects.toThrow('the ledger is closed')
      expect(await effects(id)).toBe(0)
      expect(await row(id)).toMatchObject({
        state: 'failed',
        attempt: 1,
        copies: 1,
        error_code: 'TypeError',
        error_message: 'the ledger is closed',
      })
      expect(await once(opened.db, key(id), book(id))).toMatchObject({ outcome: 'done', attempt: 2, copies: 2 })
      expect(await row(id)).toMatchObject({
        state: 'completed',
        attempt: 2,
        copies: 2,
        error_code: null,
        error_message: null,
      })
      expect(await once(opened.db, key(id), book(id))).toMatchObject({
        outcome: 'duplicate',
        attempt: 2,
        copies: 3,
        target: { id: `p-${id}` },
      })
      expect(await effects(id)).toBe(1)
    })

    test('every failed attempt counts, and the last error is the one on record', async () => {
      const id = 'evt_fails_often'
      for (const attempt of [1, 2, 3]) {
        await expect(
          once(opened.db, key(id), async () => {
            throw new Error(`failure ${attempt}`)
          }),
        ).rejects.toThrow(`failure ${attempt}`)
        expect(await row(id)).toMatchObject({
          state: 'failed',
          attempt,
          copies: attempt,
          error_message: `failure ${attempt}`,
        })
      }
      expect(await once(opened.db, key(id), book(id))).toMatchObject({ outcome: 'done', attempt: 4 })
    })

    test('IDEM-16: an error that quotes a NUL or half a character is on record all the same', async () => {
      const id = 'evt_nul_error'
      const message = 'payer "\0\ud83d"'
      await expect(
        once(opened.db, key(id), async () => {
          throw new Error(message)
        }),
      ).rejects.toThrow(message)
      expect(await row(id)).toMatchObject({ state: 'failed', attempt: 1 })
    })

    test('after a final failure no later arrival tries again', async () => {
      const id = 'evt_final'
      await expect(
        once(opened.db, key(id), async () => {
          throw new FinalError('the account was closed')
        }),
      ).rejects.toBeInstanceOf(FinalError)
      expect(await once(opened.db, key(id), book(id))).toMatchObject({
        outcome: 'failed',
        error: { code: 'FinalError', message: 'the account was closed' },
        attempt: 1,
        copies: 2,
      })
      expect(await effects(id)).toBe(0)
      expect(await row(id)).toMatchObject({ state: 'failed', is_final: true, copies: 2 })
    })

    test('IDEM-08: other content under one key is a conflict and changes nothing; another version is not compared', async () => {
      const id = 'evt_content'
      const withContent = (fingerprint?: string) =>
        once(opened.db, key(id), book(id), fingerprint === undefined ? {} : { fingerprint })
      expect((await withContent('v1:EUR 10000')).outcome).toBe('done')
      expect(await withContent('v1:EUR 5000')).toMatchObject({
        outcome: 'conflict',
        target: { id: `p-${id}` },
        copies: 2,
      })
      expect((await withContent('v1:EUR 10000')).outcome).toBe('duplicate')
      expect((await withContent('v2:EUR 5000')).outcome).toBe('duplicate')
      expect((await withContent()).outcome).toBe('duplicate')
      expect(await effects(id)).toBe(1)
      expect(await row(id)).toMatchObject({ state: 'completed', copies: 5 })
    })

    test('IDEM-08: other content is a conflict too while the first is still running', async ({ skip }) => {
      skip(place.oneAtATime !== null, place.oneAtATime ?? '')
      const id = 'evt_content_running'
      const running = Promise.withResolvers<void>()
      const mayEnd = Promise.withResolvers<void>()
      const first = once(
        opened.db,
        key(id),
        async (tx) => {
          running.resolve()
          await mayEnd.promise
          return book(id)(tx)
        },
        { fingerprint: 'v1:10000' },
      )
      await running.promise
      const second = once(opened.db, key(id), book(id), { fingerprint: 'v1:5000' })
      await untilSomebodyWaits(database)
      mayEnd.resolve()
      expect((await first).outcome).toBe('done')
      expect((await second).outcome).toBe('conflict')
      expect(await effects(id)).toBe(1)
    })

    test('IDEM-08: other content is a conflict too after the first failed', async () => {
      const failedId = 'evt_content_failed'
      const failing = async () => {
        throw new Error('not now')
      }
      await expect(once(opened.db, key(failedId), failing, { fingerprint: 'v1:10000' })).rejects.toThrow('not now')
      const other = await once(opened.db, key(failedId), book(failedId), { fingerprint: 'v1:5000' })
      expect(other.outcome).toBe('conflict')
      expect(await effects(failedId)).toBe(0)
      const same = await once(opened.db, key(failedId), book(failedId), { fingerprint: 'v1:10000' })
      expect(same).toMatchObject({ outcome: 'done', attempt: 2 })
    })

    test('IDEM-06: one id in two scopes, sources or kinds is separate events, each with its own answer', async () => {
      const id = '2026-03-02-001'
      const keys = [
        { scope: 'acme', source: 'stripe', kind: 'payment.paid', id },
        { scope: 'other', source: 'stripe', kind: 'payment.paid', id },
        { scope: 'acme', source: 'mollie', kind: 'payment.paid', id },
        { scope: 'acme', source: 'stripe', kind: 'payment.pending', id },
        { scope: 'acme', source: 'a', kind: 'b:c', id },
        { scope: 'acme', source: 'a:b', kind: 'c', id },
      ]
      for (const [index, parts] of keys.entries()) {
        const outcome = await once(opened.db, parts, async (tx) => {
          await book(id)(tx)
          return { answer: index }
        })
        expect(outcome).toMatchObject({ outcome: 'done', copies: 1 })
      }
      for (const [index, parts] of keys.entries()) {
        expect(await once(opened.db, parts, book(id))).toMatchObject({ outcome: 'duplicate', answer: index, copies: 2 })
      }
      expect(await effects(id)).toBe(keys.length)
    })

    test('IDEM-11, IDEM-12, IDEM-13: ids that differ in case, white space, Unicode form or only at the end are separate events', async () => {
      const long = 'x'.repeat(64)
      const ids = [
        'pay_1AbC',
        'pay_1aBc',
        'P-12',
        'P-12 ',
        ' P-12',
        'caf\u00e9',
        'cafe\u0301',
        `${long}1`,
        `${long}2`,
        '007',
        '7',
      ]
      for (const id of ids) expect((await once(opened.db, key(id), book(id))).outcome).toBe('done')
      for (const id of ids) {
        expect(await once(opened.db, key(id), book(id))).toMatchObject({
          outcome: 'duplicate',
          target: { id: `p-${id}` },
        })
        expect(await effects(id)).toBe(1)
      }
    })

    test('IDEM-15: a key whose four parts are random and as long as they may be is kept', async () => {
      const random = (bytes: number) => randomBytes(bytes).toString('base64url').slice(0, bytes)
      const parts = { scope: random(200), source: random(200), kind: random(200), id: random(1024) }
      expect((await once(opened.db, parts, book(parts.id))).outcome).toBe('done')
      expect((await once(opened.db, parts, book(parts.id))).outcome).toBe('duplicate')
      const euros = {
        ...parts,
        id: Array.from(randomBytes(341), (byte) => String.fromCharCode(0x4e00 + byte)).join(''),
      }
      expect((await once(opened.db, euros, book(euros.id))).outcome).toBe('done')
      expect((await once(opened.db, euros, book(euros.id))).outcome).toBe('duplicate')
    })

    test('a key that cannot name one event is refused before anything happens', async () => {
      const refused = once(opened.db, { ...key('x'), id: undefined }, book('evt_refused'))
      await expect(refused).rejects.toBeInstanceOf(KeyError)
      expect(await effects('evt_refused')).toBe(0)
    })

    test('an effect that swallows a failing statement is not committed', async () => {
      const id = 'evt_swallowed'
      for (const completion of [undefined, { answer: 'all is well' }]) {
        const swallowing = once(opened.db, key(id), async (tx) => {
          await book(id)(tx)
          await opened.run(tx, 'select 1 / 0').catch(() => undefined)
          return completion
        })
        await expect(swallowing).rejects.toThrow()
        expect(await effects(id)).toBe(0)
        expect(await row(id)).toMatchObject({ state: 'failed' })
      }
      expect(await once(opened.db, key(id), book(id))).toMatchObject({ outcome: 'done', attempt: 3 })
    })

    test('a call made again by the same holder finds its own commit and is no copy', async () => {
      const id = 'evt_holder'
      const holder = randomUUID()
      const first = await once(opened.db, key(id), book(id), { holder })
      const again = await once(opened.db, key(id), book(id), { holder })
      expect(again).toEqual(first)
      expect(await once(opened.db, key(id), book(id))).toMatchObject({ outcome: 'duplicate', copies: 2 })
      expect(await effects(id)).toBe(1)
    })

    test.each(['40001', '40P01'])(
      'SQLSTATE %s runs the effect again, twice, and it still happens once',
      async (code) => {
        const id = `evt_${code}`
        let runs = 0
        const outcome = await once(opened.db, key(id), async (tx) => {
          runs += 1
          const done = await book(id)(tx)
          if (runs < 3) await opened.run(tx, `do $$ begin raise exception sqlstate '${code}'; end $$`)
          return done
        })
        expect(outcome).toMatchObject({ outcome: 'done', attempt: 1, copies: 1 })
        expect(runs).toBe(3)
        expect(await effects(id)).toBe(1)
      },
    )

    test('the third deadlock in a row is thrown, and nothing of the event is left', async () => {
      const id = 'evt_deadlocks'
      const deadlocking = once(opened.db, key(id), async (tx) => {
        await book(id)(tx)
        await opened.run(tx, `do $$ begin raise exception sqlstate '40P01'; end $$`)
      })
      await expect(deadlocking).rejects.toSatisfy((error) => classifyError(error) === 'retry')
      expect(await row(id)).toBeUndefined()
      expect(await effects(id)).toBe(0)
    })

    test('a failure is never written over the one who won meanwhile: the late one is told it was a copy', async () => {
      const id = 'evt_late_failure'
      const gate = gateSecondTransaction(opened.db)
      const late = once(gate.db, key(id), async () => {
        throw new Error('the late one fails')
      })
      await gate.reached
      await once(opened.db, key(id), book(id))
      gate.open()
      const told = { outcome: 'duplicate', target: { id: `p-${id}` }, copies: 2 }
      expect(await late.catch((error: unknown) => error)).toMatchObject(told)
      expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1, copies: 2, error_code: null })
      expect(await effects(id)).toBe(1)
    })

    test('two final failures at once are one, and both arrivals are counted', async () => {
      const id = 'evt_late_final'
      const gate = gateSecondTransaction(opened.db)
      let runs = 0
      const fail = async () => {
        runs += 1
        throw new FinalError(`final ${runs}`)
      }
      const late = once(gate.db, key(id), fail)
      await gate.reached
      await expect(once(opened.db, key(id), fail)).rejects.toThrow('final 2')
      gate.open()
      expect(await late).toMatchObject({ outcome: 'failed', error: { message: 'final 2' } })
      expect(await row(id)).toMatchObject({ state: 'failed', attempt: 1, copies: 2, error_message: 'final 2' })
    })

    test('answers with every script, emoji, quotes and a megabyte come back as they went in', async () => {
      const answer = {
        text: 'Grüße, 日本語, עברית, 👩‍👩‍👧, \u2028 "quoted" \\ back, {"json":1}, $1 %s \u0001',
        list: [1, -0.5, 1e21, true, null, [], {}],
        nested: { deep: { deeper: [{ a: 1 }] } },
        long: randomBytes(750_000).toString('base64'),
      }
      const completion = { target: { type: 'paymént', id: '\u{1f4b6}:1' }, answer }
      const first = await once(opened.db, key('evt_answer'), async () => completion)
      const again = await once(opened.db, key('evt_answer'), async () => completion)
      expect(first).toMatchObject(completion)
      expect({ target: again.target, answer: again.answer }).toEqual(completion)
    })

    test('a copy gets the very text of the first answer: order of fields, NUL and half surrogate pairs included', async () => {
      const answer = { z: 1, a: [{ y: 'a\0b', b: '\ud800' }], '10': 1, '9': 2 }
      const first = await once(opened.db, key('evt_text'), async () => ({ answer }))
      const again = await once(opened.db, key('evt_text'), async () => ({ answer }))
      expect(again.outcome).toBe('duplicate')
      expect(JSON.stringify(again.answer)).toBe(JSON.stringify(first.answer))
    })

    test.each([
      ['a text', 'true'],
      ['zero', 0],
      ['no', false],
      ['an empty text', ''],
      ['an empty list', []],
    ])('an answer that is %s comes back as that', async (title, answer) => {
      const id = `evt_answer ${title}`
      expect((await once(opened.db, key(id), async () => ({ answer }))).answer).toEqual(answer)
      expect((await once(opened.db, key(id), async () => ({ answer }))).answer).toEqual(answer)
    })

    test('the scope may be a uuid under another name, and the table in a schema of its own', async () => {
      await database.pool.query('create schema if not exists billing')
      const names = { table: 'billing.processed', scopeColumn: 'organization_id', scopeType: 'uuid' } as const
      const there = openAnother(names)
      await database.pool.query(there.db.register.createTable)
      const [one, two] = [randomUUID(), randomUUID()]
      const id = 'evt_uuid'
      for (const scope of [one, two]) {
        const parts = { ...key(id), scope }
        const fail = async () => {
          throw new Error('no')
        }
        await expect(once(there.db, parts, fail)).rejects.toThrow('no')
        expect(await once(there.db, parts, book(id, '', there))).toMatchObject({ outcome: 'done', attempt: 2 })
        expect(await once(there.db, parts, book(id, '', there))).toMatchObject({ outcome: 'duplicate', copies: 3 })
      }
      expect(await effects(id)).toBe(2)
      const { rows } = await database.pool.query('select organization_id from billing.processed')
      expect(rows.map((found) => found.organization_id).toSorted()).toEqual([one, two].toSorted())
    })

    test('two registers on the same connections, also with long names that begin alike, know nothing of each other', async () => {
      const schema = 'a_schema_whose_name_is_rather_long_for_a_schema'
      await database.pool.query(`create schema if not exists ${schema}`)
      const shared = open(database.url, options, { max: 1 })
      others.push(shared)
      const id = 'evt_registers'
      const tables = ['other_events', `${schema}.events_of_the_first_kind`, `${schema}.events_of_the_second_kind`]
      for (const table of tables) {
        const db = shared.another({ ...options, table })
        await database.pool.query(db.register.createTable)
        const single = async () => (await once(db, key(id), book(id, '', shared))).outcome
        const both = async () => (await commitBoth(db, [`${id}_1`, `${id}_2`])).map(({ outcome }) => outcome)
        expect([await single(), await both()]).toEqual(['done', ['done', 'done']])
        expect([await single(), await both()]).toEqual(['duplicate', ['duplicate', 'duplicate']])
        expect(await findRow(database.pool, id, table)).toMatchObject({ copies: 2 })
      }
      expect(await effects(id)).toBe(tables.length)
      expect(await row(id)).toBeUndefined()
    })

    test('the scope may be a bigint, on the same connections as a register with another type of scope', async () => {
      const db = opened.another({ ...options, table: 'numbered', scopeColumn: 'tenant', scopeType: 'bigint' })
      await database.pool.query(db.register.createTable)
      const id = 'evt_numbered'
      const outcome = await once(db, { ...key(id), scope: '9007199254740993' }, book(id))
      expect(outcome.outcome).toBe('done')
      const { rows } = await database.pool.query('select tenant::text from numbered')
      expect(rows).toEqual([{ tenant: '9007199254740993' }])
    })

    test('an event of another scope than the transaction is refused, and nothing of the call remains', async () => {
      const mixed = ['acme', 'other'].map((scope) => incomingOf(eventKey({ ...key('evt_mixed'), scope })))
      const work = { effect: async () => [{}, {}] }
      await expect(commitEvents(opened.db, 'acme', mixed, work)).rejects.toThrow('scope')
      expect(await row('evt_mixed')).toBeUndefined()
    })

    test('an effect that forgets an event of the group is not committed', async () => {
      const two = ['evt_forgotten_1', 'evt_forgotten_2'].map((id) => incomingOf(eventKey(key(id))))
      await expect(commitEvents(opened.db, 'acme', two, { effect: async () => [{}] })).rejects.toThrow('each event')
      expect(await row('evt_forgotten_1')).toBeUndefined()
    })

    test('the driver has no reason to warn', () => {
      expect(warnings).toEqual([])
    })

    function incomingOf(parts: ReturnType<typeof eventKey>) {
      return {
        id: uuidv7(now.getTime()),
        key: parts,
        fingerprint: '',
        holder: randomUUID(),
        arrivedAt: now,
        input: null,
      }
    }

    function commitBoth(db: Db<Tx>, ids: readonly string[]): Promise<Outcome[]> {
      const incoming = ids.map((id) => incomingOf(eventKey(key(id))))
      return commitEvents(db, 'acme', incoming, { effect: async (_tx, events) => events.map(() => ({ answer: 1 })) })
    }
  })
}

/** A lock gives no signal to others, so this asks, at most 5,000 times. */
async function untilSomebodyWaits(database: OwnDatabase): Promise<void> {
  for (let asked = 0; asked < 5_000; asked += 1) {
    const { rows } = await database.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
  }
  throw new Error('nobody waits for a lock')
}
