import { defineRegister, type Db as EinmalDb } from 'einmal'
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
    transaction: (organizationId, work) =>
      db.transaction(organizationId, (tx) =>
        work(tx, (text, values, name) => sendText(tx, text, values.map(toArrayText), name)),
      ),
  }
}

/** The register hands lists over as they are. */
function toArrayText(value: unknown): unknown {
  return Array.isArray(value) ? arrayText(value) : value
}
