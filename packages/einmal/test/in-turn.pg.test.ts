import pg from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { once } from '../src/index.ts'
import { drizzleNodePostgres, kysely, type Open, pgPlain, server } from './support/adapters.ts'
import { countEffects } from './support/database.ts'

/**
 * `pg` warns when a statement waits in its queue and another one comes, which its next major version will refuse. When
 * that is depends on how the network cuts the answers; so what counts here is that none is handed over too early.
 */
describe('without a pipeline, pg gets one statement at a time', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  describe.each<[string, Open<never>]>([
    ['pg', pgPlain as never],
    ['kysely', kysely as never],
    ['drizzle', drizzleNodePostgres as never],
  ])('with %s', (_name, open) => {
    test.each([
      ['an effect that succeeds', 'select 1', true],
      ['an effect that swallows its error', 'select 1 / 0', false],
    ])('%s', async (_title, statement, isBooked) => {
      const database = await server.createDatabase()
      const opened = open(database.url)
      try {
        await database.pool.query(opened.db.register.createTable)
        const tooEarly = watchStatements()
        const key = { scope: 'acme', source: 'stripe', kind: 'payment.paid', id: 'evt_1' }
        const booking = once(opened.db, key, async (tx) => {
          await opened.run(tx, 'insert into effects (id, note) values ($1, $2)', ['evt_1', ''])
          await opened.run(tx, statement).catch(() => undefined)
          return { answer: 'booked' }
        })
        await booking.catch(() => undefined)
        expect(await countEffects(database.pool, 'evt_1')).toBe(isBooked ? 1 : 0)
        expect(tooEarly).toEqual([])
      } finally {
        await opened.close()
        await database.drop()
      }
    })
  })
})

/** The statements that come while another one of their connection is not answered yet. */
function watchStatements(): string[] {
  const tooEarly: string[] = []
  const running = new WeakMap<object, number>()
  const query: (...parameters: never[]) => unknown = pg.Client.prototype.query
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...parameters: unknown[]) {
    const result = Reflect.apply(query, this, parameters)
    // What the pool sends by itself, on a connection of its own, is answered by a callback.
    if (!(result instanceof Promise)) return result as never
    const before = running.get(this) ?? 0
    if (before > 0) tooEarly.push(JSON.stringify(parameters[0]))
    running.set(this, before + 1)
    const answered = () => running.set(this, (running.get(this) ?? 1) - 1)
    result.then(answered, answered)
    return result as never
  })
  return tooEarly
}
