/**
 * Audit: who changed what. Every write by a person, a program or the assistant leaves a row.
 * Table: `audit_entries`, append-only for the server's role.
 * Written in the transaction of the change: no change without its row, no row without its change.
 */
export {
  type Actor,
  type AuditEntry,
  type AuditRow,
  listAuditEntries,
  listAuditEntriesOfSubject,
  recordAudit,
} from './queries.ts'
