import type { z } from 'zod'
import type { NewId } from '../platform/ids.ts'
import type { DemoFile } from './demo-file.ts'

/** No office answers, or not as it should; the message says what to do. */
export class DemoError extends Error {
  override readonly name = 'DemoError'
}

/** One delivery: bytes with headers that were signed for them. */
export interface Delivery {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A button pressed: the same key is the same press. */
export interface Press {
  readonly path: string
  readonly body: unknown
  readonly key: string
}

/** The office as a program outside of it sees it: over HTTP, with the addresses and keys of `demo.json`. */
export interface OfficeClient {
  /** Throws `DemoError` where no office answers. */
  checkAlive(): Promise<void>
  deliver(delivery: Delivery): Promise<number>
  press(press: Press): Promise<{ status: number; isReplayed: boolean }>
  get<Shape extends z.ZodType>(path: string, shape: Shape): Promise<z.infer<Shape>>
  post<Shape extends z.ZodType>(path: string, body: unknown, shape: Shape): Promise<z.infer<Shape>>
}

export function createOfficeClient({ url, apiKey }: DemoFile, newId: NewId): OfficeClient {
  const authorization = `Bearer ${apiKey}`

  async function call<Shape extends z.ZodType>(path: string, init: RequestInit, shape: Shape): Promise<z.infer<Shape>> {
    const response = await fetch(`${url}/api/v1${path}`, { ...init, headers: { authorization, ...init.headers } })
    if (!response.ok) throw new DemoError(`The office answered ${response.status} to ${path}: ${await response.text()}`)
    return shape.parse(await response.json())
  }

  function jsonOf(body: unknown, key: string): RequestInit {
    const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': key }
    return { method: 'POST', headers, body: JSON.stringify(body) }
  }

  return {
    async checkAlive() {
      try {
        await fetch(`${url}/healthz`)
      } catch {
        throw new DemoError(`No office answers at ${url}. Start it in another terminal with: npm start`)
      }
    },
    async deliver({ path, headers, body }) {
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response.status
    },
    async press({ path, body, key }) {
      const response = await fetch(`${url}/api/v1${path}`, jsonOf(body, key))
      await response.arrayBuffer()
      return { status: response.status, isReplayed: response.headers.get('idempotent-replayed') === 'true' }
    },
    get: (path, shape) => call(path, {}, shape),
    post: (path, body, shape) => call(path, jsonOf(body, newId()), shape),
  }
}
