import type { Selectable } from 'kysely'
import { listedIn, type Tx } from '../../platform/database.ts'
import type { Tables } from '../../platform/tables.ts'

export type EventRow = Selectable<Tables['events']>

export interface EventFilter {
  readonly state?: EventRow['state'] | undefined
  readonly source?: string | undefined
  readonly kind?: string | undefined
  /** The source's id of the event, exactly. */
  readonly externalId?: string | undefined
}

/** Newest first, from before `before` on. */
export async function listEvents(
  tx: Tx,
  organizationId: string,
  filter: EventFilter,
  before: string | null,
  limit: number,
): Promise<EventRow[]> {
  const { state, source, kind, externalId } = filter
  return tx
    .selectFrom('events')
    .selectAll()
    .where(listedIn(organizationId))
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'completed'))
    .$if(source !== undefined, (query) => query.where('source', '=', source ?? ''))
    .$if(kind !== undefined, (query) => query.where('kind', '=', kind ?? ''))
    .$if(externalId !== undefined, (query) => query.where('external_id', '=', externalId ?? ''))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

export async function findEvent(tx: Tx, organizationId: string, id: string): Promise<EventRow | undefined> {
  return tx
    .selectFrom('events')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** How often each of the events arrived. */
export async function countCopies(tx: Tx, organizationId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, number>()
  const rows = await tx
    .selectFrom('events')
    .select(['id', 'copies'])
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.id, row.copies]))
}
