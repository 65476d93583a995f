/**
 * Actions: what several entrances do and one module alone cannot, because it joins modules with providers or the pipeline.
 * Tables: none of its own.
 * Invariant: whatever is booked here is booked as a webhook's facts are, under the key of the money itself.
 */
export { attemptAgain, type ReadAgain, readAgain, readFailedEvent } from './read-again.ts'
export { decideItem, decisionsFor, type ItemDecision } from './review-desk.ts'
