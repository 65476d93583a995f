import { contact, contactInput, id, pageOf, pageQuery } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { recordAudit } from '../modules/audit/index.ts'
import { type ContactRow, findContact, insertContact, listContacts } from '../modules/contacts/index.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerOnce, callerOf, toPage } from './api-parts.ts'

export const contactRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/contacts',
    { schema: { tags: ['contacts'], summary: 'Add a contact', body: contactInput, response: { 201: contact } } },
    (request, reply) =>
      answerOnce(
        parts,
        request,
        reply,
        'contact.create',
        async (tx, _eventId, { organizationId, actor, operation }) => {
          const now = parts.clock.now()
          const { name, email } = request.body
          const row = await insertContact(tx, organizationId, { id: parts.newId(), name, email: email ?? null }, now)
          const subject = { type: 'contact', id: row.id }
          recordAudit(tx, organizationId, { actor, action: operation, subject, data: {} }, now, parts.newId)
          return { status: 201, body: toContact(row), target: subject }
        },
      ),
  )

  app.get(
    '/contacts',
    {
      schema: {
        tags: ['contacts'],
        summary: 'List contacts',
        querystring: pageQuery,
        response: { 200: pageOf(contact) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor, limit } = request.query
      const rows = await parts.db.transaction(organizationId, (tx) =>
        listContacts(tx, organizationId, cursor ?? null, limit + 1),
      )
      return toPage(rows, limit, toContact)
    },
  )

  app.get(
    '/contacts/:id',
    { schema: { tags: ['contacts'], summary: 'One contact', params: z.object({ id }), response: { 200: contact } } },
    async (request) => {
      const { organizationId } = callerOf(request)
      const row = await parts.db.transaction(organizationId, (tx) => findContact(tx, organizationId, request.params.id))
      if (row === undefined) throw new AppError('not_found', `There is no contact ${request.params.id}.`)
      return toContact(row)
    },
  )
}

function toContact(row: ContactRow) {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    version: row.version,
    createdAt: row.created_at.toISOString(),
  }
}
