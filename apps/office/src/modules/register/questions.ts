/** What stands on the desk about work that nobody can go on with. */
import type { EventError } from 'einmal'
import { onlyReviewItems, recordConsequences } from '../../pipeline/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Tx } from '../../platform/database.ts'
import type { NewId } from '../../platform/ids.ts'
import { answerReviewItems, type ReviewItem } from '../review-items/index.ts'

export interface Question {
  readonly kind: Extract<ReviewItem['kind'], 'unknown' | 'stuck' | 'given_up'>
  readonly eventId: string
  readonly attempt: number
  /** The event's own name, as the register has it. */
  readonly event: { readonly source: string; readonly kind: string; readonly id: string }
  readonly error: EventError | null
}

/** One question per attempt: what becomes of the next one is asked anew. */
function keyOf({ eventId, attempt }: { readonly eventId: string; readonly attempt: number }): string {
  return `register:${eventId}:${attempt}`
}

/** Puts questions on the desk and tells everybody, in the caller's transaction; each is there once. Sent, not awaited. */
export function ask(
  tx: Tx,
  organizationId: string,
  questions: readonly Question[],
  { clock, newId }: { readonly clock: Clock; readonly newId: NewId },
): void {
  const items = questions.map((question): ReviewItem => {
    const { kind, eventId, attempt, event, error } = question
    const data = { source: event.source, kind: event.kind, externalId: event.id, attempt, error }
    return { id: newId(), key: keyOf(question), kind, eventId, deliveryId: null, data }
  })
  recordConsequences(tx, organizationId, [onlyReviewItems(items)], clock.now())
}

/** Takes the question about one attempt off the desk, where there is one: what became of it is known. Sent, not awaited. */
export function answer(
  tx: Tx,
  organizationId: string,
  attempt: { readonly eventId: string; readonly attempt: number },
  decision: string,
  { clock }: { readonly clock: Clock },
): void {
  answerReviewItems(tx, organizationId, [{ key: keyOf(attempt), decision }], clock.now())
}
