/**
 * What an event says, apart from its name: whether two texts mean the same, and a fingerprint of the meaning.
 *
 * The canonical form is that of RFC 8785 (JCS): members sorted, numbers as JavaScript prints them, no white space. What
 * would lose something on the way is refused, because two amounts that differ must never have one fingerprint.
 */
import { createHash } from 'node:crypto'

/** A value that has no exact canonical form. `path` is a JSON pointer (RFC 6901), or the member's name. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
  readonly path: string

  constructor(path: string, message: string) {
    super(`${path === '' ? 'The value' : path}: ${message}`)
    this.path = path
  }
}

/** JSON of this depth is no business document; deeper, the walk would run out of stack. */
const MAX_DEPTH = 200

/**
 * The canonical JSON (RFC 8785) of a value as `JSON.parse` gives it; members that are `undefined` are left out.
 *
 * Throws `ContentError` for numbers beyond 2^53, half surrogate pairs, and everything that JSON does not have.
 */
export function canonicalJson(value: unknown): string {
  return toCanonical(value, '', 0)
}

function toCanonical(value: unknown, path: string, depth: number): string {
  checkDepth(path, depth)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return toNumberText(value, path)
  if (typeof value === 'string') return toStringText(value, path)
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item, index) => toCanonical(item, `${path}/${index}`, depth + 1)).join(',')}]`
  }
  if (!isPlainObject(value)) throw new ContentError(path, 'it has no JSON')
  const members = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    // By UTF-16 code units, as the RFC wants it, and as `<` compares.
    .toSorted((a, b) => (a < b ? -1 : 1))
  const texts = members.map((name) => {
    const at = `${path}/${escapePointer(name)}`
    return `${toStringText(name, at)}:${toCanonical(value[name], at, depth + 1)}`
  })
  return `{${texts.join(',')}}`
}

function checkDepth(path: string, depth: number): void {
  if (depth > MAX_DEPTH) throw new ContentError(path, `nested more than ${MAX_DEPTH} deep`)
}

function toNumberText(value: number, path: string): string {
  if (!Number.isFinite(value) || isBeyondExact(value)) {
    throw new ContentError(path, `the number ${value} may have lost digits: send it as text`)
  }
  return JSON.stringify(value)
}

/** From 2^53 on, two different integers become one number. */
function isBeyondExact(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function toStringText(value: string, path: string): string {
  if (!value.isWellFormed()) throw new ContentError(path, 'the text has half a surrogate pair')
  return JSON.stringify(value)
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/**
 * A fingerprint of what a value means, as `version:SHA-256`: the same for any order of members, white space and form of
 * number (`10`, `10.0`, `1e1`), another one for any other value; the text `"10"` is another value.
 *
 * Change `version` with the choice of fields: only fingerprints of one version are compared. Throws `ContentError` for
 * what has no exact canonical form.
 */
export function fingerprintOf(value: unknown, version = 'jcs1'): string {
  if (version === '' || version.includes(':')) throw new RangeError(`"${version}" is no version`)
  return `${version}:${sha256(canonicalJson(value))}`
}

/** A digest for each field, by which the register names those that differ. They tell fields apart and name nothing. */
export function fieldDigests(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.keys(fields)
      .filter((name) => fields[name] !== undefined)
      .map((name) => [name, sha256(canonicalJson(fields[name])).slice(0, 16)]),
  )
}

/** The names of fields that only one of the two has, or that differ, in order. */
export function differingFields(
  first: Readonly<Record<string, string>>,
  second: Readonly<Record<string, string>>,
): string[] {
  const names = new Set([...Object.keys(first), ...Object.keys(second)])
  return [...names].filter((name) => first[name] !== second[name]).toSorted()
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** `identical`: byte by byte. `same_meaning`: the canonical forms agree. `different`: at `paths`, JSON pointers. */
export interface ContentVerdict {
  readonly verdict: 'identical' | 'same_meaning' | 'different'
  readonly paths: readonly string[]
}

const MAX_PATHS = 100

/**
 * Compares two bodies as they came. What is no JSON, or has a number that cannot be held exactly, is different unless
 * it is identical: the answer is never a guess. At most 100 paths are named; an empty one is the whole.
 */
export function compareContent(first: string, second: string): ContentVerdict {
  if (first === second) return { verdict: 'identical', paths: [] }
  try {
    const paths: string[] = []
    collectPaths(parseExactly(first), parseExactly(second), '', paths)
    return { verdict: paths.length === 0 ? 'same_meaning' : 'different', paths }
  } catch (error) {
    if (error instanceof ContentError) return { verdict: 'different', paths: [error.path] }
    if (error instanceof SyntaxError) return { verdict: 'different', paths: [''] }
    throw error
  }
}

/**
 * `JSON.parse` that refuses what it would change: throws `ContentError` for a number whose digits JavaScript cannot
 * hold, named by its member, and for what is nested too deep to be read, and `SyntaxError` for what is no JSON.
 */
export function parseExactly(text: string): unknown {
  try {
    return parseNumbersExactly(text)
  } catch (error) {
    // The stack ran out.
    if (error instanceof RangeError) throw new ContentError('', 'nested too deep')
    throw error
  }
}

function parseNumbersExactly(text: string): unknown {
  return JSON.parse(text, (name: string, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== 'number') return value
    const source = context?.source ?? String(value)
    if (toDecimal(source) === toDecimal(String(value)) && !isBeyondExact(value)) return value
    throw new ContentError(name, `the number ${source} cannot be held exactly: send it as text`)
  })
}

/** Digits without zeros at either end, and the exponent of the last one: one text for each decimal number. */
function toDecimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

function collectPaths(first: unknown, second: unknown, path: string, paths: string[], depth = 0): void {
  if (paths.length >= MAX_PATHS) return
  checkDepth(path, depth)
  const isList = Array.isArray(first) && Array.isArray(second)
  if (!isList && !(isPlainObject(first) && isPlainObject(second))) {
    if (Array.isArray(first) || Array.isArray(second) || !Object.is(plain(first), plain(second))) paths.push(path)
    return
  }
  const [one, other] = [new Map(Object.entries(first)), new Map(Object.entries(second))]
  for (const name of new Set([...one.keys(), ...other.keys()])) {
    const at = `${path}/${escapePointer(name)}`
    if (one.has(name) && other.has(name)) collectPaths(one.get(name), other.get(name), at, paths, depth + 1)
    else if (paths.length < MAX_PATHS) paths.push(at)
  }
}

/** The RFC prints -0 as 0. */
function plain(value: unknown): unknown {
  return value === 0 ? 0 : value
}
