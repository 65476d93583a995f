import { createHash } from 'node:crypto'
import { problem } from '@einmal/contract'
import canonicalize from 'canonicalize'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../modules/audit/index.ts'
import { findApiKey } from '../modules/members/index.ts'
import { type ApiWrite, type Pipeline, writeOnce } from '../pipeline/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import type { NewId } from '../platform/ids.ts'

export interface ApiParts {
  readonly db: Db
  readonly clock: Clock
  readonly newId: NewId
  readonly pipeline: Pipeline
}

/** Who asks, and whose data it is about. */
export interface Caller {
  readonly organizationId: string
  readonly actor: Actor
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    /** The body as it was sent, before defaults are filled in: what a repetition is compared with. */
    sentBody: unknown
  }
}

/** Every route of `app` answers 401 without a valid key. */
export function requireApiKey(app: FastifyInstance, { db, clock }: ApiParts): void {
  app.addHook('onRoute', (route) => {
    const problems = { '4xx': problem, '5xx': problem }
    const response = { ...(route.schema?.response as object | undefined), ...problems }
    route.schema = { ...route.schema, security: [{ apiKey: [] }], response }
  })
  app.decorateRequest('caller', null)
  app.decorateRequest('sentBody', null)
  app.addHook('onRequest', async (request) => {
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const key = token === undefined ? null : await findApiKey(db, token, clock.now())
    if (key === null) {
      throw new AppError('unauthorized', 'Send a valid API key in the header: Authorization: Bearer <key>')
    }
    request.caller = { organizationId: key.organizationId, actor: { type: 'api_key', id: key.apiKeyId } }
  })
  app.addHook('preValidation', async (request) => {
    request.sentBody = request.body ?? null
  })
}

export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('a route of the API without requireApiKey')
  return request.caller
}

/** The write that a request asks for, named by its actor and its `Idempotency-Key`. */
export function writeOf(request: FastifyRequest, operation: string, options: { keyRequired: boolean }): ApiWrite {
  const { organizationId, actor } = callerOf(request)
  const header = request.headers['idempotency-key']
  const idempotencyKey = typeof header === 'string' ? header : null
  if (idempotencyKey === null && options.keyRequired) {
    throw new AppError(
      'idempotency_key_missing',
      'This moves money. Send a header Idempotency-Key with a new random value, and the same value when you repeat it.',
    )
  }
  const content = canonicalize([request.method, request.url, request.sentBody]) ?? ''
  const fingerprint = `v1:${createHash('sha256').update(content).digest('base64url')}`
  return { organizationId, actor, operation, idempotencyKey, fingerprint }
}

/** Does a write once and sends its answer; a repetition gets the first answer and a header that says so. */
export async function answerOnce(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  operation: string,
  effect: (
    tx: Tx,
    eventId: string,
    write: ApiWrite,
  ) => Promise<{ status: number; body: unknown; target: { type: string; id: string } }>,
): Promise<void> {
  const write = writeOf(request, operation, { keyRequired: false })
  const answer = await writeOnce(parts, write, (tx, eventId) => effect(tx, eventId, write))
  if (answer.isReplayed) reply.header('idempotent-replayed', 'true')
  await reply.status(answer.status).send(answer.body)
}

export function amountOf(amountMinor: bigint, currency: string): { amountMinor: number; currency: string } {
  return { amountMinor: Number(amountMinor), currency }
}

/** A page of rows that were read one more than asked for. */
export function toPage<Row extends { id: string }, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
): { items: Item[]; nextCursor: string | null } {
  const page = rows.slice(0, limit)
  return { items: page.map(toItem), nextCursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null }
}
