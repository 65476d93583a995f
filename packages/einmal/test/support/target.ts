import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Completion, OutsideEffect, Performing, TargetCapability } from '../../src/index.ts'

/**
 * A system outside, and the judge: it counts what was done to it, whatever the register says.
 *
 * It is of one of three kinds. One that `accepts_key` does each key once. A `searchable` one does whatever it is asked and
 * finds it by its reference. One that is `neither` does whatever it is asked and tells nobody.
 */
export interface OutsideTarget {
  readonly url: string
  readonly capability: TargetCapability
  /** How often it was done. */
  effects(reference: string): number
  /** How often it was asked to. */
  requests(reference: string): number
  /** Does the next requests, as many as said, and cuts the connection instead of answering. */
  loseAnswers(count: number): void
  /** Refuses the next look-ups. */
  refuseLookUps(count: number): void
  /** Resolves with the next request, which is done and is not answered before `answer` is called. */
  holdNext(): Promise<{ answer(): void }>
  close(): Promise<void>
}

export async function startTarget(capability: TargetCapability): Promise<OutsideTarget> {
  const done: { reference: string; key: string }[] = []
  const asked: string[] = []
  let answersToLose = 0
  let lookUpsToRefuse = 0
  let held: ((value: { answer(): void }) => void) | null = null

  const act = (incoming: IncomingMessage, answer: ServerResponse) => {
    const reference = String(incoming.headers['x-reference'])
    const key = String(incoming.headers['idempotency-key'])
    asked.push(reference)
    const known = capability === 'accepts_key' ? done.findIndex((effect) => effect.key === key) : -1
    const number = known === -1 ? done.push({ reference, key }) : known + 1
    const send = () => answer.end(JSON.stringify({ number }))
    if (held !== null) {
      held({ answer: send })
      held = null
    } else if (answersToLose > 0) {
      answersToLose -= 1
      incoming.socket.destroy()
    } else {
      send()
    }
  }
  const find = (incoming: IncomingMessage, answer: ServerResponse) => {
    if (lookUpsToRefuse > 0) {
      lookUpsToRefuse -= 1
      incoming.socket.destroy()
      return
    }
    const number = done.findIndex((effect) => effect.key === String(incoming.headers['idempotency-key'])) + 1
    answer.end(JSON.stringify({ number }))
  }
  const server = createServer((incoming, answer) => {
    incoming.resume().once('end', () => (incoming.method === 'POST' ? act : find)(incoming, answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the target has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    capability,
    effects: (reference) => done.filter((effect) => effect.reference === reference).length,
    requests: (reference) => asked.filter((each) => each === reference).length,
    loseAnswers: (count) => {
      answersToLose = count
    },
    refuseLookUps: (count) => {
      lookUpsToRefuse = count
    },
    holdNext: () =>
      new Promise((resolve) => {
        held = resolve
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Does it at the target, as a program would: with the key, the reference and the signal. */
export function performAt<Tx>(url: string, capability: TargetCapability): OutsideEffect<Tx> {
  const call = async (method: string, { key, idempotencyKey, signal }: Performing): Promise<number> => {
    const headers = { 'x-reference': encodeURIComponent(key.id), 'idempotency-key': idempotencyKey }
    const { number } = JSON.parse(await send(url, { method, headers, signal })) as { number: number }
    return number
  }
  const completion = (number: number): Completion => ({
    target: { type: 'effect', id: String(number) },
    answer: { number },
  })
  return {
    target: capability,
    perform: async (performing) => completion(await call('POST', performing)),
    ...(capability === 'searchable' && {
      async lookUp(performing: Performing) {
        const number = await call('GET', performing)
        return number === 0 ? null : completion(number)
      },
    }),
  }
}

function send(
  url: string,
  options: { method: string; headers: Record<string, string>; signal: AbortSignal },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (part: string) => {
        text += part
      })
      answer.once('end', () => resolve(text))
      answer.once('error', reject)
    })
    sent.once('error', reject)
    sent.end()
  })
}

/** One of each kind. */
export interface Targets extends Readonly<Record<TargetCapability, OutsideTarget>> {
  close(): Promise<void>
}

export async function startTargets(): Promise<Targets> {
  const [accepts_key, searchable, neither] = await Promise.all([
    startTarget('accepts_key'),
    startTarget('searchable'),
    startTarget('neither'),
  ])
  const close = async () => {
    await Promise.all([accepts_key, searchable, neither].map((target) => target.close()))
  }
  return { accepts_key, searchable, neither, close }
}
