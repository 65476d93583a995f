import { id, notification, pageOf, pageQuery } from '@einmal/contract'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isTold } from '../modules/members/index.ts'
import { listNotifications, markRead, type NotificationRow } from '../modules/notifications/index.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, callerOf, movesNothing, toPage } from './api-parts.ts'

const recipient = id
  .optional()
  .describe('Whose they are, for keys: a key of the organisation speaks for nobody by itself. A person has their own')

export const notificationRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.get(
    '/notifications',
    {
      config: { access: isTold },
      schema: {
        tags: ['notifications'],
        summary: 'What a member was told, newest first',
        querystring: pageQuery.extend({ recipientId: recipient }),
        response: { 200: pageOf(notification) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor, limit } = request.query
      const recipientId = recipientOf(request, request.query.recipientId)
      const rows = await parts.db.transaction(organizationId, (tx) =>
        listNotifications(tx, organizationId, recipientId, cursor ?? null, limit + 1),
      )
      return toPage(rows, limit, toNotification)
    },
  )

  app.post(
    '/notifications/:id/read',
    {
      config: { access: isTold },
      schema: {
        tags: ['notifications'],
        summary: 'Mark a notification as read',
        description: 'The first time stands.',
        params: z.object({ id }),
        body: z.object({ recipientId: recipient }),
        response: { 200: notification },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'notification.read', movesNothing, async (tx, { organizationId, now }) => {
        const recipientId = recipientOf(request, request.body.recipientId)
        const row = await markRead(tx, organizationId, recipientId, request.params.id, now)
        if (row === undefined)
          throw new AppError('not_found', `There is no notification ${request.params.id} for them.`)
        // Reading changes nothing that anybody else sees, so it leaves no audit entry.
        return { status: 200, body: toNotification(row), subject: { type: 'notification', id: row.id }, data: null }
      }),
  )
}

/** Members read what they were told, and nobody else's. Throws `invalid` where a key does not say whom it means. */
function recipientOf(request: FastifyRequest, named: string | undefined): string {
  const { member } = callerOf(request)
  if (member !== null) {
    if (named !== undefined && named !== member.userId)
      throw new AppError('not_found', 'You have your own notifications.')
    return member.userId
  }
  if (named === undefined) throw new AppError('invalid', 'recipientId: say whose notifications you mean')
  return named
}

function toNotification(row: NotificationRow) {
  return {
    id: row.id,
    type: row.type,
    data: row.data,
    eventId: row.event_id,
    recordedAt: row.recorded_at.toISOString(),
    readAt: row.read_at?.toISOString() ?? null,
  }
}
