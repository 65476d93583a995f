import type { Selectable } from 'kysely'
import { listedIn, type Tx } from '../../platform/database.ts'
import { storableText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'

export type ContactRow = Selectable<Tables['contacts']>

export async function insertContact(
  tx: Tx,
  organizationId: string,
  contact: { id: string; name: string; email: string | null },
  now: Date,
): Promise<ContactRow> {
  return tx
    .insertInto('contacts')
    .values({
      id: contact.id,
      organization_id: organizationId,
      name: storableText(contact.name),
      email: contact.email,
      created_at: now,
    })
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

/** Newest first, from before `before` on. */
export async function listContacts(tx: Tx, organizationId: string, before: string | null, limit: number) {
  return tx
    .selectFrom('contacts')
    .selectAll()
    .where(listedIn(organizationId))
    .$if(before !== null, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
