/**
 * The register for effects outside of the database: one transaction reserves, another one writes down how it ended, and a
 * lease stands between them. Each call here is a short transaction of its own; `attempt` puts them together.
 */
import { differingFields, fieldDigests, fingerprintOf } from './content.ts'
import { passPoint } from './crash-points.ts'
import { classifyError, type Db, type Query } from './database.ts'
import { uuidv7 } from './ids.ts'
import { type EventKey, eventKey, idempotencyKey, type KeyParts } from './keys.ts'
import {
  type Completion,
  type EventState,
  isOtherContent,
  type Known,
  recall,
  toColumns,
  toRemembered,
  withoutNul,
} from './register.ts'
import type { Statement } from './register-names.ts'

/**
 * What the target offers against doing a thing twice. `accepts_key`: it takes a key and does the same key once.
 * `searchable`: what was done can be found there by the key. `neither`: nobody can find out, except a person.
 */
export type TargetCapability = 'accepts_key' | 'searchable' | 'neither'

export interface LeasedArrival {
  /**
   * Names this call and only it, a UUID: the same call made again after a lost answer finds its own reservation. A program
   * that starts again is another call and takes another holder.
   */
  readonly holder: string
  /** Default `neither`, which never does anything twice and asks a person instead. */
  readonly target?: TargetCapability | undefined
  /** How long nobody else may take the event, in milliseconds of the database's clock, at most a day. */
  readonly leaseMs: number
  /** `version:text` of the content that matters; see `fingerprintOf`. Without it that of `fields`, if there are any. */
  readonly fingerprint?: string | undefined
  /** The content that matters, field by field: a conflict then names those that differ. Their digests are stored. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  /** How many arrivals this call stands for. Default 1. */
  readonly copies?: number | undefined
  /** Without it, a copy of an event that is in progress is told so at once. */
  readonly wait?: WaitOptions | undefined
}

export interface WaitOptions {
  /** How long a copy waits for the one that is at work, in milliseconds, counted in pauses. */
  readonly maxMs: number
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Waits, in the tests of the caller without time going by. Default real time. */
  readonly pause?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined
}

/** What proves that an attempt is one's own. All later calls are compared with holder and attempt. */
export interface Held {
  readonly scope: string
  readonly eventId: string
  readonly holder: string
  readonly attempt: number
}

export interface LeasedReserved {
  readonly verdict: 'reserved'
  readonly held: Held
  readonly eventId: string
  readonly attempt: number
  readonly copies: number
  readonly isNew: boolean
  readonly target: TargetCapability
  readonly leaseUntil: Date
  /** An earlier attempt may have reached the target: look there before doing anything. Only of a `searchable` one. */
  readonly mustLookUp: boolean
  /** The attempt before ended without a word: its process may have died of it. */
  readonly isAfterSilence: boolean
  /** To hand to the target; the same for every attempt. */
  readonly idempotencyKey: string
}

export interface EventError {
  readonly code: string
  readonly message: string
}

/**
 * What reserving found. `reserved`: the work is yours, until the lease ends. `finished_before`: it was yours and is done.
 * `duplicate`: somebody did it. `in_progress`: somebody is at it. `failed`: not due yet (`willRetryAt`), or for good
 * (`isFinal`). `unknown`: it may have been done, and a person or a look-up has to say (`resolve`). `conflict`: the key is
 * known with other content; `differing` names the fields, where both sides gave them.
 */
export type LeasedReservation =
  | LeasedReserved
  | ({ readonly verdict: 'finished_before' } & Known)
  | ({ readonly verdict: 'duplicate'; readonly remembered?: true } & Known)
  | ({ readonly verdict: 'conflict'; readonly differing: readonly string[] | undefined } & Known)
  | ({ readonly verdict: 'in_progress'; readonly leaseUntil: Date | null } & Known)
  | ({ readonly verdict: 'unknown'; readonly error: EventError } & Known)
  | ({
      readonly verdict: 'failed'
      readonly isFinal: boolean
      readonly willRetryAt: Date | null
      readonly error: EventError
    } & Known)

/**
 * Rows of one's own beside the word of the register: both are committed, or neither. Runs again with its transaction after a
 * deadlock or a lost connection, so it does nothing outside it.
 */
export type Alongside<NativeTx, Word> = (tx: NativeTx, word: Word) => Promise<void>

/** The event is not yours any more: `state` is what it is in, `null` where there is none, or a heartbeat did not ask. */
export interface Lost {
  readonly outcome: 'lost'
  readonly state: EventState | null
}

const MAX_TRIES = 3
const MAX_LEASE_MS = 86_400_000

/** What a second try of one transaction has to know of the first. */
interface Tries {
  /** Transactions of earlier tries whose end is not known. */
  readonly earlier: string[]
  current: string | null
}

/**
 * Runs a short transaction, and again after a deadlock or a lost connection, three times at most. Only for work that
 * finds what an earlier try of it has committed.
 */
export async function inShortTransaction<NativeTx, T>(
  db: Db<NativeTx>,
  scope: string,
  work: (tx: NativeTx, query: Query, tries: Tries) => Promise<T>,
): Promise<T> {
  const tries: Tries = { earlier: [], current: null }
  for (let count = 1; ; count += 1) {
    tries.current = null
    try {
      return await db.transaction(scope, (tx, query) => work(tx, query, tries))
    } catch (error) {
      const errorClass = classifyError(error)
      if ((errorClass !== 'retry' && errorClass !== 'connection') || count === MAX_TRIES) throw error
      if (errorClass === 'connection' && tries.current !== null) tries.earlier.push(tries.current)
    }
  }
}

/** The one row of a statement that answers in JSON. */
export async function queryFound<Found>(query: Query, { text, name }: Statement, values: readonly unknown[]) {
  const rows = await query<{ found: Found }>(text, values, name)
  return rows.map(({ found }) => found)
}

export interface FoundRow {
  id: string
  source: string
  kind: string
  external_id: string
  state: EventState
  attempt: number
  is_final: boolean
  holder: string
  lease_until: string | null
  next_attempt_at: string | null
  target_capability: TargetCapability
  target_type: string | null
  target_id: string | null
  answer: unknown
  fingerprint: string
  fields: Record<string, string> | null
  copies: number
  error_code: string | null
  error_message: string | null
  is_new: boolean
  transaction_id: string
}

/** See `reserveLeased`, which this is one try of. */
export async function reserveKey<NativeTx>(
  db: Db<NativeTx>,
  key: EventKey,
  arrival: LeasedArrival,
  alongside?: Alongside<NativeTx, LeasedReservation>,
): Promise<LeasedReservation> {
  const { fields, holder, target = 'neither' } = arrival
  const fingerprint = arrival.fingerprint ?? (fields === undefined ? '' : fingerprintOf(fields))
  const digests = fields === undefined ? null : fieldDigests(fields)
  const values = [
    ...[key.scope, uuidv7(db.now().getTime()), key.source, key.kind, key.id, holder, fingerprint],
    ...[digests && JSON.stringify(digests), arrival.copies ?? 1, target, checkedLease(arrival.leaseMs)],
  ]
  const reservation = await inShortTransaction(db, key.scope, async (tx, query, tries) => {
    const [row] = await queryFound<FoundRow>(query, db.register.leases.reserveLeased, [...values, tries.earlier])
    if (row === undefined) throw new Error('nothing was reserved')
    tries.current = row.transaction_id
    const isRemembered =
      row.is_new && db.register.memory && (await recall(query, db.register, key.scope, [row.id])).size > 0
    const found = isRemembered
      ? toRemembered(row.id, row.copies)
      : toReservation(key, row, { holder, fingerprint, digests })
    await alongside?.(tx, found)
    await passPoint('reserve.beforeCommit')
    return found
  })
  await passPoint('reserve.afterCommit')
  return reservation
}

function checkedLease(leaseMs: number): number {
  if (leaseMs > 0 && leaseMs <= MAX_LEASE_MS) return leaseMs
  throw new RangeError(`a lease of ${leaseMs} ms is not between 0 and ${MAX_LEASE_MS}`)
}

function toReserved(key: EventKey, row: FoundRow): LeasedReserved {
  const { id: eventId, attempt, holder, target_capability: target } = row
  return {
    verdict: 'reserved',
    held: { scope: key.scope, eventId, holder, attempt },
    eventId,
    attempt,
    copies: row.copies,
    isNew: row.is_new,
    target,
    leaseUntil: new Date(row.lease_until ?? 0),
    mustLookUp: target === 'searchable' && attempt > 1,
    isAfterSilence: row.error_message !== null,
    idempotencyKey: idempotencyKey(key),
  }
}

/** What a row says to whoever asked for it under a holder of his own. */
export function toReservation(
  key: EventKey,
  row: FoundRow,
  mine: { holder: string; fingerprint: string; digests: Record<string, string> | null },
): LeasedReservation {
  const known: Known = {
    eventId: row.id,
    attempt: row.attempt,
    copies: row.copies,
    target: row.target_type === null ? undefined : { type: row.target_type, id: row.target_id ?? '' },
    answer: row.answer ?? undefined,
  }
  if (row.holder === mine.holder && row.state === 'in_progress') return toReserved(key, row)
  if (row.holder === mine.holder && row.state === 'completed') return { verdict: 'finished_before', ...known }
  if (isOtherContent(row.fingerprint, mine.fingerprint)) {
    const canName = row.fields !== null && mine.digests !== null
    const differing = canName ? differingFields(row.fields ?? {}, mine.digests ?? {}) : undefined
    return { verdict: 'conflict', differing, ...known }
  }
  const error = { code: row.error_code ?? '', message: row.error_message ?? '' }
  switch (row.state) {
    case 'completed':
      return { verdict: 'duplicate', ...known }
    case 'in_progress':
      return { verdict: 'in_progress', leaseUntil: toDate(row.lease_until), ...known }
    case 'unknown':
      return { verdict: 'unknown', error, ...known }
    case 'failed':
      return { verdict: 'failed', isFinal: row.is_final, willRetryAt: toDate(row.next_attempt_at), error, ...known }
  }
}

function toDate(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}

/**
 * Says that the work goes on: the lease is as long again from now, by the database's clock, and never shorter than it was.
 * A late call, after the lease has ended, somebody took over or the end is on record, changes nothing and is told that it lost.
 * While nobody has taken over, the word of the end still counts.
 */
export async function heartbeat<NativeTx>(
  db: Db<NativeTx>,
  held: Held,
  options: { readonly leaseMs: number },
): Promise<{ readonly outcome: 'held'; readonly leaseUntil: Date } | Lost> {
  const values = [...toValues(held), checkedLease(options.leaseMs)]
  return inShortTransaction(db, held.scope, async (_tx, query) => {
    const [row] = await queryFound<{ lease_until: string }>(query, db.register.leases.heartbeat, values)
    return row === undefined
      ? { outcome: 'lost', state: null }
      : { outcome: 'held', leaseUntil: new Date(row.lease_until) }
  })
}

export function toValues(held: Held): unknown[] {
  return [held.scope, held.eventId, held.holder, held.attempt]
}

/** How an attempt ended, in the word of whoever made it. */
type Word =
  | { readonly state: 'completed'; readonly completion: Completion }
  | {
      readonly state: 'failed'
      readonly error: EventError
      readonly isFinal: boolean
      readonly retryAfterMs: number | null
    }
  | { readonly state: 'unknown'; readonly error: EventError; readonly completion: Completion }

/** The columns of an end, as the statements take them. */
export function toEndValues(word: Word): unknown[] {
  const { target, answer } = toColumns(word.state === 'failed' ? {} : word.completion)
  const error = word.state === 'completed' ? null : word.error
  const isFinal = word.state === 'failed' && word.isFinal
  return [
    ...[word.state, target && withoutNul(target.type), target && withoutNul(target.id), answer],
    ...[error && withoutNul(error.code), error && withoutNul(error.message), isFinal],
    word.state === 'failed' && !isFinal ? word.retryAfterMs : null,
  ].map((value) => value ?? null)
}

export interface Ended {
  id: string
  attempt: number
  state: EventState
  is_written: boolean
  is_repeated: boolean
  next_attempt_at: string | null
}

/** Writes a word of the owner, or keeps that of anybody else beside the event: then it is `lost`. */
async function finish<NativeTx>(
  db: Db<NativeTx>,
  held: Held,
  word: Word,
  alongside?: (tx: NativeTx) => Promise<void>,
): Promise<{ readonly lost: Lost | null; readonly nextAttemptAt: Date | null }> {
  const values = [...toValues(held), ...toEndValues(word)]
  const ended = await inShortTransaction(db, held.scope, async (tx, query) => {
    const [found] = await queryFound<Ended>(query, db.register.leases.finish, values)
    // Only with the word that is written: an earlier try that was committed has brought this along already.
    if (found?.is_written) await alongside?.(tx)
    await passPoint('finish.beforeCommit')
    return found
  })
  await passPoint('finish.afterCommit')
  return {
    lost: ended?.is_written || ended?.is_repeated ? null : { outcome: 'lost', state: ended?.state ?? null },
    nextAttemptAt: toDate(ended?.next_attempt_at ?? null),
  }
}

/**
 * Writes down that the effect is done, with what every later copy is told.
 *
 * Only holder and attempt of the reservation may: the word of anybody else changes nothing, is kept in the notes, and is
 * told that it lost. The same word again is done again; one with another target or answer is another word, and has lost.
 * `alongside` runs in the same transaction, only where the word counts; if it throws, nothing of both remains.
 */
export async function completeLeased<NativeTx>(
  db: Db<NativeTx>,
  held: Held,
  completion: Completion = {},
  alongside?: (tx: NativeTx) => Promise<void>,
): Promise<{ readonly outcome: 'done' } | Lost> {
  const { lost } = await finish(db, held, { state: 'completed', completion }, alongside)
  return lost ?? { outcome: 'done' }
}

export interface Failed {
  readonly outcome: 'failed'
  readonly isFinal: boolean
  readonly willRetryAt: Date | null
}

/**
 * Writes down that the effect did not happen, or may safely be tried again. Owner-checked as `completeLeased`, and with the same
 * promise about `alongside`.
 *
 * @param options.final no later arrival tries again.
 * @param options.retryAfterMs when the next attempt is due, from now by the database's clock. Default at once. `null`: at once
 *   too, and only for whoever comes with the event again; no sweep looks for it.
 */
export async function failLeased<NativeTx>(
  db: Db<NativeTx>,
  held: Held,
  error: EventError,
  options: { readonly final?: boolean; readonly retryAfterMs?: number | null } = {},
  alongside?: (tx: NativeTx) => Promise<void>,
): Promise<Failed | Lost> {
  const isFinal = options.final ?? false
  const { retryAfterMs = 0 } = options
  const word = { state: 'failed', error, isFinal, retryAfterMs } as const
  const { lost, nextAttemptAt } = await finish(db, held, word, alongside)
  return lost ?? { outcome: 'failed', isFinal, willRetryAt: nextAttemptAt }
}

/**
 * Writes down that nobody knows whether the effect happened: no arrival and no sweep tries again until `resolve`.
 * Owner-checked as `completeLeased`, and with the same promise about `alongside`. What is known of the effect may be handed in and
 * is kept in the notes.
 */
export async function markUnknown<NativeTx>(
  db: Db<NativeTx>,
  held: Held,
  options: { readonly note?: string; readonly code?: string; readonly completion?: Completion } = {},
  alongside?: (tx: NativeTx) => Promise<void>,
): Promise<{ readonly outcome: 'unknown' } | Lost> {
  const { note = 'nobody knows how it ended', code = 'outcome_unknown', completion = {} } = options
  const { lost } = await finish(db, held, { state: 'unknown', error: { code, message: note }, completion }, alongside)
  return lost ?? { outcome: 'unknown' }
}

export interface Resolution {
  /** `completed`: it did happen. `failed`: it did not and shall not. `retry`: it did not; the next attempt is due now. */
  readonly outcome: 'completed' | 'failed' | 'retry'
  readonly target?: { readonly type: string; readonly id: string }
  readonly answer?: unknown
  /** How it was found out. */
  readonly note: string
  /** Who says so: a person, or a program that looked. */
  readonly author: string
  /** Names this decision, a UUID, so that the same call made again is the same decision. */
  readonly holder?: string
}

/** `refused`: the event is in a state that needs no decision, and nothing changed. */
export type Resolved =
  | { readonly outcome: 'resolved'; readonly eventId: string }
  | { readonly outcome: 'refused'; readonly eventId: string; readonly state: EventState }
  | { readonly outcome: 'not_found' }

/**
 * Settles an event that is `unknown`, that failed, or whose lease has ended: a person or a look-up says how it ended.
 *
 * Whoever held it before has lost it, whatever he says later. Who decided, how and from which state stands in the notes.
 * Of two decisions at once the first counts. `alongside` runs in the same transaction, only where this decision counts, and is told
 * which attempt it settled. Throws `TypeError` without author or note.
 */
export async function resolve<NativeTx>(
  db: Db<NativeTx>,
  parts: KeyParts,
  decision: Resolution,
  alongside?: Alongside<NativeTx, { readonly eventId: string; readonly attempt: number }>,
): Promise<Resolved> {
  const { author, note, outcome } = decision
  if (author.trim() === '' || note.trim() === '') throw new TypeError('a decision needs author and note')
  const key = eventKey(parts)
  const error = { code: `resolved_as_${outcome}`, message: note }
  const word: Word =
    outcome === 'completed'
      ? { state: 'completed', completion: decision }
      : { state: 'failed', error, isFinal: outcome === 'failed', retryAfterMs: 0 }
  const values = [
    ...[key.scope, key.id, key.kind, key.source, ...toEndValues(word)],
    ...[decision.holder ?? uuidv7(db.now().getTime()), withoutNul(author), error.code, withoutNul(note)],
  ]
  return inShortTransaction(db, key.scope, async (tx, query): Promise<Resolved> => {
    const [found] = await queryFound<Ended>(query, db.register.leases.resolve, values)
    if (found === undefined) return { outcome: 'not_found' }
    const { id: eventId, state, attempt } = found
    if (found.is_written) await alongside?.(tx, { eventId, attempt })
    return found.is_written || found.is_repeated
      ? { outcome: 'resolved', eventId }
      : { outcome: 'refused', eventId, state }
  })
}
