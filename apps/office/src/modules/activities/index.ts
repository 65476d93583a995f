/**
 * Activities: the time line of a contact, a deal, an invoice or a payment.
 * Table: `activities`. A line belongs to one subject and carries a key.
 * Invariant: one line per subject and key, by a unique key; a repetition of the same thing adds none.
 * Lines are added and never changed.
 */
export { noteOf } from './note.ts'
export {
  type Activity,
  type ActivityRow,
  listActivities,
  listActivitiesOfEvent,
  recordActivities,
} from './queries.ts'
