import { id, invoice, invoiceChange, invoiceDetail, invoiceInput, pageOf, pageQuery } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { findContact } from '../modules/contacts/index.ts'
import { readsOffice, servesCustomers } from '../modules/members/index.ts'
import { changeInvoice, createInvoice, listInvoiceLines, listInvoices } from '../modules/money/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, callerOf, ifMatchOf, movesNothing, toPage, withCurrent } from './api-parts.ts'
import { currentInvoice, getInvoice, toInvoice, toInvoiceAct, toInvoiceDetail } from './invoice-shapes.ts'

const oneInvoice = z.object({ id })

/** Documents as they are written and read. */
export const invoiceRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  const { db } = parts

  app.post(
    '/invoices',
    {
      config: { access: servesCustomers },
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
        return toInvoiceAct(tx, context, await createInvoice(tx, context, draft), { status: 201 })
      }),
  )

  app.get(
    '/invoices',
    {
      config: { access: readsOffice },
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
      config: { access: readsOffice },
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
      config: { access: servesCustomers },
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
        await checkDraft(tx, context.organizationId, body)
        const row = await changeInvoice(tx, context, params.id, (draft) => ({ ...draft, ...given }), ifMatchOf(request))
        return toInvoiceAct(tx, context, row, { data: given })
      })
      return withCurrent(acted, currentInvoice(parts, callerOf(request).organizationId, params.id))
    },
  )
}

/** Of what is given. */
async function checkDraft(
  tx: Tx,
  organizationId: string,
  { contactId, currency }: { readonly contactId?: string | null | undefined; readonly currency?: string | undefined },
): Promise<void> {
  if (currency !== undefined && findCurrency(currency) === undefined) {
    throw new AppError('invalid', `currency: ${currency} is no currency of ISO 4217`)
  }
  if (typeof contactId === 'string' && (await findContact(tx, organizationId, contactId)) === undefined) {
    throw new AppError('invalid', `contactId: there is no contact ${contactId}`)
  }
}
