import { send, sql, type Tx } from '../../platform/database.ts'
import type { NewId } from '../../platform/ids.ts'
import { toJsonText } from '../../platform/json.ts'

export interface Actor {
  readonly type: 'member' | 'api_key' | 'system'
  readonly id: string
}

export interface AuditEntry {
  readonly actor: Actor
  /** Noun and verb, such as `invoice.issue`. */
  readonly action: string
  readonly subject: { readonly type: string; readonly id: string }
  readonly data: Readonly<Record<string, unknown>>
}

/** Adds the entry; sent and not awaited. */
export function recordAudit(tx: Tx, organizationId: string, entry: AuditEntry, now: Date, newId: NewId): void {
  void send(
    tx,
    sql`insert into audit_entries (id, organization_id, actor_type, actor_id, action, subject_type, subject_id, data,
        recorded_at)
      values (${newId()}, ${organizationId}, ${entry.actor.type}, ${entry.actor.id}, ${entry.action},
        ${entry.subject.type}, ${entry.subject.id}, ${toJsonText(entry.data)}::json, ${now.toISOString()})`,
  )
}
