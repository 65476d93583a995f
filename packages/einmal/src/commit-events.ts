/**
 * One transaction for a list of events: reserve all, run the effect for those that are new, complete, commit.
 *
 * `once` and the group commit are this function with one event and with many.
 */
import { classifyError, type Db } from './database.ts'
import type { EventKey } from './keys.ts'
import {
  type Arrival,
  type Completed,
  type Completion,
  complete,
  inKeyOrder,
  isSameCompletion,
  type Known,
  type Reservation,
  reserve,
} from './register.ts'

/** An event that came, with whatever its effect needs to know. */
export interface Incoming<Input> {
  /** Id of the register row, should this be the first arrival. */
  readonly id: string
  readonly key: EventKey
  readonly fingerprint: string
  readonly holder: string
  readonly arrivedAt: Date
  readonly input: Input
  /** What the effect of a new event is expected to lead to; saves writing the row again where it does. */
  readonly expected?: Completion | undefined
}

/**
 * How an arrival ended. All but `failed` are committed.
 *
 * `done`: the effect happened, in this call. `duplicate`: it had happened before, or happens through another arrival in
 * the same call; target and answer are those of the first. Of one that is only `remembered`, since its row was purged,
 * there is neither. The others changed nothing.
 */
export type Outcome =
  | ({ readonly outcome: 'done' } & Known)
  | ({ readonly outcome: 'duplicate'; readonly remembered?: true } & Known)
  | ({ readonly outcome: 'conflict' } & Known)
  | ({ readonly outcome: 'in_progress'; readonly leaseUntil: Date | null } & Known)
  | ({ readonly outcome: 'unknown' } & Known)
  | ({
      readonly outcome: 'failed'
      readonly error: { readonly code: string; readonly message: string }
      readonly cause?: unknown
    } & Known)

export interface ReservedEvent<Input> {
  readonly eventId: string
  readonly attempt: number
  readonly incoming: Incoming<Input>
}

export interface Work<NativeTx, Input> {
  /**
   * Does the effect of all events given, inside the transaction, and says what each led to, in the same order.
   *
   * Runs again from the start after a deadlock or a lost connection, so it must do nothing but use the transaction.
   */
  effect(tx: NativeTx, events: readonly ReservedEvent<Input>[]): Promise<readonly Completion[]>
  /** Writes down every arrival with its outcome, duplicates too, in the same transaction. */
  settle?(tx: NativeTx, settled: readonly Settled<Input>[]): Promise<void>
}

export interface Settled<Input> {
  readonly incoming: Incoming<Input>
  readonly outcome: Outcome
}

const MAX_TRIES = 3

/**
 * Commits events of one scope and returns an outcome for each, in order. Equal keys are allowed: the first does the
 * work, the others are copies, or conflicts.
 *
 * Deadlocks, serialization failures and lost connections run it again with the same holders, three times at most; a
 * commit whose answer got lost is thereby found as one's own. Any other error of the effect is thrown, and nothing of
 * this call remains.
 *
 * @param options.onSent is called when everything is sent and only the commit is to come; again, if it is run again.
 */
export async function commitEvents<NativeTx, Input>(
  db: Db<NativeTx>,
  scope: string,
  incoming: readonly Incoming<Input>[],
  work: Work<NativeTx, Input>,
  options: { readonly onSent?: () => void } = {},
): Promise<Outcome[]> {
  const { rounds, entries } = fold(scope, incoming)
  const earlierTransactions: string[] = []
  for (let tries = 1; ; tries += 1) {
    let transactionId: string | null = null
    try {
      return await db.transaction(scope, async (tx, query) => {
        const now = db.now()
        const mine: ReservedEntry<Input>[] = []
        for (const round of rounds) {
          const reserved = await reserve(query, db.register, round.map(toArrival), now, earlierTransactions)
          transactionId = reserved.transactionId
          for (const [index, entry] of round.entries()) {
            const reservation = reserved.reservations[index]
            if (reservation === undefined) throw new Error('a reservation is missing')
            entry.reservation = reservation
            if (reservation.verdict === 'reserved') mine.push({ entry, reservation })
          }
        }
        const completions = mine.length === 0 ? [] : await work.effect(tx, mine.map(toReservedEvent))
        if (completions.length !== mine.length) throw new Error('an effect must say for each event what it led to')
        const outcomes = outcomesOf(incoming, entries, mine, completions)
        // Sent, not awaited, so that it travels together with the commit; if it fails, so does the commit.
        complete(query, db.register, scope, toComplete(mine, completions), now).catch(() => undefined)
        await work.settle?.(
          tx,
          incoming.map((item, index) => ({ incoming: item, outcome: outcomes[index] as Outcome })),
        )
        options.onSent?.()
        return outcomes
      })
    } catch (error) {
      const errorClass = classifyError(error)
      if ((errorClass !== 'retry' && errorClass !== 'connection') || tries === MAX_TRIES) throw error
      if (errorClass === 'connection' && transactionId !== null) earlierTransactions.push(transactionId)
    }
  }
}

/** Arrivals of one call with one key and one content: they share a reservation, and with it their outcome. */
interface Entry<Input> {
  readonly first: Incoming<Input>
  copies: number
  reservation: Reservation | null
}

interface ReservedEntry<Input> {
  readonly entry: Entry<Input>
  readonly reservation: Extract<Reservation, { verdict: 'reserved' }>
}

interface Fold<Input> {
  /** Each of different keys, in the order in which all groups take their locks. */
  readonly rounds: readonly (readonly Entry<Input>[])[]
  /** The entry of each arrival. */
  readonly entries: readonly Entry<Input>[]
}

/**
 * One entry per key. Other content under the same key comes in a round of its own, which nearly never happens: the
 * register compares it with what it holds, and only the register knows whether the first of this call is the right one.
 */
function fold<Input>(scope: string, incoming: readonly Incoming<Input>[]): Fold<Input> {
  const rounds: Map<string, Entry<Input>>[] = []
  const entries = incoming.map((item) => {
    // Keys are compared without their scope from here on: one of another would be taken for one of this.
    if (item.key.scope !== scope) throw new Error('all events of one transaction are of its scope')
    const text = foldKey(item.key)
    for (const round of rounds) {
      const known = round.get(text)
      if (known === undefined) return addEntry(round, text, item)
      if (known.first.fingerprint === item.fingerprint) {
        known.copies += 1
        return known
      }
    }
    const round = new Map<string, Entry<Input>>()
    rounds.push(round)
    return addEntry(round, text, item)
  })
  return { rounds: rounds.map((round) => inKeyOrder([...round.values()], (entry) => entry.first.key)), entries }
}

function addEntry<Input>(round: Map<string, Entry<Input>>, text: string, first: Incoming<Input>): Entry<Input> {
  const entry = { first, copies: 1, reservation: null }
  round.set(text, entry)
  return entry
}

/** No part of a key has a NUL, so this joins them without ambiguity. */
function foldKey(key: EventKey): string {
  return `${key.source}\0${key.kind}\0${key.id}`
}

function toArrival<Input>({ first, copies }: Entry<Input>): Arrival {
  const { id, key, holder, fingerprint, arrivedAt, expected } = first
  return { id, key, holder, fingerprint, copies, arrivedAt, expected }
}

function toReservedEvent<Input>({ entry, reservation }: ReservedEntry<Input>): ReservedEvent<Input> {
  return { eventId: reservation.eventId, attempt: reservation.attempt, incoming: entry.first }
}

function toComplete<Input>(mine: readonly ReservedEntry<Input>[], completions: readonly Completion[]): Completed[] {
  return mine.flatMap(({ entry, reservation }, index) => {
    const completion = completions[index] ?? {}
    // A new row is born completed, with what was expected; it is written again only if it came out otherwise.
    const isWritten = reservation.isNew && isSameCompletion(entry.first.expected, completion)
    return isWritten ? [] : [{ eventId: reservation.eventId, holder: entry.first.holder, completion }]
  })
}

function outcomesOf<Input>(
  incoming: readonly Incoming<Input>[],
  entries: readonly Entry<Input>[],
  mine: readonly ReservedEntry<Input>[],
  completions: readonly Completion[],
): Outcome[] {
  const done = new Map<string, Outcome>()
  for (const [index, { reservation }] of mine.entries()) {
    const { eventId, attempt, copies } = reservation
    const { target, answer } = completions[index] ?? {}
    done.set(eventId, { outcome: 'done', eventId, attempt, copies, target, answer: answer ?? undefined })
  }
  return incoming.map((item, index) => {
    const entry = entries[index]
    if (entry === undefined || entry.reservation === null) throw new Error('an arrival lost its reservation')
    const outcome = outcomeOf(entry.reservation, done)
    return outcome.outcome === 'done' && entry.first !== item ? { ...outcome, outcome: 'duplicate' } : outcome
  })
}

function outcomeOf(reservation: Reservation, done: ReadonlyMap<string, Outcome>): Outcome {
  const own = done.get(reservation.eventId)
  if (reservation.verdict === 'reserved') {
    if (own === undefined) throw new Error('a reserved event has no outcome')
    return own
  }
  if (own !== undefined) {
    // Reserved a round earlier in this very transaction: the row as read did not have its target and answer yet.
    return {
      ...own,
      copies: reservation.copies,
      outcome: reservation.verdict === 'conflict' ? 'conflict' : 'duplicate',
    }
  }
  const { verdict, ...known } = reservation
  switch (reservation.verdict) {
    case 'finished_before':
      return { outcome: 'done', ...known }
    case 'duplicate':
    case 'conflict':
    case 'unknown':
      return { outcome: reservation.verdict, ...known }
    case 'in_progress':
      return { outcome: 'in_progress', leaseUntil: reservation.leaseUntil, ...known }
    case 'failed':
      return { outcome: 'failed', error: reservation.error, ...known }
  }
}
