import { type PrunedBodies, pruneBodies } from '../modules/deliveries/index.ts'
import type { Db } from '../platform/database.ts'
import { type Command, exitCodes } from './command.ts'
import { organizationOption, selectOrganizations, withDatabase } from './office-database.ts'

const DAYS = 90
const DAYS_MAX = 36_500
/** Bodies of one transaction: few enough that no delivery of the same bytes waits for long. */
const BATCH = 500
const DAY_MS = 24 * 60 * 60 * 1_000

export const command: Command = {
  name: 'prune',
  usage: ['[--days <n>] [--organization <id or name>]'],
  about: [
    'Removes the bytes of deliveries that first arrived longer ago than the days given. Everything else of a delivery stays:',
    'when it came, the hash of its bytes, verdict and answer. The same bytes are stored again if they come again.',
    'Bytes stay where somebody may still have to read them: while a question about them is open, and while an event that',
    'they brought has not been completed. The office may run meanwhile.',
  ],
  options: {
    days: { type: 'string', value: '<n>', about: `how long to keep them; ${DAYS} if not said` },
    organization: { ...organizationOption, about: 'only this organisation; otherwise all, one after the other' },
  },
  wordsMax: 0,
  async run(given, surroundings) {
    const days = given.number('days', DAYS, { min: 1, max: DAYS_MAX })
    const before = new Date(surroundings.clock.now().getTime() - days * DAY_MS)
    await withDatabase(surroundings, async ({ db }) => {
      for (const { id, name } of await selectOrganizations(db, given.text('organization'))) {
        surroundings.print(`${name}: ${textOf(await pruneOrganization(db, id, before))}`)
      }
    })
    return exitCodes.done
  },
}

type Sum = Pick<PrunedBodies, 'removed' | 'keptForQuestion' | 'keptForEvent'>

async function pruneOrganization(db: Db, organizationId: string, before: Date): Promise<Sum> {
  const sum = { removed: 0, keptForQuestion: 0, keptForEvent: 0 }
  let after: Buffer | null = null
  do {
    const start: Buffer | null = after
    const batch: PrunedBodies = await db.transaction(organizationId, (tx) =>
      pruneBodies(tx, organizationId, { before, after: start, limit: BATCH }),
    )
    sum.removed += batch.removed
    sum.keptForQuestion += batch.keptForQuestion
    sum.keptForEvent += batch.keptForEvent
    after = batch.next
  } while (after !== null)
  return sum
}

function textOf({ removed, keptForQuestion, keptForEvent }: Sum): string {
  const reasons = [
    ...(keptForQuestion > 0 ? [`${keptForQuestion} because a question is open`] : []),
    ...(keptForEvent > 0 ? [`${keptForEvent} because an event has not been completed`] : []),
  ]
  const kept = reasons.length === 0 ? '' : `; kept ${reasons.join(', ')}`
  return `${removed === 1 ? '1 body' : `${removed} bodies`} removed${kept}`
}
