/** A key for events whose source names them by nothing. */
import { createHash } from 'node:crypto'
import type { Db } from './database.ts'
import { compositeId, type EventKey, eventKey, isTimeStamp, KeyError, timeStampError } from './keys.ts'
import { inShortTransaction } from './leases.ts'

/** The decision of which events are one, where nobody but the business can decide it. */
export interface KeylessPolicy {
  /** Names of the fields that together stand for an id. At least one must be more than a time. */
  readonly fields: readonly string[]
  /** How long after the first of them the same content is the same event, in milliseconds of the database's clock. */
  readonly windowMs: number
  /** Why the same content within the window is one event, for whoever asks. */
  readonly businessReason: string
  /** When somebody has to look at this decision again. From that moment on no key is made. */
  readonly reviewDate: Date
  /** Changes with the policy: events before and after are different ones. */
  readonly version: string
}

export interface KeylessEvent {
  readonly scope?: string
  readonly source: unknown
  readonly kind: unknown
  /** The event; only the fields of the policy are looked at. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly policy: KeylessPolicy
}

/** The last word of a field's name that says it holds a time. */
const timeNames = new Set([
  ...[
    'at',
    'on',
    'time',
    'times',
    'timestamp',
    'ts',
    'date',
    'datetime',
    'day',
    'hour',
    'minute',
    'second',
    'ms',
    'now',
  ],
  ...['created', 'updated', 'modified', 'received', 'sent', 'when', 'epoch'],
])

function isTimeName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '')
  return timeNames.has(words.at(-1) ?? '')
}

function isTime(value: unknown): boolean {
  return value instanceof Date || /^\d{4}-\d\d-\d\d$/.test(String(value)) || isTimeStamp(String(value))
}

/**
 * Makes the key of an event that has no id: the fields of the policy, and a number that counts their windows.
 *
 * The first arrival of a content opens a window and is an event. The same content within `windowMs` of that first one, by
 * the database's clock, is the same event, and never makes the window longer; after it, the content opens the next window
 * and is a new event. Which window it is, is decided by one statement on one row per content, in a transaction of its own:
 * arrivals at the same moment get the same number, whatever their own clocks say. A process that dies after it has used up
 * nothing, because the key is only a name until it is reserved.
 *
 * Two real events that agree in all fields within one window are merged, and nobody notices. Of contents that rightly come
 * again at a rate of r per millisecond, about r × windowMs / (1 + r × windowMs) are lost that way: of a customer who writes
 * the same twice a day, 0.7 % with a window of five minutes. Measure the rate before choosing the window. A repetition that
 * comes later than the window is done twice. Hence an id of the source, whatever it is, is always better.
 *
 * Throws `KeyError`: a policy without reason (`no_reason`), without a window (`no_window`), past its review
 * (`review_due`), or of times only (`time_stamp`); a field that is missing or names nothing (`half_composite`).
 */
export async function keylessKey<NativeTx>(db: Db<NativeTx>, event: KeylessEvent): Promise<EventKey> {
  const { policy, ...rest } = event
  checkPolicy(policy, db.now())
  const picked = Object.fromEntries(policy.fields.map((field) => [field, event.fields[field]]))
  if (Object.entries(picked).every(([field, value]) => isTimeName(field) || isTime(value))) {
    throw timeStampError('fields', policy.fields.join(', '))
  }
  const content = compositeId(picked)
  const digest = createHash('sha256').update(`${policy.version}\0${content}`).digest('hex')
  // Made once without its number, so that whatever is wrong with the other parts is found before a window is opened.
  const { scope, source, kind } = eventKey({ ...partsOf(rest), id: digest })
  const ordinal = await inShortTransaction(db, scope, async (_tx, query) => {
    const { text, name } = db.register.memories.openWindow
    const rows = await query<{ ordinal: number }>(text, [scope, digest, kind, source, policy.windowMs], name)
    return rows[0]?.ordinal
  })
  if (ordinal === undefined) throw new Error('no window was opened')
  return { scope, source, kind, id: `keyless:${digest}:${ordinal}` }
}

function partsOf(event: Omit<KeylessEvent, 'policy'>) {
  const { source, kind } = event
  return 'scope' in event ? { scope: event.scope as string, source, kind } : { source, kind }
}

function checkPolicy(policy: KeylessPolicy, now: Date): void {
  if (policy.fields.length === 0) throw new KeyError('empty', 'fields', 'A policy needs a field.')
  if (policy.businessReason.trim() === '') {
    throw new KeyError('no_reason', 'businessReason', 'A policy says why the same content is one event.')
  }
  if (!(policy.windowMs > 0 && policy.windowMs < Number.POSITIVE_INFINITY)) {
    throw new KeyError('no_window', 'windowMs', `A window of ${policy.windowMs} ms is no length of time.`)
  }
  // Written so that a date which is none is past, too.
  if (!(policy.reviewDate.getTime() > now.getTime())) {
    throw new KeyError('review_due', 'reviewDate', 'The policy is past its review: look at it again.')
  }
}
