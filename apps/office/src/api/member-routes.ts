import { id, member, memberChange, memberPage, pageQuery } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { admits, changeRole, listMembers, type Member, removeMember } from '../modules/members/index.ts'
import { type ApiParts, answerAct, callerOf, memberOf, movesNothing, toPage } from './api-parts.ts'

const tags = ['members']
const config = { access: admits }

export const memberRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.get(
    '/members',
    {
      config,
      schema: {
        tags,
        summary: 'Who belongs to the organisation',
        querystring: pageQuery,
        response: { 200: memberPage },
      },
    },
    async (request) => {
      const { id: own } = memberOf(request)
      const { organizationId } = callerOf(request)
      const { cursor = null, limit } = request.query
      const rows = await parts.db.transaction(organizationId, (tx) =>
        listMembers(tx, organizationId, cursor, limit + 1),
      )
      return toPage(rows, limit, (row) => toMember(row, own))
    },
  )

  app.patch(
    '/members/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Give a member another role',
        description:
          'Only an owner makes or changes an owner, and somebody always owns the organisation (`last_owner`).',
        params: z.object({ id }),
        body: memberChange,
        response: { 200: member },
      },
    },
    (request, reply) => {
      const { id: by } = memberOf(request)
      return answerAct(parts, request, reply, 'member.change', movesNothing, async (tx, { organizationId, now }) => {
        const change = { organizationId, now, by }
        const { before, after } = await changeRole(tx, change, request.params.id, request.body.role)
        const data = { before: { role: before.role }, after: { role: after.role } }
        return {
          status: 200,
          body: toMember(after, by),
          subject: { type: 'member', id: after.id },
          data: before === after ? null : data,
        }
      })
    },
  )

  app.post(
    '/members/:id/remove',
    {
      config,
      schema: {
        tags,
        summary: 'End a membership',
        description:
          'From the next request on they are nobody here. What they did stays on record; invited again, they are the same member.',
        params: z.object({ id }),
        response: { 200: member },
      },
    },
    (request, reply) => {
      const { id: by } = memberOf(request)
      return answerAct(parts, request, reply, 'member.remove', movesNothing, async (tx, { organizationId, now }) => {
        const removed = await removeMember(tx, { organizationId, now, by }, request.params.id)
        const { name, role } = removed
        return {
          status: 200,
          body: toMember(removed, by),
          subject: { type: 'member', id: removed.id },
          data: { name, role },
        }
      })
    },
  )
}

function toMember({ userId: _userId, joinedAt, ...row }: Member, own: string) {
  return { ...row, joinedAt: joinedAt.toISOString(), isSelf: row.id === own }
}
