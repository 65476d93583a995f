import { creditNoteInput, id, invoice } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { keepsBooks, servesCustomers } from '../modules/members/index.ts'
import { creditInvoice, duplicateInvoice, issueInvoice, voidInvoice } from '../modules/money/index.ts'
import { type ApiParts, answerAct, callerOf, ifMatchOf, movesMoney, movesNothing, withCurrent } from './api-parts.ts'
import { currentInvoice, toInvoiceAct } from './invoice-shapes.ts'

const oneInvoice = z.object({ id })

/** The steps of a document: issued, copied, credited, made void. */
export const invoiceStepRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/invoices/:id/issue',
    {
      config: { access: keepsBooks },
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
        return toInvoiceAct(tx, context, row, { data: { number: row.number } })
      })
      return withCurrent(acted, currentInvoice(parts, callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/invoices/:id/duplicate',
    {
      config: { access: servesCustomers },
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
        return toInvoiceAct(tx, context, row, { status: 201, data: { copiedFromId: request.params.id } })
      }),
  )

  app.post(
    '/invoices/:id/credit-note',
    {
      config: { access: keepsBooks },
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
        return toInvoiceAct(tx, context, row, { status: 201, data: { invoiceId: params.id, number: row.number } })
      })
      return withCurrent(acted, currentInvoice(parts, callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/invoices/:id/void',
    {
      config: { access: keepsBooks },
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
        toInvoiceAct(tx, context, await voidInvoice(tx, context, params.id, ifMatchOf(request)), {}),
      )
      return withCurrent(acted, currentInvoice(parts, callerOf(request).organizationId, params.id))
    },
  )
}
