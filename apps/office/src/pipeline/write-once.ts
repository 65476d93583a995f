import { type Completion, commitEvents, compositeId, eventKey, KeyError, type Outcome, recordFailure } from 'einmal'
import type { Actor } from '../modules/audit/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database.ts'
import { AppError, isUnavailable } from '../platform/errors.ts'
import { faultPoint } from '../platform/fault-points.ts'
import type { NewId } from '../platform/ids.ts'
import { registerDatabase } from './register-database.ts'

/** A write by a person or a program, with the key that makes its repetition harmless. */
export interface ApiWrite {
  readonly organizationId: string
  readonly actor: Actor
  /** Noun and verb, such as `invoice.issue`; the kind of the event. */
  readonly operation: string
  /** From the header `Idempotency-Key`; without one the write is named by itself, and a repetition is a new write. */
  readonly idempotencyKey: string | null
  /** Over method, path and body as sent. */
  readonly fingerprint: string
}

export interface WriteAnswer {
  readonly status: number
  readonly body: unknown
  /** True where this is the stored answer of an earlier, equal request. */
  readonly isReplayed: boolean
}

const API_SOURCE = 'api'
const MAX_KEY_LENGTH = 255

/** The event's name: actor and key together, so that nobody can ask for another one's answer. Throws `AppError`. */
function apiEventKey(write: ApiWrite, newId: NewId) {
  const { organizationId, actor, operation } = write
  const key = write.idempotencyKey?.trim() ?? newId()
  if (key.length > MAX_KEY_LENGTH) {
    throw new AppError('idempotency_key_invalid', `Idempotency-Key is longer than ${MAX_KEY_LENGTH} characters.`)
  }
  try {
    const id = compositeId({ actor: `${actor.type}/${actor.id}`, key })
    return eventKey({ scope: organizationId, source: API_SOURCE, kind: operation, id })
  } catch (error) {
    if (error instanceof KeyError) throw new AppError('idempotency_key_invalid', error.message, { cause: error })
    throw error
  }
}

/**
 * Runs a write at most once for its key, in one transaction with the reservation, and gives a repetition the first
 * answer again.
 *
 * A refusal (`AppError`) rolls back and stores nothing, so that the same key may be tried again. A fault rolls back and
 * is put on record; the next request with the key is the next attempt. Throws `content_differs` where the key was used for another request.
 */
export async function writeOnce(
  parts: { readonly db: Db; readonly clock: Clock; readonly newId: NewId },
  write: ApiWrite,
  effect: (
    tx: Tx,
    eventId: string,
  ) => Promise<{ status: number; body: unknown; target?: { type: string; id: string } }>,
): Promise<WriteAnswer> {
  const { db, clock, newId } = parts
  const incoming = {
    id: newId(),
    key: apiEventKey(write, newId),
    fingerprint: write.fingerprint,
    holder: newId(),
    arrivedAt: clock.now(),
    input: null,
  }
  const register = registerDatabase(db, clock)
  let outcome: Outcome | undefined
  try {
    const outcomes = await commitEvents(register, write.organizationId, [incoming], {
      async effect(tx, events) {
        const completions: Completion[] = []
        for (const { eventId } of events) {
          faultPoint('pipeline.afterReserve')
          const { status, body, target } = await effect(tx, eventId)
          completions.push({ target, answer: { status, body } })
        }
        faultPoint('pipeline.beforeCommit')
        return completions
      },
    })
    outcome = outcomes[0]
    faultPoint('pipeline.afterCommit')
  } catch (error) {
    if (!(error instanceof AppError) && !isUnavailable(error)) await recordFailure(register, incoming, error)
    throw error
  }
  if (outcome === undefined) throw new Error('one write came in and none went out')
  switch (outcome.outcome) {
    case 'done':
    case 'duplicate': {
      const stored = outcome.answer as { status: number; body: unknown }
      return { status: stored.status, body: stored.body, isReplayed: outcome.outcome === 'duplicate' }
    }
    case 'conflict':
      throw new AppError('content_differs', 'This Idempotency-Key was used for another request; take a new one.')
    case 'in_progress':
      throw new AppError('in_progress', 'The first request with this key has not ended; ask again in a moment.')
    case 'unknown':
      throw new AppError('outcome_unknown', 'Nobody knows yet how the first request with this key ended.')
    case 'failed':
      throw new AppError('failed_for_good', outcome.error.message)
  }
}
