import type { Selectable } from 'kysely'
import { listedIn, send, sql, type Tx } from '../../platform/database.ts'
import { isId, type NewId } from '../../platform/ids.ts'
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

/** An entry with what its actor is called now, where that is a person or a key. */
export type NamedAuditRow = AuditRow & { readonly actor_name: string | null }

/** Newest first, from before `before` on. */
export async function listAuditEntries(
  tx: Tx,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<NamedAuditRow[]> {
  const rows = await tx
    .selectFrom('audit_entries')
    .selectAll()
    .where(listedIn(organizationId))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return withNames(tx, organizationId, rows)
}

/** What was changed of one thing, newest first, from before `before` on. */
export async function listAuditEntriesOfSubject(
  tx: Tx,
  organizationId: string,
  subjectId: string,
  before: string | null,
  limit: number,
): Promise<NamedAuditRow[]> {
  const rows = await tx
    .selectFrom('audit_entries')
    .selectAll()
    .where('subject_id', '=', subjectId)
    .where('organization_id', '=', organizationId)
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return withNames(tx, organizationId, rows)
}

/** The names of a page in one statement: actors of a kind are few, and entries many. */
async function withNames(tx: Tx, organizationId: string, rows: readonly AuditRow[]): Promise<NamedAuditRow[]> {
  const idsOf = (type: string) => [
    ...new Set(rows.filter((row) => row.actor_type === type && isId(row.actor_id)).map((row) => row.actor_id)),
  ]
  const [members, keys] = [idsOf('member'), idsOf('api_key')]
  if (members.length + keys.length === 0) return rows.map((row) => ({ ...row, actor_name: null }))
  const named = await send<{ id: string; name: string }>(
    tx,
    sql`select m.id, u.name from members as m join auth."user" as u on u.id = m.user_id
      where m.id = any (${members}::uuid[]) and m.organization_id = ${organizationId}::uuid
      union all
      select k.id, k.name from api_keys as k
      where k.id = any (${keys}::uuid[]) and k.organization_id = ${organizationId}::uuid`,
  )
  const names = new Map(named.map(({ id, name }) => [id, name]))
  return rows.map((row) => ({ ...row, actor_name: names.get(row.actor_id) ?? null }))
}
