import { createHash } from 'node:crypto'
import { problem } from '@einmal/contract'
import { ContentError, canonicalJson } from 'einmal'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Actor, recordAudit } from '../modules/audit/index.ts'
import type { EndpointDirectory } from '../modules/integrations/index.ts'
import { type ApiScope, findApiKey } from '../modules/members/index.ts'
import { type ApiWrite, type Pipeline, writeOnce } from '../pipeline/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import type { NewId } from '../platform/ids.ts'
import { toJsonAmount } from '../platform/money.ts'

export interface ApiParts {
  readonly db: Db
  readonly clock: Clock
  readonly newId: NewId
  readonly pipeline: Pipeline
  readonly endpoints: EndpointDirectory
}

/** Who asks, and whose data it is about. */
export interface Caller {
  readonly organizationId: string
  readonly actor: Actor
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the key must be allowed to do. Left out: everything. */
    scope?: ApiScope
  }
  interface FastifyRequest {
    caller: Caller | null
    /** The body as it was sent, before defaults are filled in: what a repetition is compared with. */
    sentBody: unknown
  }
}

/** Every route of `app` answers 401 without a valid key, and 403 to one without the scope of the route. */
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
    const needed = request.routeOptions.config.scope ?? 'full'
    if (!key.scopes.includes('full') && !key.scopes.includes(needed)) {
      throw new AppError('forbidden', `This key may not do this: it needs the scope ${needed}.`)
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

/** The version of the record that the caller has read, from the header `If-Match`; without it, any will do. */
export function ifMatchOf(request: FastifyRequest): number | null {
  const header = request.headers['if-match']
  if (header === undefined) return null
  const [, quoted, bare] = /^(?:(?:W\/)?"(\d{1,9})"|(\d{1,9}))$/.exec(header.trim()) ?? []
  const digits = quoted ?? bare
  if (digits === undefined) {
    throw new AppError('if_match_invalid', 'If-Match takes the version of the record as you read it, such as "3".')
  }
  return Number(digits)
}

/** What an audit entry says of a change: the fields of a record that differ, before and after. */
export function changedFields(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): { before: Record<string, unknown>; after: Record<string, unknown> } {
  const names = Object.keys(after).filter(
    (name) =>
      !['id', 'version', 'createdAt'].includes(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  const pick = (record: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(names.flatMap((name) => (name in record ? [[name, record[name]]] : [])))
  return { before: pick(before), after: pick(after) }
}

/** The write that a request asks for, named by its actor and its `Idempotency-Key`. */
export function writeOf(request: FastifyRequest, operation: string, options: { keyRequired: boolean }): ApiWrite {
  const { organizationId, actor } = callerOf(request)
  const header = request.headers['idempotency-key']
  const idempotencyKey = typeof header === 'string' ? header : null
  if (idempotencyKey === null && options.keyRequired) {
    throw new AppError(
      'idempotency_key_missing',
      'This moves money, or has a thing done again. Send a header Idempotency-Key with a new random value, and the same value when you repeat it.',
    )
  }
  const content = `${request.method} ${request.url} ${exactForm(request.sentBody)}`
  const fingerprint = `v1:${createHash('sha256').update(content).digest('base64url')}`
  return { organizationId, actor, operation, idempotencyKey, fingerprint }
}

/** The canonical text of what was sent, the same however it is written. Throws `invalid` where a number or a text in it has no exact one. */
export function exactForm(sent: unknown): string {
  try {
    return canonicalJson(sent)
  } catch (error) {
    if (error instanceof ContentError) throw new AppError('invalid', error.message, { cause: error })
    throw error
  }
}

/** What a write of a person or a program has to work with. */
export interface WriteContext {
  readonly organizationId: string
  readonly eventId: string
  readonly actor: Actor
  readonly now: Date
  readonly newId: NewId
}

export interface Act {
  readonly status: number
  readonly body: unknown
  /** What was acted on. */
  readonly subject: { readonly type: string; readonly id: string }
  /** What it led to, where that is another thing. */
  readonly target?: { readonly type: string; readonly id: string } | null
  /** For the audit: what was asked for, or what changed. `null` where nothing did: then nothing is put on record. */
  readonly data: Readonly<Record<string, unknown>> | null
}

/** Whatever moves money, or has a thing done again outside, needs the header `Idempotency-Key`. */
export const movesMoney = { keyRequired: true }
export const isDoneAgain = { keyRequired: true }
export const movesNothing = { keyRequired: false }

/**
 * Does a write once and sends its answer; a repetition gets the first answer and a header that says so. The audit entry is in the
 * transaction of the write.
 */
export async function answerAct(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  operation: string,
  options: { readonly keyRequired: boolean },
  work: (tx: Tx, context: WriteContext) => Promise<Act>,
): Promise<void> {
  const { clock, newId } = parts
  const write = writeOf(request, operation, options)
  const { organizationId, actor } = write
  const answer = await writeOnce(parts, write, async (tx, eventId) => {
    const now = clock.now()
    const { status, body, subject, target, data } = await work(tx, { organizationId, eventId, actor, now, newId })
    if (data !== null) recordAudit(tx, organizationId, { actor, action: operation, subject, data }, now, newId)
    return { status, body, target: target ?? subject }
  })
  if (answer.isReplayed) reply.header('idempotent-replayed', 'true')
  await reply.status(answer.status).send(answer.body)
}

/** For a refusal because of a stale version: adds the record as it is now, so that the second of two people sees what changed. */
export async function withCurrent<T>(work: Promise<T>, readCurrent: () => Promise<unknown>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'version_stale') throw error
    const extra = { ...error.extra, current: await readCurrent() }
    throw new AppError('version_stale', error.detail, { cause: error, extra })
  }
}

export function amountOf(amountMinor: bigint, currency: string): { amountMinor: number; currency: string } {
  return { amountMinor: toJsonAmount(amountMinor), currency }
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
