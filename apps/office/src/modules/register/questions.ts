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

/** One attempt of an event. */
interface Attempt {
  readonly eventId: string
  readonly attempt: number
}

/**
 * One question of a kind per attempt: what becomes of the next one is asked anew, and that nobody knows is asked also where somebody
 * was content with a silence.
 */
function keyOf(kind: Question['kind'], { eventId, attempt }: Attempt): string {
  return `register:${eventId}:${attempt}:${kind}`
}

/**
 * Puts questions on the desk and tells everybody, in the caller's transaction; each is there once. That a program fell silent is no
 * question any more where it is known what came of it. Sent, not awaited.
 */
export function ask(
  tx: Tx,
  organizationId: string,
  questions: readonly Question[],
  { clock, newId }: { readonly clock: Clock; readonly newId: NewId },
): void {
  const items = questions.map((question): ReviewItem => {
    const { kind, eventId, attempt, event, error } = question
    const data = { source: event.source, kind: event.kind, externalId: event.id, attempt, error }
    return { id: newId(), key: keyOf(kind, question), kind, eventId, deliveryId: null, data }
  })
  const answeredItems = questions
    .filter(({ kind }) => kind !== 'stuck')
    .map((question) => ({ key: keyOf('stuck', question), decision: question.kind }))
  recordConsequences(tx, organizationId, [{ ...onlyReviewItems(items), answeredItems }], clock.now())
}

/** Takes what was asked about one attempt off the desk, where anything was: what became of it is known. Sent, not awaited. */
export function answer(
  tx: Tx,
  organizationId: string,
  attempt: Attempt,
  decision: string,
  { clock }: { readonly clock: Clock },
): void {
  const kinds = ['given_up', 'stuck', 'unknown'] as const
  const answered = kinds.map((kind) => ({ key: keyOf(kind, attempt), decision }))
  answerReviewItems(tx, organizationId, answered, clock.now())
}
