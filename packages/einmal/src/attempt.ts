/** An effect outside of the database: reserve and commit, do it, write down how it ended. */
import { passPoint } from './crash-points.ts'
import { classifyError, type Db, describeError } from './database.ts'
import { delayAfter, type FailurePolicy } from './failure-policy.ts'
import { uuidv7 } from './ids.ts'
import { type KeptLease, keepLease, NotSentError } from './keep-lease.ts'
import { type EventKey, type EventName, eventKey, eventName, type KeyParts } from './keys.ts'
import {
  completeLeased,
  type EventError,
  failLeased,
  type LeasedReservation,
  type LeasedReserved,
  type Lost,
  markUnknown,
  type TargetCapability,
  type WaitOptions,
} from './leases.ts'
import { FinalError } from './once.ts'
import { FIRST_PAUSE_MS, realPause } from './pause.ts'
import { type Completion, type Known, toColumns } from './register.ts'
import { reserveOrWait } from './reserve-leased.ts'

/** What `perform` and `lookUp` are told. */
export interface Performing {
  readonly key: EventName
  readonly eventId: string
  /** To hand to the target as its idempotency key, or as the reference to search for. The same for every attempt. */
  readonly idempotencyKey: string
  readonly attempt: number
  /** Fires when the lease is lost, or the caller's own signal does. Hand it to the request. */
  readonly signal: AbortSignal
  /**
   * Asks the register whether the event is still held, and throws `NotSentError` if not. Call it right before the request
   * leaves, where the target does not take the key: it is what stops a process that was paused before it sent anything.
   */
  stillHeld(): Promise<void>
}

/** How an effect is done. The same for whoever makes the attempt: a call, or a sweep. */
export interface OutsideEffect<NativeTx> {
  /** What the target offers against doing a thing twice. Default `neither`. */
  readonly target?: TargetCapability
  /** Does the effect. What it returns is kept and told to every later copy. */
  perform(performing: Performing): Promise<Completion | undefined>
  /** Looks whether the effect is there; `null` where it is not. Needed for a `searchable` target. */
  lookUp?(performing: Performing): Promise<Completion | null>
  /** Writes down the result in the transaction that completes the event: both are committed, or neither. */
  record?(tx: NativeTx, completion: Completion, performing: Performing): Promise<void>
  /** How long a process may be silent before another one takes over. Default 30,000. */
  readonly leaseMs?: number
  readonly policy?: Partial<FailurePolicy>
  /** Ends the attempt early; what was sent may have arrived, and is treated so. */
  readonly signal?: AbortSignal
  /** Waits, in the tests of the caller without time going by. Default real time. */
  readonly pause?: (ms: number, signal?: AbortSignal) => Promise<void>
}

export interface AttemptOptions<NativeTx> extends OutsideEffect<NativeTx> {
  /** Without it, a copy of an event that is in progress is told so at once. */
  readonly wait?: Pick<WaitOptions, 'maxMs'>
  /** See `LeasedArrival`. */
  readonly fingerprint?: string
  readonly fields?: Readonly<Record<string, unknown>>
}

/**
 * How a call ended. `done`: the effect happened, in this call, or its look-up found it (`isFound`). `duplicate`: it had
 * happened before. `failed`: it did not happen, or may safely be tried again, at `willRetryAt`; `isFinal`: a person has to
 * look. `unknown`: it may have happened, and nobody tries again until `resolve`. `lost`: somebody else took over
 * meanwhile, and what this call did is kept in the notes. `in_progress`, `conflict`: nothing was done here.
 */
export type AttemptOutcome =
  | ({ readonly outcome: 'done'; readonly isFound: boolean } & Known)
  | ({ readonly outcome: 'duplicate'; readonly remembered?: true } & Known)
  | ({ readonly outcome: 'in_progress'; readonly leaseUntil: Date | null } & Known)
  | ({ readonly outcome: 'conflict'; readonly differing: readonly string[] | undefined } & Known)
  | ({
      readonly outcome: 'failed'
      readonly isFinal: boolean
      readonly willRetryAt: Date | null
      readonly error: EventError
      readonly cause?: unknown
    } & Known)
  | ({ readonly outcome: 'unknown'; readonly error: EventError; readonly cause?: unknown } & Known)
  | ({ readonly outcome: 'lost'; readonly cause?: unknown } & Known)

export const DEFAULT_LEASE_MS = 30_000

/**
 * Does an effect outside of the database at most once for this key, as far as the target allows it.
 *
 * The key is reserved and committed before `perform` begins, so nothing is done that nobody knows of. A crash leaves a
 * lease that ends, and then the next call or sweep goes on: with the same key on a target that `accepts_key` (one effect),
 * after a look on a `searchable` one (one effect, unless a process stops between `stillHeld` and its request for longer
 * than the lease), and never on one that is `neither`: the event is `unknown` then, and a person says what happened.
 *
 * An error of `perform` is not thrown on, it is the outcome: `FinalError` fails for good; `NotSentError`, and any error
 * on a target that takes the key, is tried again later; any other one may have reached the target, so that a look-up
 * decides, or the event is `unknown`. Only a later call or a sweep tries again, when it is due.
 *
 * Throws `KeyError` for a key that names nothing, `ContentError` for fields without an exact form, the caller's own abort
 * before anything began, and what the database says when it is away: then the lease and the next call bring it to an end.
 * An answer that JSON cannot hold is a `TypeError`, thrown after the event was completed without it.
 */
export async function attempt<NativeTx>(
  db: Db<NativeTx>,
  key: KeyParts,
  options: AttemptOptions<NativeTx>,
): Promise<AttemptOutcome> {
  checkEffect(options)
  options.signal?.throwIfAborted()
  const event = eventKey(key)
  const { target, fingerprint, fields, leaseMs = DEFAULT_LEASE_MS, wait, signal, pause } = options
  const holder = uuidv7(db.now().getTime())
  const arrival = { holder, target, leaseMs, fingerprint, fields, wait: wait && { ...wait, signal, pause } }
  const { reservation, sentAt } = await reserveOrWait(db, event, arrival)
  return carryOut(db, event, reservation, sentAt, options)
}

export function checkEffect<NativeTx>(effect: OutsideEffect<NativeTx>): void {
  if (effect.target === 'searchable' && effect.lookUp === undefined) {
    throw new TypeError('a searchable target needs lookUp')
  }
}

/** How the work ended, before it is on record. */
type Ending =
  | { readonly kind: 'done'; readonly completion: Completion; readonly isFound: boolean }
  | { readonly kind: 'retry' | 'final' | 'unknown'; readonly cause: unknown; readonly completion?: Completion }

/** Does the work of an event that is reserved, and writes down how it ended; of any other, says why there is none. */
export async function carryOut<NativeTx>(
  db: Db<NativeTx>,
  key: EventKey,
  reserved: LeasedReservation,
  sentAt: number,
  options: OutsideEffect<NativeTx>,
): Promise<AttemptOutcome> {
  if (reserved.verdict !== 'reserved') {
    const { verdict, ...known } = reserved
    if (verdict === 'finished_before') return { outcome: 'done', isFound: false, ...known }
    // One word for both: what reserving found is how this call ended.
    return { outcome: verdict, ...known } as AttemptOutcome
  }
  const lease = keepLease(db, reserved.held, options.leaseMs ?? DEFAULT_LEASE_MS, sentAt)
  const { eventId, idempotencyKey, attempt } = reserved
  const performing: Performing = {
    ...{ key: eventName(key), eventId, idempotencyKey, attempt },
    signal: options.signal === undefined ? lease.signal : AbortSignal.any([lease.signal, options.signal]),
    stillHeld: () => lease.confirm(),
  }
  try {
    const ending = await work(reserved, performing, lease, options)
    return await writeDown(db, reserved, performing, ending, options)
  } finally {
    lease.stop()
  }
}

async function work<NativeTx>(
  reserved: LeasedReserved,
  performing: Performing,
  lease: KeptLease,
  options: OutsideEffect<NativeTx>,
): Promise<Ending> {
  const { lookUp, policy } = options
  // An event that ends its process would never say that it failed, and go on for ever.
  if (reserved.isAfterSilence && delayAfter(reserved.attempt - 1, policy) === null) {
    return { kind: 'retry', cause: new NotSentError('too many attempts ended without a word') }
  }
  if (reserved.mustLookUp && lookUp !== undefined) {
    try {
      await passPoint('attempt.beforeLookUp')
      const found = await lookUp(performing)
      if (found !== null) return { kind: 'done', completion: found, isFound: true }
    } catch (cause) {
      return { kind: 'retry', cause }
    }
  }
  try {
    await passPoint('attempt.beforePerform')
    if (lease.isOver() || performing.signal.aborted) throw new NotSentError('stopped before anything was sent')
    const completion = (await options.perform(performing)) ?? {}
    await passPoint('attempt.afterPerform')
    return { kind: 'done', completion, isFound: false }
  } catch (cause) {
    await passPoint('attempt.afterError')
    return afterError(reserved.target, cause, performing, lookUp)
  }
}

/** What an error means depends on whether anything may have reached the target, and on who can find out. */
async function afterError(
  target: TargetCapability,
  cause: unknown,
  performing: Performing,
  lookUp: OutsideEffect<unknown>['lookUp'],
): Promise<Ending> {
  if (cause instanceof FinalError) return { kind: 'final', cause }
  if (cause instanceof NotSentError || target === 'accepts_key') return { kind: 'retry', cause }
  if (target === 'neither' || lookUp === undefined) return { kind: 'unknown', cause }
  try {
    await passPoint('attempt.beforeLookUp')
    const found = await lookUp(performing)
    if (found !== null) return { kind: 'done', completion: found, isFound: true }
  } catch {
    // The next attempt begins with a look, as every one after the first.
  }
  return { kind: 'retry', cause }
}

async function writeDown<NativeTx>(
  db: Db<NativeTx>,
  reserved: LeasedReserved,
  performing: Performing,
  ending: Ending,
  options: OutsideEffect<NativeTx>,
): Promise<AttemptOutcome> {
  const { eventId, attempt, copies, held } = reserved
  const known = { eventId, attempt, copies, target: undefined, answer: undefined }
  const write = <T>(send: () => Promise<T>) => writeDespite(send, options.pause ?? realPause)
  const { error, cause } = toError(ending)
  const told = (written: Lost | { readonly outcome: string }, outcome: AttemptOutcome): AttemptOutcome =>
    written.outcome === 'lost' ? { outcome: 'lost', ...known, cause } : outcome

  if (ending.kind === 'done') {
    const { completion, isFound } = ending
    const { target, answer } = completion
    const alongside = options.record && ((tx: NativeTx) => recordIn(tx, completion, performing, options))
    try {
      const written = await write(() => completeLeased(db, held, storable(completion), alongside))
      // On record first: the effect is there, whatever is wrong with the answer.
      toColumns(completion)
      return told(written, { outcome: 'done', isFound, ...known, target, answer: answer ?? undefined })
    } catch (thrown) {
      if (!(thrown instanceof RecordError)) throw thrown
      // The effect is there and its record is not. Who can do it again without harm shall; otherwise a person looks.
      const kind = reserved.target === 'neither' ? 'unknown' : 'retry'
      return writeDown(db, reserved, performing, { kind, cause: thrown.cause, completion }, options)
    }
  }
  if (ending.kind === 'unknown') {
    const { completion = {} } = ending
    const written = await write(() => markUnknown(db, held, { note: error.message, code: error.code, completion }))
    return told(written, { outcome: 'unknown', ...known, error, cause })
  }
  const delayMs = ending.kind === 'final' ? null : delayAfter(attempt, options.policy)
  const isExhausted = delayMs === null && ending.kind === 'retry'
  const failure = isExhausted ? { code: 'attempts_exhausted', message: `${error.code}: ${error.message}` } : error
  const how = delayMs === null ? { final: true } : { retryAfterMs: delayMs }
  const written = await write(() => failLeased(db, held, failure, how))
  if (written.outcome === 'lost') return told(written, { outcome: 'lost', ...known })
  return {
    outcome: 'failed',
    isFinal: written.isFinal,
    willRetryAt: written.willRetryAt,
    ...known,
    error: failure,
    cause,
  }
}

/** Without an answer that JSON cannot hold. */
function storable(completion: Completion): Completion {
  try {
    toColumns(completion)
    return completion
  } catch {
    return { target: completion.target }
  }
}

class RecordError extends Error {}

async function recordIn<NativeTx>(
  tx: NativeTx,
  completion: Completion,
  performing: Performing,
  options: OutsideEffect<NativeTx>,
): Promise<void> {
  try {
    await options.record?.(tx, completion, performing)
  } catch (cause) {
    if (classifyError(cause) !== 'other') throw cause
    throw new RecordError('not recorded', { cause })
  }
}

const MAX_WRITES = 5

/** The effect has happened, or may have: its word is worth more than one try, whatever the database says. */
export async function writeDespite<T>(send: () => Promise<T>, pause: (ms: number) => Promise<void>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send()
    } catch (error) {
      if (error instanceof RecordError || tries === MAX_WRITES) throw error
      await pause(FIRST_PAUSE_MS * 2 ** tries)
    }
  }
}

function toError(ending: Ending): { error: EventError; cause: unknown } {
  if (ending.kind === 'done') return { error: { code: '', message: '' }, cause: undefined }
  const { cause } = ending
  return { error: describeError(cause), cause }
}
