import type { PGlite, Transaction as PgliteTransaction } from '@electric-sql/pglite'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle as drizzleOverNodePostgres } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOverPglite } from 'drizzle-orm/pglite'
import { drizzle as drizzleOverPostgresJs } from 'drizzle-orm/postgres-js'
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import type pg from 'pg'
import postgres from 'postgres'
import { inject } from 'vitest'
import { type DrizzleLike, type DrizzleTransactionLike, fromDrizzle } from '../../src/adapters/drizzle.ts'
import { fromKysely } from '../../src/adapters/kysely.ts'
import { fromPg, type PgOptions } from '../../src/adapters/pg.ts'
import { fromPglite } from '../../src/adapters/pglite.ts'
import { fromPostgresJs } from '../../src/adapters/postgres-js.ts'
import { toParameter } from '../../src/adapters/statements.ts'
import type { Db } from '../../src/index.ts'
import { createOwnDatabase, createPool, type OwnDatabase } from './database.ts'
import { createPgliteDatabase, findPglite } from './pglite-database.ts'

export interface Opened<Tx> {
  readonly db: Db<Tx>
  /** Resolves when the driver notices that a connection is gone. */
  readonly lost: Promise<void>
  /** Another register on the same connections. */
  another(options: PgOptions): Db<Tx>
  /** One statement in the transaction, in the words of the driver. */
  run(tx: Tx, text: string, values?: readonly unknown[]): Promise<unknown>
  close(): Promise<void>
}

export interface PoolLimits {
  readonly max?: number
  readonly query_timeout?: number
}

/** Where a suite runs: on a database of its own. */
export interface Place {
  createDatabase(): Promise<OwnDatabase>
  /** Why no two callers are in the database at the same moment; `null`, where they are. Their tests are skipped for it. */
  readonly oneAtATime: string | null
}

export const server: Place = { createDatabase: () => createOwnDatabase(inject('ownerUrl')), oneAtATime: null }

export const inProcess: Place = {
  createDatabase: createPgliteDatabase,
  oneAtATime: 'PGlite has one connection: no caller is in the database while another one is',
}

export type Open<Tx> = (url: string, options?: PgOptions, limits?: PoolLimits) => Opened<Tx>

type OpenPg = (
  url: string,
  options?: PgOptions,
  pool?: pg.PoolConfig,
) => Opened<pg.PoolClient> & { readonly pool: pg.Pool }

function openPg(config: { pipeline?: boolean }, defaults: PgOptions = {}): OpenPg {
  return (url, options = {}, poolConfig = {}) => {
    const pool = createPool(url, { ...config, ...poolConfig })
    return {
      db: fromPg(pool, { ...defaults, ...options }),
      pool,
      lost: whenLost(pool),
      another: (more) => fromPg(pool, { ...defaults, ...more }),
      run: (tx, text, values = []) => tx.query(text, [...values]),
      close: () => pool.end(),
    }
  }
}

function whenLost(pool: pg.Pool): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  pool.on('connect', (client) => client.once('end', () => resolve()))
  return promise
}

/** Neither Kysely nor Drizzle puts a listener on a connection in use, so its owner has to: see the README. */
function createHeardPool(url: string, limits: PoolLimits): pg.Pool {
  const pool = createPool(url, limits)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

export const kysely: Open<Transaction<unknown>> = (url, options = {}, limits = {}) => {
  const pool = createHeardPool(url, limits)
  const instance = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  return {
    db: fromKysely(instance, { ...options, raw: CompiledQuery.raw }),
    lost: whenLost(pool),
    another: (more) => fromKysely(instance, { ...more, raw: CompiledQuery.raw }),
    run: (tx, text, values = []) => tx.executeQuery(CompiledQuery.raw(text, [...values])),
    close: () => instance.destroy(),
  }
}

function createSql(url: string, limits: PoolLimits, fetchesTypes = false) {
  const { promise: lost, resolve } = Promise.withResolvers<void>()
  const { max = 10 } = limits
  const sql = postgres(url, { max, fetch_types: fetchesTypes, onclose: () => resolve(), onnotice: () => undefined })
  return { sql, lost }
}

function openPostgresJs(fetchesTypes: boolean, defaults: PgOptions = {}): Open<postgres.TransactionSql> {
  return (url, options = {}, limits = {}) => {
    const { sql, lost } = createSql(url, limits, fetchesTypes)
    return {
      db: fromPostgresJs(sql, { ...defaults, ...options }),
      lost,
      another: (more) => fromPostgresJs(sql, { ...defaults, ...more }),
      run: async (tx, text, values = []) => tx.unsafe(text, values.map(toParameter) as never[]),
      close: () => sql.end({ timeout: 0 }),
    }
  }
}

/** What an effect of the suites needs of Drizzle, whatever is below it. */
interface DrizzleTx extends DrizzleTransactionLike {
  execute(statement: ReturnType<typeof drizzleSql.raw>): PromiseLike<unknown>
}

function openDrizzle(
  connect: (
    url: string,
    limits: PoolLimits,
  ) => { db: DrizzleLike<DrizzleTx>; lost: Promise<void>; close(): Promise<void> },
): Open<DrizzleTx> {
  return (url, options = {}, limits = {}) => {
    const { db, lost, close } = connect(url, limits)
    return {
      db: fromDrizzle(db, { ...options, sql: drizzleSql }),
      lost,
      another: (more) => fromDrizzle(db, { ...more, sql: drizzleSql }),
      run: async (tx, text, values = []) => {
        const parts = text.split(/\$(\d+)/)
        return tx.execute(
          drizzleSql.join(
            parts.map((part, index) =>
              index % 2 === 0 ? drizzleSql.raw(part) : drizzleSql.param(toParameter(values[Number(part) - 1])),
            ),
          ),
        )
      },
      close,
    }
  }
}

export const pgPlain = openPg({})
export const pgPipelined = openPg({ pipeline: true })
export const pgUnprepared = openPg({ pipeline: true }, { preparedStatements: false })
export const postgresJs = openPostgresJs(true)
/** A connection that is lost while postgres-js asks for its types ends the process: see the README. */
export const postgresJsUntyped = openPostgresJs(false)
export const postgresJsUnprepared = openPostgresJs(false, { preparedStatements: false })

export const drizzleNodePostgres = openDrizzle((url, limits) => {
  const pool = createHeardPool(url, limits)
  const inUse = new Set<pg.PoolClient>()
  pool.on('acquire', (client) => inUse.add(client))
  pool.on('release', (_error, client) => inUse.delete(client))
  const close = () => {
    // Drizzle never gives back a connection that is lost at its `begin`, and the pool waits for it.
    for (const client of inUse) client.release(true)
    return pool.end()
  }
  return { db: drizzleOverNodePostgres(pool), lost: whenLost(pool), close }
})

export const drizzlePostgresJs = openDrizzle((url, limits) => {
  const { sql, lost } = createSql(url, limits)
  return { db: drizzleOverPostgresJs(sql), lost, close: () => sql.end({ timeout: 0 }) }
})

const never = new Promise<void>(() => undefined)

export const drizzlePglite = openDrizzle((url) => ({
  db: drizzleOverPglite(findPglite(url)),
  lost: never,
  close: async () => undefined,
}))

export const pglite: Open<PgliteTransaction> = (url, options = {}) => {
  const instance: PGlite = findPglite(url)
  return {
    db: fromPglite(instance, options),
    lost: never,
    another: (more) => fromPglite(instance, more),
    run: (tx, text, values = []) => tx.query(text, [...values]),
    close: async () => undefined,
  }
}

/** Runs a suite for every adapter, and for every way to set one up. */
export function forEveryAdapter(suite: <Tx>(name: string, open: Open<Tx>, place?: Place) => void): void {
  suite('pg', pgPlain)
  suite('pg, pipelined', pgPipelined)
  suite('pg, without prepared statements', pgUnprepared)
  suite('kysely', kysely)
  suite('postgres-js', postgresJs)
  suite('postgres-js, without prepared statements', postgresJsUnprepared)
  suite('drizzle over node-postgres', drizzleNodePostgres)
  suite('drizzle over postgres-js', drizzlePostgresJs)
  suite('pglite', pglite, inProcess)
  suite('drizzle over pglite', drizzlePglite, inProcess)
}
