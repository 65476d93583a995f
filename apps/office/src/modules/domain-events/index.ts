/**
 * Domain events: what rules listen to (`invoice.paid`, `payment.received`).
 * Table: `domain_events`.
 * Invariant: one per type and key, by a unique key, so that a rule has one thing to react to however often it was told.
 * Recorded in the transaction of the fact; whoever reacts does so later.
 */
export { type DomainEvent, listDomainEventsOfEvent, recordDomainEvents } from './queries.ts'
