/** Work that a program does outside: it reserves, does it, and says how it ended. */
import {
  type Completion,
  ContentError,
  completeLeased,
  compositeId,
  type EventError,
  type EventKey,
  type EventName,
  eventKey,
  eventName,
  type Failed,
  failLeased,
  fingerprintOf,
  type Held,
  heartbeat,
  KeyError,
  type KeylessPolicy,
  keylessKey,
  type LeasedReservation,
  type Lost,
  markUnknown,
  type Repeated,
  type Resolution,
  repeat,
  reserveLeased,
  resolve,
  type TargetCapability,
} from 'einmal'
import { inTransaction, registerDatabase } from '../../pipeline/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import { faultPoint } from '../../platform/fault-points.ts'
import type { NewId } from '../../platform/ids.ts'
import type { Actor } from '../audit/index.ts'
import { findEvent, findEventByName, noteDueWork } from './queries.ts'
import { answer, ask } from './questions.ts'

export interface WorkParts {
  readonly db: Db
  readonly clock: Clock
  readonly newId: NewId
}

/** The name that a program gives a thing: an id, several fields that are one together, or a policy for things without an id. */
export interface WorkName {
  readonly source: string
  readonly kind: string
  readonly id: unknown
  /** 2 and more: the thing done again on purpose. */
  readonly generation?: number | undefined
  readonly keyless?: { readonly fields: Readonly<Record<string, unknown>>; readonly policy: KeylessPolicy } | undefined
}

export interface WorkArrival {
  readonly name: WorkName
  /** Names this call and only it, a UUID. */
  readonly holder: string
  readonly target: TargetCapability
  readonly leaseMs: number
  /** Content that matters, as one text or field by field. */
  readonly fingerprint?: string | undefined
  readonly content?: Readonly<Record<string, unknown>> | undefined
  /** How long a copy waits for the one that is at work. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Under this, no program's key meets one of the office's own events: nobody can suppress a genuine payment through it. */
const OUTSIDE = 'external/'

/** After so many attempts that failed or fell silent a person has to look: nobody tries again, whatever the program says. */
const MAX_ATTEMPTS = 8

const wornOut: EventError = {
  code: 'attempts_exhausted',
  message: `${MAX_ATTEMPTS} attempts ended without success`,
}

/**
 * Reserves the thing for one program, committed before it does anything. See `reserveLeased` of the library.
 *
 * Where nobody knows how an earlier attempt ended, or too many were made, the question stands on the desk with it. Throws
 * `AppError` `key_unusable` for a name that names nothing, and `invalid` for content without an exact form.
 */
export async function reserveWork(
  parts: WorkParts,
  organizationId: string,
  arrival: WorkArrival,
): Promise<{ readonly name: EventName; readonly reservation: LeasedReservation }> {
  const { holder, target, leaseMs, content, waitMs, signal, fingerprint } = arrival
  const name = eventName(await keyOf(parts, organizationId, arrival.name))
  const reservation = await orRefusal(() =>
    reserveLeased(
      registerDatabase(parts.db, parts.clock),
      name,
      {
        ...{ holder, target, leaseMs, fields: content, wait: { maxMs: waitMs, signal } },
        // One version for the texts of all programs, so that each is compared with each.
        fingerprint: fingerprint === undefined ? undefined : fingerprintOf(fingerprint, 'text'),
      },
      async (tx, found) => {
        if (found.verdict === 'reserved') {
          const before = { eventId: found.eventId, attempt: found.attempt - 1 }
          if (found.attempt > 1) answer(tx, organizationId, before, 'taken_over', parts)
          noteDueWork(tx, organizationId, found.leaseUntil)
        }
        if (found.verdict === 'unknown') await askAbout(tx, organizationId, 'unknown', found.eventId, parts)
        faultPoint('register.beforeReserved')
      },
    ),
  )
  faultPoint('register.afterReserved')
  // A thing that ends its program would never say that it failed, and go on for ever.
  if (reservation.verdict !== 'reserved' || !reservation.isAfterSilence || reservation.attempt <= MAX_ATTEMPTS) {
    return { name, reservation }
  }
  const failed = await failWork(parts, reservation.held, wornOut, { final: true })
  if (failed.outcome === 'lost') return reserveWork(parts, organizationId, arrival)
  const { eventId, attempt, copies } = reservation
  const known = { eventId, attempt, copies, target: undefined, answer: undefined }
  return { name, reservation: { verdict: 'failed', isFinal: true, willRetryAt: null, error: wornOut, ...known } }
}

/** As the register has it. Opens a window where the thing is named by a policy. */
async function keyOf({ db, clock }: WorkParts, scope: string, work: WorkName): Promise<EventKey> {
  const { kind, keyless, generation, id } = work
  return orRefusal(async () => {
    // Looked at without the prefix, behind which what a program prints for nothing would pass for a name.
    const source = OUTSIDE + eventKey({ scope, source: work.source, kind, id: 'any' }).source
    if (keyless !== undefined) return keylessKey(registerDatabase(db, clock), { scope, source, kind, ...keyless })
    const isComposite = typeof id === 'object' && id !== null && !Array.isArray(id)
    // In a form of its own, so that no id which is written alike by chance is taken for it.
    const text = isComposite ? `fields:${compositeId(id as Record<string, unknown>)}` : id
    return eventKey({ scope, source, kind, id: text, ...(generation === undefined ? {} : { generation }) })
  })
}

async function orRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ContentError) throw new AppError('invalid', `content: ${error.message}`, { cause: error })
    if (!(error instanceof KeyError)) throw error
    const extra = { reason: error.code, part: error.part }
    throw new AppError('key_unusable', error.message, { cause: error, extra })
  }
}

async function askAbout(
  tx: Tx,
  organizationId: string,
  kind: 'unknown' | 'given_up',
  eventId: string,
  parts: WorkParts,
): Promise<void> {
  const row = await findEvent(tx, organizationId, eventId)
  if (row === undefined) throw new Error('an event is gone that was just written')
  const event = { source: row.source, kind: row.kind, id: row.external_id }
  const error = row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' }
  ask(tx, organizationId, [{ kind, eventId, attempt: row.attempt, event, error }], parts)
}

/** Writes down that the work is done. Only its holder may, see `completeLeased`. */
export async function completeWork(
  parts: WorkParts,
  held: Held,
  completion: Completion,
): Promise<{ readonly outcome: 'done' } | Lost> {
  const ended = await completeLeased(registerDatabase(parts.db, parts.clock), held, completion, async (tx) => {
    answer(tx, held.scope, held, 'completed', parts)
    faultPoint('register.beforeWord')
  })
  faultPoint('register.afterWord')
  return ended
}

/**
 * Writes down that the work failed, and whether anybody may try again. After too many attempts nobody may, and with a final failure
 * the question stands on the desk. Only its holder may, see `failLeased`.
 */
export async function failWork(
  parts: WorkParts,
  held: Held,
  error: EventError,
  options: { readonly final: boolean; readonly retryAfterMs?: number | undefined },
): Promise<Failed | Lost> {
  // Without a delay it is due at once, and nobody has to look when.
  const retryAfterMs = options.retryAfterMs || null
  const final = options.final || held.attempt >= MAX_ATTEMPTS
  const register = registerDatabase(parts.db, parts.clock)
  const ended = await failLeased(register, held, error, { final, retryAfterMs }, async (tx) => {
    if (final) await askAbout(tx, held.scope, 'given_up', held.eventId, parts)
    else answer(tx, held.scope, held, 'failed', parts)
    faultPoint('register.beforeWord')
  })
  faultPoint('register.afterWord')
  return ended
}

/** Writes down that nobody knows how the work ended, and asks on the desk. Only its holder may, see `markUnknown`. */
export async function markWorkUnknown(
  parts: WorkParts,
  held: Held,
  said: { readonly note?: string; readonly completion?: Completion },
): Promise<{ readonly outcome: 'unknown' } | Lost> {
  const ended = await markUnknown(registerDatabase(parts.db, parts.clock), held, said, async (tx) => {
    await askAbout(tx, held.scope, 'unknown', held.eventId, parts)
    faultPoint('register.beforeWord')
  })
  faultPoint('register.afterWord')
  return ended
}

/** Says that the work goes on. Only its holder may, see `heartbeat`. */
export function extendWork(parts: WorkParts, held: Held, leaseMs: number) {
  return heartbeat(registerDatabase(parts.db, parts.clock), held, { leaseMs })
}

/** What a decision has to work with: the event of the decision itself names it, so that the same one again is the same. */
export interface DecisionContext {
  readonly organizationId: string
  readonly eventId: string
  readonly actor: Actor
}

export type WorkDecision = Pick<Resolution, 'outcome' | 'target' | 'answer' | 'note'>

/**
 * Settles work of which nobody knows how it ended, that failed, or whose program fell silent, in the caller's transaction. The
 * question about it is answered.
 *
 * Throws `not_found` where there is no such event, and `nothing_to_resolve` where it is none of these, or no work of a program.
 */
export async function resolveWork(
  tx: Tx,
  parts: Pick<WorkParts, 'clock'>,
  context: DecisionContext,
  eventId: string,
  decision: WorkDecision,
): Promise<{ readonly eventId: string }> {
  const { organizationId, actor } = context
  const row = await findEvent(tx, organizationId, eventId)
  if (row === undefined) throw new AppError('not_found', `There is no event ${eventId}.`)
  if (!row.source.startsWith(OUTSIDE)) {
    throw new AppError(
      'nothing_to_resolve',
      'This event is booked here: its next arrival or a retry brings it to an end.',
    )
  }
  const key = { scope: organizationId, source: row.source, kind: row.kind, id: row.external_id }
  const said = { ...decision, author: `${actor.type}/${actor.id}`, holder: context.eventId }
  const resolved = await inTransaction(tx, parts.clock, (register) =>
    resolve(register, eventName(key), said, async (_tx, settled) =>
      answer(tx, organizationId, settled, `resolved_as_${decision.outcome}`, parts),
    ),
  )
  if (resolved.outcome === 'resolved') return { eventId }
  throw new AppError('nothing_to_resolve', `The event is ${row.state}: there is nothing to decide.`, {
    extra: { state: row.state },
  })
}

/** The event that a program names, for decisions about it. Throws `not_found`. */
export async function findWork(tx: Tx, parts: WorkParts, organizationId: string, work: WorkName): Promise<string> {
  const found = await findEventByName(tx, organizationId, await keyOf(parts, organizationId, work))
  if (found !== undefined) return found
  throw new AppError('not_found', `There is no event ${work.kind} of ${work.source} with this id.`)
}

/** Opens a new generation of work that is done, in the caller's transaction. See `repeat` of the library. */
export async function repeatWork(
  tx: Tx,
  parts: WorkParts,
  context: DecisionContext,
  work: WorkName,
  reason: string,
): Promise<Repeated> {
  const name = eventName(await keyOf(parts, context.organizationId, work))
  const author = `${context.actor.type}/${context.actor.id}`
  return inTransaction(tx, parts.clock, (register) =>
    repeat(register, name, { author, reason, holder: context.eventId }),
  )
}
