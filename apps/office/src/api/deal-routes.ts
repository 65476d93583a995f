import { deal, dealChange, dealInput, dealQuery, id, pageOf } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  changeDeal,
  createDeal,
  type DealRow,
  findDeal,
  listDeals,
  listDealsInStage,
  listDealsOfContact,
  lockDeal,
} from '../modules/deals/index.ts'
import { readsOffice, servesCustomers } from '../modules/members/index.ts'
import { AppError, requireVersion } from '../platform/errors.ts'
import {
  type ApiParts,
  amountOf,
  answerAct,
  callerOf,
  changedFields,
  ifMatchOf,
  movesNothing,
  toPage,
} from './api-parts.ts'

const tags = ['deals']
const oneDeal = z.object({ id })

export const dealRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  app.post(
    '/deals',
    {
      config: { access: servesCustomers },
      schema: { tags, summary: 'Add a deal', body: dealInput, response: { 201: deal } },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'deal.create', movesNothing, async (tx, context) => {
        const { title, contactId, stage, amount, expectedOn = null } = request.body
        const draft = { title, contactId, stage, amount: toMoney(amount), expectedOn }
        const item = toDeal(await createDeal(tx, context, draft))
        return { status: 201, body: item, subject: { type: 'deal', id: item.id }, data: changedFields({}, item) }
      }),
  )

  app.get(
    '/deals',
    {
      config: { access: readsOffice },
      schema: { tags, summary: 'List deals', querystring: dealQuery, response: { 200: pageOf(deal) } },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor = null, limit, stage = null, contactId } = request.query
      const rows = await parts.db.transaction(organizationId, (tx) => {
        if (contactId !== undefined) return listDealsOfContact(tx, organizationId, contactId, stage, cursor, limit + 1)
        if (stage !== null) return listDealsInStage(tx, organizationId, stage, cursor, limit + 1)
        return listDeals(tx, organizationId, cursor, limit + 1)
      })
      return toPage(rows, limit, toDeal)
    },
  )

  app.get(
    '/deals/:id',
    {
      config: { access: readsOffice },
      schema: { tags, summary: 'One deal', params: oneDeal, response: { 200: deal } },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const row = await parts.db.transaction(organizationId, (tx) => findDeal(tx, organizationId, request.params.id))
      return toDeal(found(row, request.params.id))
    },
  )

  app.patch(
    '/deals/:id',
    {
      config: { access: servesCustomers },
      schema: {
        tags,
        summary: 'Change a deal, or move it to another stage',
        description:
          'What is left out stays. With the header `If-Match: "<version>"` only the version that you read is changed; another one is refused with 409 `version_stale`, and `current` is what it is now.',
        params: oneDeal,
        body: dealChange,
        response: { 200: deal },
      },
    },
    (request, reply) => {
      const version = ifMatchOf(request)
      return answerAct(parts, request, reply, 'deal.change', movesNothing, async (tx, context) => {
        const { id: dealId } = request.params
        const locked = found(await lockDeal(tx, context.organizationId, dealId), dealId)
        const before = toDeal(locked)
        requireVersion(version, before, before)
        const { amount, ...fields } = request.body
        const change = { ...fields, amount: amount === undefined ? undefined : toMoney(amount) }
        const row = await changeDeal(tx, context, locked, change)
        const after = toDeal(row)
        const data = row === locked ? null : changedFields(before, after)
        return { status: 200, body: after, subject: { type: 'deal', id: row.id }, data }
      })
    },
  )
}

function found(row: DealRow | undefined, dealId: string): DealRow {
  if (row === undefined) throw new AppError('not_found', `There is no deal ${dealId}.`)
  return row
}

function toMoney({ amountMinor, currency }: { amountMinor: number; currency: string }) {
  return { amountMinor: BigInt(amountMinor), currency }
}

function toDeal(row: DealRow) {
  return {
    id: row.id,
    title: row.title,
    contactId: row.contact_id,
    stage: row.stage,
    amount: amountOf(row.amount_minor, row.currency),
    expectedOn: row.expected_on,
    version: row.version,
    createdAt: row.created_at.toISOString(),
    closedAt: row.closed_at?.toISOString() ?? null,
  }
}
