import { recordActivities } from '../modules/activities/index.ts'
import { recordDomainEvents } from '../modules/domain-events/index.ts'
import { type Notification, recordNotifications } from '../modules/notifications/index.ts'
import { answerReviewItems, type ReviewItem, recordReviewItems } from '../modules/review-items/index.ts'
import type { Tx } from '../platform/database.ts'
import type { Consequences } from './fact-kind.ts'

/**
 * Writes what people and rules see, in the caller's transaction. Each thing has a key, and is there once. Statements are
 * sent and not awaited.
 */
export function recordConsequences(tx: Tx, organizationId: string, all: readonly Consequences[], now: Date): void {
  const items = inKeyOrder(all.flatMap((consequences) => consequences.reviewItems))
  const notifications = [...all.flatMap((consequences) => consequences.notifications), ...items.map(toNotification)]
  recordActivities(tx, organizationId, inKeyOrder(all.flatMap((consequences) => consequences.activities)), now)
  recordDomainEvents(tx, organizationId, inKeyOrder(all.flatMap((consequences) => consequences.domainEvents)), now)
  recordNotifications(tx, organizationId, inKeyOrder(notifications), now)
  recordReviewItems(tx, organizationId, onePerKey(items), now)
  answerReviewItems(tx, organizationId, inKeyOrder(all.flatMap((consequences) => consequences.answeredItems)), now)
}

/** Money that lies nowhere again is news again; every other question is told once. */
function toNotification({ id, key, kind, eventId, data }: ReviewItem): Notification {
  const told = kind === 'unapplied' ? `review:${key}:${eventId}` : `review:${key}`
  return { id, key: told, type: `review.${kind}`, eventId, data }
}

export function onlyReviewItems(reviewItems: readonly ReviewItem[]): Consequences {
  return { activities: [], notifications: [], domainEvents: [], reviewItems, answeredItems: [] }
}

/** One event, and more so a group, may raise a question twice; one statement can write it once. What was asked last stands. */
function onePerKey(items: readonly ReviewItem[]): ReviewItem[] {
  return [...new Map(items.map((item) => [item.key, item])).values()]
}

/** Two groups that tell of the same thing then wait for each other in one order. */
function inKeyOrder<T extends { readonly key: string }>(list: readonly T[]): T[] {
  return list.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}
