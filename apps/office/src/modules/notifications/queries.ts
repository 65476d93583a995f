import type { Selectable } from 'kysely'
import { send, sql, type Tx } from '../../platform/database.ts'
import { toJsonText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'

export type NotificationRow = Selectable<Tables['notifications']>

export interface Notification {
  /** Of the news; each member gets a row of it. */
  readonly id: string
  /** Names what is told, without the recipient. */
  readonly key: string
  readonly type: string
  readonly eventId: string
  readonly data: Readonly<Record<string, unknown>>
}

/** User ids of everybody who is told what happens in the organisation. */
export async function listRecipients(tx: Tx, organizationId: string): Promise<string[]> {
  const rows = await send<{ user_id: string }>(
    tx,
    sql`select user_id from members where organization_id = ${organizationId}::uuid
      and id <> '00000000-0000-0000-0000-000000000000' and removed_at is null order by user_id`,
  )
  return rows.map((row) => row.user_id)
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
      select u.id, ${organizationId}::uuid, m.user_id, u.key, u.type, u.event_id, u.data::json,
        ${now.toISOString()}::timestamptz
      from members as m
      cross join unnest(${notifications.map((each) => each.id)}::uuid[], ${notifications.map((each) => each.key)}::text[],
        ${notifications.map((each) => each.type)}::text[], ${notifications.map((each) => each.eventId)}::uuid[],
        ${notifications.map((each) => toJsonText(each.data))}::text[]) as u (id, key, type, event_id, data)
      where m.organization_id = ${organizationId}::uuid and m.id <> '00000000-0000-0000-0000-000000000000' and m.removed_at is null
      order by m.user_id, u.key
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

/** What one member was told, newest first, from before `before` on. */
export async function listNotifications(
  tx: Tx,
  organizationId: string,
  recipientId: string,
  before: string | null,
  limit: number,
): Promise<NotificationRow[]> {
  return tx
    .selectFrom('notifications')
    .selectAll()
    .where('recipient_id', '=', recipientId)
    .where('organization_id', '=', organizationId)
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Marks one piece of news as read by one member; the first time stands. `undefined` where that member was not told of it. */
export async function markRead(
  tx: Tx,
  organizationId: string,
  recipientId: string,
  id: string,
  now: Date,
): Promise<NotificationRow | undefined> {
  return tx
    .updateTable('notifications')
    .set((eb) => ({ read_at: eb.fn.coalesce('read_at', eb.val(now)) }))
    .where('recipient_id', '=', recipientId)
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .returningAll()
    .executeTakeFirst()
}
