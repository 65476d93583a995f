import { createHash, randomInt } from 'node:crypto'
import fc from 'fast-check'

/**
 * How often a property is tried, and with which chance. `EINMAL_MODEL_RUNS` and `EINMAL_MODEL_SEED` say so; both properties share
 * the runs. One seed stands for all: a shard's own follows from it.
 */
const RUNS_DEFAULT = 10_000
const SHARES = { facts: 0.3, everything: 0.7 } as const

/** The two properties, by name. */
export type PropertyName = keyof typeof SHARES

/** Parts of one property that run side by side, so that no process waits for the other. */
export const shards = [1, 2, 3, 4] as const

/** A run takes milliseconds; a failure is made smaller by some hundred more. */
export const MODEL_TIMEOUT_MS = 40 * 60_000

const runCount = readNumber('EINMAL_MODEL_RUNS') ?? RUNS_DEFAULT
const masterSeed = readNumber('EINMAL_MODEL_SEED') ?? randomInt(2 ** 31)

function readNumber(name: string): number | null {
  const text = process.env[name]
  if (text === undefined || text === '') return null
  if (!/^\d{1,12}$/.test(text)) throw new Error(`${name} has to be a number, and is ${text}`)
  return Number(text)
}

function runsOf(property: PropertyName): number {
  return Math.ceil((runCount * SHARES[property]) / shards.length)
}

function seedOf(property: PropertyName, shard: number): number {
  return createHash('sha256').update(`${masterSeed} ${property} ${shard}`).digest().readInt32BE()
}

/** To be printed before anything runs. */
export function announcement(property: PropertyName): string {
  return `${property}: ${runsOf(property) * shards.length} runs in ${shards.length} shards, EINMAL_MODEL_SEED=${masterSeed}`
}

/** Tries a property in this shard's runs. Where it does not hold, throws the smallest case that was found, and how to see it again. */
export async function checkShard<T>(
  property: PropertyName,
  shard: number,
  arbitrary: fc.Arbitrary<T>,
  predicate: (value: T) => Promise<void>,
): Promise<void> {
  const seed = seedOf(property, shard)
  const details = await fc.check(fc.asyncProperty(arbitrary, predicate), { seed, numRuns: runsOf(property) })
  if (!details.failed) return
  const { errorInstance, numRuns, numShrinks, counterexamplePath, counterexample } = details
  throw new Error(
    [
      `Failed in run ${numRuns} of shard ${shard}, and was made smaller ${numShrinks} times.`,
      `  EINMAL_MODEL_SEED=${masterSeed}${runCount === RUNS_DEFAULT ? '' : ` EINMAL_MODEL_RUNS=${runCount}`} npm run test:model`,
      `  The shard's own seed is ${seed}, the path ${counterexamplePath}.`,
      '',
      errorInstance instanceof Error ? errorInstance.message : String(errorInstance),
      '',
      `The plan as data: ${JSON.stringify(counterexample?.[0])}`,
    ].join('\n'),
  )
}
