import { send, sql, type Tx } from '../../platform/database.ts'
import { toJsonText } from '../../platform/json.ts'

export interface Notification {
  /** Names what is told, without the recipient. */
  readonly key: string
  readonly type: string
  readonly eventId: string
  readonly data: Readonly<Record<string, unknown>>
}

/** User ids of everybody who is told what happens in the organisation. */
export async function listRecipients(tx: Tx, organizationId: string): Promise<string[]> {
  const rows = await send<{ userId: string }>(
    tx,
    sql`select "userId" from auth.member where "organizationId" = ${organizationId}::uuid order by "userId"`,
  )
  return rows.map((row) => row.userId)
}

/** Tells each member once, in one statement that is sent and not awaited. */
export function recordNotifications(
  tx: Tx,
  organizationId: string,
  notifications: readonly Notification[],
  now: Date,
): void {
  if (notifications.length === 0) return
  void send(
    tx,
    sql`insert into notifications (id, organization_id, recipient_id, key, type, event_id, data, recorded_at)
      select gen_random_uuid(), ${organizationId}::uuid, m."userId", u.key, u.type, u.event_id, u.data::json,
        ${now.toISOString()}::timestamptz
      from auth.member as m
      cross join unnest(${notifications.map((each) => each.key)}::text[],
        ${notifications.map((each) => each.type)}::text[], ${notifications.map((each) => each.eventId)}::uuid[],
        ${notifications.map((each) => toJsonText(each.data))}::text[]) as u (key, type, event_id, data)
      where m."organizationId" = ${organizationId}::uuid
      order by m."userId", u.key
      on conflict (recipient_id, key, organization_id) do nothing`,
  )
}

/** Who was told under these keys. */
export async function listNotificationsByKey(
  tx: Tx,
  organizationId: string,
  recipients: readonly string[],
  keys: readonly string[],
) {
  if (recipients.length === 0 || keys.length === 0) return []
  return tx
    .selectFrom('notifications')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('recipient_id', 'in', recipients)
    .where('key', 'in', keys)
    .orderBy('id')
    .execute()
}
