import {
  decidedItem,
  type reviewDecision as decisionShape,
  id,
  moneyAnswer,
  pageOf,
  pageQuery,
  reviewDecision,
  reviewItem,
} from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  attemptAgain,
  decideItem,
  decisionsFor,
  type ItemDecision,
  readAgain,
  readFailedEvent,
} from '../actions/index.ts'
import { administers, keepsBooks, readsOffice } from '../modules/members/index.ts'
import { findEvent } from '../modules/register/index.ts'
import { findReviewItem, listReviewItems, type ReviewItemRow, reopenReviewItem } from '../modules/review-items/index.ts'
import type { EventOutcome, FactResult, ToldEvent } from '../pipeline/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { isUsableId } from '../providers/index.ts'
import {
  type Act,
  type ApiParts,
  answerAct,
  callerOf,
  movesMoney,
  movesNothing,
  toPage,
  type WriteContext,
} from './api-parts.ts'
import { moneyOf, toMoneyAnswer, toRetryAnswer } from './money-shapes.ts'
import { workDecisionOf } from './register-shapes.ts'

const oneItem = z.object({ id })

type FastifyZod = Parameters<FastifyPluginAsyncZod<ApiParts>>[0]

export const reviewItemRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  const { db, pipeline } = parts

  app.get(
    '/review-items',
    {
      config: { access: readsOffice },
      schema: {
        tags: ['review desk'],
        summary: 'What waits for a person',
        querystring: pageQuery.extend({ state: z.enum(['open', 'decided']).default('open') }),
        response: { 200: pageOf(reviewItem) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor, limit, state } = request.query
      const rows = await db.transaction(organizationId, (tx) =>
        listReviewItems(tx, organizationId, state, cursor ?? null, limit + 1),
      )
      return toPage(rows, limit, toItem)
    },
  )

  app.get(
    '/review-items/:id',
    {
      config: { access: readsOffice },
      schema: {
        tags: ['review desk'],
        summary: 'One question',
        params: oneItem,
        response: { 200: reviewItem },
      },
    },
    async (request) => toItem(await getItem(parts, callerOf(request).organizationId, request.params.id)),
  )

  app.post(
    '/review-items/:id/decide',
    {
      config: { access: keepsBooks },
      schema: {
        tags: ['review desk'],
        summary: 'Decide a question',
        description:
          'Needs the header Idempotency-Key. Once: the second of two people is told who decided. `decisions` of the item says which endings it has.',
        params: oneItem,
        body: reviewDecision,
        response: { 200: decidedItem },
      },
    },
    async (request, reply) => {
      const { organizationId } = callerOf(request)
      const { params, body } = request
      const failed = body.decision === 'retry' ? await findFailed(parts, organizationId, params.id) : null
      const decided = await prepare(() => toDecision(parts, organizationId, params.id, body, failed))
      const act = (tx: Tx, context: WriteContext) => decide(tx, context, params.id, decided.get(), body)
      await attemptAgain(pipeline, failed?.value ?? null, () =>
        answerAct(parts, request, reply, 'review_item.decide', movesMoney, act),
      )
    },
  )

  app.post(
    '/review-items/:id/reopen',
    {
      config: { access: keepsBooks },
      schema: {
        tags: ['review desk'],
        summary: 'Put a dismissed question on the desk again',
        description: 'Only what was dismissed: nothing was booked by that. What was booked is undone where it lies.',
        params: oneItem,
        response: { 200: reviewItem },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'review_item.reopen', movesNothing, async (tx, { organizationId }) => {
        const row = await reopenReviewItem(tx, organizationId, request.params.id)
        if (row === undefined) {
          await requireItem(tx, organizationId, request.params.id)
          throw new AppError('decision_unsuitable', 'Only a question that was dismissed comes back to the desk.')
        }
        await requireStillAsked(tx, organizationId, row)
        return { status: 200, body: toItem(row), subject: { type: 'review_item', id: row.id }, data: {} }
      }),
  )

  addRetry(app, parts)
}

function addRetry(app: FastifyZod, parts: ApiParts): void {
  app.post(
    '/events/:id/retry',
    {
      config: { access: administers },
      schema: {
        tags: ['events'],
        summary: 'Book an event again that failed',
        description: 'The next attempt of the same event: one that has been booked meanwhile is a duplicate.',
        params: oneItem,
        response: { 200: moneyAnswer },
      },
    },
    async (request, reply) => {
      const { organizationId } = callerOf(request)
      const { id: eventId } = request.params
      const failed = await prepare(() => readFailedEvent(parts, organizationId, eventId))
      const act = async (tx: Tx) => {
        const outcome = await parts.pipeline.submitIn(tx, failed.get())
        const subject = { type: 'event', id: eventId }
        return { status: 200, body: toRetryAnswer(outcome), subject, target: outcome.target, data: {} } as const
      }
      await attemptAgain(parts.pipeline, failed.value, () =>
        answerAct(parts, request, reply, 'event.retry', movesNothing, act),
      )
    },
  )
}

/** Throws `decision_unsuitable` for a question about work outside that went on meanwhile: there is nothing left to ask. */
async function requireStillAsked(tx: Tx, organizationId: string, item: ReviewItemRow): Promise<void> {
  if (item.kind !== 'stuck' && item.kind !== 'given_up') return
  const event = await findEvent(tx, organizationId, item.event_id)
  const { attempt } = item.data as { attempt: number }
  const state = item.kind === 'stuck' ? 'in_progress' : 'failed'
  if (event?.attempt === attempt && event.state === state) return
  throw new AppError('decision_unsuitable', `The work went on: it is ${event?.state} now.`)
}

/** What is read before the transaction of an act. Its refusal comes out where the act asks for it. */
interface Prepared<T> {
  readonly value: T | null
  get(): T
}

/** A repetition of the act asks for nothing, so that it is answered as the first time also where this is refused by now. */
async function prepare<T>(read: () => Promise<T>): Promise<Prepared<T>> {
  try {
    const value = await read()
    return { value, get: () => value }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const get = (): never => {
      throw error
    }
    return { value: null, get }
  }
}

async function getItem({ db }: ApiParts, organizationId: string, itemId: string): Promise<ReviewItemRow> {
  return db.transaction(organizationId, (tx) => requireItem(tx, organizationId, itemId))
}

async function requireItem(tx: Tx, organizationId: string, itemId: string): Promise<ReviewItemRow> {
  const row = await findReviewItem(tx, organizationId, itemId)
  if (row === undefined) throw new AppError('not_found', `There is no review item ${itemId}.`)
  return row
}

/** Decides, and says what was booked through it. */
async function decide(
  tx: Tx,
  context: WriteContext,
  itemId: string,
  decided: ItemDecision,
  body: z.infer<typeof decisionShape>,
): Promise<Act> {
  const { item, results } = await decideItem(tx, context, itemId, decided, body.note ?? null)
  const [first] = results
  const subject = { type: 'review_item', id: item.id }
  const target = first?.target ?? null
  return {
    status: 200,
    body: { item: toItem(item), outcome: toOutcome(context.eventId, first) },
    subject,
    target,
    data: body,
  }
}

function toOutcome(eventId: string, first: FactResult | EventOutcome | undefined) {
  if (first === undefined) return null
  return 'eventId' in first ? toRetryAnswer(first) : toMoneyAnswer(eventId, first)
}

/** The failed event that an item is about, read again; `null` where the item is about something else. */
async function findFailed(
  parts: ApiParts,
  organizationId: string,
  itemId: string,
): Promise<Prepared<ToldEvent> | null> {
  const item = await getItem(parts, organizationId, itemId)
  return item.kind === 'failed' ? prepare(() => readFailedEvent(parts, organizationId, item.event_id)) : null
}

/** Checks what a person wrote, and reads again what shall be read again: neither needs the transaction of the act. */
async function toDecision(
  parts: ApiParts,
  organizationId: string,
  itemId: string,
  body: z.infer<typeof decisionShape>,
  failed: Prepared<ToldEvent> | null,
): Promise<ItemDecision> {
  switch (body.decision) {
    case 'dismiss':
    case 'book_difference':
      return { decision: body.decision }
    case 'apply':
      return { decision: 'apply', invoiceId: body.invoiceId, amount: moneyOf(body.amount) }
    case 'resolve':
      return { decision: 'resolve', said: workDecisionOf(body) }
    case 'retry': {
      if (failed !== null) {
        const told = failed.get()
        return { decision: 'retry', again: (tx) => parts.pipeline.submitIn(tx, told) }
      }
      const { delivery_id: deliveryId } = await getItem(parts, organizationId, itemId)
      if (deliveryId === null) throw new AppError('decision_unsuitable', 'No delivery brought this question.')
      return { decision: 'retry', received: await readAgain(parts, organizationId, deliveryId) }
    }
    case 'enter': {
      const amount = moneyOf(body.amount)
      if (amount === null || findCurrency(amount.currency) === undefined) {
        throw new AppError('invalid', `amount.currency: ${body.amount.currency} is no currency of ISO 4217`)
      }
      for (const name of ['externalId', 'payment'] as const) {
        const value = body[name]
        if (value !== undefined && !isUsableId(value)) throw new AppError('invalid', `${name}: cannot name one payment`)
      }
      const entry = {
        kind: body.kind,
        amount,
        externalId: body.externalId ?? null,
        invoiceReference: body.invoice ?? null,
        paymentId: body.payment ?? null,
        disputeId: body.kind === 'chargeback' ? (body.dispute ?? null) : null,
      }
      return { decision: 'enter', entry }
    }
  }
}

function toItem(row: ReviewItemRow) {
  return {
    id: row.id,
    key: row.key,
    kind: row.kind,
    state: row.state,
    eventId: row.event_id,
    deliveryId: row.delivery_id,
    data: row.data,
    createdAt: row.created_at.toISOString(),
    decisions: [...decisionsFor(row)],
    decidedAt: row.decided_at?.toISOString() ?? null,
    decidedBy: row.decided_by,
    decision: row.decision,
    note: row.note,
  }
}
