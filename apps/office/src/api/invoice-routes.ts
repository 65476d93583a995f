import { id, invoice, invoiceInput, moneyAnswer, pageOf, pageQuery, payInput } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Money, PaymentFact } from '../facts/index.ts'
import { recordAudit } from '../modules/audit/index.ts'
import { findContact } from '../modules/contacts/index.ts'
import {
  createInvoice,
  findInvoice,
  type InvoiceRow,
  issueInvoice,
  listInvoiceLines,
  listInvoices,
} from '../modules/money/index.ts'
import { apiEventKey, type EventOutcome } from '../pipeline/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, amountOf, answerOnce, callerOf, toPage, writeOf } from './api-parts.ts'

const oneInvoice = z.object({ id })

export const invoiceRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  const { db, clock, newId, pipeline } = parts

  app.post(
    '/invoices',
    {
      schema: {
        tags: ['invoices'],
        summary: 'Write a draft',
        description: 'A draft has no number and nothing is owed; `issue` gives it both.',
        body: invoiceInput,
        response: { 201: invoice },
      },
    },
    (request, reply) =>
      answerOnce(parts, request, reply, 'invoice.create', async (tx, eventId, { organizationId, actor, operation }) => {
        const { contactId = null, currency, dueOn = null, lines } = request.body
        if (findCurrency(currency) === undefined) {
          throw new AppError('invalid', `currency: ${currency} is no currency of ISO 4217`)
        }
        if (contactId !== null && (await findContact(tx, organizationId, contactId)) === undefined) {
          throw new AppError('invalid', `contactId: there is no contact ${contactId}`)
        }
        const context = { organizationId, eventId, now: clock.now(), newId }
        const row = await createInvoice(tx, context, { contactId, currency, dueOn, lines })
        const subject = { type: 'invoice', id: row.id }
        recordAudit(tx, organizationId, { actor, action: operation, subject, data: {} }, context.now, newId)
        return { status: 201, body: await withLines(tx, organizationId, row), target: subject }
      }),
  )

  app.get(
    '/invoices',
    {
      schema: {
        tags: ['invoices'],
        summary: 'List invoices',
        querystring: pageQuery,
        response: { 200: pageOf(invoice) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor, limit } = request.query
      return db.transaction(organizationId, async (tx) => {
        const rows = await listInvoices(tx, organizationId, cursor ?? null, limit + 1)
        const lines = Map.groupBy(
          await listInvoiceLines(
            tx,
            organizationId,
            rows.map((row) => row.id),
          ),
          (line) => line.invoice_id,
        )
        return toPage(rows, limit, (row) => toInvoice(row, lines.get(row.id) ?? []))
      })
    },
  )

  app.get(
    '/invoices/:id',
    { schema: { tags: ['invoices'], summary: 'One invoice', params: oneInvoice, response: { 200: invoice } } },
    async (request) => {
      const { organizationId } = callerOf(request)
      return db.transaction(organizationId, async (tx) =>
        withLines(tx, organizationId, await getInvoice(tx, organizationId, request.params.id)),
      )
    },
  )

  app.post(
    '/invoices/:id/issue',
    {
      schema: {
        tags: ['invoices'],
        summary: 'Give a draft its number',
        description: 'Numbers have no gap and no twin. Money that named this invoice before is applied at once.',
        params: oneInvoice,
        response: { 200: invoice },
      },
    },
    (request, reply) =>
      answerOnce(parts, request, reply, 'invoice.issue', async (tx, eventId, { organizationId, actor, operation }) => {
        const context = { organizationId, eventId, now: clock.now(), newId }
        const row = await issueInvoice(tx, context, request.params.id)
        const subject = { type: 'invoice', id: row.id }
        recordAudit(
          tx,
          organizationId,
          { actor, action: operation, subject, data: { number: row.number } },
          context.now,
          newId,
        )
        return { status: 200, body: await withLines(tx, organizationId, row), target: subject }
      }),
  )

  app.post(
    '/invoices/:id/pay',
    {
      schema: {
        tags: ['invoices'],
        summary: 'Record a payment by hand',
        description: 'Needs the header Idempotency-Key. Without an amount, the open rest is paid, whatever it is then.',
        params: oneInvoice,
        body: payInput.nullish(),
        response: { 200: moneyAnswer },
      },
    },
    async (request, reply) => {
      const write = writeOf(request, 'invoice.pay', { keyRequired: true })
      const { organizationId, actor, operation, fingerprint } = write
      const given = request.body?.amount
      if (given !== undefined && given.amountMinor < 1)
        throw new AppError('invalid', 'amount: must be more than nothing')
      const target = await db.transaction(organizationId, (tx) => getInvoice(tx, organizationId, request.params.id))
      if (target.lifecycle !== 'issued') {
        throw new AppError('invoice_not_open', `The invoice is ${target.lifecycle}; only an issued one takes payments.`)
      }
      if (given !== undefined && given.currency !== target.currency) {
        throw new AppError('invalid', `amount.currency: the invoice is in ${target.currency}`)
      }
      const key = apiEventKey(write, newId)
      const amount =
        given === undefined ? 'open_rest' : { amountMinor: BigInt(given.amountMinor), currency: given.currency }
      const outcome = await pipeline.submit({
        organizationId,
        event: { source: key.source, kind: key.kind, id: key.id, fingerprint, content: { facts: [] } },
        factsNamedBy: (eventId) => [manualPayment(eventId, target.id, amount)],
        delivery: null,
        holder: newId(),
        arrivedAt: clock.now(),
        audit: {
          actor,
          action: operation,
          subject: { type: 'invoice', id: target.id },
          data: { amount: given ?? null },
        },
      })
      if (outcome.wasCopy) reply.header('idempotent-replayed', 'true')
      return toPayAnswer(outcome)
    },
  )
}

/** What a person enters has no name at any source; the event that stands for the entry gives it one. */
function manualPayment(eventId: string, invoiceId: string, amount: Money | 'open_rest'): PaymentFact {
  return {
    type: 'payment',
    kind: 'payment',
    source: 'manual',
    externalId: eventId,
    originalId: eventId,
    amount,
    invoiceReference: invoiceId,
    payer: { name: null, email: null },
    occurredAt: null,
  }
}

function toPayAnswer(outcome: EventOutcome) {
  const { eventId, applied, target } = outcome
  const [moved] = applied
  switch (outcome.outcome) {
    case 'done':
    case 'duplicate':
      return {
        duplicate: false,
        ...(moved === undefined ? {} : { applied: amountOf(moved.amountMinor, moved.currency) }),
        eventId,
        ...(target === null ? {} : { target }),
      }
    case 'kept':
      throw new AppError('content_differs', 'This Idempotency-Key was used for another request; take a new one.')
    case 'in_progress':
      throw new AppError('in_progress', 'The first request with this key has not ended; ask again in a moment.')
    case 'unknown':
      throw new AppError('outcome_unknown', 'Nobody knows yet how the first request with this key ended.')
    case 'failed':
      throw new AppError('internal', 'Nothing was booked. It is in the log under this requestId.', {
        cause: outcome.cause,
      })
  }
}

async function getInvoice(tx: Tx, organizationId: string, invoiceId: string): Promise<InvoiceRow> {
  const row = await findInvoice(tx, organizationId, invoiceId)
  if (row === undefined) throw new AppError('not_found', `There is no invoice ${invoiceId}.`)
  return row
}

async function withLines(tx: Tx, organizationId: string, row: InvoiceRow) {
  return toInvoice(row, await listInvoiceLines(tx, organizationId, [row.id]))
}

function toInvoice(row: InvoiceRow, lines: Awaited<ReturnType<typeof listInvoiceLines>>) {
  const { currency } = row
  return {
    id: row.id,
    number: row.number,
    type: row.type,
    lifecycle: row.lifecycle,
    paymentState: row.payment_state,
    contactId: row.contact_id,
    currency,
    total: amountOf(row.total_minor, currency),
    paid: amountOf(row.paid_minor, currency),
    credited: amountOf(row.credited_minor, currency),
    adjusted: amountOf(row.adjusted_minor, currency),
    open: amountOf(row.open_minor, currency),
    issuedAt: row.issued_at?.toISOString() ?? null,
    dueOn: row.due_on,
    version: row.version,
    createdAt: row.created_at.toISOString(),
    lines: lines.map((line) => ({
      description: line.description,
      quantity: withoutZeros(line.quantity),
      unitPriceMinor: withoutZeros(line.unit_price_minor),
      taxPercent: withoutZeros(line.tax_percent),
      net: amountOf(line.net_minor, currency),
    })),
  }
}

/** `1.5000` as `1.5`: PostgreSQL prints every place that the column has. */
function withoutZeros(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal
}
