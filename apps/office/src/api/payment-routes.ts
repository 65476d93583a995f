import { id, moneyAnswer, pageOf, pageQuery, payment, paymentDetail, paymentInput } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { keepsBooks, readsOffice } from '../modules/members/index.ts'
import { listPayments, recordPayment } from '../modules/money/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import { AppError } from '../platform/errors.ts'
import { type ApiParts, answerAct, callerOf, movesMoney, toPage } from './api-parts.ts'
import { moneyOf, toMoneyAnswer } from './money-shapes.ts'
import { checkName, describePayments, readPaymentDetail } from './payment-shapes.ts'

const onePayment = z.object({ id })

export const paymentRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  const { db } = parts

  app.get(
    '/payments',
    {
      config: { access: readsOffice },
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
        const toItem = await describePayments(tx, organizationId, rows)
        return toPage(rows, limit, toItem)
      })
    },
  )

  app.post(
    '/payments',
    {
      config: { access: keepsBooks },
      schema: {
        tags: ['payments'],
        summary: 'Record a payment that is known from elsewhere',
        description:
          "Needs the header Idempotency-Key. The payment keeps its source's own name, so that the answer of your call to the provider, a poll and the provider's webhook are one payment.",
        body: paymentInput,
        response: { 200: moneyAnswer },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'payment.record', movesMoney, async (tx, context) => {
        const { source, externalId, payer, occurredAt, invoice } = request.body
        const amount = moneyOf(request.body.amount)
        checkName(externalId)
        if (amount === null || findCurrency(amount.currency) === undefined) {
          throw new AppError('invalid', `amount.currency: ${amount?.currency} is no currency of ISO 4217`)
        }
        const result = await recordPayment(tx, context, {
          source,
          externalId,
          amount,
          invoiceReference: invoice ?? null,
          payer: { name: payer?.name ?? null, email: payer?.email ?? null },
          occurredAt: occurredAt === null || occurredAt === undefined ? null : new Date(occurredAt),
        })
        const subject = result.target ?? { type: 'event', id: context.eventId }
        const data = { source, externalId, amount: request.body.amount }
        return { status: 200, body: toMoneyAnswer(context.eventId, result), subject, data }
      }),
  )

  app.get(
    '/payments/:id',
    {
      config: { access: readsOffice },
      schema: {
        tags: ['payments'],
        summary: 'One payment, with where it lies and lay and what went back',
        params: onePayment,
        response: { 200: paymentDetail },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      return db.transaction(organizationId, (tx) => readPaymentDetail(tx, organizationId, request.params.id))
    },
  )
}
