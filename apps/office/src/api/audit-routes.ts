import { auditEntry, auditQuery, pageOf } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { listAuditEntries, listAuditEntriesOfSubject } from '../modules/audit/index.ts'
import { readsRecord } from '../modules/members/index.ts'
import { type ApiParts, callerOf, toPage } from './api-parts.ts'

export const auditRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, { db }) => {
  app.get(
    '/audit-entries',
    {
      config: { access: readsRecord },
      schema: {
        tags: ['audit'],
        summary: 'Who changed what, newest first',
        description: 'Every write by a person, a program or the assistant leaves an entry; none is ever changed.',
        querystring: auditQuery,
        response: { 200: pageOf(auditEntry) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor = null, limit, subjectId } = request.query
      const rows = await db.transaction(organizationId, (tx) =>
        subjectId === undefined
          ? listAuditEntries(tx, organizationId, cursor, limit + 1)
          : listAuditEntriesOfSubject(tx, organizationId, subjectId, cursor, limit + 1),
      )
      return toPage(rows, limit, (row) => ({
        id: row.id,
        actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
        action: row.action,
        subject: { type: row.subject_type, id: row.subject_id },
        data: row.data,
        recordedAt: row.recorded_at.toISOString(),
      }))
    },
  )
}
