import { defineRegister, type Db as EinmalDb, type Query } from 'einmal'
import type { Clock } from '../platform/clock.ts'
import { type Db, sendText, type Tx } from '../platform/database.ts'
import { arrayText } from '../platform/statement.ts'

/** Texts and names of its statements, made once: every write of the API comes by here. */
const register = defineRegister({ table: 'events', scopeColumn: 'organization_id', scopeType: 'uuid' })

/** The office's database as the library wants it: its scope is the organisation, its table is `events`. */
export function registerDatabase(db: Db, clock: Clock): EinmalDb<Tx> {
  return {
    register,
    now: () => clock.now(),
    transaction: (organizationId, work) => db.transaction(organizationId, (tx) => work(tx, queryIn(tx))),
  }
}

/** What went wrong in a transaction that is somebody else's to repeat. */
class JoinedError extends Error {
  override readonly name = 'JoinedError'
}

/**
 * The same inside a transaction that is under way: it begins none, ends none and repeats nothing, so that whatever is thrown comes
 * out as the cause of a `JoinedError`.
 */
function joinedRegister(tx: Tx, clock: Clock): EinmalDb<Tx> {
  return {
    register,
    now: () => clock.now(),
    async transaction(_organizationId, work) {
      try {
        return await work(tx, queryIn(tx))
      } catch (error) {
        throw new JoinedError('the transaction that this joined has to end', { cause: error })
      }
    },
  }
}

/** Lets `work` use the register inside `tx`. What went wrong comes out as it was, for whoever repeats the whole. */
export async function inTransaction<T>(tx: Tx, clock: Clock, work: (joined: EinmalDb<Tx>) => Promise<T>): Promise<T> {
  try {
    return await work(joinedRegister(tx, clock))
  } catch (error) {
    throw error instanceof JoinedError ? error.cause : error
  }
}

/** The register hands lists over as they are. */
function queryIn(tx: Tx): Query {
  return (text, values, name) =>
    sendText(
      tx,
      text,
      values.map((value) => (Array.isArray(value) ? arrayText(value) : value)),
      name,
    )
}
