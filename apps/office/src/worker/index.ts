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

/**
 * Does all that is due now, and returns for how many organisations something was. A fault with one of them is told, and holds up no
 * other; it is due again when its time is over. Begins with no further one once `signal` fires.
 */
export async function workOnce(
  parts: WorkParts,
  options: { readonly onFault?: (error: unknown, organizationId: string) => void; readonly signal?: AbortSignal } = {},
): Promise<number> {
  const { onFault, signal } = options
  const organizations = await takeDueOrganizations(parts.db, ORGANIZATIONS_AT_ONCE, TAKEN_FOR_MS)
  for (const organizationId of organizations) {
    if (signal?.aborted) break
    try {
      await goOnWithDueWork(parts, organizationId, signal)
    } catch (error) {
      if (onFault === undefined) throw error
      onFault(error, organizationId)
    }
  }
  return organizations.length
}

/** Looks again and again what is due. A fault is logged, and whatever it left undone is taken up again. */
export function startWorker(parts: WorkParts & { readonly log: Log }): Worker {
  const { log } = parts
  const stopping = new AbortController()
  const { signal } = stopping
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> = Promise.resolve()
  const onFault = (error: unknown, organizationId?: string) => {
    if (isUnavailable(error)) log.warn({ err: error, organizationId }, 'the worker could not reach the database')
    else log.error({ err: error, organizationId }, 'fault of the worker')
  }
  const look = async () => {
    try {
      while (!signal.aborted && (await workOnce(parts, { onFault, signal })) === ORGANIZATIONS_AT_ONCE);
    } catch (error) {
      onFault(error)
    }
  }
  const next = () => {
    if (signal.aborted) return
    timer = setTimeout(() => {
      current = look().then(next)
    }, EVERY_MS)
  }
  next()
  return {
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await current
    },
  }
}
