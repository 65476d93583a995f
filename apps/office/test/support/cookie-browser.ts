import type { FastifyInstance } from 'fastify'
import { testAddress } from './door.ts'

/** What a browser was answered. */
export interface PageAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  /** Each header `set-cookie`, as it was sent. */
  readonly cookies: readonly string[]
  readonly body: Readonly<Record<string, unknown>>
  readonly text: string
}

export interface BrowserOptions {
  /** Where it comes from; each browser has an address of its own unless told otherwise. */
  readonly address?: string
  /** Sent with every request, over what a browser would say itself. */
  readonly headers?: Readonly<Record<string, string>>
}

let browsers = 0

/** One browser: it says where its page is from, and keeps and sends cookies as browsers do. */
export class Browser {
  readonly #http: FastifyInstance
  readonly #address: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #cookies: Map<string, { readonly value: string; readonly path: string }>

  constructor(http: FastifyInstance, { address, headers = {} }: BrowserOptions = {}, known?: Browser) {
    browsers += 1
    this.#http = http
    this.#address = address ?? `198.51.${Math.floor(browsers / 250)}.${(browsers % 250) + 1}`
    this.#headers = headers
    this.#cookies = new Map(known === undefined ? [] : known.#cookies)
  }

  /** The same cookies at this moment, and apart from then on; on another server where one is given. */
  copy(http: FastifyInstance = this.#http, options: BrowserOptions = {}): Browser {
    return new Browser(http, { address: this.#address, headers: this.#headers, ...options }, this)
  }

  get(path: string): Promise<PageAnswer> {
    return this.#send('GET', path)
  }

  /** Writes to our own API. */
  post(path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<PageAnswer> {
    return this.#send('POST', `/api/v1${path}`, body, headers)
  }

  patch(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<PageAnswer> {
    return this.#send('PATCH', `/api/v1${path}`, body, headers)
  }

  /** Writes to what better-auth answers. */
  auth(path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<PageAnswer> {
    return this.#send('POST', `/api/auth/${path}`, body, headers)
  }

  cookie(name: string): string | undefined {
    return this.#cookies.get(name)?.value
  }

  keep(name: string, value: string, path = '/'): void {
    this.#cookies.set(name, { value, path })
  }

  forget(name: string): void {
    this.#cookies.delete(name)
  }

  async #send(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: unknown,
    further: Readonly<Record<string, string>> = {},
  ): Promise<PageAnswer> {
    const url = path.startsWith('/api/') ? path : `/api/v1${path}`
    const sent = [...this.#cookies].filter(([, cookie]) => url.startsWith(cookie.path))
    const headers = {
      ...(method === 'GET' ? {} : { origin: testAddress.baseUrl, 'content-type': 'application/json' }),
      ...(sent.length === 0 ? {} : { cookie: sent.map(([name, { value }]) => `${name}=${value}`).join('; ') }),
      ...this.#headers,
      ...further,
    }
    const answer = await this.#http.inject({
      method,
      url,
      remoteAddress: this.#address,
      // An empty one is left out, for a browser that does not say something it usually says.
      headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== '')),
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const cookies = [answer.headers['set-cookie'] ?? []].flat()
    for (const cookie of cookies) this.#take(cookie)
    const text = answer.body
    const isJson = String(answer.headers['content-type']).includes('json')
    return {
      status: answer.statusCode,
      headers: answer.headers,
      cookies,
      body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
      text,
    }
  }

  #take(cookie: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    const path = /; Path=([^;]+)/i.exec(cookie)?.[1] ?? '/'
    if (/; Max-Age=0(;|$)/i.test(cookie)) this.#cookies.delete(name)
    else this.#cookies.set(name, { value, path })
  }
}
