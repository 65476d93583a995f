import { sql as kyselySql, type Selectable } from 'kysely'
import { listedIn, send, sql, type Tx } from '../../platform/database.ts'
import { storableText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'
import type { ContactColumns, ContactRow } from './contact-fields.ts'
import type { Identity, PointKind } from './contact-points.ts'
import { endOfPrefix, isBefore, searchNameOf } from './search-name.ts'

export type ContactPointRow = Selectable<Tables['contact_points']>

export async function insertContact(
  tx: Tx,
  organizationId: string,
  contact: { readonly id: string; readonly type: ContactRow['type']; readonly columns: ContactColumns },
  now: Date,
): Promise<ContactRow> {
  return tx
    .insertInto('contacts')
    .values({
      id: contact.id,
      organization_id: organizationId,
      type: contact.type,
      ...contact.columns,
      created_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Writes the columns and counts the version up. The contact is locked by `lockContact`. */
export async function updateContact(
  tx: Tx,
  organizationId: string,
  id: string,
  columns: ContactColumns,
): Promise<ContactRow> {
  return tx
    .updateTable('contacts')
    .set((eb) => ({ ...columns, version: eb('version', '+', 1) }))
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Counts the version up where only the points of a contact change. */
export async function touchContact(tx: Tx, organizationId: string, id: string): Promise<ContactRow> {
  return tx
    .updateTable('contacts')
    .set((eb) => ({ version: eb('version', '+', 1) }))
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findContact(tx: Tx, organizationId: string, id: string): Promise<ContactRow | undefined> {
  return tx
    .selectFrom('contacts')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Holds off everybody who changes the contact; whoever only points at it goes on. */
export async function lockContact(tx: Tx, organizationId: string, id: string): Promise<ContactRow | undefined> {
  return tx
    .selectFrom('contacts')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Newest first, from before `before` on. */
export async function listContacts(
  tx: Tx,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<ContactRow[]> {
  return tx
    .selectFrom('contacts')
    .selectAll()
    .where(listedIn(organizationId))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Newest first, from before `before` on. A company belongs to none, which its index wants to hear. */
export async function listCompanies(
  tx: Tx,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<ContactRow[]> {
  return tx
    .selectFrom('contacts')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('type', '=', 'company')
    .where('company_id', 'is', null)
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Only what an index answers. */
export interface ContactFilter {
  readonly type: 'company' | null
}

/**
 * Whose name begins so, in the order of names, from behind `after` on. That a name is not empty is said for the index.
 */
export async function listContactsByName(
  tx: Tx,
  organizationId: string,
  filter: ContactFilter & { readonly beginning: string },
  after: ContactRow | null,
  limit: number,
): Promise<ContactRow[]> {
  const first = searchNameOf(filter.beginning)
  const last = after !== null && !isBefore(after.search_name, first) ? after : null
  return (
    tx
      .selectFrom('contacts')
      .selectAll()
      .where('organization_id', '=', organizationId)
      .where(kyselySql<boolean>`search_name <> ''`)
      // Where the page begins, and not the names: the index is entered there.
      .where('search_name', '>=', last?.search_name ?? first)
      .where('search_name', '<', endOfPrefix(first))
      .$if(last !== null, (query) =>
        query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('search_name', 'id'), '>', tuple(last?.search_name ?? '', last?.id ?? '')),
        ),
      )
      .$if(filter.type !== null, (query) => query.where('type', '=', filter.type ?? 'company'))
      .orderBy('search_name')
      .orderBy('id')
      .limit(limit)
      .execute()
  )
}

/** The people of a company, newest first, from before `before` on. */
export async function listPeople(
  tx: Tx,
  organizationId: string,
  companyId: string,
  before: string | null,
  limit: number,
): Promise<ContactRow[]> {
  return tx
    .selectFrom('contacts')
    .selectAll()
    .where('company_id', '=', companyId)
    .where('organization_id', '=', organizationId)
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Who has one of the identities, shared or not, newest first, from before `before` on. */
export async function listContactsByIdentity(
  tx: Tx,
  organizationId: string,
  identities: readonly Identity[],
  filter: ContactFilter,
  before: string | null,
  limit: number,
): Promise<ContactRow[]> {
  if (identities.length === 0) return []
  return send<ContactRow>(
    tx,
    // `offset 0` keeps the look-ups from becoming a join, which would start from the organisation.
    sql`select c.* from (
        select distinct p.contact_id
        from unnest(${identities.map(({ value }) => value)}::text[], ${identities.map(({ kind }) => kind)}::text[])
          as u (value, kind)
        cross join lateral (
          select contact_id from contact_points
          where value = u.value and kind = u.kind and organization_id = ${organizationId}::uuid and removed_at is null
            and value <> ''
          offset 0) as p) as h
      cross join lateral (
        select * from contacts where id = h.contact_id and organization_id = ${organizationId}::uuid offset 0) as c
      where c.id < ${before ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff'}::uuid
        and c.type = coalesce(${filter.type}::text, c.type)
      order by c.id desc limit ${limit}`,
  )
}

export interface NewContactPoint extends Identity {
  readonly id: string
  readonly label: string | null
  readonly isShared: boolean
}

/**
 * Adds the points that nobody is in the way of, and returns them. Waits for whoever is about to add the same one.
 *
 * The points are to be sorted by value and kind: two requests with the same ones then wait for each other in one order.
 */
export async function insertContactPoints(
  tx: Tx,
  organizationId: string,
  contactId: string,
  points: readonly NewContactPoint[],
  now: Date,
): Promise<Identity[]> {
  return send<Identity>(
    tx,
    sql`insert into contact_points (id, organization_id, contact_id, kind, value, label, is_shared, created_at)
      select u.id, ${organizationId}::uuid, ${contactId}::uuid, u.kind, u.value, u.label, u.is_shared,
        ${now.toISOString()}::timestamptz
      from unnest(${points.map((point) => point.id)}::uuid[], ${points.map((point) => point.kind)}::text[],
        ${points.map((point) => point.value)}::text[], ${points.map(({ label }) => (label === null ? null : storableText(label)))}::text[],
        ${points.map((point) => point.isShared)}::boolean[]) as u (id, kind, value, label, is_shared)
      on conflict do nothing
      returning kind, value`,
  )
}

/** Who stands in the way of a new point: the contact itself, or the one that has it for its own. */
export async function findPointHolders(
  tx: Tx,
  organizationId: string,
  contactId: string,
  identities: readonly Identity[],
): Promise<{ kind: PointKind; value: string; contactId: string }[]> {
  return send(
    tx,
    sql`select u.kind, u.value, p.contact_id as "contactId"
      from unnest(${identities.map(({ value }) => value)}::text[], ${identities.map(({ kind }) => kind)}::text[])
        as u (value, kind)
      cross join lateral (
        select contact_id from contact_points
        where value = u.value and kind = u.kind and organization_id = ${organizationId}::uuid and removed_at is null
          and value <> '' and (not is_shared or contact_id = ${contactId}::uuid)
        offset 0) as p`,
  )
}

/** The points that contacts have now, in the order in which they got them. */
export async function listContactPoints(
  tx: Tx,
  organizationId: string,
  contactIds: readonly string[],
): Promise<ContactPointRow[]> {
  if (contactIds.length === 0) return []
  return send<ContactPointRow>(
    tx,
    sql`select p.* from unnest(${contactIds}::uuid[]) as u (contact_id)
      cross join lateral (
        select * from contact_points
        where contact_id = u.contact_id and organization_id = ${organizationId}::uuid and removed_at is null and kind <> ''
        offset 0) as p
      order by p.id`,
  )
}

export async function findContactPoint(
  tx: Tx,
  organizationId: string,
  id: string,
): Promise<ContactPointRow | undefined> {
  return tx
    .selectFrom('contact_points')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Frees the point's value. The contact is locked by `lockContact`. */
export async function markPointRemoved(tx: Tx, organizationId: string, id: string, now: Date): Promise<void> {
  await tx
    .updateTable('contact_points')
    .set({ removed_at: now })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
}
