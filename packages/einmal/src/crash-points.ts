/**
 * Named moments on the way of an effect outside of the database, at each of which a process may die.
 *
 * A test hands in a hook that kills the process there, stops it, or throws. Without a hook a point costs a comparison.
 */
export const crashPoints = [
  /** The reservation is sent and not committed: nobody has the event. */
  'reserve.beforeCommit',
  /** Reserved, and nobody was told: the lease has to end first. */
  'reserve.afterCommit',
  /** About to ask the target whether the effect is there. */
  'attempt.beforeLookUp',
  /** About to do the effect. */
  'attempt.beforePerform',
  /** The effect is done, and nothing says so. */
  'attempt.afterPerform',
  /** The effect failed, or seemed to, and nothing says so. */
  'attempt.afterError',
  /** The word of the end is sent and not committed. */
  'finish.beforeCommit',
  /** The end is on record, and nobody was told. */
  'finish.afterCommit',
  /** A due event was claimed, and its handler has not begun. */
  'sweep.afterClaim',
  /** Rows of the batch are remembered and gone, and nothing is committed. */
  'purge.beforeCommit',
] as const

export type CrashPoint = (typeof crashPoints)[number]

type CrashHook = (point: string) => void | Promise<void>

/** On the global object, because a test and the code under test may have loaded two copies of this package. */
const hookKey: unique symbol = Symbol.for('einmal.onCrashPoint')
const shared: { [hookKey]?: CrashHook | null } = globalThis as object

/** For tests of one's own: calls `hook` at every point that is passed, in this process. `null` takes it away. */
export function onCrashPoint(hook: CrashHook | null): void {
  shared[hookKey] = hook
}

/**
 * A named moment of one's own code at which a test may end the process: `await crashPoint('label.printed')`. `prove` of
 * `einmal/testing` kills there at least once. Does nothing otherwise.
 */
export function crashPoint(point: string): void | Promise<void> {
  return shared[hookKey]?.(point)
}

export function passPoint(point: CrashPoint): void | Promise<void> {
  return crashPoint(point)
}
