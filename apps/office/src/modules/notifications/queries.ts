import { send, sql, type Tx } from '../../platform/database.ts'
import type { NewId } from '../../platform/ids.ts'
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

/** Tells each recipient once, in one statement that is sent and not awaited. */
export function recordNotifications(
  tx: Tx,
  organizationId: string,
  recipients: readonly string[],
  notifications: readonly Notification[],
  now: Date,
  newId: NewId,
): void {
  const rows = notifications.flatMap((notification) =>
    recipients.map((recipientId) => ({ id: newId(), recipientId, ...notification })),
  )
  if (rows.length === 0) return
  void send(
    tx,
    sql`insert into notifications (id, organization_id, recipient_id, key, type, event_id, data, recorded_at)
      select u.id, ${organizationId}::uuid, u.recipient_id, u.key, u.type, u.event_id, u.data::json,
        ${now.toISOString()}::timestamptz
      from unnest(${rows.map((row) => row.id)}::uuid[], ${rows.map((row) => row.recipientId)}::uuid[],
        ${rows.map((row) => row.key)}::text[], ${rows.map((row) => row.type)}::text[],
        ${rows.map((row) => row.eventId)}::uuid[], ${rows.map((row) => toJsonText(row.data))}::text[])
        as u (id, recipient_id, key, type, event_id, data)
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
