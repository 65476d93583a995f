import { randomInt } from 'node:crypto'

/** When a failed attempt is made again, and how often. Times in milliseconds. */
export interface FailurePolicy {
  /**
   * After so many attempts a person has to look: the failure is final, with the code `attempts_exhausted`. An attempt whose
   * process died counts.
   */
  readonly maxAttempts: number
  /** Before the second attempt; it doubles for each further one. */
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /** Spreads those that failed together. Takes the delay and returns the one to use. */
  readonly jitter: (delayMs: number) => number
}

/** Between half of the delay and all of it. */
function halfJitter(delayMs: number): number {
  const half = Math.floor(delayMs / 2)
  return half < 1 ? delayMs : delayMs - randomInt(half + 1)
}

export const defaultFailurePolicy: FailurePolicy = {
  maxAttempts: 8,
  firstDelayMs: 1_000,
  maxDelayMs: 3_600_000,
  jitter: halfJitter,
}

/** How long to wait after this attempt, or `null` where it was the last one. */
export function delayAfter(attempt: number, policy: Partial<FailurePolicy> = {}): number | null {
  const { maxAttempts, firstDelayMs, maxDelayMs, jitter } = { ...defaultFailurePolicy, ...policy }
  if (attempt >= maxAttempts) return null
  return jitter(Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1)))
}
