/** `Idempotency-Key` for Hono 4. */
import type { Db } from '../database.ts'
import type { FinalAnswer } from './answer.ts'
import type { ProtectedRequest, ProtectedWork } from './protected-work.ts'
import { createProtection, type IdempotencyOptions } from './protection.ts'

export type { Answer } from './answer.ts'
export type { AfterAnswer, ProtectedRequest } from './protected-work.ts'
export { type HandlerEffect, type IdempotencyOptions, requestKey } from './protection.ts'

/** The part of Hono's context that is used; no dependency on the package. */
export interface HonoContextLike {
  readonly req: {
    readonly method: string
    readonly url: string
    header(name: string): string | undefined
    arrayBuffer(): Promise<ArrayBuffer>
    readonly raw: { readonly signal: AbortSignal }
  }
  /** With the headers that were set for any answer. Hono lists the numbers that a status may be. */
  newResponse(body: Uint8Array<ArrayBuffer> | null, status: never, headers: Record<string, string>): Response
  res: Response | undefined
}

export interface HonoIdempotency<NativeTx, Context> {
  (context: Context, next: () => Promise<void>): Promise<Response | undefined>
  /** Of a request that is protected; `null` of one without a key. What `complete` resolves with is for the handler to return. */
  of(context: object): ProtectedRequest<NativeTx, Response> | null
}

/**
 * Middleware that runs a request with an `Idempotency-Key` once, and tells its answer to every copy.
 *
 * It stands after whatever finds out who is calling, and after `bodyLimit`, since it reads the body. The rules are in the
 * README. Throws `TypeError` (500, by your own `onError`) for a request whose caller has no name.
 */
export function idempotency<NativeTx, Context extends HonoContextLike = HonoContextLike>(
  db: Db<NativeTx>,
  options: IdempotencyOptions<Context>,
): HonoIdempotency<NativeTx, Context> {
  const protection = createProtection<NativeTx, Context>(db, options)
  const protectedRequests = new WeakMap<object, ProtectedRequest<NativeTx, Response>>()

  const middleware = async (context: Context, next: () => Promise<void>): Promise<Response | undefined> => {
    const { req } = context
    const admission = await protection.admit(context, {
      method: req.method,
      header: req.header('idempotency-key'),
      async content() {
        const { pathname, search } = new URL(req.url)
        const bytes = new Uint8Array(await req.arrayBuffer())
        const contentType = req.header('content-type')
        return { method: req.method, url: `${pathname}${search}`, contentType, body: { bytes } }
      },
    })
    if (admission.verdict === 'answered') return toResponse(context, admission.answer)
    if (admission.verdict === 'unprotected') {
      await next()
      return
    }
    const { work } = admission
    protectedRequests.set(context, {
      ...work,
      complete: async (effect) => toResponse(context, await work.complete(effect)),
    })
    req.raw.signal.addEventListener('abort', () => work.clientLeft(), { once: true })
    try {
      await next()
    } catch (error) {
      await work.end({ verdict: 'threw' })
      throw error
    }
    const { res } = context
    if (res === undefined) throw new TypeError('the handler gave no response')
    // Hono would mix the headers of the two.
    const recorded = await record(res, work, protection.maxAnswerBytes)
    context.res = undefined
    context.res = recorded instanceof Response ? recorded : toResponse(context, recorded)
    return
  }
  return Object.assign(middleware, { of: (context: object) => protectedRequests.get(context) ?? null })
}

function toResponse(context: HonoContextLike, { status, headers, body }: FinalAnswer): Response {
  const bytes = body === null || body.length === 0 ? null : Uint8Array.from(body)
  return context.newResponse(bytes, status as never, Object.fromEntries(headers))
}

/**
 * The response, when it is on record, or what to say instead. One that is there as a whole is held back until then; of one
 * that is streamed, or longer than is kept, only the end is.
 */
async function record<NativeTx>(
  response: Response,
  work: ProtectedWork<NativeTx>,
  maxAnswerBytes: number,
): Promise<Response | FinalAnswer> {
  const { status, headers } = response
  const toAnswer = (body: Uint8Array | null) =>
    ({ verdict: 'answer', answer: { status, headers: [...headers], body } }) as const
  if (response.body === null) {
    return (await work.end(toAnswer(new Uint8Array()))) ?? response
  }
  const reader = response.body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  const keep = (chunk: Uint8Array) => {
    length += chunk.length
    if (length <= maxAnswerBytes) chunks.push(chunk)
  }
  const passed: Uint8Array[] = []
  let pending: ReturnType<typeof reader.read> | null = null
  // What the handler has made whole is there before anything else can happen.
  while (length <= maxAnswerBytes) {
    pending = reader.read()
    const found = await Promise.race([pending, afterThisTurn()])
    if (found === 'later') break
    pending = null
    if (found.done) {
      const whole = Buffer.concat(chunks)
      return (await work.end(toAnswer(whole))) ?? new Response(whole, { status, headers })
    }
    keep(found.value)
    passed.push(found.value)
  }
  /** The next piece, or `null` when the end is on record. */
  const readOn = async (): Promise<Uint8Array | null> => {
    try {
      pending ??= reader.read()
      const { done, value } = await pending
      pending = null
      if (!done) {
        keep(value)
        return value
      }
    } catch (error) {
      await work.end({ verdict: 'broken_off' })
      throw error
    }
    await work.end(toAnswer(length > maxAnswerBytes ? null : Buffer.concat(chunks)))
    return null
  }
  const readToEnd = async () => {
    // Nobody takes the pieces any more: other work must come in between.
    do await afterThisTurn()
    while (!work.isLate() && (await readOn()) !== null)
    await reader.cancel()
  }
  const giveUp = async (reason: unknown) => {
    await work.end({ verdict: 'broken_off' })
    await reader.cancel(reason)
  }
  let reading: Promise<Uint8Array | null> = Promise.resolve(null)
  const startReading = () => {
    reading = readOn()
    return reading
  }
  let isClientGone = false
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = passed.shift() ?? (await startReading())
      if (isClientGone) return
      if (piece === null) controller.close()
      else controller.enqueue(piece)
    },
    // The client has left: the handler goes on, and its end is put on record.
    cancel(reason) {
      isClientGone = true
      work.clientLeft(() => void giveUp(reason).catch(() => undefined))
      void reading.then(readToEnd).catch(() => undefined)
    },
  })
  return new Response(stream, { status, headers })
}

function afterThisTurn(): Promise<'later'> {
  return new Promise((resolve) => {
    setImmediate(() => resolve('later'))
  })
}
