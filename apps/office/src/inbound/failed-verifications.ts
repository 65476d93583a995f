import type { Clock } from '../platform/clock.ts'

/**
 * Counts failed verifications per address and sender, so that somebody who guesses is soon answered without a look and
 * without a line in the log. A delivery that verifies is never counted and never held up.
 */
export interface FailedVerifications {
  /** Counts one more; true where this sender has had its share of this minute. */
  isTooMany(endpointId: string, senderIp: string): boolean
}

const PER_MINUTE_MAX = 60
const MINUTE_MS = 60_000
const MAX_SENDERS = 10_000

export function createFailedVerifications(clock: Clock): FailedVerifications {
  let minute = 0
  let counts = new Map<string, number>()
  return {
    isTooMany(endpointId, senderIp) {
      const now = Math.floor(clock.now().getTime() / MINUTE_MS)
      if (now !== minute || counts.size >= MAX_SENDERS) {
        minute = now
        counts = new Map()
      }
      const sender = `${endpointId} ${senderIp}`
      const count = (counts.get(sender) ?? 0) + 1
      counts.set(sender, count)
      return count > PER_MINUTE_MAX
    },
  }
}
