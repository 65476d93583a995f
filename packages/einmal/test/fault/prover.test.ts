/** The prover passes handlers that hold and finds every one that does not. Real processes, a real database and target. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { defineRegister, type TargetCapability } from '../../src/index.ts'
import {
  crashPoints,
  type FaultKind,
  type Plan,
  ProofError,
  type ProveOptions,
  prove,
  type Violation,
} from '../../src/testing/index.ts'
import { countEffects, createOwnDatabase, type OwnDatabase } from '../support/database.ts'
import { type HandledEvent, handledEvents, referenceOf } from '../support/handled-event.ts'
import { createTables } from '../support/leased.ts'
import { startTargets, type Targets } from '../support/target.ts'

let database: OwnDatabase
let targets: Targets

beforeAll(async () => {
  database = await createOwnDatabase(inject('ownerUrl'))
  await createTables(database.pool, defineRegister())
  await database.pool.query(`create table seen (key text); create table marks (key text primary key);
    create table jobs (key text primary key, holder text, lease_until timestamptz, is_done boolean default false)`)
  targets = await startTargets()
})

afterAll(async () => {
  await targets.close()
  await database.drop()
})

function optionsOf(
  file: string,
  handler: string,
  capability: TargetCapability = 'neither',
): ProveOptions<HandledEvent> {
  const target = targets[capability]
  return {
    ...{ module: pathToFileURL(join(import.meta.dirname, `../support/${file}.ts`)), handler },
    env: { ...process.env, DATABASE_URL: database.url, TARGET_URL: target.url, CAPABILITY: capability },
    events: handledEvents,
    async judge(event) {
      const reference = referenceOf(event)
      return target.effects(encodeURIComponent(reference)) + (await countEffects(database.pool, reference))
    },
    letTimePass: (event) => letTimePass(referenceOf(event)),
  }
}

async function letTimePass(reference: string): Promise<void> {
  await database.pool.query(
    `update einmal_events set lease_until = lease_until - interval '1 day', next_attempt_at = next_attempt_at - interval '1 day'
      where external_id = $1`,
    [reference],
  )
  await database.pool.query(`update jobs set lease_until = lease_until - interval '1 day' where key = $1`, [reference])
}

describe('a handler that holds passes the proof', { timeout: 180_000 }, () => {
  test.each(['withOnce', 'uniqueKeyInOneTransaction', 'takeOverWithOwnerCheck'])(
    '%s: killed, stopped, disturbed and cut off at every point, and one effect each',
    async (handler) => {
      const certificate = await prove({ ...optionsOf('sound-handlers', handler), rounds: 6 })
      const { met, unknown, killedAt, text } = certificate
      for (const kind of ['kill', 'stop', 'throw', 'lose'] as const) expect(met[kind]).toBeGreaterThan(0)
      expect(killedAt).toEqual(expect.arrayContaining(['message 1', 'message 2', 'handler.answered']))
      if (handler === 'withOnce') expect(killedAt).toContain('effect.booked')
      expect(unknown).toBe(0)
      expect(text).toContain(`Effects at the target: 1 for each of ${certificate.events} events.`)
    },
  )

  const onTheWay = crashPoints.filter((point) => !/^(sweep|purge)\.|beforeLookUp/.test(point))

  test('attempt on a target that accepts the key: killed at every point of the library, on the way back, too', async () => {
    const { killedAt, unknown } = await prove({
      ...optionsOf('sound-handlers', 'withAttempt', 'accepts_key'),
      rounds: 6,
    })
    expect(killedAt).toEqual(expect.arrayContaining(onTheWay))
    expect(unknown).toBe(0)
  })

  test('attempt on a searchable target, as long as no process stands still: killed while it looks, too', async () => {
    const options = optionsOf('sound-handlers', 'withAttempt', 'searchable')
    const { killedAt, unknown } = await prove({ ...options, faults: ['kill', 'throw', 'lose'], rounds: 6 })
    expect(killedAt).toEqual(expect.arrayContaining([...onTheWay, 'attempt.beforeLookUp']))
    expect(unknown).toBe(0)
  })

  test('attempt on a target that is neither: one effect, or none and declared unknown, which is counted', async () => {
    const options = optionsOf('sound-handlers', 'withAttempt', 'neither')
    const { unknown, text } = await prove({ ...options, mayBeUnknown: () => true, rounds: 6 })
    expect(unknown).toBeGreaterThan(0)
    expect(text).toContain(`Unknown, as declared, with one effect or none: ${unknown} events.`)
  })
})

async function findFailure(options: ProveOptions<HandledEvent>): Promise<ProofError> {
  const failure = await prove(options).catch((error: unknown) => error)
  if (failure instanceof ProofError) return failure
  throw new Error('the proof passed, or ended otherwise', { cause: failure })
}

describe('a handler with a mistake is found, with the one kind of fault that shows it', () => {
  test.each<[string, FaultKind[], Violation['code']]>([
    ['lookUpThenInsert', ['stop'], 'effect_repeated'],
    ['recordAfterEffect', ['kill'], 'effect_repeated'],
    ['recordAfterEffect', ['throw'], 'effect_repeated'],
    ['recordBeforeEffect', ['kill'], 'effect_missing'],
    ['joinedKey', [], 'effect_missing'],
    ['keyWithoutKind', [], 'effect_missing'],
    ['setInMemory', [], 'changed_later'],
    ['takeOverWithoutOwnerCheck', ['stop'], 'effect_repeated'],
    ['blindRetry', ['lose'], 'effect_repeated'],
    ['answerOfItsOwn', [], 'answers_differ'],
    ['neverEnds', [], 'hung'],
  ])('%s, by %o: %s', async (handler, faults, code) => {
    const { violations, message, seed, plan } = await findFailure({
      ...optionsOf('wrong-handlers', handler),
      mayBeUnknown: () => handler === 'blindRetry',
      // Nothing by chance: the rounds that go through all points have to find it.
      rounds: 0,
      ...(handler === 'neverEnds' && { deliveryMs: 100, recoveryMs: 0, maxShrinks: 0 }),
      faults,
    })
    expect(violations.map((violation) => violation.code)).toContain(code)
    const met = plan.steps.flatMap((step) => step.faults ?? []).map(({ kind }) => kind)
    expect(faults).toEqual(expect.arrayContaining(met))
    expect(message).toContain(`seed: ${seed}`)
  })

  test('attempt on a searchable target with a process that stands still before it sends, as the README says', async () => {
    const { violations, plan } = await findFailure({
      ...optionsOf('sound-handlers', 'withAttempt', 'searchable'),
      faults: ['stop'],
    })
    expect(violations).toMatchObject([{ code: 'effect_repeated' }])
    expect(plan.steps).toHaveLength(2)
  })

  test('attempt on a target that is neither, where nobody declared that it may be unknown', async () => {
    const { violations } = await findFailure(optionsOf('sound-handlers', 'withAttempt', 'neither'))
    expect(violations.map(({ code }) => code)).toContain('undeclared_unknown')
  })

  test('with a plan that was found, which fails again, and comes out shorter where it can', async () => {
    const long: Plan = {
      order: 'sequence',
      steps: [
        { event: 1, process: 2 },
        { event: 0, process: 0, faults: [{ kind: 'stop', at: 'message 2' }] },
        { event: 0, process: 1 },
        { event: 0, process: 2 },
        { event: 1, process: 0, faults: [{ kind: 'kill', at: 'handler.answered' }] },
      ],
    }
    const options = { ...optionsOf('wrong-handlers', 'takeOverWithoutOwnerCheck'), plan: long }
    const { found, plan, round, message } = await findFailure(options)
    expect(found).toEqual(long)
    expect(plan.steps.length).toBeLessThan(long.steps.length)
    expect(round.history.map(({ type }) => type)).toEqual(expect.arrayContaining(['invoke', 'info', 'ok']))
    expect(message).toContain(`plan: ${JSON.stringify(plan)}`)
    const again = await findFailure({ ...options, plan, maxShrinks: 0 })
    expect(again.violations).toMatchObject([{ code: 'effect_repeated' }])
    // It stood still until the other one had ended.
    const ended = again.round.history.filter(({ type }) => type === 'ok').map(({ process }) => process)
    expect(ended.slice(0, 2)).toEqual([plan.steps[1]?.process, 0])
  })
})

test('the same seed plays the same plans, another one others', async () => {
  const options = { ...optionsOf('sound-handlers', 'uniqueKeyInOneTransaction'), faults: ['throw'] as const, rounds: 3 }
  const { plans } = await prove({ ...options, seed: 7 })
  expect((await prove({ ...options, seed: 7 })).plans).toEqual(plans)
  expect((await prove({ ...options, seed: 8 })).plans).not.toEqual(plans)
})

test('a process that is woken in the moment in which it stops goes on', async () => {
  const plan: Plan = {
    order: 'sequence',
    steps: [{ event: 0, process: 0, faults: [{ kind: 'stop', at: 'message 1' }] }],
  }
  const options = optionsOf('sound-handlers', 'uniqueKeyInOneTransaction')
  const { met } = await prove({ ...options, letTimePass: async () => undefined, plan, rounds: 40 })
  expect(met.stop).toBe(40)
})

test('a proof without a handler or without events is refused', async () => {
  await expect(prove(optionsOf('sound-handlers', 'none'))).rejects.toThrow('exports no function none')
  await expect(prove({ ...optionsOf('sound-handlers', 'withOnce'), events: () => [] })).rejects.toThrow(TypeError)
})
