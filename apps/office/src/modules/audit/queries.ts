import type { Selectable } from 'kysely'
import { listedIn, send, sql, type Tx } from '../../platform/database.ts'
import type { NewId } from '../../platform/ids.ts'
import { toJsonText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'

export type AuditRow = Selectable<Tables['audit_entries']>

export interface Actor {
  readonly type: 'member' | 'api_key' | 'assistant' | 'system'
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

/** Newest first, from before `before` on. */
export async function listAuditEntries(
  tx: Tx,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<AuditRow[]> {
  return tx
    .selectFrom('audit_entries')
    .selectAll()
    .where(listedIn(organizationId))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** What was changed of one thing, newest first, from before `before` on. */
export async function listAuditEntriesOfSubject(
  tx: Tx,
  organizationId: string,
  subjectId: string,
  before: string | null,
  limit: number,
): Promise<AuditRow[]> {
  return tx
    .selectFrom('audit_entries')
    .selectAll()
    .where('subject_id', '=', subjectId)
    .where('organization_id', '=', organizationId)
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
