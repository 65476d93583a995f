/** What a proof came to, for people and for programs. */
import { historyText, planText } from './history.ts'
import { type FaultKind, type Plan, sizeOf } from './plan.ts'
import type { Round } from './round.ts'
import type { Violation } from './verdict.ts'

/** A round and the events it was played with. */
export interface Played<Event = unknown> {
  readonly round: Round
  readonly events: readonly Event[]
}

export interface Certificate {
  readonly seed: number
  readonly rounds: number
  readonly events: number
  readonly deliveries: number
  /** How many faults of each kind were met. */
  readonly met: Readonly<Record<FaultKind, number>>
  /** Where a process was killed at least once. */
  readonly killedAt: readonly string[]
  /** Points that were passed, and at which no process was killed. */
  readonly notKilledAt: readonly string[]
  /** How many events ended as unknown, with one effect or none. All others have exactly one. */
  readonly unknown: number
  /** What was drawn from the seed. */
  readonly plans: readonly Plan[]
  /** All of it to read. */
  readonly text: string
}

export function certify(seed: number, plans: readonly Plan[], played: readonly Played[]): Certificate {
  const rounds = played.map(({ round }) => round)
  const delivered = rounds.flatMap((round) => round.delivered)
  const judged = rounds.flatMap((round) => round.judged)
  const faults = delivered.flatMap(({ met }) => met)
  const countMet = (kind: FaultKind) => faults.filter((fault) => fault.kind === kind).length
  const killed = new Set(faults.filter(({ kind }) => kind === 'kill').map(({ at }) => at))
  const passed = new Set(delivered.flatMap((delivery) => delivery.passed))
  const numbers = {
    ...{ seed, rounds: rounds.length, events: judged.length, deliveries: delivered.length },
    met: { kill: countMet('kill'), stop: countMet('stop'), throw: countMet('throw'), lose: countMet('lose') },
    killedAt: [...killed],
    notKilledAt: [...passed].filter((point) => !killed.has(point)),
    unknown: judged.filter(({ answers }) => answers.some(({ state }) => state === 'unknown')).length,
  }
  return { ...numbers, plans, text: certificateText(numbers) }
}

function certificateText(numbers: Omit<Certificate, 'plans' | 'text'>): string {
  const { seed, rounds, events, deliveries, met, killedAt, notKilledAt, unknown } = numbers
  const faults = `${met.kill} kills, ${met.stop} stops, ${met.throw} errors, ${met.lose} lost answers`
  return [
    `Every event counted once. Seed ${seed}.`,
    `${rounds} rounds, ${events} events, ${deliveries} deliveries; ${faults}.`,
    `Effects at the target: 1 for each of ${events - unknown} events.`,
    ...(unknown === 0 ? [] : [`Unknown, as declared, with one effect or none: ${unknown} events.`]),
    `Killed at: ${killedAt.join(', ') || 'no point'}.`,
    ...(notKilledAt.length === 0 ? [] : [`Passed and never killed at: ${notKilledAt.join(', ')}.`]),
    'The seed decides what is played, not how the operating system mixes the processes.',
  ].join('\n')
}

interface Failure {
  readonly seed: number
  /** How many were played until it was found. */
  readonly rounds: number
  readonly found: Plan
  readonly shortest: Played
  readonly tries: number
}

/** The handler does not hold. `message` is all there is to know, to read; the members say it to programs. */
export class ProofError extends Error {
  override readonly name = 'ProofError'
  readonly seed: number
  /** What does not hold in the shortest round that was found to fail. */
  readonly violations: readonly Violation[]
  /** The plan that failed first, and the shortest one that still does: hand it to `prove` as `plan` to see it again. */
  readonly found: Plan
  readonly plan: Plan
  readonly round: Round

  constructor(failure: Failure) {
    const { round } = failure.shortest
    super(failureText(failure))
    this.seed = failure.seed
    this.violations = round.violations
    this.found = failure.found
    this.plan = round.plan
    this.round = round
  }
}

function failureText({ seed, rounds, found, shortest, tries }: Failure): string {
  const { round, events } = shortest
  const concerned = [...new Set(round.plan.steps.map((step) => step.event))]
  return [
    'The handler does not hold.',
    ...round.violations.map(({ event, code, message }) => `  event ${event + 1}: ${message} (${code})`),
    '',
    `Seed ${seed}, round ${rounds}. The shortest plan found, of size ${sizeOf(round.plan)} instead of ${sizeOf(found)}, ` +
      `in ${tries} tries:`,
    planText(round.plan),
    '  and then again until an end, and two copies more',
    '',
    ...concerned.map((event) => `event ${event + 1} = ${JSON.stringify(events[event])}`),
    '',
    historyText(round.history),
    ...round.judged.map(
      ({ event, effects, effectsLater }) =>
        `     judged  event ${event + 1}: ${effects} effects, ${effectsLater} after later copies`,
    ),
    '',
    `Once more: prove({ …, plan: ${JSON.stringify(round.plan)} })`,
    `All of it: prove({ …, seed: ${seed} })`,
  ].join('\n')
}
