import type { Db } from '../database.ts'
import { type DbOptions, defineDb } from './define-db.ts'
import { READ_COMMITTED, runWork } from './statements.ts'

/** The part of a transaction of PGlite that is used; no dependency on the package. */
export interface PgliteTransactionLike {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

export interface PgliteLike<Transaction extends PgliteTransactionLike> {
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
}

/**
 * Uses PGlite, PostgreSQL inside of the process: for tests and tries, and no home for money.
 *
 * The effect gets PGlite's transaction, of READ COMMITTED. It rolls back as anywhere: by what the effect throws, and by a
 * statement that failed. But there is one connection, so two callers are never in the database at the same moment and one
 * transaction waits for the other; no second process can share it; and nothing is flushed to disk, so that a crash may take
 * back what was committed. Inside of an effect, ask nothing of the instance itself: it would wait for its own end.
 */
export function fromPglite<Transaction extends PgliteTransactionLike>(
  pglite: PgliteLike<Transaction>,
  options: DbOptions = {},
): Db<Transaction> {
  return defineDb(options, (_scope, work) =>
    pglite.transaction(async (tx) => {
      await tx.query(READ_COMMITTED)
      return runWork(tx, work, async (text, values) => (await tx.query(text, [...values])).rows)
    }),
  )
}
