import { createHash } from 'node:crypto'
import { problem } from '@einmal/contract'
import { ContentError, canonicalJson } from 'einmal'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Actor, recordAudit } from '../modules/audit/index.ts'
import type { EndpointDirectory } from '../modules/integrations/index.ts'
import {
  type Access,
  type Door,
  findApiKey,
  findPerson,
  mayKey,
  mayMember,
  type Person,
  type Role,
  requireOwnOrigin,
  toWebHeaders,
} from '../modules/members/index.ts'
import { type ApiWrite, type Pipeline, writeOnce } from '../pipeline/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import type { NewId } from '../platform/ids.ts'
import { toJsonAmount } from '../platform/money.ts'
import type { SecretKey } from '../platform/secrets.ts'

export interface ApiParts {
  readonly db: Db
  readonly door: Door
  readonly clock: Clock
  readonly newId: NewId
  readonly secretKey: SecretKey
  readonly pipeline: Pipeline
  readonly endpoints: EndpointDirectory
}

/** Who asks, and whose data it is about. */
export interface Caller {
  readonly organizationId: string
  readonly actor: Actor
  /** The member, where it is a person who asks; `null` for a key. */
  readonly member: { readonly id: string; readonly userId: string; readonly role: Role } | null
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    /** Whoever is signed in; set for routes of `person` and for members. */
    person: Person | null
    /** The body as it was sent, before defaults are filled in: what a repetition is compared with. */
    sentBody: unknown
  }
}

/**
 * Every route of `app` asks who is there, and whether they may: 401 without a valid key or session, 403 where the route's `access`
 * says that it is for others. A key counts before a session; a write with a session must come from our own pages.
 */
export function requireCaller(app: FastifyInstance, { db, door, clock }: ApiParts): void {
  app.addHook('onRoute', (route) => {
    const problems = { '4xx': problem, '5xx': problem }
    const response = { ...(route.schema?.response as object | undefined), ...problems }
    route.schema = { ...route.schema, security: waysIn(route.config?.access), response }
  })
  app.decorateRequest('caller', null)
  app.decorateRequest('person', null)
  app.decorateRequest('sentBody', null)
  app.addHook('onRequest', async (request, reply) => {
    const { access } = request.routeOptions.config
    if (access === undefined) throw new Error(`the route ${request.routeOptions.url} does not say who may use it`)
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (token !== undefined) {
      request.caller = await callerByKey(db, token, access, clock.now())
      return
    }
    requireOwnOrigin(request, door.address.trustedOrigins)
    if (access.who === 'anybody') return
    const found = await findPerson(door, toWebHeaders(request))
    if (found === null) {
      throw new AppError('unauthorized', 'Sign in, or send a valid API key in the header: Authorization: Bearer <key>')
    }
    for (const cookie of found.cookies) reply.header('set-cookie', cookie)
    request.person = found.person
    if (access.who === 'member') request.caller = callerByMembership(found.person, access)
  })
  app.addHook('preValidation', async (request) => {
    request.sentBody = request.body ?? null
  })
}

/** For the contract: with what a caller may say who they are. */
function waysIn(access: Access | undefined): Record<string, string[]>[] {
  if (access === undefined || access.who === 'anybody') return []
  const takesKeys = access.who === 'member' && access.scope !== null
  return [...(takesKeys ? [{ apiKey: [] }] : []), { session: [] }]
}

async function callerByKey(db: Db, token: string, access: Access, now: Date): Promise<Caller> {
  const key = await findApiKey(db, token, now)
  if (key === null) {
    throw new AppError('unauthorized', 'Send a valid API key in the header: Authorization: Bearer <key>')
  }
  if (!mayKey(access, key.scopes)) {
    const needed = access.who === 'member' ? access.scope : null
    throw new AppError(
      'forbidden',
      needed === null
        ? 'This is for people alone: sign in.'
        : `This key may not do this: it needs the scope ${needed}.`,
    )
  }
  return { organizationId: key.organizationId, actor: { type: 'api_key', id: key.apiKeyId }, member: null }
}

function callerByMembership({ userId, membership }: Person, access: Access): Caller {
  if (membership === null) {
    throw new AppError('no_organization', 'Ask an owner or administrator of an organisation to invite you.')
  }
  const { organizationId, memberId, role } = membership
  if (!mayMember(access, role)) {
    throw new AppError('forbidden', `This is not for the role ${role}. Ask an owner or administrator.`)
  }
  return { organizationId, actor: { type: 'member', id: memberId }, member: { id: memberId, userId, role } }
}

export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('a route of the API that is for no member')
  return request.caller
}

/** The one who is signed in, on routes for people. */
export function personOf(request: FastifyRequest): Person {
  if (request.person === null) throw new Error('a route of the API that is for no person')
  return request.person
}

/** The member who asks, on routes that are for people alone. */
export function memberOf(request: FastifyRequest): NonNullable<Caller['member']> {
  const { member } = callerOf(request)
  if (member === null) throw new Error('a route that is for people alone was used with a key')
  return member
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
  /**
   * What is to be done when it is committed, once; its result is added to this answer alone. Nothing of it is stored, so that a
   * repetition is not told: the place for what is shown once. It must not throw.
   */
  readonly afterCommit?: () => Promise<Readonly<Record<string, unknown>>>
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
  let afterCommit: Act['afterCommit']
  const answer = await writeOnce(parts, write, async (tx, eventId) => {
    const now = clock.now()
    const act = await work(tx, { organizationId, eventId, actor, now, newId })
    const { status, body, subject, target, data } = act
    afterCommit = act.afterCommit
    if (data !== null) recordAudit(tx, organizationId, { actor, action: operation, subject, data }, now, newId)
    return { status, body, target: target ?? subject }
  })
  if (answer.isReplayed) reply.header('idempotent-replayed', 'true')
  const shownOnce = answer.isReplayed ? undefined : await afterCommit?.()
  const body = shownOnce === undefined ? answer.body : { ...(answer.body as object), ...shownOnce }
  await reply.status(answer.status).send(body)
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
