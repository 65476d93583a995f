import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'

/** Compares two signatures as text, in a time that says nothing about where they differ. */
export function isSameText(one: string, two: string): boolean {
  const a = Buffer.from(one)
  const b = Buffer.from(two)
  return a.length === b.length && timingSafeEqual(a, b)
}

/** HMAC-SHA256 over a text and then the exact bytes of a body, which are never decoded for it. */
export function signBody(
  key: string | Buffer,
  prefix: string,
  body: string | Buffer,
  encoding: 'hex' | 'base64',
): string {
  // A key object, because Node 24 takes seven microseconds longer for a key of plain bytes.
  const secret = typeof key === 'string' ? key : createSecretKey(key)
  return createHmac('sha256', secret).update(prefix).update(body).digest(encoding)
}
