import { describe, expect, test } from 'vitest'
import {
  type FaultKind,
  type Plan,
  planFirstRound,
  planRandom,
  planReturn,
  planTour,
  shrink,
  sizeOf,
  smallerPlans,
} from './plan.ts'
import { createRandom } from './random.ts'

const all: readonly FaultKind[] = ['kill', 'stop', 'throw', 'lose']
const passed = new Map([
  ['message 1', [0, 1]],
  ['reserve.afterCommit', [1]],
  ['handler.answered', [0, 1]],
])
const bounds = { events: 2, processes: 3, copies: 4, kinds: all }

function draw(seed: number): Plan[] {
  const random = createRandom(seed)
  return [...planTour(passed, all, random), ...Array.from({ length: 20 }, () => planRandom(passed, bounds, random))]
}

describe('a plan', () => {
  test('follows from the seed: the same one makes the same plans, another one others', () => {
    expect(draw(7)).toEqual(draw(7))
    expect(draw(7)).not.toEqual(draw(8))
  })

  test('of the tour has a fault of every kind at every point, and the same event again after it', () => {
    const tour = planTour(passed, all, createRandom(1))
    const faults = tour.flatMap(({ steps }) => steps.flatMap((step) => step.faults ?? []))
    const named = (at: string) => all.filter((kind) => kind !== 'lose').map((kind) => ({ kind, at }))
    expect(faults).toEqual([
      ...all.map((kind) => ({ kind, at: 'message 1' })),
      ...named('reserve.afterCommit'),
      ...named('handler.answered'),
    ])
    for (const { order, steps } of tour) {
      expect(order).toBe('sequence')
      expect(steps).toHaveLength(2)
      expect(new Set(steps.map(({ event }) => event)).size).toBe(1)
      expect(new Set(steps.map(({ process }) => process)).size).toBe(2)
    }
  })

  test('meets a fault only with an event that passes its point', () => {
    for (const { steps } of draw(3)) {
      for (const { event, faults = [] } of steps) {
        for (const { at } of faults) expect(passed.get(at)).toContain(event)
      }
    }
  })

  test('of chance delivers every event at least twice and within the bounds, in both orders', () => {
    const plans = draw(5).slice(-20)
    for (const { steps } of plans) {
      for (const event of [0, 1]) {
        const copies = steps.filter((step) => step.event === event).length
        expect(copies).toBeGreaterThanOrEqual(2)
        expect(copies).toBeLessThanOrEqual(4)
      }
      for (const { process } of steps) expect([0, 1, 2]).toContain(process)
    }
    expect(new Set(plans.map(({ order }) => order)).size).toBe(2)
  })

  test('of a way back repeats what led there, and kills there', () => {
    const plan: Plan = {
      order: 'sequence',
      steps: [
        { event: 0, process: 0, faults: [{ kind: 'throw', at: 'message 1' }] },
        { event: 0, process: 1 },
      ],
    }
    const kill = { kind: 'kill', at: 'attempt.afterError' } as const
    expect(planReturn(plan, 0, 0, kill.at).steps).toEqual([
      { event: 0, process: 2, faults: [{ kind: 'throw', at: 'message 1' }, kill] },
    ])
    expect(planReturn(plan, null, 0, kill.at).steps).toEqual([...plan.steps, { event: 0, process: 2, faults: [kill] }])
  })
})

describe('shrinking', () => {
  const found: Plan = {
    order: 'parallel',
    steps: [
      { event: 0, process: 0 },
      { event: 1, process: 1, faults: [{ kind: 'kill', at: 'message 2' }] },
      { event: 0, process: 2, faults: [{ kind: 'lose', at: 'message 1' }] },
      { event: 1, process: 0 },
      { event: 0, process: 1 },
    ],
  }
  /** Fails with a lost answer of the first event, whatever else is played. */
  const fails = ({ steps }: Plan) =>
    steps.some(({ event, faults }) => event === 0 && faults?.some(({ kind }) => kind === 'lose'))

  test('finds the one delivery and the one fault that it takes', async () => {
    const { plan, failed } = await shrink(found, found, 100, async (plan) => (fails(plan) ? plan : null))
    expect(plan).toEqual({
      order: 'sequence',
      steps: [{ event: 0, process: 2, faults: [{ kind: 'lose', at: 'message 1' }] }],
    })
    expect(failed).toEqual(plan)
  })

  test('ends after as many tries as it may have, with the smallest that failed until then', async () => {
    let played = 0
    const { plan, tries } = await shrink(found, found, 3, async (plan) => {
      played += 1
      return fails(plan) ? plan : null
    })
    expect([played, tries]).toEqual([3, 3])
    expect(fails(plan)).toBe(true)
  })

  test('keeps the plan that was found where no smaller one fails', async () => {
    expect((await shrink(found, found, 100, async () => null)).plan).toEqual(found)
  })

  test('tries only plans that are smaller and deliver something', () => {
    for (const plan of smallerPlans(found)) {
      expect(sizeOf(plan)).toBeLessThan(sizeOf(found))
      expect(plan.steps.length).toBeGreaterThan(0)
    }
    expect([...smallerPlans(planFirstRound(1))]).toEqual([])
  })
})
