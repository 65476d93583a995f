/** Answers over HTTP: what is kept of one, what is told again, and the problems (RFC 9457) that stand for none. */

/** An answer that is committed together with its effect. */
export interface Answer {
  /** Default 200. Below 400: whoever refuses throws instead, or answers without committing. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Text and bytes are sent as they are, everything else as JSON. */
  readonly body?: unknown
}

export interface FinalAnswer {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** `null`: it was too long to be kept. */
  readonly body: Uint8Array | null
}

const alwaysKept = [
  ...['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-type', 'etag'],
  ...['last-modified', 'link', 'location'],
]

/** Credentials of one moment, and what belongs to one connection or one message. */
const neverKept = new Set([
  ...['authorization', 'cookie', 'proxy-authenticate', 'proxy-authentication-info', 'set-cookie', 'www-authenticate'],
  ...['authentication-info', 'connection', 'content-length', 'date', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'idempotent-replayed'],
])

export type KeptHeaders = ReadonlySet<string>

/** Throws `TypeError` for a header that is never kept. */
export function keptHeaders(more: readonly string[] = []): KeptHeaders {
  const names = more.map((name) => name.toLowerCase())
  const refused = names.find((name) => neverKept.has(name))
  if (refused !== undefined) throw new TypeError(`the header ${refused} is never kept`)
  return new Set([...alwaysKept, ...names])
}

/** As the handler gives it to be committed. Throws `TypeError` for what cannot be told again. */
export function toFinalAnswer({ status = 200, headers = {}, body }: Answer): FinalAnswer {
  if (!(status >= 200 && status < 400))
    throw new TypeError(`an answer of ${status} is no result to commit: throw instead`)
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const refused = given.find(([name]) => neverKept.has(name))
  if (refused !== undefined) throw new TypeError(`the header ${refused[0]} is never kept: set it on the response`)
  if (body === undefined) return { status, headers: given, body: new Uint8Array() }
  if (body instanceof Uint8Array) return { status, headers: given, body }
  const isTyped = given.some(([name]) => name === 'content-type')
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8'
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { status, headers: isTyped ? given : [...given, ['content-type', type]], body: encode(text) }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** The form in the register: text where that is exact, otherwise base64, and neither of an answer that was too long. */
interface StoredAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly text?: string
  readonly base64?: string
}

export function toStored({ status, headers, body }: FinalAnswer, kept: KeptHeaders, maxBytes: number): StoredAnswer {
  const chosen = headers.filter(([name]) => kept.has(name))
  if (body === null || body.length > maxBytes) return { status, headers: chosen }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const text = bytes.toString('utf8')
  const isExact = !text.includes('\0') && Buffer.from(text, 'utf8').equals(bytes)
  return { status, headers: chosen, ...(isExact ? { text } : { base64: bytes.toString('base64') }) }
}

/** What a copy is told: the first answer, byte for byte, or that it is done and the answer is not there. */
export function toReplay(stored: unknown): FinalAnswer {
  const answer = fromStored(stored)
  return { ...answer, headers: [...answer.headers, ['idempotent-replayed', 'true']] }
}

/**
 * An answer that was not kept has the status and the location of the first and says in its body that there is no more. It is
 * no error, because whoever reads "failed" does the thing again with a new key.
 */
export function fromStored(stored: unknown): FinalAnswer {
  if (!isStored(stored)) return { status: 200, headers: doneHeaders([]), body: doneBody }
  const { status, headers, text, base64 } = stored
  if (base64 !== undefined) return { status, headers, body: Buffer.from(base64, 'base64') }
  return text === undefined
    ? { status, headers: doneHeaders(headers), body: doneBody }
    : { status, headers, body: encode(text) }
}

const doneBody = encode(JSON.stringify({ duplicate: true, answerKept: false }))

function doneHeaders(headers: StoredAnswer['headers']): StoredAnswer['headers'] {
  const others = headers.filter(([name]) => !name.startsWith('content-') && name !== 'etag' && name !== 'last-modified')
  return [...others, ['content-type', 'application/json; charset=utf-8']]
}

function isStored(value: unknown): value is StoredAnswer {
  if (typeof value !== 'object' || value === null || !('status' in value) || !('headers' in value)) return false
  return typeof value.status === 'number' && Array.isArray(value.headers)
}

const problems = {
  key_missing: { status: 400, title: 'A key is required' },
  key_invalid: { status: 400, title: 'The key names nothing' },
  body_not_exact: { status: 400, title: 'The body cannot be compared exactly' },
  in_progress: { status: 409, title: 'The first request is still running' },
  outcome_unknown: { status: 409, title: 'Nobody knows how the first request ended' },
  failed: { status: 409, title: 'The request failed for good' },
  body_unread: { status: 415, title: 'Nobody has read the body' },
  conflict: { status: 422, title: 'The key belongs to another request' },
  unavailable: { status: 503, title: 'The register is away or too busy' },
} as const

export type ProblemCode = keyof typeof problems

export function problem(
  code: ProblemCode,
  detail: string,
  more: { readonly retryAfterSeconds?: number; readonly differing?: readonly string[] | undefined } = {},
): FinalAnswer {
  const { status, title } = problems[code]
  const { retryAfterSeconds, differing } = more
  const wait = retryAfterSeconds === undefined ? [] : [['retry-after', String(retryAfterSeconds)] as const]
  return {
    status,
    headers: [['content-type', 'application/problem+json'], ['cache-control', 'no-store'], ...wait],
    body: encode(JSON.stringify({ type: `urn:einmal:error:${code}`, title, status, code, detail, differing })),
  }
}
