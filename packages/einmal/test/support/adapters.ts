import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import type pg from 'pg'
import { fromKysely } from '../../src/adapters/kysely.ts'
import { fromPg, type PgOptions } from '../../src/adapters/pg.ts'
import type { Db } from '../../src/index.ts'
import { createPool } from './database.ts'

export interface Opened<Tx> {
  readonly db: Db<Tx>
  readonly pool: pg.Pool
  /** Another register on the same connections. */
  another(options: PgOptions): Db<Tx>
  /** One statement in the transaction, in the words of the driver. */
  run(tx: Tx, text: string, values?: readonly unknown[]): Promise<unknown>
  close(): Promise<void>
}

export type Open<Tx> = (url: string, options?: PgOptions, pool?: pg.PoolConfig) => Opened<Tx>

function openPg(config: { pipeline?: boolean }, defaults: PgOptions = {}): Open<pg.PoolClient> {
  return (url, options = {}, poolConfig = {}) => {
    const pool = createPool(url, { ...config, ...poolConfig })
    return {
      db: fromPg(pool, { ...defaults, ...options }),
      pool,
      another: (more) => fromPg(pool, { ...defaults, ...more }),
      run: (tx, text, values = []) => tx.query(text, [...values]),
      close: () => pool.end(),
    }
  }
}

const openKysely: Open<Transaction<unknown>> = (url, options = {}, poolConfig = {}) => {
  const pool = createPool(url, poolConfig)
  // Kysely puts no listener on a connection in use, so its owner has to: see the README.
  pool.on('connect', (client) => client.on('error', () => undefined))
  const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  return {
    db: fromKysely(kysely, { ...options, raw: CompiledQuery.raw }),
    pool,
    another: (more) => fromKysely(kysely, { ...more, raw: CompiledQuery.raw }),
    run: (tx, text, values = []) => tx.executeQuery(CompiledQuery.raw(text, [...values])),
    close: () => kysely.destroy(),
  }
}

export const pgPlain = openPg({})
export const pgPipelined = openPg({ pipeline: true })
export const pgUnprepared = openPg({ pipeline: true }, { preparedStatements: false })
export const kysely = openKysely
