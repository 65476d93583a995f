import { companyChange, companyInput, contact, contactDetail, contactQuery, id, pageOf } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { changeContact } from '../modules/contacts/index.ts'
import { readsOffice, servesCustomers } from '../modules/members/index.ts'
import type { ApiParts } from './api-parts.ts'
import { addressOf, answerChanged, answerCreated, pointsOf, readContact, readContacts } from './contact-handlers.ts'

const tags = ['companies']
const oneCompany = z.object({ id })

/** Companies are contacts; their points and notes are those of `/contacts`. */
export const companyRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/companies',
    {
      config: { access: servesCustomers },
      schema: {
        tags,
        summary: 'Add a company',
        description: 'The same as a contact of the type `company`.',
        body: companyInput,
        response: { 201: contact },
      },
    },
    (request, reply) => {
      const { name, taxId, address } = request.body
      const draft = { name, taxId, address: addressOf(address), points: pointsOf(request.body) }
      return answerCreated(parts, request, reply, { type: 'company', ...draft })
    },
  )

  app.get(
    '/companies',
    {
      config: { access: readsOffice },
      schema: { tags, summary: 'List companies', querystring: contactQuery, response: { 200: pageOf(contact) } },
    },
    (request) => readContacts(parts, request, request.query, 'company'),
  )

  app.get(
    '/companies/:id',
    {
      config: { access: readsOffice },
      schema: {
        tags,
        summary: 'One company, with what it owes',
        description: 'Its people are `GET /contacts?companyId=`.',
        params: oneCompany,
        response: { 200: contactDetail },
      },
    },
    (request) => readContact(parts, request, request.params.id, 'company'),
  )

  app.patch(
    '/companies/:id',
    {
      config: { access: servesCustomers },
      schema: {
        tags,
        summary: 'Change a company',
        description:
          'What is left out stays. With the header `If-Match: "<version>"` only the version that you read is changed; another one is refused with 409 `version_stale`, and `current` is what it is now.',
        params: oneCompany,
        body: companyChange,
        response: { 200: contact },
      },
    },
    (request, reply) => {
      const subject = { id: request.params.id, type: 'company' } as const
      const change = { ...request.body, address: addressOf(request.body.address) }
      return answerChanged(parts, request, reply, subject, 'contact.change', (tx, context, locked) =>
        changeContact(tx, context, locked, change),
      )
    },
  )
}
