/** `Idempotency-Key` for Fastify 5. */
import { pipeline, type Readable, Transform } from 'node:stream'
import type { Db } from '../database.ts'
import { type NodeResponseLike, sendAnswer, watchAnswer } from './node-answer.ts'
import type { ProtectedRequest } from './protected-work.ts'
import { createProtection, type IdempotencyOptions } from './protection.ts'
import { announcesBody, type RequestContent } from './request-content.ts'

export type { Answer } from './answer.ts'
export type { AfterAnswer, ProtectedRequest } from './protected-work.ts'
export { type HandlerEffect, type IdempotencyOptions, requestKey } from './protection.ts'

/** The part of Fastify's request that is used; no dependency on the package. */
export interface FastifyRequestLike {
  readonly method: string
  readonly originalUrl: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface FastifyReplyLike {
  readonly raw: NodeResponseLike
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>
  hijack(): unknown
}

/** Fastify overloads it once for every hook; all that is asked of the type here is that it is there. */
export interface FastifyInstanceLike {
  addHook(name: never, hook: never): unknown
}

interface Hooked {
  addHook(
    name: 'preParsing',
    hook: (request: never, reply: FastifyReplyLike, payload: Readable) => Promise<Readable>,
  ): unknown
  addHook(name: 'preHandler', hook: (request: never, reply: FastifyReplyLike) => Promise<void>): unknown
}

export interface FastifyIdempotency<NativeTx> {
  (instance: FastifyInstanceLike): Promise<void>
  /** Of a request that is protected; `null` of one without a key. `complete` sends the answer itself. */
  of(request: object): ProtectedRequest<NativeTx, void> | null
}

/**
 * Plugin that runs a request with an `Idempotency-Key` once, and tells its answer to every copy.
 *
 * It holds for the routes that are registered after it in the same context. Its hook is a `preHandler`: what finds out who is
 * calling comes before, and a request that your schema refuses never takes a key. The rules are in the README. Throws
 * `TypeError` (500, by your own error handler) for a request whose caller has no name.
 */
export function idempotency<NativeTx, Request extends FastifyRequestLike = FastifyRequestLike>(
  db: Db<NativeTx>,
  options: IdempotencyOptions<Request>,
): FastifyIdempotency<NativeTx> {
  const protection = createProtection<NativeTx, Request>(db, options)
  const protectedRequests = new WeakMap<object, ProtectedRequest<NativeTx, void>>()
  const rawBodies = new WeakMap<object, RawBody>()

  const keepBody = async (request: Request, _reply: FastifyReplyLike, payload: Readable) => {
    if (!protection.concerns(request.method, request.headers['idempotency-key'])) return payload
    const body = keepRawBody(payload)
    rawBodies.set(request, body)
    return body.payload
  }
  const protect = async (request: Request, reply: FastifyReplyLike) => {
    const admission = await protection.admit(request, {
      method: request.method,
      header: request.headers['idempotency-key'],
      content: async () => contentOf(request, rawBodies.get(request)),
    })
    if (admission.verdict === 'unprotected') return
    const others = { ...reply.getHeaders() }
    if (admission.verdict === 'answered') {
      reply.hijack()
      sendAnswer(reply.raw, admission.answer, others)
      return
    }
    const { work } = admission
    watchAnswer(reply.raw, work, protection.maxAnswerBytes, others)
    protectedRequests.set(request, {
      ...work,
      async complete(effect) {
        const answer = await work.complete(effect)
        reply.hijack()
        sendAnswer(reply.raw, answer, reply.getHeaders())
      },
    })
  }
  const plugin = async (instance: FastifyInstanceLike) => {
    const hooked = instance as Hooked
    hooked.addHook('preParsing', keepBody)
    hooked.addHook('preHandler', protect)
  }
  return Object.assign(plugin, {
    of: (request: object) => protectedRequests.get(request) ?? null,
    // Fastify's mark of a plugin whose hooks are for the context that it is registered in.
    [Symbol.for('skip-override')]: true,
  })
}

interface RawBody {
  readonly payload: Readable
  /** `null` while it is not read to its end. */
  read(): Uint8Array | null
}

function keepRawBody(payload: Readable): RawBody {
  const chunks: Uint8Array[] = []
  let isWhole = false
  const passing = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      chunks.push(chunk)
      done(null, chunk)
    },
    flush(done) {
      isWhole = true
      done()
    },
  })
  // Whoever reads the copy is told of an error of the original.
  pipeline(payload, passing, () => undefined)
  return { payload: passing, read: () => (isWhole ? Buffer.concat(chunks) : null) }
}

function contentOf(request: FastifyRequestLike, body: RawBody | undefined): RequestContent | 'unread' {
  const { method, originalUrl: url, headers } = request
  const content = { method, url, contentType: String(headers['content-type'] ?? '') }
  if (!announcesBody(headers)) return { ...content, body: undefined }
  const bytes = body?.read() ?? null
  return bytes === null ? 'unread' : { ...content, body: { bytes } }
}
