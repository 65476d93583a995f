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
import { decideItem, decisionsFor, type ItemDecision, readAgain, retryEvent } from '../actions/index.ts'
import type { Actor } from '../modules/audit/index.ts'
import {
  decideReviewItem,
  findReviewItem,
  listReviewItems,
  type ReviewItemRow,
  reopenReviewItem,
} from '../modules/review-items/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import { AppError } from '../platform/errors.ts'
import { isUsableId } from '../providers/index.ts'
import { type ApiParts, answerAct, callerOf, toPage } from './api-parts.ts'
import { moneyOf, toMoneyAnswer, toRetryAnswer } from './money-shapes.ts'

const oneItem = z.object({ id })

export const reviewItemRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  const { db } = parts

  app.get(
    '/review-items',
    {
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
      const note = body.note ?? null
      if (body.decision === 'retry') {
        const item = await getItem(parts, organizationId, params.id)
        if (item.kind === 'failed') {
          return await retryFailed(parts, organizationId, item, callerOf(request).actor, note)
        }
      }
      const decided = await toDecision(parts, organizationId, params.id, body)
      await answerAct(parts, request, reply, 'review_item.decide', { keyRequired: true }, async (tx, context) => {
        const { item, results } = await decideItem(tx, context, params.id, decided, note)
        const [first] = results
        const outcome = first === undefined ? null : toMoneyAnswer(context.eventId, first)
        const subject = { type: 'review_item', id: item.id }
        return {
          status: 200,
          body: { item: toItem(item), outcome },
          subject,
          target: first?.target ?? null,
          data: body,
        }
      })
    },
  )

  app.post(
    '/review-items/:id/reopen',
    {
      schema: {
        tags: ['review desk'],
        summary: 'Put a dismissed question on the desk again',
        description: 'Only what was dismissed: nothing was booked by that. What was booked is undone where it lies.',
        params: oneItem,
        response: { 200: reviewItem },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'review_item.reopen', { keyRequired: false }, async (tx, { organizationId }) => {
        const row = await reopenReviewItem(tx, organizationId, request.params.id)
        if (row === undefined) {
          throw new AppError('decision_unsuitable', 'Only a question that was dismissed comes back to the desk.')
        }
        return { status: 200, body: toItem(row), subject: { type: 'review_item', id: row.id }, data: {} }
      }),
  )

  app.post(
    '/events/:id/retry',
    {
      schema: {
        tags: ['events'],
        summary: 'Book an event again that failed',
        description: 'The next attempt of the same event: one that has been booked meanwhile is a duplicate.',
        params: oneItem,
        response: { 200: moneyAnswer },
      },
    },
    async (request) => {
      const { organizationId, actor } = callerOf(request)
      return toRetryAnswer(await retryEvent(parts, organizationId, request.params.id, actor))
    },
  )
}

async function getItem({ db }: ApiParts, organizationId: string, itemId: string): Promise<ReviewItemRow> {
  const row = await db.transaction(organizationId, (tx) => findReviewItem(tx, organizationId, itemId))
  if (row === undefined) throw new AppError('not_found', `There is no review item ${itemId}.`)
  return row
}

/** The event itself is booked again, under its own key; the item is closed by that, and here signed by who did it. */
async function retryFailed(
  parts: ApiParts,
  organizationId: string,
  item: ReviewItemRow,
  actor: Actor,
  note: string | null,
) {
  if (item.state === 'decided') throw new AppError('decided_already', `Decided by ${item.decided_by}.`)
  const outcome = toRetryAnswer(await retryEvent(parts, organizationId, item.event_id, actor))
  const row = await parts.db.transaction(organizationId, (tx) =>
    decideReviewItem(
      tx,
      organizationId,
      item.id,
      { by: `${actor.type}/${actor.id}`, decision: 'retry', note },
      parts.clock.now(),
    ),
  )
  return { item: toItem(row ?? item), outcome }
}

/** Checks what a person wrote, and reads again what shall be read again: neither needs the transaction of the act. */
async function toDecision(
  parts: ApiParts,
  organizationId: string,
  itemId: string,
  body: z.infer<typeof decisionShape>,
): Promise<ItemDecision> {
  switch (body.decision) {
    case 'dismiss':
    case 'book_difference':
      return { decision: body.decision }
    case 'apply':
      return { decision: 'apply', invoiceId: body.invoiceId, amount: moneyOf(body.amount) }
    case 'retry': {
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
