import { type App, createApp } from '../../src/app.ts'
import { createDatabase } from '../../src/platform/database.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Sender, TestOffice, TestOrganization } from './office.ts'

/** The office's application in the process of the test, on connections of its own. */
export interface InProcessApp extends Pick<App, 'http' | 'routes'> {
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
  /** A call with these headers and no key; `body` is sent as JSON. */
  request(
    method: 'GET' | 'PATCH' | 'POST',
    url: string,
    headers: Record<string, string>,
    body?: unknown,
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
  const { http, pipeline, routes } = await createApp({
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
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.body === '' ? {} : answer.json<Record<string, unknown>>(),
    }
  }
  const request: InProcessApp['request'] = (method, url, headers, body) =>
    body === undefined
      ? inject(method, url, headers)
      : inject(method, url, { ...headers, 'content-type': 'application/json' }, JSON.stringify(body))
  const bearer = ({ apiKey }: TestOrganization) => ({ authorization: `Bearer ${apiKey}` })
  return {
    http,
    routes,
    deliver: (sender, body, headers = sender.sign(body)) => inject('POST', sender.path, headers, body),
    get: (organization, path) => inject('GET', `/api/v1${path}`, bearer(organization)),
    post(organization, path, body, headers = {}) {
      return request('POST', `/api/v1${path}`, { ...bearer(organization), ...headers }, body)
    },
    patch(organization, path, body, headers = {}) {
      return request('PATCH', `/api/v1${path}`, { ...bearer(organization), ...headers }, body)
    },
    request,
    listen: () => http.listen({ port: 0, host: '127.0.0.1' }),
    async close() {
      await pipeline.drain()
      await http.close()
      await db.close()
    },
  }
}
