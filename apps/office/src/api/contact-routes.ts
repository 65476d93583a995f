import { contact, contactChange, contactDetail, contactInput, contactQuery, id, pageOf } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { changeContact, listPeople } from '../modules/contacts/index.ts'
import { readsOffice, servesCustomers } from '../modules/members/index.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, callerOf } from './api-parts.ts'
import {
  addressOf,
  answerChanged,
  answerCreated,
  pageOfContacts,
  pointsOf,
  readContact,
  readContacts,
} from './contact-handlers.ts'

const tags = ['contacts']
const oneContact = z.object({ id })
const query = contactQuery.extend({ companyId: id.optional().describe('The people of one company. Not with `q`') })

export const contactRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/contacts',
    {
      config: { access: servesCustomers },
      schema: {
        tags,
        summary: 'Add a person or a company',
        description:
          'Contact points are kept normalised; one that belongs to another contact is refused with 409 `contact_point_taken`, unless it is marked shared.',
        body: contactInput,
        response: { 201: contact },
      },
    },
    (request, reply) => {
      const { type, name, companyId, taxId, address } = request.body
      const draft = { type, name, companyId, taxId, address: addressOf(address), points: pointsOf(request.body) }
      return answerCreated(parts, request, reply, draft)
    },
  )

  app.get(
    '/contacts',
    {
      config: { access: readsOffice },
      schema: {
        tags,
        summary: 'List people and companies',
        querystring: query,
        response: { 200: pageOf(contact) },
      },
    },
    async (request) => {
      const { q, companyId, cursor = null, limit } = request.query
      if (companyId === undefined) return readContacts(parts, request, request.query, null)
      if (q !== undefined) throw new AppError('invalid', 'q: not together with companyId')
      const { organizationId } = callerOf(request)
      return parts.db.transaction(organizationId, async (tx) => {
        const rows = await listPeople(tx, organizationId, companyId, cursor, limit + 1)
        return pageOfContacts(tx, organizationId, limit, rows)
      })
    },
  )

  app.get(
    '/contacts/:id',
    {
      config: { access: readsOffice },
      schema: {
        tags,
        summary: 'One contact, with its company and what it owes',
        params: oneContact,
        response: { 200: contactDetail },
      },
    },
    (request) => readContact(parts, request, request.params.id, null),
  )

  app.patch(
    '/contacts/:id',
    {
      config: { access: servesCustomers },
      schema: {
        tags,
        summary: 'Change a contact',
        description:
          'What is left out stays. With the header `If-Match: "<version>"` only the version that you read is changed; another one is refused with 409 `version_stale`, and `current` is what it is now.',
        params: oneContact,
        body: contactChange,
        response: { 200: contact },
      },
    },
    (request, reply) => {
      const subject = { id: request.params.id, type: null }
      const change = { ...request.body, address: addressOf(request.body.address) }
      return answerChanged(parts, request, reply, subject, 'contact.change', (tx, context, locked) =>
        changeContact(tx, context, locked, change),
      )
    },
  )
}
