import { recordActivities } from '../modules/activities/index.ts'
import { recordDomainEvents } from '../modules/domain-events/index.ts'
import { recordNotifications } from '../modules/notifications/index.ts'
import { answerReviewItems, type ReviewItem, recordReviewItems } from '../modules/review-items/index.ts'
import type { Tx } from '../platform/database.ts'
import type { Consequences } from './fact-kind.ts'

/**
 * Writes what people and rules see, in the caller's transaction. Each thing has a key, and is there once. Statements are
 * sent and not awaited.
 */
export function recordConsequences(tx: Tx, organizationId: string, all: readonly Consequences[], now: Date): void {
  const items = inKeyOrder(all.flatMap((consequences) => consequences.reviewItems))
  const notifications = [
    ...all.flatMap((consequences) => consequences.notifications),
    ...items.map(({ key, kind, eventId, data }) => ({ key: `review:${key}`, type: `review.${kind}`, eventId, data })),
  ]
  recordActivities(tx, organizationId, inKeyOrder(all.flatMap((consequences) => consequences.activities)), now)
  recordDomainEvents(tx, organizationId, inKeyOrder(all.flatMap((consequences) => consequences.domainEvents)), now)
  recordNotifications(tx, organizationId, inKeyOrder(notifications), now)
  recordReviewItems(tx, organizationId, items, now)
  answerReviewItems(tx, organizationId, inKeyOrder(all.flatMap((consequences) => consequences.answeredItems)), now)
}

export function onlyReviewItems(reviewItems: readonly ReviewItem[]): Consequences {
  return { activities: [], notifications: [], domainEvents: [], reviewItems, answeredItems: [] }
}

/** Two groups that tell of the same thing then wait for each other in one order. */
function inKeyOrder<T extends { readonly key: string }>(list: readonly T[]): T[] {
  return list.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}
