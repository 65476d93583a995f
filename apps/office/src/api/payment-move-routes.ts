import { applyInput, id, moneyAnswer, moveInput } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { keepsBooks } from '../modules/members/index.ts'
import { applyPayment, movePayment } from '../modules/money/index.ts'
import { type ApiParts, amountOf, answerAct, callerOf, ifMatchOf, movesMoney, withCurrent } from './api-parts.ts'
import { moneyOf } from './money-shapes.ts'
import { checkPaymentCurrency, currentPayment } from './payment-shapes.ts'

const onePayment = z.object({ id })

/** Where a payment lies: applied, and moved. */
export const paymentMoveRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/payments/:id/apply',
    {
      config: { access: keepsBooks },
      schema: {
        tags: ['payments'],
        summary: 'Apply unapplied money to an invoice',
        description:
          'Needs the header Idempotency-Key. Without an amount, all that is unapplied, at most what is open.',
        params: onePayment,
        body: applyInput,
        response: { 200: moneyAnswer },
      },
    },
    (request, reply) => {
      const { params, body } = request
      const acted = answerAct(parts, request, reply, 'payment.apply', movesMoney, async (tx, context) => {
        const { invoiceId } = body
        const amount = moneyOf(body.amount)
        if (amount !== null) await checkPaymentCurrency(tx, context.organizationId, params.id, amount.currency)
        const input = { invoiceId, amountMinor: amount?.amountMinor ?? null }
        const applied = await applyPayment(tx, context, params.id, input, ifMatchOf(request))
        return toMove(context.eventId, params.id, applied, { invoiceId, amount: body.amount ?? null })
      })
      return withCurrent(acted, currentPayment(parts, callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/payments/:id/move',
    {
      config: { access: keepsBooks },
      schema: {
        tags: ['payments'],
        summary: 'Move a payment to another invoice',
        description:
          'Needs the header Idempotency-Key. Taken back and applied in one transaction; what does not fit becomes unapplied. Coming back works.',
        params: onePayment,
        body: moveInput,
        response: { 200: moneyAnswer },
      },
    },
    (request, reply) => {
      const { params, body } = request
      const acted = answerAct(parts, request, reply, 'payment.move', movesMoney, async (tx, context) => {
        const input = { fromInvoiceId: body.fromInvoiceId ?? null, toInvoiceId: body.toInvoiceId }
        const applied = await movePayment(tx, context, params.id, input, ifMatchOf(request))
        return toMove(context.eventId, params.id, applied, input)
      })
      return withCurrent(acted, currentPayment(parts, callerOf(request).organizationId, params.id))
    },
  )
}

function toMove(
  eventId: string,
  paymentId: string,
  applied: { amountMinor: bigint; currency: string },
  data: Readonly<Record<string, unknown>>,
) {
  const target = { type: 'payment', id: paymentId }
  const body = { duplicate: false, applied: amountOf(applied.amountMinor, applied.currency), eventId, target }
  return { status: 200 as const, body, subject: target, data }
}
