import { once as onceEmitted } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { afterEach, describe, expect, test } from 'vitest'
import { idempotency as onExpress } from '../src/http/express.ts'
import { idempotency as onFastify } from '../src/http/fastify.ts'
import { idempotency as onHono } from '../src/http/hono.ts'
import { send } from './support/http-client.ts'
import { createRegisterFixture } from './support/register-fixture.ts'

const fixture = createRegisterFixture()
const closing: (() => unknown)[] = []
const caller = () => 'anna'

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await onceEmitted(server, 'listening')
  closing.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function countKeys(): Promise<number> {
  const { rows } = await fixture.database.pool.query('select count(*)::int as count from einmal_events')
  return rows[0].count
}

describe('on Express', () => {
  test('a body that no parser has read is refused, since it could not be compared', async () => {
    let runs = 0
    const app = express()
    app.use(express.json(), onExpress(fixture.here.db, { caller }))
    app.use((_request, response) => void response.json({ run: ++runs }))
    const origin = await listen(app)
    const refused = await send(origin, { key: 'express-1', contentType: 'text/csv', body: 'a;b' })
    expect([refused.status, refused.json()['code'], runs]).toEqual([415, 'body_unread', 0])
    expect((await send(origin, { key: 'express-1' })).json()).toEqual({ run: 1 })
  })

  test('without the raw body its parsed form is compared, and digits that are lost are refused', async () => {
    const app = express()
    app.use(express.json(), onExpress(fixture.here.db, { caller }))
    app.use((_request, response) => void response.json({}))
    const origin = await listen(app)
    await send(origin, { key: 'express-2', body: '{"a":1,"b":2}' })
    const copy = await send(origin, { key: 'express-2', body: '{"b":2,"a":1}' })
    expect(copy.headers['idempotent-replayed']).toBe('true')
    expect((await send(origin, { key: 'express-2', body: '{"b":2,"a":2}' })).status).toBe(422)
    const inexact = await send(origin, { key: 'express-3', body: '{"a":9007199254740993}' })
    expect([inexact.status, inexact.json()['code']]).toEqual([400, 'body_not_exact'])
  })

  test('what is set on the response after its end does not change the answer', async () => {
    const app = express()
    app.use(onExpress(fixture.here.db, { caller }))
    app.use((_request, response) => {
      response.status(201).json({ first: true })
      response.statusCode = 500
      response.end('second')
    })
    const origin = await listen(app)
    const [first, copy] = [await send(origin, { key: 'express-4' }), await send(origin, { key: 'express-4' })]
    expect([first.status, first.text, copy.status, copy.text]).toEqual([201, '{"first":true}', 201, '{"first":true}'])
  })

  test('an answer in several writes, with its head written by hand, is told again whole', async () => {
    const app = express()
    app.use(onExpress(fixture.here.db, { caller }))
    app.use((_request, response) => {
      response.writeHead(202, 'Accepted', ['Content-Type', 'text/plain', 'Location', '/jobs/1'])
      response.write('gr')
      response.write('c3bc', 'hex')
      response.end('ß')
    })
    const origin = await listen(app)
    const first = await send(origin, { key: 'express-5' })
    const copy = await send(origin, { key: 'express-5' })
    expect([first.status, first.text, first.headers['location']]).toEqual([202, 'grüß', '/jobs/1'])
    expect([copy.status, copy.text, copy.headers['location']]).toEqual([202, 'grüß', '/jobs/1'])
    expect(copy.headers['content-type']).toBe('text/plain')
  })

  test.each([
    ['a header', (response: express.Response) => response.writeHead(200, { 'x-bad': 'a\nb' }).end()],
    ['a status', (response: express.Response) => void Object.assign(response, { statusCode: 99 }).end()],
    ['a body', (response: express.Response) => response.end(7)],
  ])('%s that cannot be written is an error of the handler, as without the middleware', async (name, answer) => {
    const app = express()
    app.use(onExpress(fixture.here.db, { caller, effect: 'transactional' }))
    app.use((_request, response) => void answer(response))
    const origin = await listen(app)
    for (let count = 0; count < 2; count += 1) {
      expect((await send(origin, { key: `express-6-${name.slice(2)}` })).status).toBe(500)
    }
  })
})

describe('on Fastify', () => {
  test('a request that the schema refuses takes no key, and routes of other contexts are left alone', async () => {
    const app = Fastify()
    closing.push(() => app.close())
    let runs = 0
    const answer = async () => ({ run: ++runs })
    app.register(async (scope) => {
      await scope.register(onFastify(fixture.here.db, { caller, required: true }))
      const body = { type: 'object', required: ['amount'], properties: { amount: { type: 'integer' } } }
      scope.post('/orders', { schema: { body } }, answer)
    })
    app.post('/free', answer)
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const before = await countKeys()
    expect((await send(origin, { key: 'fastify-1', body: '{}' })).status).toBe(400)
    expect(await countKeys()).toBe(before)
    expect((await send(origin, { key: 'fastify-1', body: '{"amount":1}' })).json()).toEqual({ run: 1 })
    expect((await send(origin, { path: '/free', body: '{}' })).json()).toEqual({ run: 2 })
  })

  test('a refusal of a later hook is a refusal of the handler', async () => {
    const app = Fastify()
    closing.push(() => app.close())
    await app.register(onFastify(fixture.here.db, { caller }))
    let isAllowed = false
    app.post(
      '/orders',
      { preHandler: async (_request, reply) => (isAllowed ? undefined : reply.code(403).send({ allowed: false })) },
      async (_request, reply) => reply.code(201).send({ allowed: true }),
    )
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    expect((await send(origin, { key: 'fastify-2', body: '{}' })).status).toBe(403)
    isAllowed = true
    expect((await send(origin, { key: 'fastify-2', body: '{}' })).json()).toEqual({ allowed: true })
  })

  test('a body that is too large is refused as without the plugin, and takes no key', async () => {
    const app = Fastify({ bodyLimit: 100 })
    closing.push(() => app.close())
    await app.register(onFastify(fixture.here.db, { caller }))
    app.post('/orders', async () => ({}))
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const before = await countKeys()
    expect((await send(origin, { key: 'fastify-3', body: JSON.stringify('x'.repeat(200)) })).status).toBe(413)
    expect(await countKeys()).toBe(before)
  })
})

describe('on Hono', () => {
  test('works without a server, reads the body once, and leaves forms and limits to the handler', async () => {
    const app = new Hono()
    let runs = 0
    app.use(bodyLimit({ maxSize: 1000 }), onHono(fixture.here.db, { caller }))
    app.post('/orders', async (c) => c.json({ run: ++runs, form: await c.req.parseBody() }, 201))
    const sendForm = (amount: string) =>
      app.request('/orders', {
        method: 'POST',
        headers: { 'idempotency-key': 'hono-1', 'content-type': 'application/x-www-form-urlencoded' },
        body: `amount=${amount}`,
      })
    const first = await sendForm('1')
    expect([first.status, await first.json()]).toEqual([201, { run: 1, form: { amount: '1' } }])
    const copy = await sendForm('1')
    expect([copy.status, await copy.json()]).toEqual([201, { run: 1, form: { amount: '1' } }])
    expect((await sendForm('2')).status).toBe(422)
    expect((await sendForm('1'.repeat(2000))).status).toBe(413)
  })

  test('an error after the commit does not hide the committed answer', async () => {
    const app = new Hono()
    app.onError((_error, c) => c.text('late', 500))
    const protect = onHono(fixture.here.db, { caller, effect: 'repeatable' })
    app.post('/orders', protect, async (c) => {
      await protect.of(c)?.complete(async () => ({ status: 201, body: { id: 1 } }))
      throw new Error('late')
    })
    for (let count = 0; count < 2; count += 1) {
      const answer = await app.request('/orders', { method: 'POST', headers: { 'idempotency-key': 'hono-2' } })
      expect([answer.status, await answer.json()]).toEqual([201, { id: 1 }])
    }
  })
})
