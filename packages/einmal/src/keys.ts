/**
 * The name of an event. Everything rests on it: two arrivals with one key are one event, two keys are two events,
 * however alike they look. Hence no key is ever repaired: what cannot name exactly one thing is refused with the reason.
 */
import { createHash } from 'node:crypto'

/** Who sent what: the four parts together name one event, once. All are compared byte by byte. */
export interface EventKey {
  /** Whose register: a tenant, an account. Keys of two scopes never meet. */
  readonly scope: string
  /** The system that names the event, such as `stripe`. */
  readonly source: string
  /**
   * Our word for the step, such as `payment.paid`, so that an interim step never uses up its key. Of an event repeated on
   * purpose it ends in the mark of its generation: `payment.paid#2`.
   */
  readonly kind: string
  /** The source's id, as it came: case, white space and Unicode form are kept. */
  readonly id: string
}

/** The parts of a key, as `eventKey` takes them. */
export interface KeyParts {
  readonly scope?: string
  readonly source: unknown
  readonly kind: unknown
  readonly id: unknown
  /** 2 and more: the event repeated on purpose, see `repeat`. */
  readonly generation?: number
}

/** A key in parts that `eventKey` takes again: the kind without its mark, the generation by itself. */
export interface EventName extends EventKey {
  readonly generation: number
}

export type KeyErrorCode =
  | 'absent'
  | 'not_text'
  | 'empty'
  | 'blank'
  | 'placeholder'
  | 'nul'
  | 'not_unicode'
  | 'too_long'
  | 'time_stamp'
  | 'half_composite'
  | 'reserved'
  | 'not_generation'
  | 'no_reason'
  | 'no_window'
  | 'review_due'

/** The value given cannot name one event. `code` is stable; the message says which part, what was found, what to do. */
export class KeyError extends Error {
  override readonly name = 'KeyError'
  readonly code: KeyErrorCode
  readonly part: string

  constructor(code: KeyErrorCode, part: string, message: string) {
    super(message)
    this.code = code
    this.part = part
  }
}

/** UTF-8 bytes. A B-tree row of PostgreSQL ends near 2,700 bytes; id, kind, source and scope must fit into one. */
export const MAX_ID_BYTES = 1024
const MAX_NAME_BYTES = 200

/** Texts that a program prints when it had nothing to print. As a key they would merge unrelated events. */
const placeholders = new Set(['null', 'undefined', 'nan', 'none', 'nil', '[object object]', '(null)'])

/** A date with a time. It names the moment of a sending, and the repetition has another one. */
const dateTime = /^\d{4}-\d\d-\d\d[T ]\d\d:?\d\d(:?\d\d([.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i

/** Unix seconds or milliseconds between 2015 and 2035: far more likely a clock than a counter. */
const epoch = /^(\d{10}|\d{13})$/
const EPOCH_FROM_SECONDS = 1_420_070_400
const EPOCH_TO_SECONDS = 2_051_222_400

const utf8 = new TextEncoder()

/**
 * Makes a key of its parts, or throws `KeyError`.
 *
 * An integer id (number up to 2^53, or bigint) is taken as its decimal text. An object is refused: use `compositeId`.
 *
 * @param options.numericIds says that this source really counts with ten or thirteen digits, so that its ids are not
 *   taken for clock times.
 */
export function eventKey(parts: KeyParts, options: { numericIds?: boolean } = {}): EventKey {
  return {
    // A scope that is there and has no value got lost on the way: the default would mix the events of tenants.
    scope: 'scope' in parts ? name('scope', parts.scope) : 'default',
    source: name('source', parts.source),
    kind: markedKind(name('kind', parts.kind), parts.generation),
    id: checkedId('id', parts.id, options.numericIds === true),
  }
}

/**
 * One id from several fields, for a source that names a thing only by all of them together.
 *
 * Injective: no two different sets of fields give one id, whatever characters are in them, and the order of the fields
 * does not matter. Every field must be there; one missing half throws `half_composite`, because what is left would name
 * many things.
 */
export function compositeId(fields: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(fields).toSorted()
  if (names.length === 0) throw new KeyError('empty', 'id', 'A composite id needs at least one field.')
  const texts = names.map((field) => {
    try {
      return toText(field, fields[field])
    } catch (error) {
      if (!(error instanceof KeyError)) throw error
      throw new KeyError(
        'half_composite',
        field,
        `The field "${field}" of a composite id is unusable: ${error.message}`,
      )
    }
  })
  if (texts.every(isTimeStamp)) throw timeStampError('id', names.join(', '))
  return names.map((field, index) => `${escapeText(field)}=${escapeText(texts[index] ?? '')}`).join('&')
}

/** The key as one line for people and logs. Injective within a scope. */
export function keyText(key: EventKey): string {
  return `${escapeText(key.source)}:${escapeText(key.kind)}:${key.id}`
}

/** What most targets take as an idempotency key. */
const MAX_IDEMPOTENCY_KEY = 255

/**
 * The text to hand to a target as the idempotency key of this event: the same for every attempt, another one for every
 * other event, scope and generation.
 *
 * All four parts, percent-encoded, so that it may travel in a header. Where that is longer than 255 characters, its
 * SHA-256. Both forms stay as they are for ever, because a target may remember them for years.
 */
export function idempotencyKey(key: EventKey): string {
  const text = [key.scope, key.source, key.kind, key.id].map(encodeURIComponent).join(':')
  return text.length <= MAX_IDEMPOTENCY_KEY ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`
}

/** The mark of a generation. No other kind may end like this, so that a generation is never taken for another event. */
const generationMark = /#(\d+)$/

function markedKind(kind: string, generation: number | undefined): string {
  if (generationMark.test(kind)) {
    throw new KeyError('reserved', 'kind', `The kind "${kind}" ends in # and digits, the mark of a generation.`)
  }
  if (generation === undefined || generation === 1) return kind
  if (!Number.isSafeInteger(generation) || generation < 1) {
    throw new KeyError('not_generation', 'generation', `The generation ${generation} is no whole number from 1 on.`)
  }
  return `${kind}#${generation}`
}

/** Takes the mark of the generation off the kind. The inverse of `eventKey`. */
export function eventName(key: EventKey): EventName {
  const { scope, source, id } = key
  const generation = generationMark.exec(key.kind)?.[1]
  return { scope, source, kind: key.kind.replace(generationMark, ''), id, generation: Number(generation ?? 1) }
}

function escapeText(text: string): string {
  return text.replace(/[%:&=]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

function name(part: string, value: unknown): string {
  const text = toText(part, value)
  if (isLongerThan(MAX_NAME_BYTES, text)) {
    throw new KeyError('too_long', part, `The ${part} is longer than ${MAX_NAME_BYTES} bytes.`)
  }
  return text
}

function checkedId(part: string, value: unknown, numericIds: boolean): string {
  const text = toText(part, value)
  if (isLongerThan(MAX_ID_BYTES, text)) {
    throw new KeyError(
      'too_long',
      part,
      `The ${part} is longer than ${MAX_ID_BYTES} bytes. A source's longer id is named by its full SHA-256, never cut.`,
    )
  }
  if (dateTime.test(text) || (!numericIds && isEpoch(text))) throw timeStampError(part, text)
  return text
}

function toText(part: string, value: unknown): string {
  if (value === undefined || value === null) throw new KeyError('absent', part, `The ${part} is missing.`)
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))) return String(value)
  if (typeof value === 'number') {
    throw new KeyError(
      'not_text',
      part,
      `The ${part} is no whole number that JavaScript holds exactly; read it as text.`,
    )
  }
  if (typeof value !== 'string') {
    throw new KeyError('not_text', part, `The ${part} is of type ${typeof value}; only text names an event.`)
  }
  if (value === '') throw new KeyError('empty', part, `The ${part} is empty.`)
  if (value.trim() === '') throw new KeyError('blank', part, `The ${part} has only white space.`)
  if (placeholders.has(value.trim().toLowerCase())) {
    throw new KeyError('placeholder', part, `The ${part} is the text "${value}", which a program prints for nothing.`)
  }
  if (value.includes('\0'))
    throw new KeyError('nul', part, `The ${part} has a NUL character, which no text column keeps.`)
  if (!value.isWellFormed()) {
    throw new KeyError(
      'not_unicode',
      part,
      `The ${part} has half a surrogate pair; written as UTF-8 it would be another.`,
    )
  }
  return value
}

/** Whether the text is a date with a time, or counts the seconds or milliseconds of our years. */
export function isTimeStamp(text: string): boolean {
  return dateTime.test(text) || isEpoch(text)
}

function isEpoch(text: string): boolean {
  if (!epoch.test(text)) return false
  const seconds = Number(text.slice(0, 10))
  return seconds >= EPOCH_FROM_SECONDS && seconds < EPOCH_TO_SECONDS
}

export function timeStampError(part: string, found: string): KeyError {
  return new KeyError(
    'time_stamp',
    part,
    `The ${part} (${found}) is a time and nothing else: the repetition of an event has another time, so it names nothing.`,
  )
}

function isLongerThan(maxBytes: number, text: string): boolean {
  // Most ids are short, and a UTF-16 unit never needs more than three bytes: count only where it matters.
  return text.length * 3 > maxBytes && (text.length > maxBytes || utf8.encode(text).length > maxBytes)
}
