import type { Db } from '../../src/index.ts'

export interface Gate<Tx> {
  readonly db: Db<Tx>
  /** Resolves when the first transaction has ended and the second one stands at the gate. */
  readonly reached: Promise<void>
  open(): void
}

/** Holds up the second transaction: the moment between the rollback of a failed effect and its record. */
export function gateSecondTransaction<Tx>(db: Db<Tx>): Gate<Tx> {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  let transactions = 0
  return {
    reached: reached.promise,
    open: opened.resolve,
    db: {
      ...db,
      async transaction(scope, work) {
        transactions += 1
        if (transactions === 2) {
          reached.resolve()
          await opened.promise
        }
        return db.transaction(scope, work)
      },
    },
  }
}
