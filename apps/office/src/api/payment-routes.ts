import { id, pageOf, pageQuery, payment } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  findPayment,
  listInvoicesOfPayments,
  listMentions,
  listPayments,
  type PaymentRow,
} from '../modules/money/index.ts'
import { countCopies } from '../modules/register/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, amountOf, callerOf, toPage } from './api-parts.ts'

export const paymentRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, { db }) => {
  app.get(
    '/payments',
    {
      schema: {
        tags: ['payments'],
        summary: 'List payments',
        querystring: pageQuery,
        response: { 200: pageOf(payment) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor, limit } = request.query
      return db.transaction(organizationId, async (tx) => {
        const rows = await listPayments(tx, organizationId, cursor ?? null, limit + 1)
        const toItem = await describe(tx, organizationId, rows)
        return toPage(rows, limit, toItem)
      })
    },
  )

  app.get(
    '/payments/:id',
    { schema: { tags: ['payments'], summary: 'One payment', params: z.object({ id }), response: { 200: payment } } },
    async (request) => {
      const { organizationId } = callerOf(request)
      return db.transaction(organizationId, async (tx) => {
        const row = await findPayment(tx, organizationId, request.params.id)
        if (row === undefined) throw new AppError('not_found', `There is no payment ${request.params.id}.`)
        const toItem = await describe(tx, organizationId, [row])
        return toItem(row)
      })
    },
  )
}

/** Reads what belongs to the payments, in a number of statements that does not grow with theirs. */
async function describe(tx: Tx, organizationId: string, rows: readonly PaymentRow[]) {
  const ids = rows.map((row) => row.id)
  const allocations = Map.groupBy(await listInvoicesOfPayments(tx, organizationId, ids), (row) => row.payment_id)
  const mentions = Map.groupBy(await listMentions(tx, organizationId, ids), (row) => row.payment_id)
  const eventsOf = (row: PaymentRow) => [
    row.event_id,
    ...(mentions.get(row.id) ?? []).map((mention) => mention.event_id),
  ]
  const copies = await countCopies(tx, organizationId, rows.flatMap(eventsOf))
  return (row: PaymentRow) => ({
    id: row.id,
    source: row.source,
    externalId: row.external_id,
    kind: row.kind,
    amount: amountOf(row.amount_minor, row.currency),
    applied: amountOf(row.applied_minor, row.currency),
    unapplied: amountOf(row.unapplied_minor, row.currency),
    returned: amountOf(row.returned_minor, row.currency),
    invoiceIds: (allocations.get(row.id) ?? []).map((allocation) => allocation.invoice_id),
    contactId: row.contact_id ?? allocations.get(row.id)?.[0]?.contact_id ?? null,
    occurredAt: row.occurred_at?.toISOString() ?? null,
    recordedAt: row.recorded_at.toISOString(),
    eventId: row.event_id,
    deliveries: eventsOf(row).reduce((sum, eventId) => sum + (copies.get(eventId) ?? 0), 0),
  })
}
