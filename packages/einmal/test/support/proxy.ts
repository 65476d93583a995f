import { connect, createServer, type Socket } from 'node:net'

/**
 * Where a connection is cut, counted in messages of the client after the log-in.
 *
 * `before`: the message never reaches the server. `after`: it does, and nothing of the answer comes back.
 * `answer`: the server has dealt with it and has said so, and that word is lost. `stall`: as `answer`, but the
 * connection stays open and silent.
 */
export interface Cut {
  readonly message: number
  readonly how: 'before' | 'after' | 'answer' | 'stall'
  /** Counts only messages that end a statement, since a prepared one takes four or five. */
  readonly onlyStatements?: boolean
}

export interface CuttingProxy {
  readonly url: string
  /** One entry per connection from now on, in the order they are made; later connections are left alone. */
  plan(cuts: readonly Cut[]): void
  /** The connection that speaks next, new or not, is cut; the message it speaks then is its first. */
  arm(cut: Cut): void
  /** Whether a cut was made since `plan` or `arm`. */
  readonly hasCut: boolean
  /** The kinds of message of each connection since `plan`, as PostgreSQL's protocol letters them. */
  readonly messages: readonly string[][]
  /** Breaks every connection and lets nobody in, as if the server were gone, until `admit`. */
  refuse(): Promise<void>
  admit(): Promise<void>
  close(): Promise<void>
}

/** Stands between a client and PostgreSQL and reads the protocol as far as its message bounds. */
export async function startProxy(targetUrl: string): Promise<CuttingProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let planned: Cut[] = []
  let armed: Cut | null = null
  /** Counts the orders: a cut of an earlier one that was not made is forgotten. */
  let order = 0
  let hasCut = false
  let messages: string[][] = []
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    let cut = planned.shift()
    let cutOrder = order
    const seen: string[] = []
    messages.push(seen)
    let isReady = false
    let isSwallowing = false
    let asked = 0
    let answered = 0
    let descriptions = 0
    const splitFront = messageSplitter(true)
    const splitBack = messageSplitter(false)

    client.on('data', (bytes) => {
      for (const { type, whole } of splitFront(bytes)) {
        if (client.destroyed) return
        if (!isReady) {
          upstream.write(whole)
          continue
        }
        if (armed !== null) {
          cut = armed
          cutOrder = order
          armed = null
          seen.length = 0
        }
        if (cutOrder !== order && !isSwallowing) cut = undefined
        const isStatement = type === 'Q' || type === 'S'
        if (isStatement) asked += 1
        // A flush after a description has an answer, too, and no word that says where it ends.
        if (type === 'H') descriptions += 1
        if (cut?.onlyStatements && !isStatement) {
          upstream.write(whole)
          continue
        }
        seen.push(type)
        if (cut?.message !== seen.length) {
          upstream.write(whole)
          continue
        }
        hasCut = true
        if (cut.how === 'before') {
          upstream.destroy()
          client.resetAndDestroy()
        } else if (cut.how === 'after') {
          // The server reads the message first and the end of the connection after it.
          upstream.end(whole)
          client.destroy()
        } else {
          isSwallowing = true
          upstream.write(whole)
        }
      }
    })
    upstream.on('data', (bytes) => {
      for (const { type, whole } of splitBack(bytes)) {
        if (type === 'Z') {
          if (isReady) answered += 1
          isReady = true
        }
        const isDescribed = descriptions > 0 && (type === 'T' || type === 'n')
        if (isDescribed) descriptions -= 1
        if (!isSwallowing) client.write(whole)
        else if (cut?.how === 'answer' && (type === 'Z' || isDescribed) && answered >= asked) client.destroy()
      }
    })
  })
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = () => {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  }
  await listen(0)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  const { port } = address
  url.port = String(port)
  return {
    url: url.href,
    plan(cuts) {
      planned = [...cuts]
      armed = null
      order += 1
      hasCut = false
      messages = []
    },
    arm(cut) {
      armed = cut
      order += 1
      hasCut = false
    },
    get hasCut() {
      return hasCut
    },
    get messages() {
      return messages
    },
    refuse: close,
    admit: () => listen(port),
    close,
  }
}

interface Message {
  readonly type: string
  readonly whole: Buffer
}

/** Every message is a letter, a length and a body; only the very first of the client has no letter. */
function messageSplitter(hasUntypedStart: boolean): (bytes: Buffer) => Message[] {
  let rest: Buffer = Buffer.alloc(0)
  let isStart = hasUntypedStart
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    const found: Message[] = []
    for (;;) {
      const lengthAt = isStart ? 0 : 1
      if (rest.length < lengthAt + 4) return found
      const size = lengthAt + rest.readInt32BE(lengthAt)
      if (rest.length < size) return found
      found.push({ type: isStart ? 'startup' : String.fromCharCode(rest[0] ?? 0), whole: rest.subarray(0, size) })
      rest = rest.subarray(size)
      isStart = false
    }
  }
}
