import { pruneBodies } from '../../src/modules/deliveries/index.ts'
import type { Db } from '../../src/platform/database.ts'

/** Bodies of a batch: enough that work per row shows. */
const BATCH = 40

/** What the commands do over the whole database, one organisation after the other; here with the first bodies of one. */
export async function doHousework(db: Db, organizationId: string, before: Date): Promise<void> {
  const { next } = await db.transaction(organizationId, (tx) =>
    pruneBodies(tx, organizationId, { before, after: null, limit: BATCH }),
  )
  await db.transaction(organizationId, (tx) => pruneBodies(tx, organizationId, { before, after: next, limit: BATCH }))
}
