import { event, eventDetail, id, pageOf, pageQuery } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { listActivitiesOfEvent } from '../modules/activities/index.ts'
import { listDeliveriesOfEvents } from '../modules/deliveries/index.ts'
import { listDomainEventsOfEvent } from '../modules/domain-events/index.ts'
import { readsRecord } from '../modules/members/index.ts'
import {
  type AllocationRow,
  findInvoice,
  findPayment,
  findPaymentByName,
  findReturn,
  listAllocationsOf,
  listAllocationsOfPayment,
  listContactsOfInvoices,
  type PaymentRow,
  type ReturnRow,
} from '../modules/money/index.ts'
import { listNotificationsByKey, listRecipients } from '../modules/notifications/index.ts'
import { type EventRow, findEvent, listEvents, listNotesOfEvent, type NoteRow } from '../modules/register/index.ts'
import { listReviewItemsOfEvent } from '../modules/review-items/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { isId } from '../platform/ids.ts'
import { toJsonAmount } from '../platform/money.ts'
import { type ApiParts, callerOf, toPage } from './api-parts.ts'

/** A NUL is no text to PostgreSQL, and in no key. */
const storable = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\0]*$/, 'must have no NUL')

const filter = pageQuery.extend({
  state: z.enum(['in_progress', 'completed', 'failed', 'unknown']).optional(),
  source: storable(200).optional(),
  kind: storable(200).optional(),
  q: storable(1024).optional().describe("The source's id of the event, exactly"),
})

export const eventRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, { db, clock }) => {
  app.get(
    '/events',
    {
      config: { access: readsRecord },
      schema: {
        tags: ['events'],
        summary: 'The event register',
        description: 'One row per event, however often it arrived.',
        querystring: filter,
        response: { 200: pageOf(event) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor, limit, state, source, kind, q } = request.query
      const rows = await db.transaction(organizationId, (tx) =>
        listEvents(tx, organizationId, { state, source, kind, externalId: q }, cursor ?? null, limit + 1),
      )
      return toPage(rows, limit, (row) => toEvent(row, clock.now()))
    },
  )

  app.get(
    '/events/:id',
    {
      config: { access: readsRecord },
      schema: {
        tags: ['events'],
        summary: 'One event with every arrival and every effect',
        params: z.object({ id }),
        response: { 200: eventDetail },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      return db.transaction(organizationId, async (tx) => {
        const row = await findEvent(tx, organizationId, request.params.id)
        if (row === undefined) throw new AppError('not_found', `There is no event ${request.params.id}.`)
        const deliveries = await listDeliveriesOfEvents(tx, organizationId, [row.id])
        return {
          ...toEvent(row, clock.now()),
          deliveries: deliveries.map((delivery) => ({
            id: delivery.id,
            receivedAt: delivery.received_at.toISOString(),
            outcome: delivery.outcome,
            verdict: delivery.verdict,
            reason: delivery.reason,
            answerStatus: delivery.answer_status,
          })),
          effects: await listEffects(tx, organizationId, row),
          notes: (await listNotesOfEvent(tx, organizationId, row.id)).map(toNote),
        }
      })
    },
  )
}

function toNote(row: NoteRow) {
  return {
    id: row.id,
    type: row.type,
    attempt: row.attempt,
    author: row.author,
    note: row.note,
    data: row.data,
    recordedAt: row.recorded_at.toISOString(),
  }
}

interface Effect {
  readonly type: string
  readonly id: string
  readonly data: Record<string, unknown>
}

/** What this event, and no other, put into the books and before people's eyes. */
async function listEffects(tx: Tx, organizationId: string, row: EventRow): Promise<Effect[]> {
  const about = await whatItIsAbout(tx, organizationId, row)
  const activities = await listActivitiesOfEvent(tx, organizationId, about.subjects, row.id)
  const domainEvents = await listDomainEventsOfEvent(tx, organizationId, about.subjects, row.id)
  const recipients = about.notificationKeys.length === 0 ? [] : await listRecipients(tx, organizationId)
  const notifications = await listNotificationsByKey(tx, organizationId, recipients, about.notificationKeys)
  return [
    ...about.facts,
    ...about.allocations
      .filter((allocation) => allocation.event_id === row.id)
      .map((allocation) =>
        toEffect('allocation', allocation.id, {
          paymentId: allocation.payment_id,
          invoiceId: allocation.invoice_id,
          amountMinor: toJsonAmount(allocation.amount_minor),
          currency: allocation.currency,
        }),
      ),
    ...activities.map((line) => toEffect('activity', line.id, { kind: line.type, subject: line.subject_type })),
    ...notifications.map((note) =>
      toEffect('notification', note.id, { kind: note.type, recipientId: note.recipient_id }),
    ),
    ...domainEvents.map((fired) => toEffect('domain_event', fired.id, { kind: fired.type })),
    ...(await reviewEffects(tx, organizationId, row.id)),
  ]
}

interface About {
  /** The facts that this very event brought. */
  readonly facts: readonly Effect[]
  /** Of the payment or document, whichever event made them. */
  readonly allocations: readonly AllocationRow[]
  /** Whose lines and events may be of it. */
  readonly subjects: readonly string[]
  readonly notificationKeys: readonly string[]
}

async function whatItIsAbout(tx: Tx, organizationId: string, row: EventRow): Promise<About> {
  const { target_type: type, target_id: target } = row
  // What a program did outside has an id of that system.
  if (target === null || !isId(target)) return { facts: [], allocations: [], subjects: [], notificationKeys: [] }
  if (type === 'invoice') {
    const allocations = await listAllocationsOf(tx, organizationId, target)
    const invoice = await findInvoice(tx, organizationId, target)
    const others = [invoice?.corrects_id, invoice?.contact_id].filter((id) => id !== null && id !== undefined)
    return { facts: [], allocations, subjects: [target, ...others], notificationKeys: [] }
  }
  const movement = type === 'payment_return' ? await findReturn(tx, organizationId, target) : undefined
  const payment =
    movement === undefined
      ? type === 'payment'
        ? await findPayment(tx, organizationId, target)
        : undefined
      : await findPaymentByName(tx, organizationId, movement.original_source, movement.original_id)
  const allocations = payment === undefined ? [] : await listAllocationsOfPayment(tx, organizationId, payment.id)
  const invoices = await listContactsOfInvoices(tx, organizationId, [
    ...new Set(allocations.map((allocation) => allocation.invoice_id)),
  ])
  const contacts = [payment?.contact_id, ...invoices.map((invoice) => invoice.contact_id)]
  const subjects = [target, payment?.id, ...invoices.map((invoice) => invoice.id), ...contacts]
  const isBookedHere = (movement ?? payment)?.event_id === row.id
  return {
    facts:
      isBookedHere && movement !== undefined
        ? [toFact('payment_return', movement)]
        : isBookedHere && payment !== undefined
          ? [toFact('payment', payment)]
          : [],
    allocations,
    subjects: [...new Set(subjects.filter((id) => id !== null && id !== undefined))],
    notificationKeys: isBookedHere ? [notificationKeyOf(movement, payment)] : [],
  }
}

/** As `money-news.ts` of the money desk names what it tells. */
function notificationKeyOf(movement: ReturnRow | undefined, payment: PaymentRow | undefined): string {
  if (movement !== undefined) return `return:${movement.source}:${movement.kind}:${movement.external_id}`
  return `payment:${payment?.source}:${payment?.external_id}`
}

function toFact(type: string, row: { id: string; kind: string; amount_minor: bigint; currency: string }): Effect {
  return toEffect(type, row.id, {
    kind: row.kind,
    amountMinor: toJsonAmount(row.amount_minor),
    currency: row.currency,
  })
}

async function reviewEffects(tx: Tx, organizationId: string, eventId: string): Promise<Effect[]> {
  const items = await listReviewItemsOfEvent(tx, organizationId, eventId)
  return items.map((item) => toEffect('review_item', item.id, { kind: item.kind, state: item.state }))
}

function toEffect(type: string, effectId: string, data: Record<string, unknown>): Effect {
  return { type, id: effectId, data }
}

function toEvent(row: EventRow, now: Date) {
  return {
    id: row.id,
    source: row.source,
    kind: row.kind,
    externalId: row.external_id,
    state: row.state,
    attempt: row.attempt,
    isFinal: row.is_final,
    copies: row.copies,
    startedAt: row.started_at.toISOString(),
    leaseUntil: row.lease_until?.toISOString() ?? null,
    nextAttemptAt: row.next_attempt_at?.toISOString() ?? null,
    isStuck: row.state === 'in_progress' && row.lease_until !== null && row.lease_until <= now,
    firstArrivedAt: row.first_arrived_at.toISOString(),
    lastArrivedAt: row.last_arrived_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    target: row.target_type === null || row.target_id === null ? null : { type: row.target_type, id: row.target_id },
    answer: row.answer,
  }
}
