import { hash } from 'node:crypto'

/** UTF-8 bytes that the register takes for an id; a longer one is named by its hash. */
const MAX_ID_BYTES = 1024

/** Texts that a program prints when it had nothing to print. As a key they would merge unrelated events. */
const placeholders = new Set(['null', 'undefined', 'nan', 'none', 'nil', '[object object]', '(null)'])

const dateTime = /^\d{4}-\d\d-\d\d[T ]\d\d:?\d\d(:?\d\d([.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i
const epoch = /^(\d{10}|\d{13})$/
const EPOCH_FROM_SECONDS = 1_420_070_400
const EPOCH_TO_SECONDS = 2_051_222_400

/** True for text such as "undefined", which is no name and no secret either. */
export function isPlaceholder(text: string): boolean {
  return placeholders.has(text.trim().toLowerCase())
}

/**
 * Whether a text can name one thing. It says what `eventKey()` of the library says, which throws instead: an id that
 * passes here never fails there. Refused are empty and blank text, placeholders, NUL, half surrogate pairs (written as
 * UTF-8 they become another id), more than 1024 bytes, and a time and nothing else, which the repetition has anew.
 */
export function isUsableId(text: string): boolean {
  return isNamelike(text) && Buffer.byteLength(text) <= MAX_ID_BYTES
}

function isNamelike(text: string): boolean {
  if (text.trim() === '' || isPlaceholder(text)) return false
  if (text.includes('\0') || !text.isWellFormed()) return false
  return !dateTime.test(text) && !isEpoch(text)
}

function isEpoch(text: string): boolean {
  if (!epoch.test(text)) return false
  const seconds = Number(text.slice(0, 10))
  return seconds >= EPOCH_FROM_SECONDS && seconds < EPOCH_TO_SECONDS
}

/**
 * Reads an id: text as it came (case and blanks name different things), or an integer as its digits. `null` where the
 * value cannot name anything.
 *
 * A source's id is accepted whatever its length: a long one is named by its full SHA-256, because a cut would make one
 * id of two that begin alike.
 */
export function readId(value: unknown): string | null {
  let text: string
  if (typeof value === 'string') text = value
  // Zero and below is what a missing number looks like in many languages, never a name.
  else if ((typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))) && value > 0) {
    text = String(value)
  } else return null
  if (isUsableId(text)) return text
  return isNamelike(text) ? `sha256:${hash('sha256', text, 'hex')}` : null
}

/** Fallback for an event that names itself by nothing: 128 bits of SHA-256 over the raw body, never over headers. */
export function bodyId(body: Buffer): string {
  return `body:${hash('sha256', body, 'hex').slice(0, 32)}`
}
