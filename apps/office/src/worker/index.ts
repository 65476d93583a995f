/**
 * The worker: what is to be done later, without anybody asking for it.
 * Tables: it reads `due_work` to learn whose turn it is; the rest is the modules' own.
 * Invariant: any number of workers may run, in any number of processes; what one leaves undone, another finds.
 */
import { goOnWithDueWork, takeDueOrganizations, type WorkParts } from '../modules/register/index.ts'
import { isUnavailable } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'

/** How often a worker looks. A question about work that fell silent is on the desk that much later, at most. */
const EVERY_MS = 1_000
/** An organisation that a worker took and did not come back to is anybody's again after so long. */
const TAKEN_FOR_MS = 30_000
const ORGANIZATIONS_AT_ONCE = 20

export interface Worker {
  /** Begins nothing more, and resolves when what was begun has ended. */
  stop(): Promise<void>
}

/** Does all that is due now, and returns for how many organisations something was. */
export async function workOnce(parts: WorkParts): Promise<number> {
  const organizations = await takeDueOrganizations(parts.db, ORGANIZATIONS_AT_ONCE, TAKEN_FOR_MS)
  for (const organizationId of organizations) await goOnWithDueWork(parts, organizationId)
  return organizations.length
}

/** Looks again and again what is due. A fault is logged, and whatever it left undone is taken up again. */
export function startWorker(parts: WorkParts & { readonly log: Log }): Worker {
  const { log } = parts
  let isStopping = false
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> = Promise.resolve()
  const look = async () => {
    try {
      while (!isStopping && (await workOnce(parts)) === ORGANIZATIONS_AT_ONCE);
    } catch (error) {
      if (isUnavailable(error)) log.warn({ err: error }, 'the worker could not reach the database')
      else log.error({ err: error }, 'fault of the worker')
    }
  }
  const next = () => {
    if (isStopping) return
    timer = setTimeout(() => {
      current = look().then(next)
    }, EVERY_MS)
  }
  next()
  return {
    async stop() {
      isStopping = true
      clearTimeout(timer)
      await current
    },
  }
}
