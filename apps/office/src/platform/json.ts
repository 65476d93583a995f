/**
 * JSON text that PostgreSQL stores and can read fields of.
 *
 * A sender's text may hold a NUL or half a surrogate pair. Neither is text to PostgreSQL, and money must not hang on a
 * character: they become visible replacement signs; the exact bytes stay in the stored body.
 */
export function toJsonText(value: object): string {
  let text = texts.get(value)
  if (text === undefined) {
    text = JSON.stringify(value)
    if (/\\u(0000|d[89a-f])/i.test(text)) {
      text = JSON.stringify(value, (_name, part: unknown) => (typeof part === 'string' ? storableText(part) : part))
    }
    texts.set(value, text)
  }
  return text
}

/** One value often goes into several rows: what an activity, a notification and a domain event say of a payment. */
const texts = new WeakMap<object, string>()

/** The same for a text column. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u2400').toWellFormed()
}
