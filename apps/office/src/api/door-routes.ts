import {
  acceptInput,
  door as doorShape,
  invitationOffer,
  linkInput,
  organizationRef,
  setUpInput,
} from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import {
  acceptInvitation,
  anybody,
  findPerson,
  type Guest,
  hashPassword,
  hasOrganization,
  readOffer,
  setUpOffice,
  toWebHeaders,
} from '../modules/members/index.ts'
import { AppError } from '../platform/errors.ts'
import type { ApiParts } from './api-parts.ts'

const tags = ['door']
const config = { access: anybody }

/** What somebody needs who is not in yet. Links prove themselves; they travel in bodies, so that no log of addresses has them. */
export const doorRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, { door, clock, newId }) => {
  app.get(
    '/door',
    { config, schema: { tags, summary: 'What the page of the door has to know', response: { 200: doorShape } } },
    async () => ({ needsSetUp: !(await hasOrganization(door.db)), sendsMail: door.sendsMail }),
  )

  app.post(
    '/set-up',
    {
      config,
      schema: {
        tags,
        summary: 'Make the first organisation and its owner',
        description: 'With the token of the link that the server shows at its first start. It works once.',
        body: setUpInput,
        response: { 201: organizationRef },
      },
    },
    async (request, reply) => {
      const { token, ...input } = request.body
      const made = await setUpOffice({ door, newId }, token, input, clock.now())
      return reply.status(201).send(made)
    },
  )

  app.post(
    '/invitations/read',
    {
      config,
      schema: {
        tags,
        summary: 'What the link of an invitation offers',
        body: linkInput,
        response: { 200: invitationOffer },
      },
    },
    async (request) => {
      const offer = await readOffer(door.db, request.body.token, clock.now())
      return { ...offer, expiresAt: offer.expiresAt.toISOString() }
    },
  )

  app.post(
    '/invitations/accept',
    {
      config,
      schema: {
        tags,
        summary: 'Accept an invitation',
        description:
          'By whoever is signed in under the invited address, or with a name and a password for a new account. Again by the same person it is the same answer.',
        body: acceptInput,
        response: { 200: organizationRef },
      },
    },
    async (request) => {
      const { token, name, password } = request.body
      let guest: Guest
      if (name !== undefined && password !== undefined) {
        // First: hashing a password is work, and nobody gets it done without an invitation.
        await readOffer(door.db, token, clock.now())
        guest = { name, passwordHash: await hashPassword(door, password) }
      } else {
        const found = await findPerson(door, toWebHeaders(request))
        if (found === null) throw new AppError('unauthorized', 'Sign in first, or give a name and a password.')
        guest = found.person
      }
      return acceptInvitation(door.db, { now: clock.now(), newId }, token, guest)
    },
  )
}
