import type { Db, Tx } from '../../platform/database.ts'

export async function insertIntegration(
  tx: Tx,
  row: { id: string; organizationId: string; provider: string; label: string; settings: Buffer; now: Date },
): Promise<void> {
  await tx
    .insertInto('integrations')
    .values({
      id: row.id,
      organization_id: row.organizationId,
      provider: row.provider,
      label: row.label,
      settings: row.settings,
      created_at: row.now,
    })
    .execute()
}

export async function insertEndpoint(
  tx: Tx,
  row: { id: string; organizationId: string; integrationId: string; provider: string },
): Promise<void> {
  await tx
    .insertInto('webhook_endpoints')
    .values({
      id: row.id,
      organization_id: row.organizationId,
      integration_id: row.integrationId,
      provider: row.provider,
    })
    .execute()
}

/** Whose address this is. Read before the organisation is known, from the directory that has no policies. */
export async function findEndpointOwner(db: Db, endpointId: string) {
  const [row] = await db.query<{ organization_id: string; integration_id: string; provider: string }>(
    'select organization_id, integration_id, provider from webhook_endpoints where id = $1',
    [endpointId],
  )
  return row
}

export async function findIntegration(tx: Tx, organizationId: string, id: string) {
  return tx
    .selectFrom('integrations')
    .select(['id', 'provider', 'settings', 'is_enabled'])
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}
