/** The time, injected everywhere. This is the only file of the office that asks the machine for it. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
