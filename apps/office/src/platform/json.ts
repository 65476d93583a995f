/**
 * JSON text that PostgreSQL stores and can read fields of.
 *
 * A sender's text may hold a NUL or half a surrogate pair. Neither is text to PostgreSQL, and money must not hang on a
 * character: they become visible replacement signs; the exact bytes stay in the stored body.
 */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value)
  if (!/\\u(0000|d[89a-f])/i.test(text)) return text
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === 'string' ? storableText(part) : part))
}

/** The same for a text column. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u2400').toWellFormed()
}
