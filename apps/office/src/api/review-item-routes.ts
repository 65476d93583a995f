import { pageOf, pageQuery, reviewItem } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { listOpenReviewItems } from '../modules/review-items/index.ts'
import { type ApiParts, callerOf, toPage } from './api-parts.ts'

export const reviewItemRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, { db }) => {
  app.get(
    '/review-items',
    {
      schema: {
        tags: ['review desk'],
        summary: 'What waits for a person',
        querystring: pageQuery,
        response: { 200: pageOf(reviewItem) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor, limit } = request.query
      const rows = await db.transaction(organizationId, (tx) =>
        listOpenReviewItems(tx, organizationId, cursor ?? null, limit + 1),
      )
      return toPage(rows, limit, (row) => ({
        id: row.id,
        key: row.key,
        kind: row.kind,
        state: row.state,
        eventId: row.event_id,
        deliveryId: row.delivery_id,
        data: row.data,
        createdAt: row.created_at.toISOString(),
      }))
    },
  )
}
