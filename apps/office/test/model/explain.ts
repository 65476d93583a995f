import type { PostedAnswer } from '../support/keep-alive-client.ts'
import type { Ledger } from './ledger.ts'
import type { Prepared } from './requests.ts'
import { doStep, type Expected } from './steps.ts'
import { balancesOf, type World, worldOf } from './world.ts'

/** A step with its answer. */
export interface Done {
  readonly prepared: Prepared
  readonly answer: PostedAnswer
}

/** What each event said that is known by now. */
export type KnownEvents = ReadonlyMap<string, string>

/** How a round can have come about. */
export interface Explanation {
  readonly events: KnownEvents
  /** Empty, where one order of the steps leads to what is on record. */
  readonly problems: readonly string[]
}

/**
 * Looks for an order of a round's steps in which each of them, done alone by the rules in words, is answered as it was, and
 * which leaves the balances that are on record. The office may do them in any order, but not in none.
 */
export function explain(before: Ledger, after: Ledger, done: readonly Done[], events: KnownEvents): Explanation {
  const recorded = balancesOf(worldOf(after, events, () => ''))
  let nearest: readonly string[] | null = null
  // What is newest is told by the ids of rows, and within one transaction by the order in which they were made.
  for (const ages of ['of rows', 'as made'] as const) {
    for (const order of ordersOf(done)) {
      const { world, problems: refused } = play(before, after, order, events, ages)
      const problems = [...refused, ...differences(balancesOf(world), recorded)]
      if (problems.length === 0) return { events: world.events, problems }
      if (nearest === null || problems.length < nearest.length) nearest = problems
    }
  }
  return { events, problems: [`no order of these steps leads here; in the nearest, ${(nearest ?? []).join('; ')}`] }
}

function play(before: Ledger, after: Ledger, order: readonly Done[], events: KnownEvents, ages: 'of rows' | 'as made') {
  const old = new Set(before.allocations.map(({ rowId }) => rowId))
  const fresh = after.allocations.filter(({ rowId }) => !old.has(rowId))
  let eventId = ''
  let made = 0
  const world: World = worldOf(before, events, (payment, invoice, amount) => {
    made += 1
    const row = fresh.find(
      (each) =>
        each.payment === payment.rowId &&
        each.invoice === invoice &&
        each.amount === amount &&
        (eventId === '' || each.event === eventId),
    )
    // Behind every id, whose letters end with f.
    return ages === 'of rows' && row !== undefined ? row.rowId : `made ${String(made).padStart(6, '0')}`
  })
  const rowIdOf = ({ source, id }: { source: string; id: string }) =>
    after.payments.find((payment) => payment.source === source && payment.id === id)?.rowId ?? 'not on record'
  const problems: string[] = []
  for (const { prepared, answer } of order) {
    eventId = toId(answer.body['eventId'] ?? outcomeOf(answer)?.['eventId'])
    const given = { eventId, documentId: toId(answer.body['id']), rowIdOf }
    const problem = judge(doStep(world, prepared.step, given), answer)
    if (problem !== null) problems.push(`${prepared.words}: ${problem}`)
  }
  return { world, problems }
}

function toId(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** What a decision led to. */
function outcomeOf({ body }: PostedAnswer): Readonly<Record<string, unknown>> | undefined {
  return (body['outcome'] ?? undefined) as Readonly<Record<string, unknown>> | undefined
}

/** Whether a person was told that this cannot be done. */
export function isRefusal({ status }: PostedAnswer): boolean {
  return status === 409 || status === 422
}

function judge(expected: Expected, answer: PostedAnswer): string | null {
  if (isRefusal(answer)) {
    // The question may have been answered by what happened at the same moment, without a person.
    const isExpected = expected === 'refused' || answer.body['code'] === 'decided_already'
    return isExpected ? null : `refused as ${answer.body['code']}, and should not have been`
  }
  if (expected === 'refused') return 'should have been refused'
  const applied = (answer.body['applied'] ?? outcomeOf(answer)?.['applied']) as { amountMinor: number } | undefined
  if (expected.applied === undefined || applied === undefined || applied.amountMinor === expected.applied) return null
  return `says that ${applied.amountMinor} were applied, which should be ${expected.applied}`
}

function differences(expected: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  const keys = [...new Set([...expected.keys(), ...found.keys()])].filter((key) => expected.get(key) !== found.get(key))
  return keys.map(
    (key) => `${key} should be [${expected.get(key) ?? 'not there'}] and is [${found.get(key) ?? 'not there'}]`,
  )
}

/** Every order of a list, as it stands first. */
function* ordersOf<T>(list: readonly T[]): Generator<readonly T[]> {
  if (list.length < 2) yield list
  else {
    for (const [index, head] of list.entries()) {
      for (const rest of ordersOf(list.toSpliced(index, 1))) yield [head, ...rest]
    }
  }
}
