import type { Db } from '../database.ts'
import { defineRegister, type RegisterNames } from '../register.ts'

export interface DbOptions extends RegisterNames {
  /** The clock for what is on record. Default the machine's. */
  readonly now?: () => Date
}

export function defineDb<NativeTx>(options: DbOptions, transaction: Db<NativeTx>['transaction']): Db<NativeTx> {
  return { register: defineRegister(options), now: options.now ?? (() => new Date()), transaction }
}
