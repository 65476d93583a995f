/** Answers on Node's own response, which Express and Fastify both write to in the end. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { FinalAnswer } from './answer.ts'
import type { ProtectedWork } from './protected-work.ts'

type HeaderValue = number | string | readonly string[] | undefined

/** The part of `ServerResponse` that is used. */
export interface NodeResponseLike {
  statusCode: number
  readonly headersSent: boolean
  getHeaders(): Readonly<Record<string, HeaderValue>>
  setHeader(name: string, value: number | string | readonly string[]): unknown
  removeHeader(name: string): void
  writeHead(...args: unknown[]): unknown
  flushHeaders(): void
  write(...args: unknown[]): boolean
  end(...args: unknown[]): unknown
  once(event: 'close', listener: () => void): unknown
  destroy(...args: unknown[]): unknown
}

type Headers = Readonly<Record<string, HeaderValue>>

/** Sends an answer whole, with headers that were set for any answer before, such as those of CORS. */
export function sendAnswer(
  response: NodeResponseLike,
  answer: FinalAnswer,
  others: Headers = {},
  end: NodeResponseLike['end'] = response.end,
): void {
  setHeaders(response, others)
  response.statusCode = answer.status
  for (const [name, value] of answer.headers) response.setHeader(name, value)
  end.apply(response, answer.body === null || answer.body.length === 0 ? [] : [answer.body])
}

function setHeaders(response: NodeResponseLike, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) response.setHeader(name, value)
  }
}

/**
 * Listens to what the handler writes, and lets the end go out only when it is on record, so that nobody who has the answer is
 * ever told another one.
 *
 * An answer that is written in one piece is held back whole. What is streamed passes at once, and only its end waits; of
 * both no more than `maxAnswerBytes` are held. A client that leaves changes nothing: the handler goes on writing, and its end
 * is put on record.
 *
 * @param others headers for any answer that are not on the response yet.
 */
export function watchAnswer<NativeTx>(
  response: NodeResponseLike,
  work: ProtectedWork<NativeTx>,
  maxAnswerBytes: number,
  others: Headers = {},
): void {
  const { writeHead, flushHeaders, write, end, destroy } = response
  const before = { ...response.getHeaders(), ...others }
  const body = keepBytes(maxAnswerBytes)
  let head: readonly unknown[] | null = null
  let isOnItsWay = false
  let isEnded = false
  let isClientGone = false

  const startSending = () => {
    if (isOnItsWay) return
    isOnItsWay = true
    if (head !== null) writeHead.apply(response, [...head])
  }
  // Held back, and yet nobody may change it: what the frameworks ask before they try is this.
  Object.defineProperty(response, 'headersSent', {
    configurable: true,
    get: () => isOnItsWay || isEnded || head !== null,
  })

  response.writeHead = (...args) => {
    // Node itself comes here for a head that nobody wrote.
    if (isOnItsWay) return writeHead.apply(response, args)
    if (head !== null || isEnded) return response
    checkHead(args[0], headersOf(args))
    head = args
    response.statusCode = Number(args[0])
    return response
  }
  response.flushHeaders = () => {
    startSending()
    flushHeaders.call(response)
  }
  response.write = (...args) => {
    if (isEnded) return false
    startSending()
    body.keep(args[0], args[1])
    if (isClientGone) {
      // Node would destroy the response, and the handler would never come to its end.
      const written = args.find((argument) => typeof argument === 'function')
      if (written !== undefined) process.nextTick(written)
      return true
    }
    return write.apply(response, args)
  }
  response.end = (...args) => {
    if (isEnded) return response
    checkHead(response.statusCode, {})
    if (typeof args[0] !== 'function') body.keep(args[0] ?? '', args[1])
    isEnded = true
    const headers = { ...response.getHeaders() }
    const status = response.statusCode
    const answer = { status, headers: toEntries({ ...headers, ...headersOf(head) }), body: body.whole() }
    const sendRecorded = (instead: FinalAnswer | null) => {
      // A stream that is on its way cannot be taken back.
      if (isOnItsWay) return end.apply(response, args)
      // What was set on the response after its end does not count.
      for (const name of Object.keys(response.getHeaders())) response.removeHeader(name)
      if (instead !== null) {
        isOnItsWay = true
        return sendAnswer(response, instead, before, end)
      }
      setHeaders(response, headers)
      response.statusCode = status
      startSending()
      return end.apply(response, args)
    }
    // What cannot be written ends the connection: the handler, to whom an error could be thrown, is done.
    void work
      .end({ verdict: 'answer', answer })
      .then(sendRecorded)
      .catch(() => response.destroy())
    return response
  }
  response.destroy = (...args) => {
    if (!isEnded) void work.end({ verdict: 'broken_off' })
    return destroy.apply(response, args)
  }
  response.once('close', () => {
    isClientGone = true
    if (!isEnded) work.clientLeft()
  })
}

interface KeptBytes {
  keep(chunk: unknown, encoding: unknown): void
  /** `null` where there were more than may be kept. */
  whole(): Uint8Array | null
}

function keepBytes(maxBytes: number): KeptBytes {
  let chunks: Uint8Array[] = []
  let length = 0
  return {
    keep(chunk, encoding) {
      const bytes = toBytes(chunk, encoding)
      length += bytes.length
      if (length > maxBytes) chunks = []
      else chunks.push(bytes)
    },
    whole: () => (length > maxBytes ? null : Buffer.concat(chunks)),
  }
}

/** Throws what Node would throw, while the handler can still be told. */
function checkHead(status: unknown, headers: Headers): void {
  if (!Number.isInteger(status) || Number(status) < 100 || Number(status) > 999) {
    throw new RangeError(`${String(status)} is no status`)
  }
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name)
    for (const one of Array.isArray(value) ? value : [value]) validateHeaderValue(name, String(one))
  }
}

/** A copy: whoever writes may use its own buffer again. */
function toBytes(chunk: unknown, encoding: unknown): Uint8Array {
  if (typeof chunk === 'string') {
    return Buffer.from(chunk, typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8')
  }
  if (chunk instanceof Uint8Array) return Uint8Array.from(chunk)
  throw new TypeError('an answer is text or bytes')
}

/** Of `writeHead(status, message?, headers?)`: an object, a flat list of names and values, or a list of pairs. */
function headersOf(head: readonly unknown[] | null): Headers {
  const given = head?.findLast((argument) => typeof argument === 'object' && argument !== null) ?? {}
  if (!Array.isArray(given))
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [lower(name), value]))
  const flat: unknown[] = given.flat()
  return Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, index) => [lower(flat[index * 2]), String(flat[index * 2 + 1])]),
  )
}

function lower(name: unknown): string {
  return String(name).toLowerCase()
}

function toEntries(headers: Headers): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return []
    return [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : String(value)]]
  })
}
