import {
  applyInput,
  id,
  moneyAnswer,
  moveInput,
  pageOf,
  pageQuery,
  payment,
  paymentDetail,
  paymentInput,
  returnInput,
} from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  applyPayment,
  findPayment,
  findReturn,
  listAllocationsOfPayment,
  listInvoicesOfPayments,
  listMentions,
  listPayments,
  listReturnsOf,
  movePayment,
  type PaymentRow,
  type ReturnRow,
  recordPayment,
  returnPayment,
  reverseReturn,
} from '../modules/money/index.ts'
import { countCopies } from '../modules/register/index.ts'
import { findCurrency } from '../platform/currencies.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { isUsableId } from '../providers/index.ts'
import { type ApiParts, amountOf, answerAct, callerOf, ifMatchOf, toPage, withCurrent } from './api-parts.ts'
import { toAllocation } from './invoice-shapes.ts'
import { moneyOf, toMoneyAnswer } from './money-shapes.ts'

const onePayment = z.object({ id })
const movesMoney = { keyRequired: true }

export const paymentRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  const { db } = parts

  const currentOf = (organizationId: string, paymentId: string) => () =>
    db.transaction(organizationId, (tx) => readDetail(tx, organizationId, paymentId))

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

  app.post(
    '/payments',
    {
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
      schema: {
        tags: ['payments'],
        summary: 'One payment, with where it lies and lay and what went back',
        params: onePayment,
        response: { 200: paymentDetail },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      return db.transaction(organizationId, (tx) => readDetail(tx, organizationId, request.params.id))
    },
  )

  app.post(
    '/payments/:id/apply',
    {
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
        if (amount !== null) await checkCurrency(tx, context.organizationId, params.id, amount.currency)
        const input = { invoiceId, amountMinor: amount?.amountMinor ?? null }
        const applied = await applyPayment(tx, context, params.id, input, ifMatchOf(request))
        return toMove(context.eventId, params.id, applied, { invoiceId, amount: body.amount ?? null })
      })
      return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
    },
  )

  app.post(
    '/payments/:id/move',
    {
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
      return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
    },
  )

  for (const kind of ['refund', 'chargeback'] as const) {
    app.post(
      `/payments/:id/${kind}`,
      {
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
          if (amount !== null) await checkCurrency(tx, context.organizationId, params.id, amount.currency)
          const name = source === undefined || externalId === undefined ? null : { source, externalId }
          const input = { kind, amountMinor: amount?.amountMinor ?? null, name }
          const result = await returnPayment(tx, context, params.id, input, ifMatchOf(request))
          const subject = { type: 'payment', id: params.id }
          const data = { amount: body?.amount ?? null, name }
          const answer = toMoneyAnswer(context.eventId, result)
          return { status: 200, body: answer, subject, target: result.target, data }
        })
        return withCurrent(acted, currentOf(callerOf(request).organizationId, params.id))
      },
    )
  }

  app.post(
    '/payments/:id/returns/:returnId/reverse',
    {
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

/** What a provider would have to be refused for is refused here as well, so that both meet in one key. */
function checkName(externalId: string): void {
  if (!isUsableId(externalId)) throw new AppError('invalid', 'externalId: cannot name one payment')
}

async function getPayment(tx: Tx, organizationId: string, paymentId: string): Promise<PaymentRow> {
  const row = await findPayment(tx, organizationId, paymentId)
  if (row === undefined) throw new AppError('not_found', `There is no payment ${paymentId}.`)
  return row
}

async function checkCurrency(tx: Tx, organizationId: string, paymentId: string, currency: string): Promise<void> {
  const row = await getPayment(tx, organizationId, paymentId)
  if (row.currency !== currency) throw new AppError('invalid', `amount.currency: the payment is in ${row.currency}`)
}

async function checkBelongs(tx: Tx, organizationId: string, paymentId: string, returnId: string): Promise<void> {
  const row = await getPayment(tx, organizationId, paymentId)
  const movement = await findReturn(tx, organizationId, returnId)
  const isOwn = movement?.original_id === row.external_id && movement.original_source === row.source
  if (!isOwn) throw new AppError('not_found', `The payment has no refund or chargeback ${returnId}.`)
}

async function readDetail(tx: Tx, organizationId: string, paymentId: string) {
  const row = await getPayment(tx, organizationId, paymentId)
  const toItem = await describe(tx, organizationId, [row])
  const returns = await listReturnsOf(tx, organizationId, row)
  const allocations = await listAllocationsOfPayment(tx, organizationId, row.id)
  return { ...toItem(row), returns: returns.map(toReturn), allocations: allocations.map(toAllocation) }
}

function toReturn(row: ReturnRow) {
  return {
    id: row.id,
    source: row.source,
    externalId: row.external_id,
    kind: row.kind,
    returnId: row.return_id,
    amount: amountOf(row.amount_minor, row.currency),
    occurredAt: row.occurred_at?.toISOString() ?? null,
    recordedAt: row.recorded_at.toISOString(),
    eventId: row.event_id,
  }
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
    version: row.version,
  })
}
