import { type Db, isListed, type Tx } from '../../platform/database.ts'

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

export interface IntegrationRow {
  readonly id: string
  readonly provider: string
  readonly label: string
  readonly settings: Buffer
  readonly is_enabled: boolean
  readonly created_at: Date
  readonly endpoint_id: string
}

function integrations(tx: Tx, organizationId: string) {
  return tx
    .selectFrom('integrations as i')
    .innerJoin('webhook_endpoints as e', (join) =>
      join.onRef('e.integration_id', '=', 'i.id').onRef('e.organization_id', '=', 'i.organization_id'),
    )
    .select(['i.id', 'i.provider', 'i.label', 'i.settings', 'i.is_enabled', 'i.created_at', 'e.id as endpoint_id'])
    .where('i.organization_id', '=', organizationId)
}

/** All senders of the organisation with their addresses, oldest first. */
export async function listIntegrations(
  tx: Tx,
  organizationId: string,
  after: string | null,
  limit: number,
): Promise<IntegrationRow[]> {
  return integrations(tx, organizationId)
    .where(isListed('i.id'))
    .$if(after !== null, (query) => query.where('i.id', '>', after ?? ''))
    .orderBy('i.id')
    .limit(limit)
    .execute()
}

/** Locked, so that of two changes the second builds on the first. */
export async function lockIntegration(tx: Tx, organizationId: string, id: string): Promise<IntegrationRow | undefined> {
  return integrations(tx, organizationId).where('i.id', '=', id).forUpdate('i').executeTakeFirst()
}

export async function updateIntegration(
  tx: Tx,
  organizationId: string,
  row: { id: string; label: string; settings: Buffer; isEnabled: boolean },
): Promise<void> {
  await tx
    .updateTable('integrations')
    .set({ label: row.label, settings: row.settings, is_enabled: row.isEnabled })
    .where('id', '=', row.id)
    .where('organization_id', '=', organizationId)
    .execute()
}

export async function findIntegration(tx: Tx, organizationId: string, id: string) {
  return tx
    .selectFrom('integrations')
    .select(['id', 'provider', 'settings', 'is_enabled'])
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}
