/**
 * A request with an `Idempotency-Key` is reserved and committed before its handler runs, and the handler's answer is told to
 * every copy. What every framework does is here; the files beside it only read its requests and write its answers.
 */
import { DEFAULT_LEASE_MS } from '../attempt.ts'
import { ContentError } from '../content.ts'
import { passPoint } from '../crash-points.ts'
import { classifyError, type Db } from '../database.ts'
import { uuidv7 } from '../ids.ts'
import { compositeId, type EventKey, eventKey, type KeyParts, MAX_ID_BYTES } from '../keys.ts'
import type { LeasedReservation, WaitOptions } from '../leases.ts'
import { reserveOrWait } from '../reserve-leased.ts'
import { type FinalAnswer, keptHeaders, problem, toReplay } from './answer.ts'
import { type HeaderKey, readHeaderKey } from './header-key.ts'
import { type AfterAnswer, type ProtectedWork, type Settings, startWork } from './protected-work.ts'
import { contentFields, type RequestContent } from './request-content.ts'

/**
 * What a handler promises about an attempt that did not end with a result.
 *
 * `outside`: nothing. `transactional`: an answer of 5xx, or an error, means that nothing happened. `repeatable`: it may run
 * again from the start whatever happened before, because it hands `idempotencyKey` on to a target that does one key once,
 * or commits its whole effect with `complete`.
 */
export type HandlerEffect = 'outside' | 'transactional' | 'repeatable'

export interface IdempotencyOptions<Request> {
  /**
   * Whose key it is: the user or program that is logged in. Keys of two callers never meet, and nobody is told another
   * one's answer. Runs only for a request with a key; an empty text throws `TypeError`, and no handler runs.
   */
  readonly caller: (request: Request) => string
  /** The tenant whose register it is. Without it all keys are in the scope `default`. */
  readonly scope?: ((request: Request) => string) | undefined
  /** Refuses a request without a key (400). Without it, such a request runs unprotected, and `of(request)` is null. */
  readonly required?: boolean | undefined
  /** Default POST, PUT, PATCH, DELETE. The header of any other request is not looked at. */
  readonly methods?: readonly string[] | undefined
  /** Default `outside`, which never does anything twice, and asks a person instead. */
  readonly effect?: HandlerEffect | undefined
  /** Another rule for some statuses; `undefined` leaves it at the usual one. */
  readonly afterAnswer?: ((status: number) => AfterAnswer | undefined) | undefined
  /** A copy waits for the request that is running, at most so long. Without it, it is told so at once. */
  readonly wait?: Pick<WaitOptions, 'maxMs' | 'pause'> | undefined
  /** How long a process may be silent before its request counts as dead. Default 30,000. */
  readonly leaseMs?: number | undefined
  /** A longer body is sent and not kept. Default 65,536. */
  readonly maxAnswerBytes?: number | undefined
  /** More headers to keep than type, language, encoding, disposition, location, link, caching and validators. */
  readonly headers?: readonly string[] | undefined
  /** Told of an answer that could not be put on record. The client has it; the key ends as after a crash. */
  readonly onUnrecorded?: ((error: unknown) => void) | undefined
}

export interface Arriving {
  readonly method: string
  readonly header: string | readonly string[] | undefined
  /** `unread`: there is a body, and neither its bytes nor anything made of it. */
  readonly content: () => Promise<RequestContent | 'unread'>
}

export type Admission<NativeTx> =
  | { readonly verdict: 'unprotected' }
  | { readonly verdict: 'answered'; readonly answer: FinalAnswer }
  | { readonly verdict: 'admitted'; readonly work: ProtectedWork<NativeTx> }

export interface Protection<NativeTx, Request> {
  readonly maxAnswerBytes: number
  /** Whether this request will be looked at. */
  concerns(method: string, header: Arriving['header']): boolean
  admit(request: Request, arriving: Arriving): Promise<Admission<NativeTx>>
}

const DEFAULT_MAX_ANSWER_BYTES = 65_536
const RETRY_AFTER_SECONDS = 1

/**
 * The key of the event that a request is, as `resolve` takes it. No two pairs of caller and key give the same one. Throws
 * `KeyError` for a caller or key that names nothing.
 */
export function requestKey(name: { readonly caller: string; readonly key: string; readonly scope?: string }): KeyParts {
  const id = compositeId({ caller: name.caller, key: name.key })
  const parts = { source: 'http', kind: 'request', id }
  return name.scope === undefined ? parts : { ...parts, scope: name.scope }
}

export function createProtection<NativeTx, Request>(
  db: Db<NativeTx>,
  options: IdempotencyOptions<Request>,
): Protection<NativeTx, Request> {
  const { required = false, effect = 'outside', maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES } = options
  const methods = new Set(options.methods ?? ['POST', 'PUT', 'PATCH', 'DELETE'])
  const settings: Settings<NativeTx> = {
    ...{ db, maxAnswerBytes, leaseMs: options.leaseMs ?? DEFAULT_LEASE_MS, headers: keptHeaders(options.headers) },
    target: effect === 'repeatable' ? 'accepts_key' : 'neither',
    decide: (status) => options.afterAnswer?.(status) ?? usualRule(status, effect),
    onUnrecorded: options.onUnrecorded ?? (() => undefined),
  }
  return {
    maxAnswerBytes,
    concerns: (method, header) => methods.has(method) && (required || header !== undefined),
    async admit(request, arriving) {
      if (!methods.has(arriving.method)) return { verdict: 'unprotected' }
      const header = readHeaderKey(arriving.header)
      if (header.verdict === 'absent' && !required) return { verdict: 'unprotected' }
      if (header.verdict !== 'named') return answered(refusal(header))
      const key = keyOf(request, header.key, options)
      const content = await arriving.content()
      if (content === 'unread') return answered(unread)
      try {
        return await reserve(settings, key, contentFields(content), options.wait)
      } catch (error) {
        if (error instanceof ContentError) return answered(problem('body_not_exact', error.message))
        if (classifyError(error) !== 'other') return answered(unavailable)
        throw error
      }
    },
  }
}

/** A refusal is the handler's word that nothing happened; of a fault it does not know itself how far it came. */
function usualRule(status: number, effect: HandlerEffect): AfterAnswer {
  if (status < 400) return 'kept'
  return status < 500 || effect !== 'outside' ? 'again' : 'unknown'
}

function answered(answer: FinalAnswer): { readonly verdict: 'answered'; readonly answer: FinalAnswer } {
  return { verdict: 'answered', answer }
}

function refusal(header: Exclude<HeaderKey, { verdict: 'named' }>): FinalAnswer {
  if (header.verdict === 'refused') return problem('key_invalid', header.reason)
  return problem(
    'key_missing',
    'Send the header Idempotency-Key: a new key for each thing to be done, the same to repeat.',
  )
}

const unread = problem(
  'body_unread',
  'The content of a request with an Idempotency-Key is compared. Nothing reads a body of this type before that.',
)
const unavailable = problem('unavailable', 'Nothing was done. Send the same again with the same key.', {
  retryAfterSeconds: RETRY_AFTER_SECONDS,
})
const inProgress = problem('in_progress', 'Send the same again in a moment to be told how it ended.', {
  retryAfterSeconds: RETRY_AFTER_SECONDS,
})
const unknown = problem(
  'outcome_unknown',
  'It may have been done. It is not done again before somebody has looked; do not send it with another key.',
)

/** Throws `TypeError` for a caller that names nobody: without one, everybody would share their keys. */
function keyOf<Request>(request: Request, key: string, options: IdempotencyOptions<Request>): EventKey {
  const caller = options.caller(request)
  const scope = options.scope?.(request)
  try {
    // A scope that was asked for and is missing is no default.
    return eventKey({ ...requestKey({ caller, key }), ...(options.scope === undefined ? {} : { scope: scope ?? '' }) })
  } catch (cause) {
    const limit = `both have to be there, and the caller's name and the key fit into ${MAX_ID_BYTES} bytes`
    throw new TypeError(`the option caller or scope gave no name for this request: ${limit}`, { cause })
  }
}

async function reserve<NativeTx>(
  settings: Settings<NativeTx>,
  key: EventKey,
  fields: Record<string, unknown>,
  wait: WaitOptions | undefined,
): Promise<Admission<NativeTx>> {
  const { db, target, leaseMs } = settings
  const arrival = { holder: uuidv7(db.now().getTime()), target, leaseMs, fields, wait }
  const { reservation, sentAt } = await reserveOrWait(db, key, arrival)
  if (reservation.verdict !== 'reserved') return answered(answerFor(reservation))
  const work = startWork(settings, key, reservation, sentAt, async (state) => {
    if (state === 'unknown') return unknown
    if (state !== 'completed') return inProgress
    try {
      const holder = uuidv7(db.now().getTime())
      const { reservation: found } = await reserveOrWait(db, key, { ...arrival, holder, copies: 0 })
      return found.verdict === 'reserved' ? inProgress : answerFor(found)
    } catch (error) {
      // The handler's own answer is not the one that counts.
      settings.onUnrecorded(error)
      return inProgress
    }
  })
  await passPoint('attempt.beforePerform')
  if (!work.isLate()) return { verdict: 'admitted', work }
  await work.end({ verdict: 'not_started' })
  return answered(unavailable)
}

function answerFor(found: Exclude<LeasedReservation, { verdict: 'reserved' }>): FinalAnswer {
  switch (found.verdict) {
    case 'finished_before':
    case 'duplicate':
      return toReplay(found.answer)
    case 'in_progress':
      return inProgress
    case 'unknown':
      return unknown
    case 'failed':
      return found.isFinal
        ? problem('failed', `Somebody has decided that it is not done: ${found.error.message}`)
        : inProgress
    case 'conflict': {
      const { differing } = found
      const names = differing === undefined || differing.length === 0 ? 'content' : differing.join(', ')
      return problem('conflict', `The key was sent before with other content (${names}); nothing was done.`, {
        differing,
      })
    }
  }
}
