import type { Measured } from './report.ts'

const TURNS = 8

/** Does the work so often, by so many callers of which each waits for its own. */
export async function measure(
  count: number,
  callers: number,
  work: (index: number) => Promise<unknown>,
): Promise<Measured> {
  const times = new Float64Array(count)
  let next = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < count) {
        const index = next
        next += 1
        const before = performance.now()
        await work(index)
        times[index] = performance.now() - before
      }
    }),
  )
  const perSecond = (count / (performance.now() - startedAt)) * 1000
  times.sort()
  return { perSecond, p50Ms: times[Math.floor(count * 0.5)] ?? 0, p99Ms: times[Math.floor(count * 0.99)] ?? 0 }
}

/**
 * Lets all take turns, so that what else the machine does meets everybody alike. The first turn of each does not count:
 * after it connections are open, code is compiled and tables are not empty.
 */
export async function inTurns<Name extends string>(
  contestants: Readonly<Record<Name, (turn: number) => Promise<Measured>>>,
): Promise<Record<Name, Measured>> {
  const names = Object.keys(contestants) as Name[]
  const measured = new Map<Name, Measured[]>(names.map((name) => [name, []]))
  for (let turn = 0; turn <= TURNS; turn += 1) {
    for (const name of names) {
      const result = await contestants[name](turn)
      if (turn > 0) measured.get(name)?.push(result)
    }
  }
  return Object.fromEntries(names.map((name) => [name, merge(measured.get(name) ?? [])])) as Record<Name, Measured>
}

/** The speed over all turns, which are of one size, and the middle one of their times. */
function merge(turns: readonly Measured[]): Measured {
  const middle = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
  return {
    perSecond: turns.length / turns.reduce((sum, { perSecond }) => sum + 1 / perSecond, 0),
    p50Ms: middle(turns.map(({ p50Ms }) => p50Ms)),
    p99Ms: middle(turns.map(({ p99Ms }) => p99Ms)),
  }
}
