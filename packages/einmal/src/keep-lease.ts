import type { Db } from './database.ts'
import { type Held, heartbeat } from './leases.ts'

/** Nothing was sent to the target: the attempt may be made again, whatever the target is. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError'
}

/** The reason with which the signal of an attempt fires when its lease is over. What was sent before may have arrived. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

const notHeld = 'the event is not held any more'
const overByCount = 'the lease is over by the count of this process'

export interface KeptLease {
  /** Fires when the lease is lost, or over by this process's own count. */
  readonly signal: AbortSignal
  /** Whether the lease is lost or over, looked at now: a timer of a process that was paused comes late. */
  isOver(): boolean
  /** Asks the register now. Throws `NotSentError` unless the event is still held. */
  confirm(): Promise<void>
  stop(): void
}

/**
 * Extends a lease every third of its length, until it is stopped or lost.
 *
 * Beside the database's word there is a count of one's own, of a clock that only measures how long: it begins before each
 * request for more time is sent, so that it ends before the lease does. It is what stops a process that was paused, or
 * that cannot reach the database.
 *
 * @param startedAt `performance.now()` from before the reservation was sent.
 */
export function keepLease<NativeTx>(db: Db<NativeTx>, held: Held, leaseMs: number, startedAt: number): KeptLease {
  const lost = new AbortController()
  let endsAt = startedAt + leaseMs
  let isStopped = false
  let beatTimer: NodeJS.Timeout | undefined
  let endTimer: NodeJS.Timeout | undefined

  const lose = (message: string) => {
    stop()
    lost.abort(new LeaseLostError(message))
  }
  const stop = () => {
    isStopped = true
    clearTimeout(beatTimer)
    clearTimeout(endTimer)
  }
  const watchEnd = () => {
    clearTimeout(endTimer)
    endTimer = setTimeout(() => lose(overByCount), Math.max(0, endsAt - performance.now()))
    endTimer.unref()
  }
  const ask = async (): Promise<boolean> => {
    const askedAt = performance.now()
    const { outcome } = await heartbeat(db, held, { leaseMs })
    if (isStopped) return !lost.signal.aborted
    if (outcome === 'lost') {
      lose(notHeld)
      return false
    }
    endsAt = askedAt + leaseMs
    watchEnd()
    return true
  }
  const beatLater = () => {
    if (isStopped) return
    beatTimer = setTimeout(() => {
      // A database that is away has not taken the lease: until the count ends, the next beat may reach it.
      void ask().then(beatLater, beatLater)
    }, leaseMs / 3)
    beatTimer.unref()
  }

  const isOver = () => {
    if (!isStopped && performance.now() >= endsAt) lose(overByCount)
    return lost.signal.aborted
  }

  watchEnd()
  beatLater()
  return {
    signal: lost.signal,
    isOver,
    stop,
    async confirm() {
      const isHeld = await ask().catch((cause: unknown) => {
        throw new NotSentError('the register could not be asked', { cause })
      })
      if (!isHeld) throw new NotSentError(notHeld)
    },
  }
}
