import { id, me, organizationRef, sessionList } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  endSession,
  listSignedIn,
  type Person,
  person as people,
  switchOrganization,
} from '../modules/members/index.ts'
import { type ApiParts, personOf } from './api-parts.ts'

const tags = ['me']
const config = { access: people }

/** Whoever is signed in, about themselves. */
export const meRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, { door, clock, newId }) => {
  app.get(
    '/me',
    { config, schema: { tags, summary: 'Who is signed in, and where they work', response: { 200: me } } },
    async (request) => toMe(personOf(request)),
  )

  app.post(
    '/me/organization',
    {
      config,
      schema: { tags, summary: 'Work in another organisation', body: organizationRef, response: { 200: me } },
    },
    async (request) => toMe(await switchOrganization(door, personOf(request), request.body.organizationId)),
  )

  app.get(
    '/me/sessions',
    { config, schema: { tags, summary: 'Where one is signed in, newest first', response: { 200: sessionList } } },
    async (request) => {
      const sessions = await listSignedIn(door, personOf(request), clock.now())
      return {
        items: sessions.map((each) => ({
          ...each,
          createdAt: each.createdAt.toISOString(),
          lastSeenAt: each.lastSeenAt.toISOString(),
        })),
      }
    },
  )

  app.post(
    '/me/sessions/:id/end',
    {
      config,
      schema: { tags, summary: 'Sign out in one place', params: z.object({ id }), response: { 204: z.null() } },
    },
    async (request, reply) => {
      await endSession(door, personOf(request), request.params.id, { now: clock.now(), newId })
      return reply.status(204).send(null)
    },
  )
}

function toMe({ userId, name, email, hasTwoFactor, membership, memberships }: Person) {
  return {
    user: { id: userId, name, email, hasTwoFactor },
    organization: membership && {
      id: membership.organizationId,
      name: membership.organizationName,
      role: membership.role,
      memberId: membership.memberId,
    },
    organizations: memberships.map((each) => ({
      id: each.organizationId,
      name: each.organizationName,
      role: each.role,
    })),
  }
}
