import {
  completedWork,
  completeInput,
  doneWork,
  extendedWork,
  failedWork,
  failInput,
  heartbeatInput,
  reservedWork,
  reserveInput,
  unknownInput,
  unknownWork,
} from '@einmal/contract'
import { eventKey, KeyError, type LeasedReservation, type Lost } from 'einmal'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { usesRegister } from '../modules/members/index.ts'
import {
  completeWork,
  extendWork,
  failWork,
  markWorkUnknown,
  reserveWork,
  type WorkName,
} from '../modules/register/index.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, callerOf, exactForm } from './api-parts.ts'
import { idFrom, readToken, toToken } from './register-shapes.ts'

/** An answer is for the next program to read, and no place for files. */
const BODY_MAX = 256 * 1024

const MS = 1_000

const common = { config: { access: usesRegister }, bodyLimit: BODY_MAX } as const
const tags = ['register']

/** The longest that a caller is told to wait before it asks again. */
const ASK_AGAIN_MAX_SECONDS = 60

export const registerRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/register/reserve',
    {
      ...common,
      schema: {
        tags,
        summary: 'Reserve a thing before doing it',
        description:
          '201: it is yours, do it. 200: it is done already, here is what came of it. 409: somebody is at it (`in_progress`), nobody knows how it ended (`outcome_unknown`), it failed and is not due yet (`not_due`) or failed for good (`failed_for_good`). 422: the name names nothing, or stands for other content. A header Idempotency-Key that names this very run lets the request be sent again after a lost answer.',
        body: reserveInput,
        response: { 200: doneWork, 201: reservedWork },
      },
    },
    (request, reply) => reserve(parts, request, reply, request.body),
  )

  app.post(
    '/register/heartbeat',
    {
      ...common,
      schema: {
        tags,
        summary: 'Say that the work goes on',
        body: heartbeatInput,
        response: { 200: extendedWork },
      },
    },
    async (request) => {
      const { token, leaseSeconds } = request.body
      const { held, leaseMs } = readToken(callerOf(request).organizationId, token)
      const ended = await extendWork(parts, held, leaseSeconds === undefined ? leaseMs : leaseSeconds * MS)
      if (ended.outcome === 'lost') throw lost(ended)
      return { state: 'in_progress' as const, eventId: held.eventId, leaseUntil: ended.leaseUntil.toISOString() }
    },
  )
}

/** The words with which a program ends its work. Only its holder may say them, and may say them again. */
export const workEndRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/register/complete',
    {
      ...common,
      schema: {
        tags,
        summary: 'Say that the thing is done',
        description:
          'Only whoever holds it may, and may say it again. 409 `lease_lost`: somebody took over, and what you did is kept beside the event.',
        body: completeInput,
        response: { 200: completedWork },
      },
    },
    async (request) => {
      const { token, ...completion } = request.body
      requireWritable(completion.answer)
      const { held } = readToken(callerOf(request).organizationId, token)
      const ended = await completeWork(parts, held, completion)
      if (ended.outcome === 'lost') throw lost(ended)
      return { state: 'completed' as const, eventId: held.eventId }
    },
  )

  app.post(
    '/register/fail',
    {
      ...common,
      schema: {
        tags,
        summary: 'Say that the thing failed, and nothing happened',
        description:
          'Only where it is certain that the other system did nothing, or takes the key; else say unknown. The next reservation is the next attempt, eight at most.',
        body: failInput,
        response: { 200: failedWork },
      },
    },
    async (request) => {
      const { token, error, final, retryAfterSeconds } = request.body
      const { held } = readToken(callerOf(request).organizationId, token)
      const ended = await failWork(parts, held, error, { final, retryAfterMs: retryAfterSeconds * MS })
      if (ended.outcome === 'lost') throw lost(ended)
      const { isFinal, willRetryAt } = ended
      return {
        state: 'failed' as const,
        eventId: held.eventId,
        isFinal,
        willRetryAt: willRetryAt?.toISOString() ?? null,
      }
    },
  )

  app.post(
    '/register/unknown',
    {
      ...common,
      schema: {
        tags,
        summary: 'Say that nobody knows whether it happened',
        description:
          'Such as after a lost answer. Nobody does it again until a person, or a program that looked, resolves it.',
        body: unknownInput,
        response: { 200: unknownWork },
      },
    },
    async (request) => {
      const { token, note, ...completion } = request.body
      requireWritable(completion.answer)
      const { held } = readToken(callerOf(request).organizationId, token)
      const ended = await markWorkUnknown(parts, held, { completion, ...(note === undefined ? {} : { note }) })
      if (ended.outcome === 'lost') throw lost(ended)
      return { state: 'unknown' as const, eventId: held.eventId }
    },
  )
}

async function reserve(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  body: z.infer<typeof reserveInput>,
) {
  const { organizationId } = callerOf(request)
  if (body.fingerprint !== undefined && body.content !== undefined) {
    throw new AppError('invalid', 'fingerprint and content are two ways to say the same: send one')
  }
  const leaseMs = Math.round(body.leaseSeconds * MS)
  const { name, reservation } = await reserveWork(parts, organizationId, {
    ...{ name: nameOf(body), holder: holderOf(parts, request), target: body.target, leaseMs },
    ...{ fingerprint: body.fingerprint, content: body.content },
    waitMs: body.waitSeconds * MS,
    signal: closedBy(reply),
  })
  if (reservation.verdict !== 'reserved') return answerKnown(reply, reservation, parts.clock.now())
  const { held, eventId, attempt, copies, leaseUntil, idempotencyKey, mustLookUp } = reservation
  const { kind, id, generation } = name
  return reply.status(201).send({
    ...{ state: 'in_progress', duplicate: false, eventId, attempt, copies },
    ...{ token: toToken({ held, leaseMs }), leaseUntil: leaseUntil.toISOString(), idempotencyKey, mustLookUp },
    key: { source: body.source, kind, id, generation },
  })
}

/** The run that the header names, asking for the same; without the header, this request alone. */
function holderOf({ newId }: ApiParts, request: FastifyRequest): string {
  const { organizationId, actor } = callerOf(request)
  const run = runOf(request)
  if (run === null) return newId()
  return idFrom([organizationId, actor.type, actor.id, run, exactForm(request.sentBody)])
}

/** A text that many runs would send alike is refused: each of them would be told that the work is its own. */
function runOf(request: FastifyRequest): string | null {
  const header = request.headers['idempotency-key']
  const run = typeof header === 'string' ? header.trim() : ''
  if (run === '') return null
  try {
    return eventKey({ source: 'api', kind: 'run', id: run }).id
  } catch (error) {
    if (!(error instanceof KeyError)) throw error
    throw new AppError('idempotency_key_invalid', `Idempotency-Key has to name this very run. ${error.message}`, {
      cause: error,
    })
  }
}

function nameOf({ source, kind, id, generation, fields, window }: z.infer<typeof reserveInput>): WorkName {
  if (fields === undefined && window === undefined) return { source, kind, id, generation }
  if (fields === undefined || window === undefined || id !== undefined || generation !== undefined) {
    throw new AppError('invalid', 'fields and window stand together, in place of an id')
  }
  const { seconds, reason, reviewOn, version } = window
  const policy = {
    fields: Object.keys(fields),
    windowMs: seconds * MS,
    businessReason: reason,
    reviewDate: new Date(`${reviewOn}T00:00:00Z`),
    version,
  }
  return { source, kind, id: undefined, keyless: { fields, policy } }
}

/** An answer is kept as it came; only one that is nested too deep to be written again is refused. */
function requireWritable(answer: unknown): void {
  try {
    JSON.stringify(answer)
  } catch (error) {
    throw new AppError('invalid', 'answer: it is nested too deep to be kept', { cause: error })
  }
}

/** Fires when the caller goes away: nobody waits for the answer any more. */
function closedBy(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const leave = () => controller.abort(new AppError('in_progress', 'The caller did not wait for the answer.'))
  if (reply.raw.destroyed) leave()
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) leave()
  })
  return controller.signal
}

type KnownReservation = Exclude<LeasedReservation, { verdict: 'reserved' }>

/** A duplicate is success. Whoever has to wait is told how long, and why. */
function answerKnown(reply: FastifyReply, found: KnownReservation, now: Date) {
  const { eventId, attempt, copies } = found
  const known = { eventId, attempt, copies }
  switch (found.verdict) {
    case 'duplicate':
    case 'finished_before': {
      const { target = null, answer = null } = found
      return reply.status(200).send({ state: 'completed', duplicate: true, ...known, target, answer })
    }
    case 'conflict': {
      const { differing = null } = found
      throw new AppError('content_differs', contentDiffers(differing), { extra: { ...known, differing } })
    }
    case 'in_progress': {
      const { leaseUntil } = found
      throw retryLater(
        'in_progress',
        'Somebody is at it; ask again when the lease is over, or sooner.',
        leaseUntil,
        now,
        {
          ...known,
          ...{ state: 'in_progress', leaseUntil: leaseUntil?.toISOString() ?? null },
        },
      )
    }
    case 'unknown': {
      const extra = { ...known, state: 'unknown', error: found.error }
      throw new AppError(
        'outcome_unknown',
        'It may have been done. Look, and resolve it; do not do it under another key.',
        { extra },
      )
    }
    case 'failed': {
      const { error, willRetryAt, isFinal } = found
      const extra = { ...known, state: 'failed', error, willRetryAt: willRetryAt?.toISOString() ?? null }
      if (isFinal)
        throw new AppError('failed_for_good', `Nobody tries it again: ${error.message || error.code}`, { extra })
      throw retryLater('not_due', 'It failed; reserve it again when the next attempt is due.', willRetryAt, now, extra)
    }
  }
}

function contentDiffers(differing: readonly string[] | null): string {
  const which = differing === null ? '' : ` They differ in: ${differing.join(', ')}.`
  return `This key was reserved with other content.${which} Two things need two keys.`
}

function retryLater(
  code: 'in_progress' | 'not_due',
  detail: string,
  at: Date | null,
  now: Date,
  extra: Record<string, unknown>,
): AppError {
  const seconds = at === null ? 1 : Math.ceil((at.getTime() - now.getTime()) / MS)
  return new AppError(code, detail, { extra, retryAfterSeconds: Math.min(Math.max(seconds, 1), ASK_AGAIN_MAX_SECONDS) })
}

function lost({ state }: Lost): AppError {
  const detail =
    'The lease is over, somebody else took it over, a person decided, or you said otherwise before. What you did is kept beside the event; do nothing more.'
  return new AppError('lease_lost', detail, { extra: { state } })
}
