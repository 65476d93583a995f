/** What `Db.transaction` promises, and how values travel, run for every adapter. Judge is always the database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { classifyError, commitEvents, install, once } from '../src/index.ts'
import { type Open, type Opened, type Place, server } from './support/adapters.ts'
import { countEffects, findRow, type OwnDatabase } from './support/database.ts'
import { arrival, bookAll } from './support/events.ts'

export function transactionConformance<Tx>(name: string, open: Open<Tx>, place: Place = server): void {
  describe(`a transaction with ${name}`, () => {
    let database: OwnDatabase
    let opened: Opened<Tx>

    beforeAll(async () => {
      database = await place.createDatabase()
      await database.pool.query(
        `do $$ begin execute format('alter database %I set default_transaction_isolation = serializable',
          current_database()); end $$`,
      )
      await database.pool.query('set default_transaction_isolation = serializable')
      await database.pool.query('create table at_commit (id text unique deferrable initially deferred)')
      opened = open(database.url)
      await install(opened.db)
    })

    afterAll(async () => {
      await opened.close()
      await database.drop()
    })

    const key = (id: string) => ({ scope: 'acme', source: 'stripe', kind: 'payment.paid', id })
    const book = (tx: Tx, id: string) => opened.run(tx, 'insert into effects (id) values ($1)', [id])
    const effects = (id: string) => countEffects(database.pool, id)

    test('it is READ COMMITTED, whatever the server was told to begin with', async () => {
      const rows = await opened.db.transaction('acme', (_tx, query) =>
        query<{ level: string }>(`select current_setting('transaction_isolation') as level`, []),
      )
      expect(rows).toEqual([{ level: 'read committed' }])
    })

    test('what the work throws rolls back and is thrown on, the very same', async () => {
      const thrown = new Error('not today')
      const failing = opened.db.transaction('acme', async (tx) => {
        await book(tx, 'thrown')
        throw thrown
      })
      await expect(failing).rejects.toBe(thrown)
      expect(await effects('thrown')).toBe(0)
    })

    test('a failed statement that nobody waited for is not committed over', async () => {
      const careless = once(opened.db, key('careless'), async (tx) => {
        await book(tx, 'careless')
        opened.run(tx, 'select 1 / 0').catch(() => undefined)
        return undefined
      })
      await expect(careless).rejects.toThrow()
      expect(await effects('careless')).toBe(0)
      expect(await findRow(database.pool, 'careless')).toMatchObject({ state: 'failed', attempt: 1 })
    })

    test('a constraint that fails at the commit is an error, nothing remains, and the failure is on record', async () => {
      const twice = once(opened.db, key('at_commit'), async (tx) => {
        await book(tx, 'at_commit')
        for (const id of ['a', 'a']) await opened.run(tx, 'insert into at_commit values ($1)', [id])
        return undefined
      })
      await expect(twice).rejects.toSatisfy((error) => classifyError(error) === 'other')
      expect(await effects('at_commit')).toBe(0)
      expect(await findRow(database.pool, 'at_commit')).toMatchObject({ state: 'failed', attempt: 1 })
      expect((await database.pool.query('select * from at_commit')).rows).toEqual([])
    })

    test('the record of a failure holds the words of the database, and no value of the statement', async () => {
      const poisoned = once(opened.db, key('poisoned'), (tx) =>
        opened.run(tx, 'insert into effects (id, note) values ($1, $2)', ['secret', 'poison']).then(() => undefined),
      )
      await expect(poisoned).rejects.toThrow()
      const row = await findRow(database.pool, 'poisoned')
      expect(row?.error_message).toContain('effects_note_check')
      expect(row?.error_message).not.toContain('secret')
    })

    test('lists keep their elements, however they are written: quotes, braces, commas, backslashes, null', async () => {
      const ids = ['a"b', 'a\\b', '{a,b}', 'a,b', "a'b", 'NULLs', ' a b ', 'a\nb', '日本', '$1', '%s']
      for (const outcome of ['done', 'duplicate']) {
        const incoming = ids.map((id) => arrival(id))
        const outcomes = await commitEvents(opened.db, 'acme', incoming, bookAll(opened))
        expect(outcomes.map(({ outcome: is, target }) => [is, target?.id])).toEqual(
          ids.map((id) => [outcome, `p-${id}`]),
        )
      }
      const incoming = ['silent_1', 'silent_2'].map((id) => arrival(id))
      const answers = [{ answer: null }, {}]
      await commitEvents(opened.db, 'acme', incoming, { effect: async () => answers })
      const { rows } = await database.pool.query(
        `select answer is null as is_empty, target_id from einmal_events where external_id like 'silent_%' order by id`,
      )
      expect(rows.map(({ target_id: target }) => target)).toEqual([null, null])
    })

    test('install makes what is missing, by two at once, and again without a change', async () => {
      const installed = opened.another({ table: 'installed' })
      await Promise.all([install(installed), install(installed)])
      await install(installed)
      expect(await once(installed, key('installed'), async () => undefined)).toMatchObject({ outcome: 'done' })
      const { rows } = await database.pool.query(
        `select table_name as name from information_schema.tables where table_name like 'installed%' order by 1`,
      )
      const names = ['installed', 'installed_memory', 'installed_notes', 'installed_windows']
      expect(rows.map(({ name: table }) => table)).toEqual(names)
    })
  })
}
