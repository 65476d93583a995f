import type { Db } from '../database.ts'
import { type DbOptions, defineDb } from './define-db.ts'
import { runWork } from './statements.ts'

/** The part of Kysely that is used; no dependency on the package. */
export interface KyselyTransactionLike {
  executeQuery<Row>(query: never): Promise<{ rows: Row[] }>
}

export interface KyselyLike<Transaction extends KyselyTransactionLike> {
  transaction(): {
    setIsolationLevel(level: 'read committed'): {
      execute<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
    }
  }
}

export interface KyselyOptions<Compiled> extends DbOptions {
  /** Kysely's `CompiledQuery.raw`, handed in so that the library needs no dependency. */
  readonly raw: (text: string, values: unknown[]) => Compiled
}

/**
 * Uses a Kysely instance on PostgreSQL. The effect gets Kysely's transaction, of READ COMMITTED.
 *
 * What the effect throws rolls back, and so does a statement that failed, whoever caught its error.
 */
export function fromKysely<Transaction extends KyselyTransactionLike, Compiled>(
  kysely: KyselyLike<Transaction>,
  options: KyselyOptions<Compiled>,
): Db<Transaction> {
  return defineDb(options, (_scope, work) =>
    kysely
      .transaction()
      .setIsolationLevel('read committed')
      .execute((tx) =>
        runWork(tx, work, async (text, values) => {
          const { rows } = await tx.executeQuery(options.raw(text, [...values]) as never)
          return rows
        }),
      ),
  )
}
