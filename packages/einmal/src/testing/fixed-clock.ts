export interface FixedClock {
  /** Stands still between two calls of `advance`. To be handed to an adapter as its `now`. */
  now(): Date
  advance(ms: number): void
}

/** A clock that is moved by hand. Leases do not follow it: they end by the database's clock. */
export function fixedClock(start: Date | string): FixedClock {
  let ms = new Date(start).getTime()
  if (Number.isNaN(ms)) throw new RangeError(`${start} is no time`)
  return {
    now: () => new Date(ms),
    advance(by) {
      ms += by
    },
  }
}
