import type { Db } from '../database.ts'
import { type DbOptions, defineDb } from './define-db.ts'
import { beginGuarded, runWork } from './statements.ts'

/** The part of a transaction of `postgres` that is used; no dependency on the package. */
export interface PostgresJsTransactionLike {
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): PromiseLike<readonly unknown[]>
}

export interface PostgresJsLike<Transaction extends PostgresJsTransactionLike> {
  begin<T>(mode: string, work: (transaction: Transaction) => Promise<T>): Promise<unknown>
}

export interface PostgresJsOptions extends DbOptions {
  /** Statements planned once per connection. Switch off behind a pooler that cannot keep them. Default true. */
  readonly preparedStatements?: boolean
}

/**
 * Uses an instance of `postgres`. The effect gets the `sql` of its `begin`, inside a transaction of READ COMMITTED.
 *
 * What the effect throws rolls back. Every statement that failed outside of a `savepoint` rolls back, too, whoever caught
 * its error. When the connection is lost, `begin` gives up at once: an effect that is still at work is refused its next
 * statement, since `postgres` would send it on whatever that connection has become. Inside of `savepoint` nothing can
 * refuse it: there, wait for nothing but the transaction.
 */
export function fromPostgresJs<Transaction extends PostgresJsTransactionLike>(
  sql: PostgresJsLike<Transaction>,
  options: PostgresJsOptions = {},
): Db<Transaction> {
  const keeps = options.preparedStatements ?? true
  return defineDb(options, (_scope, work) =>
    beginGuarded(
      (run) => sql.begin('isolation level read committed', run),
      (tx: Transaction) =>
        runWork(tx, work, (text, values, name) =>
          tx.unsafe(text, values as never[], { prepare: keeps && name !== undefined }),
        ),
    ),
  )
}
