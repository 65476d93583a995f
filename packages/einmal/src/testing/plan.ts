/** What a round plays, drawn from a seed before anything runs. */
import { shuffled } from './random.ts'

/**
 * `kill`: the process dies there. `stop`: it stands still there, time passes, others go on, and then it wakes up. `throw`:
 * an error is thrown there; at a message, its connection is lost before it leaves. `lose`: the message leaves, and its
 * connection is lost in place of the answer.
 */
export type FaultKind = 'kill' | 'stop' | 'throw' | 'lose'

export interface Fault {
  readonly kind: FaultKind
  /** The name of a point, or `message 3`: before the third message that the handler sends in this delivery. */
  readonly at: string
}

/** One delivery of one event to one process. */
export interface Step {
  /** Index into the events of the round. */
  readonly event: number
  readonly process: number
  /** Each is met once, when the delivery first comes there. */
  readonly faults?: readonly Fault[]
}

export interface Plan {
  /** One step after the other, or all processes at once, each with its own steps in their order. */
  readonly order: 'sequence' | 'parallel'
  readonly steps: readonly Step[]
}

/** The handler has returned, and nobody was told. */
export const ANSWERED_POINT = 'handler.answered'

export function messagePoint(number: number): string {
  return `message ${number}`
}

function isMessage(point: string): boolean {
  return /^message \d+$/.test(point)
}

/** Each point and the events whose deliveries passed it. */
export type PassedPoints = ReadonlyMap<string, readonly number[]>

/** Each event once, each to a process of its own: what is passed on the way is where faults can be. */
export function planFirstRound(events: number): Plan {
  const steps = Array.from({ length: events }, (_, event) => ({ event, process: event }))
  return { order: 'sequence', steps }
}

/** For every point and every kind of fault that can be there: a delivery that meets it, and another one after it. */
export function planTour(passed: PassedPoints, kinds: readonly FaultKind[], random: () => number): Plan[] {
  return [...passed].flatMap(([at, events]) =>
    kindsAt(at, kinds).map((kind): Plan => {
      const event = pick(events, random)
      return {
        order: 'sequence',
        steps: [
          { event, process: 0, faults: [{ kind, at }] },
          { event, process: 1 },
        ],
      }
    }),
  )
}

function kindsAt(point: string, kinds: readonly FaultKind[]): FaultKind[] {
  return kinds.filter((kind) => kind !== 'lose' || isMessage(point))
}

/**
 * A point that was first passed on the way back from another fault: the same steps, and then a death there.
 *
 * @param delivery which step it was passed in; `null`: in a delivery after the plan.
 */
export function planReturn(plan: Plan, delivery: number | null, event: number, at: string): Plan {
  const fault: Fault = { kind: 'kill', at }
  const steps = plan.steps.slice(0, delivery ?? undefined)
  const last = delivery === null ? undefined : plan.steps[delivery]
  const process = 1 + Math.max(...plan.steps.map((step) => step.process))
  const faults = [...(last?.faults ?? []), fault]
  return { order: 'sequence', steps: [...steps, { event, process, faults }] }
}

export interface Bounds {
  readonly events: number
  readonly processes: number
  readonly copies: number
  readonly kinds: readonly FaultKind[]
}

const MAX_FAULTS = 2

/** Every event two times to `copies`, to any processes, in any order, with none to two faults anywhere. */
export function planRandom(passed: PassedPoints, bounds: Bounds, random: () => number): Plan {
  const upTo = (count: number) => Math.floor(random() * count)
  const arrivals = Array.from({ length: bounds.events }, (_, event) =>
    Array.from({ length: 2 + upTo(bounds.copies - 1) }, () => event),
  )
  const steps: Step[] = shuffled(arrivals.flat(), random).map((event) => ({ event, process: upTo(bounds.processes) }))
  for (let left = upTo(MAX_FAULTS + 1); left > 0; left -= 1) {
    const index = upTo(steps.length)
    const step = steps[index] as Step
    const points = [...passed].flatMap(([at, events]) => (events.includes(step.event) ? [at] : []))
    const faults = points.flatMap((at) => kindsAt(at, bounds.kinds).map((kind): Fault => ({ kind, at })))
    if (faults.length > 0) steps[index] = { ...step, faults: [pick(faults, random)] }
  }
  return { order: random() < 0.5 ? 'sequence' : 'parallel', steps }
}

function pick<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)] as T
}

/** How much there is to read in a plan. */
export function sizeOf(plan: Plan): number {
  const faults = plan.steps.flatMap((step) => step.faults ?? []).length
  return plan.steps.length + faults + (plan.order === 'parallel' ? 1 : 0)
}

/** The plans that are smaller by one thing: an event, a delivery, a fault, the order. The boldest first. */
export function* smallerPlans({ order, steps }: Plan): Generator<Plan> {
  const events = new Set(steps.map((step) => step.event))
  if (events.size > 1) {
    for (const event of events) yield { order, steps: steps.filter((step) => step.event !== event) }
  }
  if (steps.length > 1) {
    for (const [index] of steps.entries()) yield { order, steps: steps.filter((_, other) => other !== index) }
  }
  for (const [index, step] of steps.entries()) {
    for (const fault of step.faults ?? []) {
      const faults = step.faults?.filter((other) => other !== fault) ?? []
      yield { order, steps: steps.with(index, { ...step, faults }) }
    }
  }
  if (order === 'parallel') yield { order: 'sequence', steps }
}

/**
 * Looks for a smaller plan that still fails, one thing less at a time, until none does or `maxTries` were played. What
 * the smallest one that failed came to is the answer; `found` is that of the plan itself.
 */
export async function shrink<Failed>(
  plan: Plan,
  found: Failed,
  maxTries: number,
  play: (smaller: Plan) => Promise<Failed | null>,
): Promise<{ readonly plan: Plan; readonly failed: Failed; readonly tries: number }> {
  let smallest = { plan, failed: found }
  let tries = 0
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false
    for (const candidate of smallerPlans(smallest.plan)) {
      if (tries === maxTries) break
      tries += 1
      const failed = await play(candidate)
      if (failed === null) continue
      smallest = { plan: candidate, failed }
      isSmaller = true
      break
    }
  }
  return { ...smallest, tries }
}
