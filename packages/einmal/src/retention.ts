import { passPoint } from './crash-points.ts'
import type { Db } from './database.ts'
import { inShortTransaction } from './leases.ts'

export interface RetentionParts {
  /** How long the provider repeats by itself. */
  readonly providerRetryMs: number
  /** How long somebody can send the event again by hand, on the provider's pages or ours. */
  readonly manualResendMs: number
  /** The longest time we might be away, in which both clocks go on. */
  readonly longestOutageMs: number
}

export interface Retention extends RetentionParts {
  readonly totalMs: number
}

/** How long an event has to be kept at least: the sum of the three. Throws `RangeError` for what is no length of time. */
export function retentionFor(parts: RetentionParts): Retention {
  const { providerRetryMs, manualResendMs, longestOutageMs } = parts
  for (const [name, ms] of Object.entries({ providerRetryMs, manualResendMs, longestOutageMs })) {
    if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY)) throw new RangeError(`${name} of ${ms} ms is no length of time`)
  }
  const totalMs = providerRetryMs + manualResendMs + longestOutageMs
  return { providerRetryMs, manualResendMs, longestOutageMs, totalMs }
}

export interface PurgeOptions {
  /** Since the event was finished and last arrived, by the database's clock. */
  readonly olderThanMs: number
  /** What `olderThanMs` must not be shorter than. */
  readonly retention: Retention
  /** Rows looked at in one transaction. Default 500. */
  readonly batchSize?: number
}

const DEFAULT_BATCH = 500
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Takes away the rows and notes of events that are completed and old enough, and keeps 32 bytes of each, so that a later
 * copy is still a duplicate: `remembered`, without target and answer.
 *
 * What is in progress, failed or unknown stays, and so does an event that was repeated on purpose. Runs beside everything
 * else: a row that somebody holds is passed over, and who meets a row that is going waits and then finds the memory. Each
 * batch is a transaction of its own; a crash leaves the ones before it done.
 *
 * Throws `RangeError` if `olderThanMs` is shorter than the retention, and `TypeError` for a register defined without
 * `memory`, which would do every purged event again.
 */
export async function purge<NativeTx>(
  db: Db<NativeTx>,
  scope: string,
  options: PurgeOptions,
): Promise<{ readonly purged: number }> {
  const { olderThanMs, retention, batchSize = DEFAULT_BATCH } = options
  if (!db.register.memory) throw new TypeError('a purge needs a register with memory')
  if (!(olderThanMs >= retention.totalMs)) {
    throw new RangeError(`olderThanMs of ${olderThanMs} is shorter than the retention: ${JSON.stringify(retention)}`)
  }
  const { text, name } = db.register.memories.purge
  let purged = 0
  for (let last: string | null = FIRST_ID; last !== null; ) {
    const values: unknown[] = [scope, last, batchSize, olderThanMs]
    const batch: { purged: number; seen: number; last: string | null } = await inShortTransaction(
      db,
      scope,
      async (_tx, query) => {
        const [row] = await query<{ purged: number; seen: number; last: string | null }>(text, values, name)
        await passPoint('purge.beforeCommit')
        return row ?? { purged: 0, seen: 0, last: null }
      },
    )
    purged += batch.purged
    last = batch.seen < batchSize ? null : batch.last
  }
  return { purged }
}
