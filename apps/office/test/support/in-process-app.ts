import { createApp } from '../../src/app.ts'
import { createDatabase } from '../../src/platform/database.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Sender, TestOffice, TestOrganization } from './office.ts'

/** The office's application in the process of the test, on connections of its own. */
export interface InProcessApp {
  /** Posts a body to the sender's address, signed unless headers are given. */
  deliver(sender: Sender, body: string, headers?: Record<string, string>): Promise<InProcessAnswer>
  get(organization: TestOrganization, path: string): Promise<InProcessAnswer>
  post(
    organization: TestOrganization,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<InProcessAnswer>
  patch(
    organization: TestOrganization,
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<InProcessAnswer>
  /** Lets requests come over the network as well, so that one can be sent here or to another process all the same. */
  listen(): Promise<string>
  close(): Promise<void>
}

export interface InProcessAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
}

/** Several may run on one office; like two processes, they share nothing but the database. */
export async function createInProcessApp(office: TestOffice): Promise<InProcessApp> {
  const { door, clock, newId, secretKey } = office
  const db = createDatabase({ url: office.database.ownerUrl, role: 'einmal_office', maxConnections: 4 })
  const log = createLog('silent')
  const { http, pipeline } = await createApp({
    db,
    door,
    clock,
    newId,
    secretKey,
    log,
  })
  async function inject(
    method: 'GET' | 'PATCH' | 'POST',
    url: string,
    headers: Record<string, string>,
    payload?: string,
  ): Promise<InProcessAnswer> {
    const answer = await http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
    return { status: answer.statusCode, headers: answer.headers, body: answer.json<Record<string, unknown>>() }
  }
  const bearer = ({ apiKey }: TestOrganization) => ({ authorization: `Bearer ${apiKey}` })
  return {
    deliver: (sender, body, headers = sender.sign(body)) => inject('POST', sender.path, headers, body),
    get: (organization, path) => inject('GET', `/api/v1${path}`, bearer(organization)),
    post(organization, path, body, headers = {}) {
      const all = { ...bearer(organization), ...headers }
      const url = `/api/v1${path}`
      if (body === undefined) return inject('POST', url, all)
      return inject('POST', url, { ...all, 'content-type': 'application/json' }, JSON.stringify(body))
    },
    patch(organization, path, body, headers = {}) {
      const all = { ...bearer(organization), ...headers, 'content-type': 'application/json' }
      return inject('PATCH', `/api/v1${path}`, all, JSON.stringify(body))
    },
    listen: () => http.listen({ port: 0, host: '127.0.0.1' }),
    async close() {
      await pipeline.drain()
      await http.close()
      await db.close()
    },
  }
}
