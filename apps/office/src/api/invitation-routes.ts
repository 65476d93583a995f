import { id, invitation, invitationInput, invitationPage, invitationSent, pageQuery } from '@einmal/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  admits,
  cancelInvitation,
  findInvitation,
  findOrganizationName,
  invitationState,
  invite,
  type ListedInvitation,
  listInvitations,
  renewInvitation,
} from '../modules/members/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { languageOf } from '../platform/languages.ts'
import {
  type Act,
  type ApiParts,
  answerAct,
  callerOf,
  memberOf,
  movesNothing,
  toPage,
  type WriteContext,
} from './api-parts.ts'

const tags = ['invitations']
const config = { access: admits }
const params = z.object({ id })

export const invitationRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.get(
    '/invitations',
    {
      config,
      schema: {
        tags,
        summary: 'Who was invited, newest first',
        querystring: pageQuery,
        response: { 200: invitationPage },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor = null, limit } = request.query
      const now = parts.clock.now()
      const rows = await parts.db.transaction(organizationId, (tx) =>
        listInvitations(tx, organizationId, cursor, limit + 1),
      )
      return toPage(rows, limit, (row) => toInvitation(row, now))
    },
  )

  app.post(
    '/invitations',
    {
      config,
      schema: {
        tags,
        summary: 'Invite somebody',
        description:
          'They get a mail with a link that is good for seven days. Without a mail server the answer has the link, once.',
        body: invitationInput,
        response: { 201: invitationSent },
      },
    },
    (request, reply) =>
      answerSent(parts, request, reply, 'invitation.create', 201, async (tx, context) => {
        const { id, token } = await invite(tx, context, request.body)
        return { id, token, data: { ...request.body } }
      }),
  )

  app.post(
    '/invitations/:id/send',
    {
      config,
      schema: {
        tags,
        summary: 'Send an invitation again',
        description: 'With a new link, for seven days from now. The link before opens nothing any more.',
        params,
        response: { 200: invitationSent },
      },
    },
    (request, reply) =>
      answerSent(parts, request, reply, 'invitation.send', 200, async (tx, context) => {
        const { invitation: row, token } = await renewInvitation(tx, context, request.params.id)
        return { id: row.id, token, data: { email: row.email } }
      }),
  )

  app.post(
    '/invitations/:id/cancel',
    {
      config,
      schema: {
        tags,
        summary: 'Cancel an invitation',
        description: 'Its link opens nothing any more.',
        params,
        response: { 200: invitation },
      },
    },
    (request, reply) => {
      const { id: by } = memberOf(request)
      return answerAct(parts, request, reply, 'invitation.cancel', movesNothing, async (tx, context) => {
        const { email } = await cancelInvitation(tx, { ...context, by }, request.params.id)
        const row = await readInvitation(tx, context.organizationId, request.params.id)
        const subject = { type: 'invitation', id: row.id }
        return { status: 200, body: toInvitation(row, context.now), subject, data: { email } }
      })
    },
  )
}

/** An act that makes a link: it is sent when the act is committed, and shown where it could not be. */
function answerSent(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  operation: string,
  status: number,
  work: (tx: Tx, context: WriteContext & { by: string }) => Promise<{ id: string; token: string; data: Act['data'] }>,
): Promise<void> {
  const { door } = parts
  const { id: by } = memberOf(request)
  const language = languageOf(request.headers['accept-language'])
  return answerAct(parts, request, reply, operation, movesNothing, async (tx, context) => {
    const { organizationId, now } = context
    const { id, token, data } = await work(tx, { ...context, by })
    const row = await readInvitation(tx, organizationId, id)
    const organizationName = await findOrganizationName(tx, organizationId)
    const link = `${door.address.baseUrl}/invitation#${token}`
    return {
      status,
      body: { invitation: toInvitation(row, now), isSent: false, link: null },
      subject: { type: 'invitation', id },
      data,
      async afterCommit() {
        const letter = { organizationName, inviterName: row.inviter_name, link }
        const isSent = await door.sendInvitation(row.email, letter, language)
        return { isSent, link: isSent ? null : link }
      },
    }
  })
}

async function readInvitation(tx: Tx, organizationId: string, id: string): Promise<ListedInvitation> {
  const row = await findInvitation(tx, organizationId, id)
  if (row === undefined) throw new AppError('not_found', `There is no invitation ${id}.`)
  return row
}

function toInvitation(row: ListedInvitation, now: Date) {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    state: invitationState(row, now),
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    invitedBy: { id: row.invited_by, name: row.inviter_name },
  }
}
