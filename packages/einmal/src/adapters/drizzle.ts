import type { Db } from '../database.ts'
import { type DbOptions, defineDb } from './define-db.ts'
import { beginGuarded, READ_COMMITTED, runWork } from './statements.ts'

/** The part of Drizzle that is used; no dependency on the package. */
export interface DrizzleTransactionLike {
  execute(statement: never): PromiseLike<unknown>
}

export interface DrizzleLike<Transaction extends DrizzleTransactionLike> {
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
}

export interface DrizzleOptions extends DbOptions {
  /** Drizzle's `sql`, handed in so that the library needs no dependency. */
  readonly sql: {
    raw(text: string): unknown
    param(value: unknown): unknown
    join(parts: never[]): unknown
  }
}

/**
 * Uses a Drizzle database on PostgreSQL: over node-postgres, postgres-js or PGlite. The effect gets Drizzle's
 * transaction, of READ COMMITTED.
 *
 * What the effect throws rolls back, and so does a statement that failed, whoever caught its error. Otherwise as good as
 * the driver below: what is said of `fromPostgresJs` and `fromPglite` holds here, too. Over node-postgres, a connection in
 * use has no `error` listener: add one to each (`pool.on('connect', …)`), or a lost one ends the process.
 */
export function fromDrizzle<Transaction extends DrizzleTransactionLike>(
  drizzle: DrizzleLike<Transaction>,
  options: DrizzleOptions,
): Db<Transaction> {
  return defineDb(options, (_scope, work) =>
    beginGuarded(
      (run) => drizzle.transaction(run),
      async (tx: Transaction) => {
        const send = inTurn(async (text: string, values: readonly unknown[]) =>
          toRows(await tx.execute(toSql(options.sql, text, values) as never)),
        )
        // Not by Drizzle's own option: over postgres-js, a connection lost in that moment would end the process.
        await send(READ_COMMITTED, [])
        return runWork(tx, work, send)
      },
    ),
  )
}

/**
 * Hands over each statement when the one before it is answered. Drizzle passes on what comes, and node-postgres warns of
 * two at a time, which its next major version refuses.
 */
function inTurn<Config extends readonly unknown[], Result>(
  send: (...config: Config) => PromiseLike<Result>,
): (...config: Config) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (...config) => {
    const result = last.then(() => send(...config))
    last = result.catch(() => undefined)
    return result
  }
}

/** Drizzle numbers the parameters itself, in the order in which they stand in the text. */
function toSql(sql: DrizzleOptions['sql'], text: string, values: readonly unknown[]): unknown {
  const parts = text.split(/\$(\d+)/)
  return sql.join(
    parts.map((part, index) => (index % 2 === 0 ? sql.raw(part) : sql.param(values[Number(part) - 1]))) as never[],
  )
}

/** postgres-js answers with the rows themselves, the others with an object that has them. */
function toRows(result: unknown): readonly unknown[] {
  return Array.isArray(result) ? result : (result as { rows: readonly unknown[] }).rows
}
