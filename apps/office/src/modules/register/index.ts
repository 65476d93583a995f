/**
 * The event register as people read it.
 * Table: `events`, which the library `einmal` writes; here it is only read.
 * Invariant: nothing here changes an event.
 */
export { countCopies, type EventRow, findEvent, listEvents } from './queries.ts'
