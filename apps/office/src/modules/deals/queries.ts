import { type Insertable, sql as kyselySql, type Selectable } from 'kysely'
import { listedIn, type Tx } from '../../platform/database.ts'
import type { Tables } from '../../platform/tables.ts'

export type DealRow = Selectable<Tables['deals']>

export type NewDeal = Omit<Insertable<Tables['deals']>, 'organization_id'>

export async function insertDeal(tx: Tx, organizationId: string, deal: NewDeal): Promise<DealRow> {
  return tx
    .insertInto('deals')
    .values({ ...deal, organization_id: organizationId })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** What a change writes. */
export type DealColumns = Pick<
  DealRow,
  'title' | 'contact_id' | 'stage' | 'currency' | 'amount_minor' | 'expected_on' | 'closed_at'
>

/** Writes the columns and counts the version up. The deal is locked by `lockDeal`. */
export async function updateDeal(tx: Tx, organizationId: string, id: string, columns: DealColumns): Promise<DealRow> {
  return tx
    .updateTable('deals')
    .set((eb) => ({ ...columns, version: eb('version', '+', 1) }))
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findDeal(tx: Tx, organizationId: string, id: string): Promise<DealRow | undefined> {
  return tx
    .selectFrom('deals')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Holds off everybody who changes the deal. */
export async function lockDeal(tx: Tx, organizationId: string, id: string): Promise<DealRow | undefined> {
  return tx
    .selectFrom('deals')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Newest first, from before `before` on. */
export async function listDeals(
  tx: Tx,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<DealRow[]> {
  return tx
    .selectFrom('deals')
    .selectAll()
    .where(listedIn(organizationId))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** The same of one stage. The first condition on it is for its index. */
export async function listDealsInStage(
  tx: Tx,
  organizationId: string,
  stage: DealRow['stage'],
  before: string | null,
  limit: number,
): Promise<DealRow[]> {
  return tx
    .selectFrom('deals')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where(kyselySql<boolean>`stage <> ''`)
    .where('stage', '=', stage)
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** The same of one contact. */
export async function listDealsOfContact(
  tx: Tx,
  organizationId: string,
  contactId: string,
  stage: DealRow['stage'] | null,
  before: string | null,
  limit: number,
): Promise<DealRow[]> {
  return tx
    .selectFrom('deals')
    .selectAll()
    .where('contact_id', '=', contactId)
    .where('organization_id', '=', organizationId)
    .$if(stage !== null, (query) => query.where('stage', '=', stage ?? 'new'))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
