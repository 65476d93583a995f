import { randomBytes, randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Certificate, certify, type Played, ProofError } from './certificate.ts'
import { type Fleet, openFleet } from './fleet.ts'
import { startProcess } from './handler-process.ts'
import { type FaultKind, type Plan, planFirstRound, planRandom, planReturn, planTour, shrink } from './plan.ts'
import { createRandom } from './random.ts'
import { playRound, type Round, type RoundOptions } from './round.ts'
import { LATER_PROCESSES } from './stage.ts'
import { type ReadAnswer, readOutcome } from './verdict.ts'

export interface ProveOptions<Event> {
  /** The file that exports the handler, as a `file:` URL or the name of a package. Loaded by processes of its own. */
  readonly module: string | URL
  /** Under which name: `(event) => Promise<unknown>`. Default `default`. */
  readonly handler?: string
  /**
   * Makes the events of one round, values of JSON, that have nothing to do with those of any other round: `fresh` is a text
   * that no other round has, for their ids. Among them should be those that a careless key would take for one.
   */
  events(fresh: string): readonly Event[]
  /** Counts how often the effect of this event is there, at the target itself. */
  judge(event: Event): Promise<number>
  /**
   * Ends the leases of the event and makes its next attempt due, as if time had gone by. Without it, an event is delivered
   * again until its time has come, `recoveryMs` at most, and nobody takes over from one who stands still.
   */
  letTimePass?(event: Event): Promise<void>
  /** What a returned value means. Default: an outcome of `once` or `attempt`, or else an end. */
  readAnswer?(returned: unknown): ReadAnswer
  /** Whether the event may end as unknown, with one effect or none, after something went wrong. Default never. */
  mayBeUnknown?(event: Event): boolean
  /** Decides what is played. Default by chance; it is in the certificate and in the error. */
  readonly seed?: number
  /** How many rounds of chance follow on those that go through all points. Default 20. */
  readonly rounds?: number
  /** Plays this plan alone, as often as `rounds` says: what the error of an earlier proof had found. */
  readonly plan?: Plan
  /** How many processes at once, in the rounds of chance. Default 3. */
  readonly processes?: number
  /** How often an event is delivered at most, in the rounds of chance. Default 4. */
  readonly copies?: number
  /** Default all four; on Windows without `stop`. */
  readonly faults?: readonly FaultKind[]
  /** Environment of the processes. Default that of this one. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** For Node.js, before the file: what your modules need to be loaded. */
  readonly nodeArguments?: readonly string[]
  /** How long a delivery gives no sign before those that stand still are woken up, for it may wait for them. Default 200. */
  readonly stallMs?: number
  /** How long a delivery may take at all. Default 30,000. */
  readonly deliveryMs?: number
  /** How long an event is delivered again before it counts as one that never ends. Default 15,000. */
  readonly recoveryMs?: number
  /** How many smaller plans are played after a failure, to find the shortest. Default 40; 0 for none. */
  readonly maxShrinks?: number
}

const DELIVERY_MS = 30_000
const PROCESSES = 3

/** A race does not come out alike each time: a smaller plan is played so often before it counts as sound. */
const TRIES_OF_SMALLER = 2

/**
 * Shows of any handler, by its effects alone, that each event counts once: events are delivered several times to several
 * processes, which are killed, stopped, cut off and disturbed at every point that they pass, and the target is judged.
 *
 * The points are every message that the handler sends over a connection, those of this package, its own (`crashPoint`),
 * and the moment before its answer. After every round all events are delivered until they end, and then twice more.
 * Resolves with what was played and met. Throws `ProofError` with the shortest plan that still fails, its history and the
 * seed; `TypeError` where there is nothing to prove; what `judge`, `events` and `letTimePass` throw.
 *
 * One seed makes one plan, as long as the handler passes the same points when it is alone; how the operating system mixes
 * the processes is its own affair. A proof that passes has found nothing, which is less than that there is nothing.
 */
export async function prove<Event>(options: ProveOptions<Event>): Promise<Certificate> {
  const { module, handler = 'default', env, nodeArguments = [], seed = randomInt(2 ** 32) } = options
  const nonce = randomBytes(4).toString('hex')
  let count = 0
  const nextEvents = () => {
    count += 1
    // All of one length: with whatever is put behind it, none of them becomes another.
    return options.events(`${nonce}${String(count).padStart(6, '0')}`)
  }
  const fleet = openFleet(
    (options.processes ?? PROCESSES) + LATER_PROCESSES,
    () => startProcess({ module, handler, env, nodeArguments }),
    async (process) => {
      await process.deliver({ event: nextEvents()[0], faults: [] }, options.deliveryMs ?? DELIVERY_MS)
    },
  )
  try {
    return await campaign(fleet, seed, nextEvents, options)
  } finally {
    fleet.close()
  }
}

async function campaign<Event>(
  fleet: Fleet,
  seed: number,
  nextEvents: () => readonly Event[],
  options: ProveOptions<Event>,
): Promise<Certificate> {
  const roundOptions = toRoundOptions(fleet, options)
  const played: Played<Event>[] = []

  async function play(plan: Plan): Promise<Played<Event>> {
    const events = nextEvents()
    return { events, round: await playRound(plan, events, roundOptions) }
  }

  async function playOrFail(plan: Plan): Promise<Round> {
    const result = await play(plan)
    played.push(result)
    if (result.round.violations.length > 0) throw await shortest(result)
    return result.round
  }

  async function shortest(first: Played<Event>): Promise<ProofError> {
    const codes = new Set(first.round.violations.map(({ code }) => code))
    const { failed, tries } = await shrink(first.round.plan, first, options.maxShrinks ?? 40, async (plan) => {
      for (let attempts = 0; attempts < TRIES_OF_SMALLER; attempts += 1) {
        const again = await play(plan)
        if (again.round.violations.some(({ code }) => codes.has(code))) return again
      }
      return null
    })
    return new ProofError({ seed, rounds: played.length, found: first.round.plan, shortest: failed, tries })
  }

  const plans = options.plan
    ? await playPlan(options.plan, options.rounds ?? 1, playOrFail)
    : await playFromSeed(nextEvents().length, seed, options, playOrFail)
  const late = await findLateChange(played, options.judge)
  if (late !== null) {
    throw new ProofError({ seed, rounds: played.length, found: late.round.plan, shortest: late, tries: 0 })
  }
  return certify(seed, plans, played)
}

async function playPlan(plan: Plan, rounds: number, playOrFail: (plan: Plan) => Promise<Round>): Promise<Plan[]> {
  for (let round = 0; round < rounds; round += 1) await playOrFail(plan)
  return [plan]
}

async function playFromSeed<Event>(
  events: number,
  seed: number,
  options: ProveOptions<Event>,
  playOrFail: (plan: Plan) => Promise<Round>,
): Promise<Plan[]> {
  if (events === 0) throw new TypeError('a proof needs events')
  const { faults: kinds = defaultFaults(), processes = PROCESSES, copies = 4, rounds = 20 } = options
  const first = planFirstRound(events)
  const passed = pointsOf(await playOrFail(first))
  const random = createRandom(seed)
  const bounds = { events, processes, copies, kinds }
  const drawn = [
    ...planTour(passed, kinds, random),
    ...Array.from({ length: rounds }, () => planRandom(passed, bounds, random)),
  ]
  const known = new Set(passed.keys())
  const returns: Plan[] = []
  for (const plan of drawn) {
    returns.push(...findReturns(await playOrFail(plan), known))
    for (let next = returns.shift(); next !== undefined; next = returns.shift()) {
      returns.push(...findReturns(await playOrFail(next), known))
    }
  }
  return [first, ...drawn]
}

function defaultFaults(): readonly FaultKind[] {
  return process.platform === 'win32' ? ['kill', 'throw', 'lose'] : ['kill', 'stop', 'throw', 'lose']
}

function pointsOf(round: Round): Map<string, number[]> {
  const passed = new Map<string, number[]>()
  for (const delivery of round.delivered) {
    if (delivery.step === null) continue
    for (const point of new Set(delivery.passed)) passed.set(point, [...(passed.get(point) ?? []), delivery.event])
  }
  return passed
}

/** Deaths at points that nobody had passed before: those on the way back from a fault. */
function findReturns(round: Round, known: Set<string>): Plan[] {
  const plans: Plan[] = []
  for (const { event, step, passed } of round.delivered) {
    for (const point of passed) {
      if (known.has(point)) continue
      known.add(point)
      plans.push(planReturn(round.plan, step, event, point))
    }
  }
  return plans
}

/** An effect that came when all was over: of a request that was still on its way. */
async function findLateChange<Event>(
  played: readonly Played<Event>[],
  judge: (event: Event) => Promise<number>,
): Promise<Played<Event> | null> {
  for (const { events, round } of played) {
    for (const { event, effectsLater } of round.judged) {
      const effects = await judge(events[event] as Event)
      if (effects === effectsLater) continue
      const message = `long after its end, ${effectsLater} effects became ${effects}`
      return { events, round: { ...round, violations: [{ code: 'changed_later', event, message }] } }
    }
  }
  return null
}

function toRoundOptions<Event>(fleet: Fleet, options: ProveOptions<Event>): RoundOptions<Event> {
  const { stallMs = 200, deliveryMs = DELIVERY_MS, recoveryMs = 15_000 } = options
  return {
    ...{ fleet, stallMs, deliveryMs, recoveryMs },
    judge: (event) => options.judge(event),
    letTimePass: async (event) => options.letTimePass?.(event),
    readAnswer: (returned) => (options.readAnswer ?? readOutcome)(returned),
    mayBeUnknown: (event) => options.mayBeUnknown?.(event) ?? false,
    pause: (ms) => sleep(ms),
  }
}
