import type { Selectable } from 'kysely'
import { send, sql, type Tx } from '../../platform/database.ts'
import { toJsonText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'

export type ActivityRow = Selectable<Tables['activities']>

export interface Activity {
  readonly id: string
  readonly subject: {
    readonly type: 'contact' | 'deal' | 'invoice' | 'payment' | 'payment_return'
    readonly id: string
  }
  /** Names what the line tells, such as `payment:<source>:<external id>:<invoice>`. */
  readonly key: string
  readonly type: string
  readonly eventId: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Adds the lines that are not there yet, in one statement that is sent and not awaited. */
export function recordActivities(tx: Tx, organizationId: string, activities: readonly Activity[], now: Date): void {
  if (activities.length === 0) return
  void send(
    tx,
    sql`insert into activities (id, organization_id, subject_type, subject_id, key, type, event_id, data, recorded_at)
      select u.id, ${organizationId}::uuid, u.subject_type, u.subject_id, u.key, u.type, u.event_id, u.data::json,
        ${now.toISOString()}::timestamptz
      from unnest(${activities.map((line) => line.id)}::uuid[], ${activities.map((line) => line.subject.type)}::text[],
        ${activities.map((line) => line.subject.id)}::uuid[], ${activities.map((line) => line.key)}::text[],
        ${activities.map((line) => line.type)}::text[], ${activities.map((line) => line.eventId)}::uuid[],
        ${activities.map((line) => toJsonText(line.data))}::text[])
        as u (id, subject_type, subject_id, key, type, event_id, data)
      on conflict (subject_id, key, organization_id) do nothing`,
  )
}

/** The time line of one subject, newest first, from before `before` on. */
export async function listActivities(
  tx: Tx,
  organizationId: string,
  subjectId: string,
  before: string | null,
  limit: number,
): Promise<ActivityRow[]> {
  return tx
    .selectFrom('activities')
    .selectAll()
    .where('subject_id', '=', subjectId)
    .where('organization_id', '=', organizationId)
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Lines that one event added to the subjects given. */
export async function listActivitiesOfEvent(
  tx: Tx,
  organizationId: string,
  subjectIds: readonly string[],
  eventId: string,
) {
  if (subjectIds.length === 0) return []
  return tx
    .selectFrom('activities')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('subject_id', 'in', subjectIds)
    .where('event_id', '=', eventId)
    .orderBy('id')
    .execute()
}
