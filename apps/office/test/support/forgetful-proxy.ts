import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Stands between a program and the office, and loses answers on their way back. */
export interface ForgetfulProxy {
  readonly url: string
  /** The next answer to this step of the register gets lost: it was dealt with, and the connection is gone. */
  loseNext(step: string): void
  /** Whether an answer got lost. */
  lost(): boolean
  close(): Promise<void>
}

export async function createForgetfulProxy(officeUrl: string): Promise<ForgetfulProxy> {
  let losing: string | null = null
  let hasLost = false
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const headers = Object.fromEntries(
      ['authorization', 'content-type', 'idempotency-key'].flatMap((name) => {
        const value = request.headers[name]
        return typeof value === 'string' ? [[name, value]] : []
      }),
    )
    const answer = await fetch(`${officeUrl}${request.url}`, { method: 'POST', headers, body: await text(request) })
    const body = await answer.text()
    if (losing !== null && request.url?.endsWith(`/${losing}`)) {
      losing = null
      hasLost = true
      request.socket.destroy()
      return
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(body)
  }
  const server = createServer((request, response) => void pass(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseNext(step) {
      losing = step
    },
    lost: () => hasLost,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
