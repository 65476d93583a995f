import { id, moneyAnswer, returnInput } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { keepsBooks } from '../modules/members/index.ts'
import { findReturn, returnPayment, reverseReturn } from '../modules/money/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, callerOf, ifMatchOf, movesMoney, withCurrent } from './api-parts.ts'
import { moneyOf, toMoneyAnswer } from './money-shapes.ts'
import { checkName, checkPaymentCurrency, currentPayment, getPayment } from './payment-shapes.ts'

const onePayment = z.object({ id })

/** What went back of a payment, and what came again of that. */
export const paymentReturnRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  for (const kind of ['refund', 'chargeback'] as const) {
    app.post(
      `/payments/:id/${kind}`,
      {
        config: { access: keepsBooks },
        schema: {
          tags: ['payments'],
          summary: kind === 'refund' ? 'Record a refund' : 'Record a chargeback',
          description:
            "Needs the header Idempotency-Key. It records that the money went back, and sends none. Unapplied money goes first, then what lies on invoices, newest first. With the provider's own name for it, the provider's message later is a repetition.",
          params: onePayment,
          body: returnInput.nullish(),
          response: { 200: moneyAnswer },
        },
      },
      (request, reply) => {
        const { params, body } = request
        const acted = answerAct(parts, request, reply, `payment.${kind}`, movesMoney, async (tx, context) => {
          const amount = moneyOf(body?.amount)
          const { source, externalId } = body ?? {}
          if (externalId !== undefined) checkName(externalId)
          const disputeId = checkedDispute(kind, externalId, body?.dispute)
          if (amount !== null) await checkPaymentCurrency(tx, context.organizationId, params.id, amount.currency)
          const name = source === undefined || externalId === undefined ? null : { source, externalId }
          const input = { kind, amountMinor: amount?.amountMinor ?? null, name, disputeId }
          const result = await returnPayment(tx, context, params.id, input, ifMatchOf(request))
          const subject = { type: 'payment', id: params.id }
          const data = { amount: body?.amount ?? null, name }
          const answer = toMoneyAnswer(context.eventId, result)
          return { status: 200, body: answer, subject, target: result.target, data }
        })
        return withCurrent(acted, currentPayment(parts, callerOf(request).organizationId, params.id))
      },
    )
  }

  app.post(
    '/payments/:id/returns/:returnId/reverse',
    {
      config: { access: keepsBooks },
      schema: {
        tags: ['payments'],
        summary: 'Record that a refund or chargeback came back',
        description:
          'Needs the header Idempotency-Key. The money is unapplied again, unless the invoice that the payment named still takes it.',
        params: z.object({ id, returnId: id }),
        response: { 200: moneyAnswer },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'payment.return.reverse', movesMoney, async (tx, context) => {
        const { id: paymentId, returnId } = request.params
        await checkBelongs(tx, context.organizationId, paymentId, returnId)
        const result = await reverseReturn(tx, context, returnId)
        const subject = { type: 'payment', id: paymentId }
        const answer = toMoneyAnswer(context.eventId, result)
        return { status: 200, body: answer, subject, target: result.target, data: { returnId } }
      }),
  )
}

async function checkBelongs(tx: Tx, organizationId: string, paymentId: string, returnId: string): Promise<void> {
  const row = await getPayment(tx, organizationId, paymentId)
  const movement = await findReturn(tx, organizationId, returnId)
  const isOwn = movement?.original_id === row.external_id && movement.original_source === row.source
  if (!isOwn) throw new AppError('not_found', `The payment has no refund or chargeback ${returnId}.`)
}

/** A dispute takes and gives in several movements. One that a provider has named has to say which dispute it belongs to. */
function checkedDispute(
  kind: 'refund' | 'chargeback',
  externalId: string | undefined,
  dispute: string | undefined,
): string | null {
  if (kind === 'refund') return null
  if (externalId !== undefined && dispute === undefined) {
    throw new AppError('invalid', 'dispute: name the dispute that this movement belongs to')
  }
  return dispute ?? null
}
