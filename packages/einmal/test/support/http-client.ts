import { type IncomingMessage, request } from 'node:http'

export interface Sent {
  readonly method?: string
  readonly path?: string
  /** Several are several header lines. */
  readonly key?: string | readonly string[]
  readonly caller?: string
  readonly contentType?: string
  readonly body?: string | Uint8Array
}

export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  readonly text: string
  /** Of JSON. */
  json(): Record<string, unknown>
}

export interface Sending {
  /** Resolves with the first bytes of the answer. */
  readonly firstBytes: Promise<string>
  readonly received: Promise<Received>
  leave(): void
}

/** One request on a connection of its own, with headers exactly as given. */
export function startSending(origin: string, sent: Sent): Sending {
  const { method = 'POST', path = '/orders', key, caller = 'anna', contentType = 'application/json', body } = sent
  const firstBytes = Promise.withResolvers<string>()
  const received = Promise.withResolvers<Received>()
  for (const { promise } of [firstBytes, received]) promise.catch(() => undefined)
  const fail = (error: Error) => {
    firstBytes.reject(error)
    received.reject(error)
  }
  const headers = {
    'x-caller': caller,
    ...(body === undefined ? {} : { 'content-type': contentType, 'content-length': String(Buffer.byteLength(body)) }),
    ...(key === undefined ? {} : { 'idempotency-key': typeof key === 'string' ? key : [...key] }),
  }
  const outgoing = request(`${origin}${path}`, { method, headers, agent: false }, (incoming) => {
    const chunks: Buffer[] = []
    incoming.on('error', fail)
    incoming.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      firstBytes.resolve(chunk.toString())
    })
    incoming.on('end', () => received.resolve(toReceived(incoming, Buffer.concat(chunks))))
  })
  outgoing.on('error', fail)
  outgoing.end(body)
  return { firstBytes: firstBytes.promise, received: received.promise, leave: () => void outgoing.destroy() }
}

export function send(origin: string, sent: Sent): Promise<Received> {
  return startSending(origin, sent).received
}

function toReceived(incoming: IncomingMessage, bytes: Buffer): Received {
  const text = bytes.toString('utf8')
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]))
  return { status: incoming.statusCode ?? 0, headers, bytes, text, json: () => JSON.parse(text) }
}
