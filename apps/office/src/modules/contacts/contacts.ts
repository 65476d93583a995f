import type { Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { type Address, type ContactFields, type ContactRow, columnsOf, fieldsOf } from './contact-fields.ts'
import { type Identity, identitiesIn, normalisePoint, type PointKind } from './contact-points.ts'
import {
  type ContactFilter,
  type ContactPointRow,
  findContact,
  findContactPoint,
  findPointHolders,
  insertContact,
  insertContactPoints,
  listCompanies,
  listContacts,
  listContactsByIdentity,
  listContactsByName,
  markPointRemoved,
  type NewContactPoint,
  touchContact,
  updateContact,
} from './queries.ts'

export interface ContactContext {
  readonly organizationId: string
  readonly now: Date
  readonly newId: NewId
}

/** A point as somebody typed it. */
export interface PointDraft {
  /** Where it stands in the request, for the refusal: `email`, `points.0.value`. */
  readonly field: string
  readonly kind: PointKind
  readonly value: string
  readonly label: string | null
  readonly isShared: boolean
  /** Of a phone number without its own. */
  readonly country: string | null
}

export interface ContactDraft {
  /** Made here where it is left out. */
  readonly id?: string
  readonly type: ContactRow['type']
  readonly name: string
  readonly companyId?: string | null | undefined
  readonly taxId?: string | null | undefined
  readonly address?: Address | null | undefined
  readonly points?: readonly PointDraft[]
}

/**
 * Adds a person or a company with its points.
 *
 * Throws `invalid` for a point that cannot be normalised and for a company that is none, `contact_point_taken` where a
 * point belongs to somebody else.
 */
export async function createContact(tx: Tx, context: ContactContext, draft: ContactDraft): Promise<ContactRow> {
  const { organizationId, now, newId } = context
  const { id = newId(), type, name, companyId = null, taxId = null, address = null, points = [] } = draft
  await checkCompany(tx, organizationId, type, companyId)
  const columns = columnsOf({ name, companyId, taxId, address })
  const row = await insertContact(tx, organizationId, { id, type, columns }, now)
  await enterPoints(tx, context, id, points)
  return row
}

/** What is left out stays. */
export type ContactChange = { readonly [Field in keyof ContactFields]?: ContactFields[Field] | undefined }

/**
 * Changes a contact that was locked by `lockContact`, and counts its version up. A change that says what is there already
 * changes nothing.
 *
 * Throws `invalid` for a company that is none.
 */
export async function changeContact(
  tx: Tx,
  context: ContactContext,
  locked: ContactRow,
  change: ContactChange,
): Promise<ContactRow> {
  const { organizationId } = context
  const before = fieldsOf(locked)
  const { name = before.name, companyId = before.companyId, taxId = before.taxId, address = before.address } = change
  const columns = columnsOf({ name, companyId, taxId, address })
  const columnNames = Object.keys(columns) as (keyof typeof columns)[]
  if (columnNames.every((column) => columns[column] === locked[column])) return locked
  if (companyId !== before.companyId) await checkCompany(tx, organizationId, locked.type, companyId)
  return updateContact(tx, organizationId, locked.id, columns)
}

async function checkCompany(
  tx: Tx,
  organizationId: string,
  type: ContactRow['type'],
  companyId: string | null,
): Promise<void> {
  if (companyId === null) return
  if (type === 'company') throw new AppError('invalid', 'companyId: only a person belongs to a company')
  const company = await findContact(tx, organizationId, companyId)
  if (company?.type !== 'company') throw new AppError('invalid', `companyId: there is no company ${companyId}`)
}

/**
 * Adds a point to a contact that was locked by `lockContact`, and counts its version up. One that it has already is
 * nothing new: the row comes back as it was.
 *
 * Throws `invalid` and `contact_point_taken` like `createContact`.
 */
export async function addContactPoint(
  tx: Tx,
  context: ContactContext,
  locked: ContactRow,
  point: PointDraft,
): Promise<ContactRow> {
  const added = await enterPoints(tx, context, locked.id, [point])
  return added === 0 ? locked : touchContact(tx, context.organizationId, locked.id)
}

/**
 * Takes a point from a contact that was locked by `lockContact`, and counts its version up. One that was taken away before
 * stays so: the row comes back as it was.
 *
 * Throws `not_found` for a point that this contact never had.
 */
export async function removeContactPoint(
  tx: Tx,
  context: ContactContext,
  locked: ContactRow,
  pointId: string,
): Promise<ContactRow> {
  const { organizationId, now } = context
  const point = await findContactPoint(tx, organizationId, pointId)
  if (point?.contact_id !== locked.id) {
    throw new AppError('not_found', `The contact ${locked.id} has no contact point ${pointId}.`)
  }
  if (point.removed_at !== null) return locked
  await markPointRemoved(tx, organizationId, pointId, now)
  return touchContact(tx, organizationId, locked.id)
}

/** A point in the way is gone when one looks who has it: so often it is tried to add the new one. */
const MAX_TRIES = 3

/** Returns how many are new. */
async function enterPoints(
  tx: Tx,
  context: ContactContext,
  contactId: string,
  drafts: readonly PointDraft[],
): Promise<number> {
  const { organizationId, now, newId } = context
  let missing = toPoints(drafts, newId)
  let addedCount = 0
  for (let tries = 1; missing.length > 0; tries += 1) {
    if (tries > MAX_TRIES) throw new AppError('unavailable', 'Somebody else is at work on the same contact point.')
    const added = await insertContactPoints(tx, organizationId, contactId, missing, now)
    addedCount += added.length
    missing = without(missing, added)
    if (missing.length === 0) break
    // Those that the contact has already are there; whoever else has one is in the way.
    const holders = await findPointHolders(tx, organizationId, contactId, missing)
    missing = without(
      missing,
      holders.filter((holder) => holder.contactId === contactId),
    )
    const isMissing = new Set(missing.map(nameOf))
    const other = holders.find((holder) => isMissing.has(nameOf(holder)))
    if (other !== undefined) throw takenBy(other)
  }
  return addedCount
}

function takenBy({ contactId, kind, value }: Identity & { readonly contactId: string }): AppError {
  return new AppError(
    'contact_point_taken',
    `${value} belongs to the contact ${contactId}. Take it away there, or mark this one as shared.`,
    { extra: { contactId, kind, value } },
  )
}

function without<Point extends Identity>(points: readonly Point[], others: readonly Identity[]): Point[] {
  const names = new Set(others.map(nameOf))
  return points.filter((point) => !names.has(nameOf(point)))
}

function toPoints(drafts: readonly PointDraft[], newId: NewId): NewContactPoint[] {
  // Ids of one moment have no order; sorted, they keep that of the request, so that the first e-mail stays the first.
  const ids = drafts.map(() => newId()).toSorted()
  const points = new Map<string, NewContactPoint>()
  for (const [index, draft] of drafts.entries()) {
    const { field, kind, label, isShared, country } = draft
    const normalised = normalisePoint(kind, draft.value, country)
    if ('problem' in normalised) throw new AppError('invalid', `${field}: ${draft.value} ${normalised.problem}`)
    const point = { id: ids[index] ?? newId(), kind, value: normalised.value, label, isShared }
    if (!points.has(nameOf(point))) points.set(nameOf(point), point)
  }
  return [...points.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, point]) => point)
}

function nameOf({ kind, value }: Identity): string {
  return `${value}\0${kind}`
}

/**
 * Finds contacts by what somebody typed: whoever has that e-mail address, phone number, IBAN or messenger id, exactly; and
 * where nobody has, whose name begins so.
 *
 * `cursor` is the id of the last contact of the page before. Throws `invalid` for one that is no contact.
 */
export async function searchContacts(
  tx: Tx,
  organizationId: string,
  search: ContactFilter & { readonly text: string | null },
  cursor: string | null,
  limit: number,
): Promise<ContactRow[]> {
  const { type, text } = search
  if (text === null) {
    return type === null
      ? listContacts(tx, organizationId, cursor, limit)
      : listCompanies(tx, organizationId, cursor, limit)
  }
  const recognised = await listContactsByIdentity(tx, organizationId, identitiesIn(text), { type }, cursor, limit)
  if (recognised.length > 0) return recognised
  const last = cursor === null ? null : await findContact(tx, organizationId, cursor)
  if (last === undefined) throw new AppError('invalid', `cursor: there is no contact ${cursor}`)
  return listContactsByName(tx, organizationId, { type, beginning: text }, last, limit)
}

/** The first e-mail address of a contact's points. */
export function firstEmail(points: readonly ContactPointRow[]): string | null {
  return points.find((point) => point.kind === 'email')?.value ?? null
}
