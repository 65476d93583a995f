import { storableText } from '../../platform/json.ts'

/** Signs of a name that are looked at; more tell nobody apart, and an index entry has its limits. */
const MAX_SIGNS = 100

/**
 * A name as it is looked for: one spelling for letters that look alike, in small letters. The beginning of a name gives the
 * beginning of its search name.
 */
export function searchNameOf(name: string): string {
  const folded = storableText(name).trim().normalize('NFKC').toLowerCase().replaceAll('ς', 'σ')
  return [...folded].slice(0, MAX_SIGNS).join('')
}

/** Search names that begin with this one stand before it, in the order of bytes. */
export function endOfPrefix(searchName: string): string {
  return `${searchName}\u{10ffff}`
}

/** In the order of bytes, which is that of the column. */
export function isBefore(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0
}
