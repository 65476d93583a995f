/** What a request says, in fields, so that a conflict can name those that differ. */
import { createHash } from 'node:crypto'
import { ContentError, canonicalJson, parseExactly } from '../content.ts'

export interface RequestContent {
  readonly method: string
  /** Path and query, as they came. */
  readonly url: string
  readonly contentType: string | undefined
  /** The body as it came; where nobody kept it, what the framework made of it. `undefined`: there is none. */
  readonly body: { readonly bytes: Uint8Array } | { readonly parsed: unknown } | undefined
}

/** Whether Node's headers announce a body, read or not. */
export function announcesBody(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** More members than these are compared as one field: their digests are stored with each key. */
const MAX_NAMED_MEMBERS = 32

/**
 * Method, path, query and body. Of JSON the meaning counts (RFC 8785), member by member; of everything else, and of JSON
 * without an exact meaning (a number that JavaScript cannot hold), the bytes do.
 *
 * Throws `ContentError` where only the parsed body is there and has no exact form.
 */
export function contentFields(content: RequestContent): Record<string, unknown> {
  const [path, query] = splitOnce(content.url, '?')
  return { method: content.method, path, query, ...bodyFields(content) }
}

function splitOnce(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark)
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

function bodyFields({ body, contentType }: RequestContent): Record<string, unknown> {
  if (body === undefined) return {}
  if (!('bytes' in body)) {
    const { parsed } = body
    if (typeof parsed === 'string') return digestOf(new TextEncoder().encode(parsed))
    if (parsed instanceof Uint8Array) return digestOf(parsed)
    canonicalJson(parsed)
    return namedMembers(parsed)
  }
  if (body.bytes.length === 0) return {}
  const value = isJson(contentType) ? readExactly(body.bytes) : undefined
  return value === undefined ? digestOf(body.bytes) : namedMembers(value.exact)
}

function isJson(contentType = ''): boolean {
  return /^[^;]*[/+]json\s*(;|$)/i.test(contentType)
}

function readExactly(bytes: Uint8Array): { exact: unknown } | undefined {
  try {
    const exact = parseExactly(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    canonicalJson(exact)
    return { exact }
  } catch (error) {
    if (error instanceof ContentError || error instanceof SyntaxError || error instanceof TypeError) return undefined
    throw error
  }
}

function digestOf(bytes: Uint8Array): Record<string, unknown> {
  return { bytes: createHash('sha256').update(bytes).digest('hex') }
}

/** `body` itself only where it has no members to name, so that no two bodies have the same fields. */
function namedMembers(value: unknown): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const members = isObject ? Object.entries(value) : []
  if (members.length === 0 || members.length > MAX_NAMED_MEMBERS) return { body: value }
  return Object.fromEntries(members.map(([name, member]) => [`body.${name}`, member]))
}
