import { activity, id, noteInput, pageOf, pageQuery } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { listActivities, noteOf } from '../modules/activities/index.ts'
import { findContact } from '../modules/contacts/index.ts'
import { findDeal } from '../modules/deals/index.ts'
import { readsOffice, servesCustomers } from '../modules/members/index.ts'
import { recordConsequences } from '../pipeline/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, callerOf, movesNothing, toPage } from './api-parts.ts'

const oneSubject = z.object({ id })

/** Things with a time line: where they stand in the API, and as what in the table. */
const subjects = [
  { path: '/contacts', name: 'contact', type: 'contact', takesNotes: true },
  { path: '/companies', name: 'company', type: 'contact', takesNotes: false },
  { path: '/deals', name: 'deal', type: 'deal', takesNotes: true },
] as const
type Subject = (typeof subjects)[number]

export const timeLineRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  for (const subject of subjects) {
    const tags = [subject.path.slice(1)]
    app.get(
      `${subject.path}/:id/activity`,
      {
        config: { access: readsOffice },
        schema: {
          tags,
          summary: `The time line of a ${subject.name}, newest first`,
          params: oneSubject,
          querystring: pageQuery,
          response: { 200: pageOf(activity) },
        },
      },
      async (request) => {
        const { organizationId } = callerOf(request)
        const { cursor = null, limit } = request.query
        return parts.db.transaction(organizationId, async (tx) => {
          await requireSubject(tx, organizationId, subject.name, request.params.id)
          const rows = await listActivities(tx, organizationId, request.params.id, cursor, limit + 1)
          return toPage(rows, limit, (row) => ({
            id: row.id,
            type: row.type,
            subject: { type: row.subject_type, id: row.subject_id },
            data: row.data,
            eventId: row.event_id,
            recordedAt: row.recorded_at.toISOString(),
          }))
        })
      },
    )
    if (!subject.takesNotes) continue
    app.post(
      `${subject.path}/:id/notes`,
      {
        config: { access: servesCustomers },
        schema: {
          tags,
          summary: `Write a note on the time line of a ${subject.name}`,
          params: oneSubject,
          body: noteInput,
          response: { 201: activity },
        },
      },
      (request, reply) =>
        answerAct(parts, request, reply, 'note.add', movesNothing, async (tx, context) => {
          const { organizationId, actor, eventId, now, newId } = context
          await requireSubject(tx, organizationId, subject.name, request.params.id)
          const on = { type: subject.type, id: request.params.id }
          const note = noteOf({ id: newId(), subject: on, text: request.body.text, author: actor, eventId })
          const others = { notifications: [], domainEvents: [], reviewItems: [], answeredItems: [] }
          recordConsequences(tx, organizationId, [{ activities: [note], ...others }], now)
          const { id: noteId, type, data } = note
          const body = { id: noteId, type, subject: on, data, eventId, recordedAt: now.toISOString() }
          return { status: 201, body, subject: on, data: { before: {}, after: { activityId: noteId } } }
        }),
    )
  }
}

/** Throws `not_found`, also for a person where a company is asked for. */
async function requireSubject(tx: Tx, organizationId: string, name: Subject['name'], subjectId: string): Promise<void> {
  const row =
    name === 'deal' ? await findDeal(tx, organizationId, subjectId) : await findContact(tx, organizationId, subjectId)
  const isAnother = name === 'company' && row !== undefined && 'type' in row && row.type !== 'company'
  if (row === undefined || isAnother) throw new AppError('not_found', `There is no ${name} ${subjectId}.`)
}
