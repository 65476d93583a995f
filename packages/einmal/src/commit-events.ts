/**
 * One transaction for a list of events: reserve all, run the effect for those that are new, complete, commit.
 *
 * `once` and the group commit are this function with one event and with many.
 */
import { classifyError, type Db } from './database.ts'
import type { EventKey } from './keys.ts'
import {
  type Arrival,
  type Completion,
  complete,
  inKeyOrder,
  isOtherContent,
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
}

/**
 * How an arrival ended. All but `failed` are committed.
 *
 * `done`: the effect happened, in this call. `duplicate`: it had happened before, or happens through another arrival in
 * the same call; target and answer are those of the first. The others changed nothing.
 */
export type Outcome =
  | ({ readonly outcome: 'done' } & Known)
  | ({ readonly outcome: 'duplicate' } & Known)
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
 * work, the others are copies.
 *
 * Deadlocks, serialization failures and lost connections run it again with the same holders, three times at most; a
 * commit whose answer got lost is thereby found as one's own. Any other error of the effect is thrown, and nothing of
 * this call remains.
 */
export async function commitEvents<NativeTx, Input>(
  db: Db<NativeTx>,
  scope: string,
  incoming: readonly Incoming<Input>[],
  work: Work<NativeTx, Input>,
): Promise<Outcome[]> {
  const folded = fold(scope, incoming)
  const arrivals: Arrival[] = folded.map(({ first, copies }) => ({
    id: first.id,
    key: first.key,
    holder: first.holder,
    fingerprint: first.fingerprint,
    copies,
    arrivedAt: first.arrivedAt,
  }))
  const earlierTransactions: string[] = []
  for (let tries = 1; ; tries += 1) {
    let transactionId: string | null = null
    try {
      return await db.transaction(scope, async (tx, query) => {
        const now = db.now()
        const reserved = await reserve(query, db.register, arrivals, now, earlierTransactions)
        transactionId = reserved.transactionId
        const mine: ReservedEvent<Input>[] = []
        for (const [index, reservation] of reserved.reservations.entries()) {
          const first = folded[index]?.first
          if (first === undefined || reservation.verdict !== 'reserved') continue
          mine.push({ eventId: reservation.eventId, attempt: reservation.attempt, incoming: first })
        }
        const completions = mine.length === 0 ? [] : await work.effect(tx, mine)
        if (completions.length !== mine.length) throw new Error('an effect must say for each event what it led to')
        const byEvent = new Map(mine.map((event, index) => [event.eventId, completions[index] ?? {}]))
        const outcomes = outcomesOf(incoming, folded, reserved.reservations, byEvent)
        // Sent, not awaited, so that it travels together with the commit; if it fails, so does the commit.
        complete(query, db.register, scope, toComplete(reserved.reservations, arrivals, byEvent), now).catch(() => undefined)
        await work.settle?.(
          tx,
          incoming.map((item, index) => ({ incoming: item, outcome: outcomes[index] as Outcome })),
        )
        return outcomes
      })
    } catch (error) {
      const errorClass = classifyError(error)
      if ((errorClass !== 'retry' && errorClass !== 'connection') || tries === MAX_TRIES) throw error
      if (errorClass === 'connection' && transactionId !== null) earlierTransactions.push(transactionId)
    }
  }
}

interface Folded<Input> {
  readonly first: Incoming<Input>
  copies: number
}

/** One entry per key, in the order in which all groups take their locks. */
function fold<Input>(scope: string, incoming: readonly Incoming<Input>[]): Folded<Input>[] {
  const byKey = new Map<string, Folded<Input>>()
  for (const item of incoming) {
    // Keys are compared without their scope from here on: one of another would be taken for one of this.
    if (item.key.scope !== scope) throw new Error('all events of one transaction are of its scope')
    const text = foldKey(item.key)
    const known = byKey.get(text)
    if (known === undefined) byKey.set(text, { first: item, copies: 1 })
    else known.copies += 1
  }
  return inKeyOrder([...byKey.values()], (entry) => entry.first.key)
}

/** No part of a key has a NUL, so this joins them without ambiguity. */
function foldKey(key: EventKey): string {
  return `${key.source}\0${key.kind}\0${key.id}`
}

function toComplete(
  reservations: readonly Reservation[],
  arrivals: readonly Arrival[],
  byEvent: ReadonlyMap<string, Completion>,
) {
  return reservations.flatMap((reservation, index) => {
    const holder = arrivals[index]?.holder
    if (reservation.verdict !== 'reserved' || holder === undefined) return []
    const completion = byEvent.get(reservation.eventId) ?? {}
    // A new row is born completed; it is written again only if there is something to remember.
    const isWritten = reservation.isNew && completion.target === undefined && completion.answer === undefined
    return isWritten ? [] : [{ eventId: reservation.eventId, holder, completion }]
  })
}

function outcomesOf<Input>(
  incoming: readonly Incoming<Input>[],
  folded: readonly Folded<Input>[],
  reservations: readonly Reservation[],
  byEvent: ReadonlyMap<string, Completion>,
): Outcome[] {
  const outcomeOfFirst = new Map<Incoming<Input>, Outcome>()
  const firstOf = new Map<string, { first: Incoming<Input>; outcome: Outcome }>()
  for (const [index, { first, copies }] of folded.entries()) {
    const reservation = reservations[index]
    if (reservation === undefined) throw new Error('a reservation is missing')
    const outcome = outcomeOf(reservation, copies, byEvent)
    outcomeOfFirst.set(first, outcome)
    firstOf.set(foldKey(first.key), { first, outcome })
  }
  return incoming.map((item) => {
    const own = outcomeOfFirst.get(item)
    if (own !== undefined) return own
    const entry = firstOf.get(foldKey(item.key))
    if (entry === undefined) throw new Error('a folded arrival lost its first')
    if (isOtherContent(entry.first.fingerprint, item.fingerprint)) return { ...entry.outcome, outcome: 'conflict' }
    return entry.outcome.outcome === 'done' ? { ...entry.outcome, outcome: 'duplicate' } : entry.outcome
  })
}

function outcomeOf(reservation: Reservation, copies: number, byEvent: ReadonlyMap<string, Completion>): Outcome {
  if (reservation.verdict === 'reserved') {
    const { eventId, attempt } = reservation
    const completion = byEvent.get(eventId)
    return { outcome: 'done', eventId, attempt, copies, target: completion?.target, answer: completion?.answer ?? undefined }
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
