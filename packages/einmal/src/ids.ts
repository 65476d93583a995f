import { getRandomValues } from 'node:crypto'

const pool = new Uint8Array(16 * 256)
let used = pool.length
/** Of the last id: many are made within one millisecond, and a number of this size is slow to print. */
let lastMs = -1
let lastTime = ''
const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/**
 * A UUID of version 7 (RFC 9562): the time in milliseconds, then 74 random bits.
 *
 * Rows made together lie together in the index, which is worth about a third of the time of an insert.
 */
export function uuidv7(nowMs: number): string {
  if (used === pool.length) {
    getRandomValues(pool)
    used = 0
  }
  const at = used
  used += 16
  const byte = (index: number) => hex[pool[at + index] ?? 0]
  if (nowMs !== lastMs) {
    lastMs = nowMs
    const digits = nowMs.toString(16).padStart(12, '0')
    lastTime = `${digits.slice(0, 8)}-${digits.slice(8)}`
  }
  const version = hex[0x70 | ((pool[at] ?? 0) & 0x0f)]
  const variant = hex[0x80 | ((pool[at + 2] ?? 0) & 0x3f)]
  return (
    `${lastTime}-${version}${byte(1)}-${variant}${byte(3)}-` +
    `${byte(4)}${byte(5)}${byte(6)}${byte(7)}${byte(8)}${byte(9)}`
  )
}
