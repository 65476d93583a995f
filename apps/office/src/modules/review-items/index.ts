/**
 * Review items: what a person has to decide, because a machine would have to guess.
 * Table: `review_items`: not understood, contradiction, money without an invoice, failed for the fifth time.
 * Invariant: one item per key, by a unique key; an item is decided once, and never deleted.
 */
export {
  type AnsweredItem,
  answerReviewItems,
  type Decided,
  decideReviewItem,
  findReviewItem,
  listReviewItems,
  listReviewItemsOfEvent,
  type ReviewItem,
  type ReviewItemRow,
  recordReviewItems,
  reopenReviewItem,
} from './queries.ts'
