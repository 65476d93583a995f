import { once as onceEmitted } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { type Context, Hono } from 'hono'
import type pg from 'pg'
import { keepRawBody, idempotency as onExpress } from '../../src/http/express.ts'
import type { IdempotencyOptions, ProtectedRequest } from '../../src/http/fastify.ts'
import { type Answer, idempotency as onFastify } from '../../src/http/fastify.ts'
import { idempotency as onHono } from '../../src/http/hono.ts'
import type { Db } from '../../src/index.ts'

/** What the suite's handler wants said, in no framework's words. */
export type Said =
  | {
      readonly status: number
      readonly headers?: Record<string, string>
      /** JSON by the framework, bytes as they are, a stream, or nothing. */
      readonly json?: unknown
      readonly bytes?: Uint8Array
      readonly stream?: Readable
      /** Piece by piece, by the handler itself. */
      readonly written?: (out: Out) => Promise<void>
    }
  | { readonly commit: (tx: pg.PoolClient) => Promise<Answer> }

export interface Out {
  write(text: string): void
  end(): void
  /** The server has noticed that the client left. */
  readonly clientGone: Promise<unknown>
}

export interface Call {
  readonly body: string
  readonly work: ProtectedRequest<pg.PoolClient, unknown> | null
}

export type Handle = (call: Call) => Promise<Said>

export type Options = Omit<IdempotencyOptions<object>, 'caller' | 'scope'>

export interface Served {
  readonly origin: string
  close(): Promise<void>
}

/** A server whose every route does what `handle` says. The caller is the header `x-caller`. */
export type Serve = (db: Db<pg.PoolClient>, handle: Handle, options?: Options) => Promise<Served>

export const serveFastify: Serve = async (db, handle, options = {}) => {
  const app = Fastify()
  app.addContentTypeParser(/^(text|application)\/(?!json)/, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.addHook('onRequest', async (_request, reply) => void reply.header('x-outer', 'yes'))
  const protect = onFastify(db, { ...options, caller: (request) => String(request.headers['x-caller']) })
  await app.register(protect)
  app.all('/*', async (request, reply) => {
    const work = protect.of(request)
    const said = await handle({ body: toText(request.body), work })
    if ('commit' in said) {
      await work?.complete(said.commit)
      return
    }
    if (said.written !== undefined) {
      reply.hijack()
      reply.raw.statusCode = said.status
      return said.written(toOut(reply.raw))
    }
    return reply
      .code(said.status)
      .headers(said.headers ?? {})
      .send(said.stream ?? said.bytes ?? said.json)
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  return { origin, close: () => app.close() }
}

export const serveExpress: Serve = async (db, handle, options = {}) => {
  const app = express()
  app.use((_request, response, next) => {
    response.setHeader('x-outer', 'yes')
    next()
  })
  app.use(
    express.json({ verify: keepRawBody }),
    express.raw({ type: ['text/*', 'application/*'], verify: keepRawBody }),
  )
  const protect = onExpress(db, { ...options, caller: (request) => String(request.headers['x-caller']) })
  app.use(protect)
  app.use(async (request, response) => {
    const work = protect.of(request)
    const said = await handle({ body: toText(request.body), work })
    if ('commit' in said) {
      await work?.complete(said.commit)
      return
    }
    response.status(said.status).set(said.headers ?? {})
    if (said.written !== undefined) await said.written(toOut(response))
    else if (said.stream !== undefined) {
      said.stream.on('error', () => response.destroy()).pipe(response)
    } else if (said.bytes !== undefined) response.send(Buffer.from(said.bytes))
    else if (said.json !== undefined) response.json(said.json)
    else response.end()
  })
  const server = createServer(app)
  return listen(server)
}

export const serveHono: Serve = async (db, handle, options = {}) => {
  const app = new Hono()
  app.onError((error, c) => c.text(error.message, 500))
  app.use(async (c, next) => {
    c.header('x-outer', 'yes')
    await next()
  })
  const protect = onHono(db, { ...options, caller: (c) => String(c.req.header('x-caller')) })
  app.use(protect)
  app.all('/*', async (c: Context) => {
    const work = protect.of(c)
    const said = await handle({ body: await c.req.text(), work })
    if ('commit' in said) return work === null ? c.text('', 500) : work.complete(said.commit)
    const { status, headers = {}, json, bytes, stream, written } = said
    if (written !== undefined) return c.newResponse(toWritten(written, c.req.raw.signal), status as 200)
    const type = json === undefined ? {} : { 'content-type': 'application/json' }
    const body = stream !== undefined ? (Readable.toWeb(stream) as ReadableStream<Uint8Array>) : toBody(bytes, json)
    return c.newResponse(body, status as 200, { ...type, ...headers } as Record<string, string>)
  })
  const server = createAdaptorServer({ fetch: app.fetch })
  return listen(server as ReturnType<typeof createServer>)
}

function toOut(response: ServerResponse): Out {
  return {
    write: (text) => void response.write(text),
    end: () => void response.end(),
    clientGone: onceEmitted(response, 'close'),
  }
}

function toWritten(written: (out: Out) => Promise<void>, signal: AbortSignal): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      void written({
        write: (text) => controller.enqueue(new TextEncoder().encode(text)),
        end: () => controller.close(),
        clientGone: onceEmitted(signal, 'abort'),
      })
    },
  })
}

function toText(body: unknown): string {
  return typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body ?? '')
}

function toBody(bytes: Uint8Array | undefined, json: unknown): Uint8Array<ArrayBuffer> | string | null {
  if (bytes !== undefined) return Uint8Array.from(bytes)
  return json === undefined ? null : JSON.stringify(json)
}

async function listen(server: ReturnType<typeof createServer>): Promise<Served> {
  server.listen(0, '127.0.0.1')
  await onceEmitted(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await onceEmitted(server, 'close')
    },
  }
}
