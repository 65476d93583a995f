/**
 * Activities: the time line of a contact, an invoice or a payment.
 * Table: `activities`. A line belongs to one subject and carries a key.
 * Invariant: one line per subject and key, by a unique key; a repetition of the same thing adds none.
 * Lines are added and never changed.
 */
export { type Activity, listActivities, listActivitiesOfEvent, recordActivities } from './queries.ts'
