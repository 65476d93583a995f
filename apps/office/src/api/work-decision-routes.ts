import { id, repeatedWork, repeatInput, resolvedWork, resolveInput, workDecision } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { endsWork } from '../modules/members/index.ts'
import { findWork, repeatWork } from '../modules/register/index.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, isDoneAgain, movesNothing } from './api-parts.ts'
import { resolveAct } from './register-shapes.ts'

/** What people, and programs with that right, decide about work that programs did. */
export const workDecisionRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/events/:id/resolve',
    {
      config: { access: endsWork },
      schema: {
        tags: ['events', 'register'],
        summary: 'Say how work outside ended',
        description:
          'Of work of which nobody knows how it ended, that failed, or whose program fell silent. Whoever was at it has lost it, and what is said later is kept beside it.',
        params: z.object({ id }),
        body: workDecision,
        response: { 200: resolvedWork },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'event.resolve', movesNothing, (tx, context) =>
        resolveAct(tx, parts, context, request.params.id, request.body),
      ),
  )

  app.post(
    '/register/resolve',
    {
      config: { access: endsWork },
      schema: {
        tags: ['register'],
        summary: 'Say how work ended of which nobody knows',
        description: 'As POST /events/{id}/resolve, by the name that the program gave it. Needs the scope resolve.',
        body: resolveInput,
        response: { 200: resolvedWork },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'event.resolve', movesNothing, async (tx, context) => {
        const { key, ...decision } = request.body
        const eventId = await findWork(tx, parts, context.organizationId, key)
        return resolveAct(tx, parts, context, eventId, decision)
      }),
  )

  app.post(
    '/register/repeat',
    {
      config: { access: endsWork },
      schema: {
        tags: ['register'],
        summary: 'Do a thing again on purpose',
        description:
          'Needs the header Idempotency-Key. Opens a new generation of a thing that is done; reserve it with `generation`. Copies of the first stay duplicates of the first.',
        body: repeatInput,
        response: { 201: repeatedWork },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'event.repeat', isDoneAgain, async (tx, context) => {
        const { key, reason } = request.body
        const eventId = await findWork(tx, parts, context.organizationId, key)
        const repeated = await repeatWork(tx, parts, context, key, reason)
        if (repeated.outcome !== 'opened') {
          const state = repeated.outcome === 'refused' ? repeated.state : 'gone'
          throw new AppError('nothing_to_repeat', `The event is ${state}.`, { extra: { state } })
        }
        const { generation } = repeated
        return {
          status: 201,
          body: { generation },
          subject: { type: 'event', id: eventId },
          data: { reason, generation },
        }
      }),
  )
}
