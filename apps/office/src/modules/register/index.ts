/**
 * The event register: as people read it, and as programs outside use it.
 * Tables: `events` and what stands beside it, which the library `einmal` writes; `due_work`, which says whose work may be due.
 * Invariants: a program's keys stand under `external/<source>`, where they meet no event of the office's own; work that nobody can go
 * on with stands on the desk, put there in the transaction in which it became so.
 */
export { goOnWithDueWork } from './due-work.ts'
export {
  countCopies,
  type EventRow,
  findEvent,
  listEvents,
  listNotesOfEvent,
  type NoteRow,
  takeDueOrganizations,
} from './queries.ts'
export {
  completeWork,
  extendWork,
  failWork,
  findWork,
  markWorkUnknown,
  repeatWork,
  reserveWork,
  resolveWork,
  type WorkDecision,
  type WorkName,
  type WorkParts,
} from './work.ts'
