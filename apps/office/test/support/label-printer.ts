import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** What the printer does with the next orders: prints and answers; prints and hangs up; refuses; prints and answers 500. */
export type PrinterMood = 'well' | 'hangs up' | 'refuses' | 'fails after printing'

/** The other system of an automation: prints labels, and takes a key where it is given one. */
export interface LabelPrinter {
  readonly url: string
  mood: PrinterMood
  /** The orders of all labels that were printed. */
  labelsOf(order: string): number
  /** The keys that came with an order, in their order. */
  keysOf(order: string): readonly (string | null)[]
  /** From now on orders wait, until they are released. Resolves when two have arrived. */
  holdTwo(): Promise<void>
  release(): void
  close(): Promise<void>
}

interface Printed {
  readonly id: string
  readonly order: string
  readonly key: string | null
}

export async function createLabelPrinter(): Promise<LabelPrinter> {
  const printed: Printed[] = []
  const asked: Omit<Printed, 'id'>[] = []
  let gate: { arrived(): void; open(): void; opened: Promise<void> } | null = null
  const printer: Pick<LabelPrinter, 'mood'> = { mood: 'well' }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { order } = (await json(request)) as { order: string }
    const header = request.headers['idempotency-key']
    const key = typeof header === 'string' ? header : null
    asked.push({ order, key })
    gate?.arrived()
    await gate?.opened
    const say = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (printer.mood === 'refuses') {
      say(422, { error: 'no such order' })
      return
    }
    const known = key === null ? undefined : printed.find((label) => label.key === key)
    const label = known ?? { id: `L-${printed.length + 1}`, order, key }
    if (known === undefined) printed.push(label)
    if (printer.mood === 'hangs up') request.socket.destroy()
    else if (printer.mood === 'fails after printing') say(500, { error: 'out of paper' })
    else say(200, { id: label.id })
  }

  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(printer, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/labels`,
    labelsOf: (order: string) => printed.filter((label) => label.order === order).length,
    keysOf: (order: string) => asked.filter((each) => each.order === order).map(({ key }) => key),
    holdTwo() {
      const second = Promise.withResolvers<void>()
      const opening = Promise.withResolvers<void>()
      let count = 0
      const arrived = () => {
        count += 1
        if (count === 2) second.resolve()
      }
      gate = { arrived, open: opening.resolve, opened: opening.promise }
      return second.promise
    },
    release() {
      gate?.open()
      gate = null
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
