/** What the worker does for one organisation: it finds the work whose program fell silent. */
import { eventKey, sweep } from 'einmal'
import { registerDatabase } from '../../pipeline/index.ts'
import { lockStuckEvents, planDueWork } from './queries.ts'
import { ask, type Question } from './questions.ts'
import type { WorkParts } from './work.ts'

const BATCH = 100

/**
 * Asks a person about every piece of work whose lease has ended, and plans when to look again.
 *
 * Where nobody can find out whether it happened, the event becomes `unknown`. Where its program could go on, it stays as it is, and
 * the next reservation takes it over; it is on the desk as `stuck`. Any number of processes may do this at once. Where `signal` fires,
 * the rest is left to whoever looks next.
 */
export async function goOnWithDueWork(parts: WorkParts, organizationId: string, signal?: AbortSignal): Promise<void> {
  const register = registerDatabase(parts.db, parts.clock)
  for (let found = BATCH; found === BATCH && !signal?.aborted; ) {
    const { unknown } = await sweep(register, organizationId, {
      limit: BATCH,
      async alongside(tx, events) {
        const questions = events.map(
          ({ key, ...surrendered }): Question => ({ kind: 'unknown', event: eventKey(key), ...surrendered }),
        )
        ask(tx, organizationId, questions, parts)
      },
    })
    found = unknown.length
  }
  for (let found = BATCH; found === BATCH && !signal?.aborted; ) {
    found = await parts.db.transaction(organizationId, async (tx) => {
      const rows = await lockStuckEvents(tx, organizationId, BATCH)
      const questions = rows.map(({ id, source, kind, external_id, attempt }): Question => {
        const event = { source, kind, id: external_id }
        return { kind: 'stuck', eventId: id, attempt, event, error: null }
      })
      ask(tx, organizationId, questions, parts)
      return rows.length
    })
  }
  if (signal?.aborted) return
  await parts.db.transaction(organizationId, (tx) => planDueWork(tx, organizationId))
}
