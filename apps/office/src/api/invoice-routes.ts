import {
  adjustmentInput,
  creditNoteInput,
  id,
  invoice,
  invoiceChange,
  invoiceDetail,
  invoiceInput,
  moneyAnswer,
  pageOf,
  pageQuery,
  payInput,
  reversalInput,
} from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { findContact } from '../modules/contacts/index.ts'
import {
  adjustInvoice,
  changeInvoice,
  createInvoice,
  creditInvoice,
  duplicateInvoice,
  type InvoiceDraft,
  type InvoiceRow,
  issueInvoice,
  listInvoiceLines,
  listInvoices,
  payInvoice,
  reverseAdjustment,
  voidInvoice,
} from '../modules/money/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, callerOf, ifMatchOf, toPage, type WriteContext, withCurrent } from './api-parts.ts'
import { getInvoice, toInvoice, toInvoiceDetail, withLines } from './invoice-shapes.ts'
import { moneyOf, toMoneyAnswer } from './money-shapes.ts'

const oneInvoice = z.object({ id })
const movesMoney = { keyRequired: true }
const movesNothing = { keyRequired: false }

export const invoiceRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  const { db } = parts

  /** The invoice as it is now, for whoever comes second. */
  const currentOf = (organizationId: string, invoiceId: string) => () =>
    db.transaction(organizationId, async (tx) =>
      withLines(tx, organizationId, await getInvoice(tx, organizationId, invoiceId)),
    )

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
      answerAct(parts, request, reply, 'invoice.create', movesNothing, async (tx, context) => {
        const { contactId = null, currency, dueOn = null, discountPercent, notes = null, lines } = request.body
        const draft = { contactId, currency, dueOn, discountPercent, notes, lines }
        await checkDraft(tx, context.organizationId, draft)
        return toAct(tx, context, await createInvoice(tx, context, draft), { status: 201 })
      }),
  )

  app.get(
    '/invoices',
    {
      schema: {
        tags: ['invoices'],
        summary: 'List invoices and credit notes',
        querystring: pageQuery,
        response: { 200: pageOf(invoice) },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor, limit } = request.query
      return db.transaction(organizationId, async (tx) => {
        const rows = await listInvoices(tx, organizationId, cursor ?? null, limit + 1)
        const ids = rows.map((row) => row.id)
        const lines = Map.groupBy(await listInvoiceLines(tx, organizationId, ids), (line) => line.invoice_id)
        return toPage(rows, limit, (row) => toInvoice(row, lines.get(row.id) ?? []))
      })
    },
  )

  app.get(
    '/invoices/:id',
    {
      schema: {
        tags: ['invoices'],
        summary: 'One invoice or credit note, with everything that lies and lay on it',
        params: oneInvoice,
        response: { 200: invoiceDetail },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      return db.transaction(organizationId, async (tx) =>
        toInvoiceDetail(tx, organizationId, await getInvoice(tx, organizationId, request.params.id)),
      )
    },
  )

  app.patch(
    '/invoices/:id',
    {
      schema: {
        tags: ['invoices'],
        summary: 'Change a draft',
        description: 'With `If-Match: "<version>"` only if nobody has changed it since. What is issued stays as it is.',
        params: oneInvoice,
        body: invoiceChange,
        response: { 200: invoice },
      },
    },
    (request, reply) => {
      const { params, body } = request
      const acted = answerAct(parts, request, reply, 'invoice.change', movesNothing, async (tx, context) => {
        const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
        const row = await changeInvoice(tx, context, params.id, (draft) => ({ ...draft, ...given }), ifMatchOf(request))
        const { contact_id: contactId, currency } = row
        await checkDraft(tx, context.organizationId, { contactId, currency })
        return toAct(tx, context, row, { data: given })
      })
      return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
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
    (request, reply) => {
      const { params } = request
      const acted = answerAct(parts, request, reply, 'invoice.issue', movesNothing, async (tx, context) => {
        const row = await issueInvoice(tx, context, params.id, ifMatchOf(request))
        return toAct(tx, context, row, { data: { number: row.number } })
      })
      return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
    },
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
    (request, reply) => {
      const { params, body } = request
      const amount = moneyOf(body?.amount)
      const acted = answerAct(parts, request, reply, 'invoice.pay', movesMoney, async (tx, context) => {
        const result = await payInvoice(tx, context, params.id, amount, ifMatchOf(request))
        return {
          status: 200,
          body: toMoneyAnswer(context.eventId, result),
          subject: { type: 'invoice', id: params.id },
          target: result.target,
          data: { amount: body?.amount ?? null },
        }
      })
      return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/invoices/:id/duplicate',
    {
      schema: {
        tags: ['invoices'],
        summary: 'A new draft with the same lines',
        description: 'No number, no date, nothing paid: only what was written is copied.',
        params: oneInvoice,
        response: { 201: invoice },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'invoice.duplicate', movesNothing, async (tx, context) => {
        const row = await duplicateInvoice(tx, context, request.params.id)
        return toAct(tx, context, row, { status: 201, data: { copiedFromId: request.params.id } })
      }),
  )

  app.post(
    '/invoices/:id/credit-note',
    {
      schema: {
        tags: ['invoices'],
        summary: 'Issue a credit note for an invoice',
        description:
          'Needs the header Idempotency-Key. It has a number of its own series and lowers what is open first; what was paid beyond that becomes unapplied money.',
        params: oneInvoice,
        body: creditNoteInput.nullish(),
        response: { 201: invoice },
      },
    },
    (request, reply) => {
      const { params, body } = request
      const acted = answerAct(parts, request, reply, 'invoice.credit', movesMoney, async (tx, context) => {
        const input = {
          lines: body?.lines ?? null,
          discountPercent: body?.discountPercent ?? '0',
          notes: body?.notes ?? null,
        }
        const row = await creditInvoice(tx, context, params.id, input, ifMatchOf(request))
        return toAct(tx, context, row, { status: 201, data: { invoiceId: params.id, number: row.number } })
      })
      return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/invoices/:id/void',
    {
      schema: {
        tags: ['invoices'],
        summary: 'Make a document void',
        description: 'A draft, or an issued invoice on which nothing lies. Its number stays used.',
        params: oneInvoice,
        response: { 200: invoice },
      },
    },
    (request, reply) => {
      const { params } = request
      const acted = answerAct(parts, request, reply, 'invoice.void', movesNothing, async (tx, context) =>
        toAct(tx, context, await voidInvoice(tx, context, params.id, ifMatchOf(request)), {}),
      )
      return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/invoices/:id/adjustments',
    {
      schema: {
        tags: ['invoices'],
        summary: 'Take off what is no longer owed',
        description:
          'Needs the header Idempotency-Key. A cash discount, a fee that somebody else kept, or a bad debt; without an amount, all that is open.',
        params: oneInvoice,
        body: adjustmentInput,
        response: { 201: invoice },
      },
    },
    (request, reply) => {
      const { params, body } = request
      const acted = answerAct(parts, request, reply, 'invoice.adjust', movesMoney, async (tx, context) => {
        const amount = moneyOf(body.amount)
        if (amount !== null) await checkCurrency(tx, context.organizationId, params.id, amount.currency)
        const input = { kind: body.kind, amountMinor: amount?.amountMinor ?? null, note: body.note ?? null }
        const row = await adjustInvoice(tx, context, params.id, input, ifMatchOf(request))
        return toAct(tx, context, row, { status: 201, data: { kind: body.kind, amount: body.amount ?? null } })
      })
      return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/invoices/:id/adjustments/:adjustmentId/reverse',
    {
      schema: {
        tags: ['invoices'],
        summary: 'Take an adjustment back',
        description: 'Needs the header Idempotency-Key. Once; what waited for this invoice then pays it.',
        params: z.object({ id, adjustmentId: id }),
        body: reversalInput,
        response: { 200: invoice },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'invoice.adjust.reverse', movesMoney, async (tx, context) => {
        const { id: invoiceId, adjustmentId } = request.params
        const { reason } = request.body
        const row = await reverseAdjustment(tx, context, invoiceId, adjustmentId, reason)
        return toAct(tx, context, row, { data: { adjustmentId, reason } })
      }),
  )
}

async function toAct(
  tx: Tx,
  { organizationId }: WriteContext,
  row: InvoiceRow,
  { status = 200, data = {} }: { status?: 200 | 201; data?: Readonly<Record<string, unknown>> },
) {
  return { status, body: await withLines(tx, organizationId, row), subject: { type: 'invoice', id: row.id }, data }
}

async function checkDraft(
  tx: Tx,
  organizationId: string,
  { contactId, currency }: Pick<InvoiceDraft, 'contactId' | 'currency'>,
): Promise<void> {
  if (findCurrency(currency) === undefined) {
    throw new AppError('invalid', `currency: ${currency} is no currency of ISO 4217`)
  }
  if (contactId !== null && (await findContact(tx, organizationId, contactId)) === undefined) {
    throw new AppError('invalid', `contactId: there is no contact ${contactId}`)
  }
}

async function checkCurrency(tx: Tx, organizationId: string, invoiceId: string, currency: string): Promise<void> {
  const row = await getInvoice(tx, organizationId, invoiceId)
  if (row.currency !== currency) throw new AppError('invalid', `amount.currency: the invoice is in ${row.currency}`)
}
