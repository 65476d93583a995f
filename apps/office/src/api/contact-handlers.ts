import type { addressInput, companyInput, contactPointInput, contactQuery } from '@einmal/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import {
  type ContactContext,
  type ContactDraft,
  type ContactPointRow,
  type ContactRow,
  createContact,
  fieldsOf,
  findContact,
  firstEmail,
  listContactPoints,
  lockContact,
  type PointDraft,
  searchContacts,
} from '../modules/contacts/index.ts'
import { listContactBalances } from '../modules/money/index.ts'
import type { Tx } from '../platform/database.ts'
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

/** What `/contacts` and `/companies` have in common: they are one table, of which the second shows a part. */
export type ContactType = 'company' | null

/** Adds a contact and answers with it. */
export function answerCreated(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  draft: ContactDraft,
): Promise<void> {
  return answerAct(parts, request, reply, 'contact.create', movesNothing, async (tx, context) => {
    const row = await createContact(tx, context, draft)
    const [item] = await describeContacts(tx, context.organizationId, [row])
    const subject = { type: 'contact', id: row.id }
    return { status: 201, body: item, subject, data: changedFields({}, item ?? {}) }
  })
}

/**
 * Changes a contact behind its lock, where the caller has read the version that it has, and answers with what it is then.
 * `change` returns the row that it was given where there is nothing to change: then nothing is put on record.
 */
export function answerChanged(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  subject: { readonly id: string; readonly type: ContactType },
  operation: string,
  change: (tx: Tx, context: ContactContext, locked: ContactRow) => Promise<ContactRow>,
  statusOf: (isChanged: boolean) => number = () => 200,
): Promise<void> {
  const version = ifMatchOf(request)
  return answerAct(parts, request, reply, operation, movesNothing, async (tx, context) => {
    const { organizationId } = context
    const locked = ofType(await lockContact(tx, organizationId, subject.id), subject)
    const [before] = await describeContacts(tx, organizationId, [locked])
    if (before === undefined) throw new Error('a contact was read and not described')
    requireVersion(version, before, before)
    const row = await change(tx, context, locked)
    const isChanged = row !== locked
    const [after = before] = isChanged ? await describeContacts(tx, organizationId, [row]) : [before]
    return {
      status: statusOf(isChanged),
      body: after,
      subject: { type: 'contact', id: row.id },
      data: isChanged ? changedFields(before, after) : null,
    }
  })
}

/** One contact with its company and what it owes. */
export function readContact(parts: ApiParts, request: FastifyRequest, id: string, type: ContactType) {
  const { organizationId } = callerOf(request)
  return parts.db.transaction(organizationId, async (tx) => {
    const row = await getContact(tx, organizationId, id, type)
    const [item] = await describeContacts(tx, organizationId, [row])
    if (item === undefined) throw new Error('a contact was read and not described')
    const company = row.company_id === null ? undefined : await findContact(tx, organizationId, row.company_id)
    const balances = await listContactBalances(tx, organizationId, [id])
    return {
      ...item,
      company: company === undefined ? null : { id: company.id, name: company.name },
      balances: balances.map(({ currency, open_minor: open, credit_minor: credit }) => ({
        currency,
        open: amountOf(open, currency),
        credit: amountOf(credit, currency),
      })),
    }
  })
}

export function readContacts(
  parts: ApiParts,
  request: FastifyRequest,
  { q, cursor, limit }: z.output<typeof contactQuery>,
  type: ContactType,
) {
  const { organizationId } = callerOf(request)
  return parts.db.transaction(organizationId, async (tx) => {
    const search = { type, text: q ?? null }
    return pageOfContacts(
      tx,
      organizationId,
      limit,
      await searchContacts(tx, organizationId, search, cursor ?? null, limit + 1),
    )
  })
}

/** A page of contacts that were read one more than asked for. */
export async function pageOfContacts(tx: Tx, organizationId: string, limit: number, rows: readonly ContactRow[]) {
  const { items, nextCursor } = toPage(rows, limit, (row) => row)
  return { items: await describeContacts(tx, organizationId, items), nextCursor }
}

/** Throws `not_found`, also for a person where a company is asked for. */
export async function getContact(tx: Tx, organizationId: string, id: string, type: ContactType): Promise<ContactRow> {
  return ofType(await findContact(tx, organizationId, id), { id, type })
}

function ofType(row: ContactRow | undefined, { id, type }: { id: string; type: ContactType }): ContactRow {
  if (row === undefined || (type !== null && row.type !== type)) {
    throw new AppError('not_found', `There is no ${type ?? 'contact'} ${id}.`)
  }
  return row
}

/** Reads the points of the contacts, in one statement for all. */
async function describeContacts(tx: Tx, organizationId: string, rows: readonly ContactRow[]) {
  const ids = rows.map((row) => row.id)
  const points = Map.groupBy(await listContactPoints(tx, organizationId, ids), (point) => point.contact_id)
  return rows.map((row) => toContact(row, points.get(row.id) ?? []))
}

function toContact(row: ContactRow, points: readonly ContactPointRow[]) {
  return {
    id: row.id,
    type: row.type,
    ...fieldsOf(row),
    email: firstEmail(points),
    points: points.map((point) => ({
      id: point.id,
      kind: point.kind,
      value: point.value,
      label: point.label,
      isShared: point.is_shared,
      createdAt: point.created_at.toISOString(),
    })),
    version: row.version,
    createdAt: row.created_at.toISOString(),
  }
}

/** The points of a new contact; `email` is short for the first. */
export function pointsOf({ email, points }: Pick<z.output<typeof companyInput>, 'email' | 'points'>): PointDraft[] {
  const isLeftOut = email === undefined || email === null
  const first: z.output<typeof contactPointInput>[] = isLeftOut
    ? []
    : [{ kind: 'email', value: email, isShared: false }]
  return [
    ...first.map((point) => pointOf(point, 'email')),
    ...points.map((point, index) => pointOf(point, `points.${index}.value`)),
  ]
}

/** @param field names the point's text in a refusal. */
export function pointOf(input: z.output<typeof contactPointInput>, field: string): PointDraft {
  const { kind, value, label = null, isShared, country = null } = input
  return { field, kind, value, label, isShared, country }
}

/** Left out stays left out; `null` empties. */
export function addressOf(input: z.output<typeof addressInput> | null | undefined) {
  if (input === undefined || input === null) return input
  const { street = null, postalCode = null, city = null, country = null } = input
  return { street, postalCode, city, country }
}
