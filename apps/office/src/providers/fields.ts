import { JsonDecimal } from './json.ts'

/** Reading single fields of a parsed body. A field that is missing or odd is `null`: none of these may stop money. */

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonDecimal)
}

/** An object's field of objects, or an empty object, so that fields below it read as missing. */
export function objectAt(object: JsonObject, field: string): JsonObject {
  const value = object[field]
  return isObject(value) ? value : {}
}

const MAX_NAME_LENGTH = 300
const MAX_EMAIL_LENGTH = 254
const MAX_REFERENCE_LENGTH = 200

/** Text that a database can keep: no NUL, no half surrogate pair, no blanks around it. The raw body keeps the rest. */
function cleanText(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const text = value.replaceAll('\0', '').toWellFormed().trim()
  return text === '' ? null : text
}

export function readName(value: unknown): string | null {
  return cleanText(value)?.slice(0, MAX_NAME_LENGTH).toWellFormed() ?? null
}

export function readEmail(value: unknown): string | null {
  const text = cleanText(value)
  return text !== null && text.length <= MAX_EMAIL_LENGTH && text.includes('@') ? text : null
}

/**
 * The id or number of an invoice. Blanks around it are cut, because people type these into a provider's dashboard. What
 * is longer than any invoice number is none: it would only break the index it is looked up in.
 */
export function readReference(value: unknown): string | null {
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : cleanText(value)
  return text !== null && text.length <= MAX_REFERENCE_LENGTH ? text : null
}

/**
 * Finds a field by a path such as `metadata.invoice`. At every step a field named by the whole rest of the path wins,
 * because a provider's metadata may have a key with a point in it. Only the sender's own fields count, so that a
 * path such as `constructor.name` finds nothing.
 */
export function fieldAt(object: JsonObject, path: string): unknown {
  let value: unknown = object
  let rest = path
  while (isObject(value)) {
    if (Object.hasOwn(value, rest)) return value[rest]
    const point = rest.indexOf('.')
    if (point === -1) return undefined
    const head = rest.slice(0, point)
    value = Object.hasOwn(value, head) ? value[head] : undefined
    rest = rest.slice(point + 1)
  }
  return undefined
}

/** The last second of the year 9999; times beyond it (or before 1970) are a sender's mistake, and no database wants them. */
const MAX_UNIX_SECONDS = 253_402_300_799

export function readUnixSeconds(value: unknown): Date | null {
  if (typeof value !== 'number' || !(value >= 0 && value <= MAX_UNIX_SECONDS)) return null
  return new Date(value * 1000)
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

/** ISO 8601 with a zone. Without one it would mean another moment on every server. */
export function readIsoTime(value: unknown): Date | null {
  if (typeof value !== 'string' || !isoTime.test(value)) return null
  const milliseconds = Date.parse(value)
  return milliseconds >= 0 && milliseconds <= MAX_UNIX_SECONDS * 1000 ? new Date(milliseconds) : null
}

const MAX_SHOWN_LENGTH = 60

/** A value as one short piece of a sentence for a person. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value instanceof JsonDecimal) return value.text.slice(0, MAX_SHOWN_LENGTH)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  if (typeof value !== 'string') return String(value).slice(0, MAX_SHOWN_LENGTH)
  const text = value.slice(0, MAX_SHOWN_LENGTH).replaceAll('\0', '␀').toWellFormed()
  return `"${text}${value.length > MAX_SHOWN_LENGTH ? '…' : ''}"`
}
