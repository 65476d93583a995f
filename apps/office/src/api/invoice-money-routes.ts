import { adjustmentInput, id, invoice, moneyAnswer, payInput, reversalInput } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { keepsBooks } from '../modules/members/index.ts'
import { adjustInvoice, payInvoice, reverseAdjustment } from '../modules/money/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, callerOf, ifMatchOf, movesMoney, withCurrent } from './api-parts.ts'
import { currentInvoice, getInvoice, toInvoiceAct } from './invoice-shapes.ts'
import { moneyOf, toMoneyAnswer } from './money-shapes.ts'

const oneInvoice = z.object({ id })

/** What lowers the open amount of an invoice by hand, and what takes that back. */
export const invoiceMoneyRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/invoices/:id/pay',
    {
      config: { access: keepsBooks },
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
      return withCurrent(acted, currentInvoice(parts, callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/invoices/:id/adjustments',
    {
      config: { access: keepsBooks },
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
        return toInvoiceAct(tx, context, row, { status: 201, data: { kind: body.kind, amount: body.amount ?? null } })
      })
      return withCurrent(acted, currentInvoice(parts, callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/invoices/:id/adjustments/:adjustmentId/reverse',
    {
      config: { access: keepsBooks },
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
        return toInvoiceAct(tx, context, row, { data: { adjustmentId, reason } })
      }),
  )
}

async function checkCurrency(tx: Tx, organizationId: string, invoiceId: string, currency: string): Promise<void> {
  const row = await getInvoice(tx, organizationId, invoiceId)
  if (row.currency !== currency) throw new AppError('invalid', `amount.currency: the invoice is in ${row.currency}`)
}
