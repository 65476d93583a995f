import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, type AppParts, createApp } from '../src/app.ts'
import { createLog } from '../src/platform/log.ts'
import { createTestOffice, stripePaid, type TestOffice, type TestOrganization } from './support/office.ts'

const script = `console.log('${'once '.repeat(500)}')`
const page = `<!doctype html><html><head><meta name="csp-nonce" content="__CSP_NONCE__">
<script type="module" src="/assets/index-abc.js"></script></head><body>the screens</body></html>`
const asBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

const apps: App[] = []
let office: TestOffice
let organization: TestOrganization
let home: string
let screensFolder: string
let app: App

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'einmal-web-'))
  screensFolder = join(home, 'dist')
  await mkdir(join(screensFolder, 'assets'), { recursive: true })
  await mkdir(join(screensFolder, '.vite'))
  await writeFile(join(home, 'secret.txt'), 'secret')
  await writeFile(join(screensFolder, 'index.html'), page)
  await writeFile(join(screensFolder, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  await writeFile(join(screensFolder, '.built'), 'secret')
  await writeFile(join(screensFolder, '.vite/manifest.json'), '"secret"')
  await writeFile(join(screensFolder, 'assets/.hidden.js'), 'secret')
  await writeFile(join(screensFolder, 'assets/index-abc.js'), script)
  await writeFile(join(screensFolder, 'assets/index-abc.js.br'), brotliCompressSync(script))
  await writeFile(join(screensFolder, 'assets/index-abc.js.gz'), gzipSync(script))
  office = await createTestOffice()
  organization = await office.addOrganization('Web', 1)
  app = await makeApp({})
})

afterAll(async () => {
  for (const each of apps) await each.http.close()
  await office.close()
  await rm(home, { recursive: true, force: true })
})

async function makeApp(parts: Partial<AppParts>): Promise<App> {
  const log = createLog('silent')
  const made = await createApp({ ...office, log, screensFolder, ...parts })
  apps.push(made)
  return made
}

const get = (url: string, headers: Record<string, string> = asBrowser) => app.http.inject({ url, headers })

describe('the page', () => {
  test.each(['/', '/sign-in', '/settings/members', '/invitation?x=1', '/no/such/page', '/apiary', '/assetsy'])(
    '%s is an address of the screens',
    async (url) => {
      const answer = await get(url)
      expect(answer).toMatchObject({ statusCode: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
      expect(answer.body).toContain('the screens')
    },
  )

  test.each([
    ...['/api', '/api/v1', '/api/v1/nothing', '/api/nothing', '/webhooks', '/webhooks/stripe/nothing', '/healthz/x'],
    ...['/metrics/x', '/readyz/', '/assets', '/assets/', '/assets/gone.js', '/gone.js', '/favicon.ico', '/index.html'],
    ...['/.built', '/.vite/manifest.json', '/assets/.hidden.js', '/assets/x/'],
  ])('%s is none, and is told so as to a program', async (url) => {
    const answer = await get(url)
    expect(answer.statusCode).toBe(404)
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(answer.json()).toMatchObject({ code: 'not_found' })
    expect(answer.body).not.toContain('secret')
  })

  test('is for those who take pages: a program at an unknown address gets no page, and no other method does', async () => {
    for (const accept of ['*/*', 'application/json', '']) {
      expect((await get('/sign-in', { accept })).statusCode, accept).toBe(404)
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const) {
      const answer = await app.http.inject({ method, url: '/sign-in', headers: asBrowser })
      expect(answer.statusCode, method).toBe(404)
    }
  })

  test('carries a nonce of its own in each answer, the one that its policy names', async () => {
    const answers = await Promise.all([get('/sign-in'), get('/sign-in')])
    const nonces = answers.map(({ body, headers }) => {
      const nonce = /name="csp-nonce" content="([\w-]{22})"/.exec(body)?.[1]
      expect(headers['content-security-policy']).toContain(`style-src 'self' 'nonce-${nonce}';`)
      return nonce
    })
    expect(new Set(nonces).size).toBe(2)
    expect(answers.map(({ body }) => body).join()).not.toContain('__CSP_NONCE__')
  })

  test('says how to build the screens where nobody has, under the same policy', async () => {
    const { http } = await makeApp({ screensFolder: join(home, 'nowhere') })
    const answer = await http.inject({ url: '/', headers: asBrowser })
    expect(answer).toMatchObject({ statusCode: 503, headers: { 'content-type': 'text/html; charset=utf-8' } })
    expect(answer.body).toContain('<code>npm start</code>')
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
    expect((await http.inject({ url: '/assets/index-abc.js' })).statusCode).toBe(404)
    expect((await http.inject({ url: '/favicon.svg', headers: asBrowser })).statusCode).toBe(404)
  })

  test('follows a new build without a restart', async () => {
    const folder = join(home, 'later')
    const { http } = await makeApp({ screensFolder: folder })
    await mkdir(join(folder, 'assets'), { recursive: true })
    await writeFile(join(folder, 'index.html'), page)
    await writeFile(join(folder, 'assets/later.js'), script)
    expect((await http.inject({ url: '/', headers: asBrowser })).statusCode).toBe(200)
    expect((await http.inject({ url: '/assets/later.js' })).body).toBe(script)
  })
})

describe('a file of the screens', () => {
  test('is kept for a year where its name changes with its content', async () => {
    const { headers } = await get('/assets/index-abc.js')
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
  })

  test('beside the page is asked for again, and not sent again while it is the same', async () => {
    const answer = await get('/favicon.svg')
    expect(answer).toMatchObject({
      statusCode: 200,
      headers: { 'cache-control': 'public, max-age=0', 'content-type': 'image/svg+xml' },
    })
    const again = await get('/favicon.svg', { 'if-none-match': String(answer.headers.etag) })
    expect(again.statusCode).toBe(304)
  })

  test('is sent as it was compressed when it was built, to those who take that', async () => {
    const brotli = await get('/assets/index-abc.js', { 'accept-encoding': 'gzip, deflate, br' })
    expect(brotli.headers).toMatchObject({
      'content-encoding': 'br',
      'content-type': 'application/javascript; charset=utf-8',
      vary: 'accept-encoding',
      'cache-control': 'public, max-age=31536000, immutable',
    })
    expect(brotliDecompressSync(brotli.rawPayload).toString()).toBe(script)
    const gzip = await get('/assets/index-abc.js', { 'accept-encoding': 'gzip' })
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.rawPayload).toString()).toBe(script)
    const plain = await get('/assets/index-abc.js', {})
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(plain.body).toBe(script)
  })

  test('HEAD says what GET would, without a body', async () => {
    for (const url of ['/sign-in', '/assets/index-abc.js', '/favicon.svg']) {
      const answer = await app.http.inject({ method: 'HEAD', url, headers: asBrowser })
      const whole = await get(url)
      expect(answer.statusCode, url).toBe(200)
      expect(answer.body, url).toBe('')
      for (const name of ['content-type', 'content-length', 'cache-control', 'etag']) {
        expect(answer.headers[name], `${url} ${name}`).toEqual(whole.headers[name])
      }
    }
  })

  test('lies in the folder of the screens: no spelling of an address leads out of it', async () => {
    const { http } = await makeApp({})
    await http.listen({ port: 0, host: '127.0.0.1' })
    const { port } = http.server.address() as AddressInfo
    const ways = ['..', '%2e%2e', '.%2e', '%2e.', '%252e%252e', '..%00', '..;', '%c0%ae%c0%ae', '....', '\\..', '%5c..']
    const slashes = ['/', '%2f', '%5c', '\\', '//', '%252f']
    const targets = ['secret.txt', '.built', '.vite/manifest.json', 'index.html', 'home/secret.txt']
    const urls = ['/', '/assets/', '/assets/x/', '//', '/assets//'].flatMap((start) =>
      ways.flatMap((way) =>
        slashes.flatMap((slash) =>
          targets.flatMap((target) => [
            `${start}${way}${slash}${target}`,
            `${start}${way}${slash}${way}${slash}${target}`,
          ]),
        ),
      ),
    )
    urls.push(`/assets/${encodeURIComponent(join(home, 'secret.txt'))}`, `/assets${join(home, 'secret.txt')}`)
    for (const url of urls) {
      const { status, body } = await rawGet(port, url)
      expect(body, url).not.toContain('secret"')
      expect(body, url).not.toBe('secret')
      expect(body, url).not.toContain('__CSP_NONCE__')
      // The page itself may be the answer: it reads the address, and no file.
      if (!body.includes('the screens')) expect([400, 404], url).toContain(status)
    }
  })
})

/** As it stands, which neither `fetch` nor `inject` would send. */
function rawGet(port: number, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path, headers: asBrowser, agent: false }, (answer) => {
      let body = ''
      answer.on('data', (chunk: Buffer) => {
        body += chunk.toString()
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

describe('headers of every kind of answer', () => {
  const common = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': expect.stringContaining('camera=(), display-capture=(), geolocation=()'),
  }
  const data = { 'content-security-policy': "default-src 'none'; frame-ancestors 'none'", 'cache-control': 'no-store' }
  const screen = {
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w-]{22}'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'; manifest-src 'self'$/,
    ),
    'cache-control': 'no-store',
  }
  const file = { ...data, 'cache-control': expect.stringMatching(/^public, max-age=/) }
  const inline = {
    'content-security-policy': expect.stringContaining(`script-src 'self' 'unsafe-inline';`),
    'cache-control': 'no-cache',
  }
  interface Kind {
    readonly what: string
    readonly ask: () => InjectOptions
    readonly status: number
    readonly headers: Readonly<Record<string, unknown>>
  }
  const bearer = () => ({ authorization: `Bearer ${organization.apiKey}` })
  const paid = () => stripePaid({ eventId: 'evt_web', paymentId: 'pi_web', amount: 100 })
  const delivery = (headers: Record<string, string>): InjectOptions => ({
    method: 'POST',
    url: organization.stripe.path,
    headers,
    payload: paid(),
  })
  const json = { 'content-type': 'application/json' }
  const kinds: readonly Kind[] = [
    { what: 'the page', ask: () => ({ url: '/', headers: asBrowser }), status: 200, headers: screen },
    { what: 'the page at an address', ask: () => ({ url: '/x/y', headers: asBrowser }), status: 200, headers: screen },
    { what: 'a file by its hash', ask: () => ({ url: '/assets/index-abc.js' }), status: 200, headers: file },
    { what: 'a file beside the page', ask: () => ({ url: '/favicon.svg' }), status: 200, headers: file },
    { what: 'a file that is gone', ask: () => ({ url: '/assets/gone.js' }), status: 404, headers: data },
    { what: 'a list', ask: () => ({ url: '/api/v1/contacts', headers: bearer() }), status: 200, headers: data },
    { what: 'no key', ask: () => ({ url: '/api/v1/contacts' }), status: 401, headers: data },
    {
      what: 'no such row',
      ask: () => ({ url: `/api/v1/contacts/${office.newId()}`, headers: bearer() }),
      status: 404,
      headers: data,
    },
    { what: 'no such call', ask: () => ({ url: '/api/v1/x', headers: bearer() }), status: 404, headers: data },
    {
      what: 'a body that is none',
      ask: () => ({ method: 'POST', url: '/api/v1/contacts', headers: { ...bearer(), ...json }, payload: '{' }),
      status: 400,
      headers: data,
    },
    { what: 'the door', ask: () => ({ url: '/api/v1/door' }), status: 200, headers: data },
    { what: 'nobody signed in', ask: () => ({ url: '/api/v1/me' }), status: 401, headers: data },
    {
      what: 'a refused sign-in',
      ask: () => ({
        method: 'POST',
        url: '/api/auth/sign-in/email',
        headers: { ...json, origin: 'http://localhost:3000' },
        payload: '{"email":"nobody@example.org","password":"wrong horse"}',
      }),
      status: 401,
      headers: data,
    },
    { what: 'a delivery', ask: () => delivery(organization.stripe.sign(paid())), status: 200, headers: data },
    { what: 'a refused delivery', ask: () => delivery({}), status: 401, headers: data },
    { what: 'an address that cannot be read', ask: () => ({ url: '/%E0%A4%A' }), status: 400, headers: data },
    {
      what: 'a part that is too long',
      ask: () => ({ method: 'POST', url: `/webhooks/x/${'y'.repeat(200)}` }),
      status: 404,
      headers: data,
    },
    { what: 'health', ask: () => ({ url: '/healthz' }), status: 200, headers: data },
    { what: 'readiness', ask: () => ({ url: '/readyz' }), status: 200, headers: data },
    { what: 'metrics', ask: () => ({ url: '/metrics' }), status: 200, headers: data },
    { what: 'the contract as a page', ask: () => ({ url: '/api/docs/' }), status: 200, headers: inline },
    { what: 'the script of that page', ask: () => ({ url: '/api/docs/js/scalar.js' }), status: 200, headers: inline },
    { what: 'the contract', ask: () => ({ url: '/api/docs/openapi.json' }), status: 200, headers: inline },
    { what: 'its address without the slash', ask: () => ({ url: '/api/docs' }), status: 301, headers: inline },
    { what: 'nothing beside the contract', ask: () => ({ url: '/api/docs/x' }), status: 404, headers: data },
  ]

  test.each(kinds)('$what comes with the headers of its kind', async ({ ask, status, headers }) => {
    const answer = await app.http.inject(ask())
    expect(answer.statusCode).toBe(status)
    expect(answer.headers).toMatchObject({ ...common, ...headers })
    expect(answer.headers).not.toHaveProperty('strict-transport-security')
    expect(answer.headers).not.toHaveProperty('x-powered-by')
  })

  test('browsers are told to keep to https where people come by it, and only there', async () => {
    const address = { ...office.door.address, baseUrl: 'https://office.example' }
    const { http } = await makeApp({ door: { ...office.door, address } })
    for (const url of ['/', '/assets/index-abc.js', '/api/v1/contacts', '/api/docs/']) {
      const { headers } = await http.inject({ url, headers: asBrowser })
      expect(headers['strict-transport-security'], url).toBe('max-age=31536000')
    }
  })
})

describe('the address of a client', () => {
  const elsewhere = (index: number) => `203.0.113.${index}`

  /** Failed verifications are counted by address: the answers to 70 of them, each with a word about where it comes from. */
  async function knock(trustedProxies: readonly string[], forwardedFor: (index: number) => string): Promise<number[]> {
    const { http } = await makeApp({ trustedProxies })
    const statuses: number[] = []
    for (let index = 0; index < 70; index += 1) {
      const headers = { 'x-forwarded-for': forwardedFor(index) }
      const answer = await http.inject({ method: 'POST', url: organization.stripe.path, headers, payload: '{}' })
      statuses.push(answer.statusCode)
    }
    return statuses
  }

  test('is not what it says in X-Forwarded-For, unless it is a trusted proxy itself', async () => {
    expect((await knock([], elsewhere)).at(-1)).toBe(429)
    expect((await knock(['10.0.0.0/8'], elsewhere)).at(-1)).toBe(429)
  })

  test('is what a trusted proxy says, and not what the client had said to the proxy', async () => {
    expect(await knock(['loopback'], elsewhere)).toEqual(Array.from({ length: 70 }, () => 401))
    expect((await knock(['loopback'], (index) => `${elsewhere(index)}, 198.51.100.1`)).at(-1)).toBe(429)
  })
})
