import type { Db, Query } from '../database.ts'
import { defineRegister, type RegisterNames } from '../register.ts'

/** The part of Kysely that is used; no dependency on the package. */
export interface KyselyTransactionLike {
  executeQuery<Row>(query: never): Promise<{ rows: Row[] }>
}

export interface KyselyLike<Transaction extends KyselyTransactionLike> {
  transaction(): { execute<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> }
}

export interface KyselyOptions<Compiled> extends RegisterNames {
  readonly now?: () => Date
  /** Kysely's `CompiledQuery.raw`, handed in so that the library needs no dependency. */
  readonly raw: (text: string, values: unknown[]) => Compiled
}

/** Uses a Kysely instance on PostgreSQL. The effect gets Kysely's transaction. */
export function fromKysely<Transaction extends KyselyTransactionLike, Compiled>(
  kysely: KyselyLike<Transaction>,
  options: KyselyOptions<Compiled>,
): Db<Transaction> {
  return {
    register: defineRegister(options),
    now: options.now ?? (() => new Date()),
    transaction: (_scope, work) =>
      kysely.transaction().execute(async (transaction) => {
        const sent: Promise<unknown>[] = []
        const query: Query = <Row>(text: string, values: readonly unknown[]) => {
          const result = transaction
            .executeQuery<Row>(options.raw(text, [...values]) as never)
            .then((answer) => answer.rows)
          sent.push(result)
          result.catch(() => undefined)
          return result
        }
        const value = await work(transaction, query)
        await Promise.all(sent)
        return value
      }),
  }
}
