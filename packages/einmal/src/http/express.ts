/** `Idempotency-Key` for Express 5. */
import type { Db } from '../database.ts'
import { type NodeResponseLike, sendAnswer, watchAnswer } from './node-answer.ts'
import type { ProtectedRequest } from './protected-work.ts'
import { createProtection, type IdempotencyOptions } from './protection.ts'
import { announcesBody, type RequestContent } from './request-content.ts'

export type { Answer } from './answer.ts'
export type { AfterAnswer, ProtectedRequest } from './protected-work.ts'
export { type HandlerEffect, type IdempotencyOptions, requestKey } from './protection.ts'

/** The part of Express' request that is used; no dependency on the package. */
export interface ExpressRequestLike {
  readonly method: string
  readonly originalUrl: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body?: unknown
}

export interface ExpressIdempotency<NativeTx, Request> {
  (request: Request, response: NodeResponseLike, next: (error?: unknown) => void): Promise<void>
  /** Of a request that is protected; `null` of one without a key. `complete` sends the answer itself. */
  of(request: object): ProtectedRequest<NativeTx, void> | null
}

const rawBodies = new WeakMap<object, Uint8Array>()

/** For `verify` of a body parser: keeps the bytes, so that they are compared and not what a parser made of them. */
export function keepRawBody(request: object, _response: unknown, body: Uint8Array): void {
  rawBodies.set(request, body)
}

/**
 * Middleware that runs a request with an `Idempotency-Key` once, and tells its answer to every copy.
 *
 * It stands after whatever finds out who is calling, and after the body parsers: `express.json({ verify: keepRawBody })`.
 * The rules are in the README. Throws `TypeError` (500, by your own error handler) for a request whose caller has no name.
 */
export function idempotency<NativeTx, Request extends ExpressRequestLike = ExpressRequestLike>(
  db: Db<NativeTx>,
  options: IdempotencyOptions<Request>,
): ExpressIdempotency<NativeTx, Request> {
  const protection = createProtection<NativeTx, Request>(db, options)
  const protectedRequests = new WeakMap<object, ProtectedRequest<NativeTx, void>>()

  const middleware = async (request: Request, response: NodeResponseLike, next: (error?: unknown) => void) => {
    try {
      const admission = await protection.admit(request, {
        method: request.method,
        header: request.headers['idempotency-key'],
        content: async () => contentOf(request),
      })
      if (admission.verdict === 'answered') return sendAnswer(response, admission.answer)
      if (admission.verdict === 'admitted') {
        const { work } = admission
        watchAnswer(response, work, protection.maxAnswerBytes)
        protectedRequests.set(request, {
          ...work,
          complete: async (effect) => sendAnswer(response, await work.complete(effect)),
        })
      }
    } catch (error) {
      return next(error)
    }
    next()
  }
  return Object.assign(middleware, { of: (request: object) => protectedRequests.get(request) ?? null })
}

function contentOf(request: ExpressRequestLike): RequestContent | 'unread' {
  const { method, originalUrl: url, headers, body: parsed } = request
  const bytes = rawBodies.get(request)
  const content = { method, url, contentType: String(headers['content-type'] ?? '') }
  if (bytes !== undefined) return { ...content, body: { bytes } }
  if (parsed !== undefined) return { ...content, body: { parsed } }
  return announcesBody(headers) ? 'unread' : { ...content, body: undefined }
}
