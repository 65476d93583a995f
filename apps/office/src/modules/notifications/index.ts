/**
 * Notifications: what each member is told.
 * Table: `notifications`; recipients are the members of the organisation.
 * Invariant: one notification per recipient and key, by a unique key: five colleagues get five, a repetition none.
 * Only `read_at` ever changes.
 */
export {
  listNotifications,
  listNotificationsByKey,
  listRecipients,
  markRead,
  type Notification,
  type NotificationRow,
  recordNotifications,
} from './queries.ts'
