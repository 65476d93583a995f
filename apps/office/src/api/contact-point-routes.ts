import { contact, contactPointInput, id } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { addContactPoint, removeContactPoint } from '../modules/contacts/index.ts'
import { servesCustomers } from '../modules/members/index.ts'
import type { ApiParts } from './api-parts.ts'
import { answerChanged, pointOf } from './contact-handlers.ts'

const tags = ['contacts']
const oneContact = z.object({ id })
const onePoint = oneContact.extend({ pointId: id })

/** Points are changes of their contact: behind its lock, and counted in its version. */
export const contactPointRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/contacts/:id/points',
    {
      config: { access: servesCustomers },
      schema: {
        tags,
        summary: 'Add a contact point',
        description:
          'Answers 200 where the contact has it already. Takes `If-Match` like a change. One that belongs to another contact is refused with 409 `contact_point_taken`, unless it is marked shared.',
        params: oneContact,
        body: contactPointInput,
        response: { 200: contact, 201: contact },
      },
    },
    (request, reply) => {
      const subject = { id: request.params.id, type: null }
      const point = pointOf(request.body, 'value')
      return answerChanged(
        parts,
        request,
        reply,
        subject,
        'contact_point.add',
        (tx, context, locked) => addContactPoint(tx, context, locked, point),
        (isChanged) => (isChanged ? 201 : 200),
      )
    },
  )

  app.post(
    '/contacts/:id/points/:pointId/remove',
    {
      config: { access: servesCustomers },
      schema: {
        tags,
        summary: 'Take a contact point away',
        description:
          'It stays on record, and its value is free for others. Takes `If-Match` like a change. A second time changes nothing.',
        params: onePoint,
        response: { 200: contact },
      },
    },
    (request, reply) => {
      const { id: contactId, pointId } = request.params
      const subject = { id: contactId, type: null }
      return answerChanged(parts, request, reply, subject, 'contact_point.remove', (tx, context, locked) =>
        removeContactPoint(tx, context, locked, pointId),
      )
    },
  )
}
