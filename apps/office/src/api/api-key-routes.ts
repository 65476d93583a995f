import { apiKey, apiKeyInput, apiKeyMade, apiKeyPage, id, pageQuery } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  type ApiKeyRow,
  admits,
  apiKeyState,
  createApiKey,
  findMemberName,
  listApiKeys,
  revokeApiKey,
} from '../modules/members/index.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, callerOf, memberOf, movesNothing, toPage } from './api-parts.ts'

const tags = ['api keys']
const config = { access: admits }

export const apiKeyRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.get(
    '/api-keys',
    {
      config,
      schema: {
        tags,
        summary: 'The keys of the organisation, revoked ones too',
        querystring: pageQuery,
        response: { 200: apiKeyPage },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor = null, limit } = request.query
      const now = parts.clock.now()
      const rows = await parts.db.transaction(organizationId, (tx) =>
        listApiKeys(tx, organizationId, cursor, limit + 1),
      )
      return toPage(rows, limit, (row) => toApiKey(row, row.creator_name, now))
    },
  )

  app.post(
    '/api-keys',
    {
      config,
      schema: {
        tags,
        summary: 'Make a key',
        description:
          'The key is in this answer and nowhere else: only its hash is stored. A repeated answer does not have it.',
        body: apiKeyInput,
        response: { 201: apiKeyMade },
      },
    },
    (request, reply) => {
      const { id: createdBy } = memberOf(request)
      return answerAct(parts, request, reply, 'api_key.create', movesNothing, async (tx, context) => {
        const { name, scopes } = request.body
        const expiresAt = expiryOf(request.body.expiresAt, context.now)
        const { key, row } = await createApiKey(tx, context, { name, scopes, expiresAt, createdBy })
        const creator = await findMemberName(tx, context.organizationId, createdBy)
        return {
          status: 201,
          body: { apiKey: toApiKey(row, creator, context.now), key: null },
          subject: { type: 'api_key', id: row.id },
          data: { name, scopes, expiresAt: expiresAt?.toISOString() ?? null },
          afterCommit: async () => ({ key }),
        }
      })
    },
  )

  app.post(
    '/api-keys/:id/revoke',
    {
      config,
      schema: {
        tags,
        summary: 'Switch a key off for good',
        description: 'Every server stops believing it within five seconds. The first time stands.',
        params: z.object({ id }),
        response: { 200: apiKey },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'api_key.revoke', movesNothing, async (tx, context) => {
        const { row, isNew } = await revokeApiKey(tx, context, request.params.id)
        const creator =
          row.created_by === null ? null : await findMemberName(tx, context.organizationId, row.created_by)
        return {
          status: 200,
          body: toApiKey(row, creator, context.now),
          subject: { type: 'api_key', id: row.id },
          data: isNew ? { name: row.name } : null,
        }
      }),
  )
}

function expiryOf(text: string | null | undefined, now: Date): Date | null {
  if (text === null || text === undefined) return null
  const expiresAt = new Date(text)
  if (expiresAt <= now) throw new AppError('invalid', 'expiresAt: this moment is over')
  return expiresAt
}

function toApiKey(row: ApiKeyRow, creatorName: string | null, now: Date) {
  return {
    id: row.id,
    name: row.name,
    start: row.start,
    scopes: row.scopes,
    state: apiKeyState(row, now),
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    createdBy: row.created_by === null ? null : { id: row.created_by, name: creatorName ?? '' },
  }
}
