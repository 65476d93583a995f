/**
 * Named places where a test can make the process fail, so that every window of a crash is opened on purpose.
 *
 * Each name says which window it opens. A point that is not armed costs one comparison.
 */
export const faultPoints = [
  /** Verified and named, nothing stored: the sender has to come again. */
  'inbound.afterReceive',
  /** Keys reserved, nothing booked. */
  'pipeline.afterReserve',
  /** Rows locked and read, nothing decided. */
  'pipeline.afterLoad',
  /** Facts written, consequences not. */
  'pipeline.afterWrite',
  /** Consequences written, arrivals not. */
  'pipeline.afterConsequences',
  /** Everything sent, not committed. */
  'pipeline.beforeCommit',
  /** Committed, and nobody told yet: the sender repeats what has happened. */
  'pipeline.afterCommit',
  /** A number is taken, the invoice does not have it yet. */
  'money.afterNumber',
  /** The reservation of a program is sent, not committed: nobody has the work. */
  'register.beforeReserved',
  /** Reserved, and the program was not told: it has to ask again. */
  'register.afterReserved',
  /** The word of its end is sent, not committed. */
  'register.beforeWord',
  /** The end is on record, and the program was not told. */
  'register.afterWord',
] as const

export type FaultPoint = (typeof faultPoints)[number]

/** What happens there: an error as from a bug, or the end of the process without a word. */
export type Fault = { readonly at: FaultPoint; readonly action: 'throw' | 'kill'; readonly times: number }

let armed: { at: FaultPoint; action: 'throw' | 'kill'; timesLeft: number } | null = null

/** Arms one point, for the next `times` passages. `null` disarms. */
export function armFault(fault: Fault | null): void {
  armed = fault === null ? null : { at: fault.at, action: fault.action, timesLeft: fault.times }
}

export function faultPoint(name: FaultPoint): void {
  if (armed === null || armed.at !== name || armed.timesLeft === 0) return
  armed.timesLeft -= 1
  if (armed.action === 'kill') process.kill(process.pid, 'SIGKILL')
  throw new Error(`fault point ${name}`)
}

/** Reads `name:throw` or `name:kill`, optionally `:times`. Throws for a name that does not exist. */
export function parseFault(text: string): Fault {
  const [at, action, times] = text.split(':')
  const point = faultPoints.find((name) => name === at)
  if (point === undefined || (action !== 'throw' && action !== 'kill')) {
    throw new Error(
      `"${text}" is no fault: use <point>:throw or <point>:kill, with a point of ${faultPoints.join(', ')}`,
    )
  }
  return { at: point, action, times: times === undefined ? 1 : Number.parseInt(times, 10) }
}
