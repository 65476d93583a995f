import type { Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { decryptSecret, encryptSecret, type SecretKey } from '../../platform/secrets.ts'
import {
  type IntegrationRow,
  insertEndpoint,
  insertIntegration,
  listIntegrations,
  lockIntegration,
  updateIntegration,
} from './queries.ts'

export interface IntegrationInput {
  readonly provider: string
  readonly label: string
  /** What the provider's settings schema accepts, secrets included; stored encrypted as a whole. */
  readonly settings: unknown
}

/** Adds an integration and its address, in the caller's transaction. */
export async function createIntegration(
  tx: Tx,
  context: { organizationId: string; secretKey: SecretKey; now: Date; newId: NewId },
  input: IntegrationInput,
): Promise<{ integrationId: string; endpointId: string }> {
  const { organizationId, secretKey, now, newId } = context
  const integrationId = newId()
  const endpointId = newId()
  const settings = encryptSecret(secretKey, integrationId, JSON.stringify(input.settings))
  await insertIntegration(tx, {
    id: integrationId,
    organizationId,
    provider: input.provider,
    label: input.label,
    settings,
    now,
  })
  await insertEndpoint(tx, { id: endpointId, organizationId, integrationId, provider: input.provider })
  return { integrationId, endpointId }
}

/** An integration with its settings opened: for our own code, which gives out no secret of them. */
export interface Integration {
  readonly id: string
  readonly provider: string
  readonly label: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly isEnabled: boolean
  readonly createdAt: Date
  readonly endpointId: string
}

/** All senders of the organisation, oldest first. */
export async function readIntegrations(
  tx: Tx,
  { organizationId, secretKey }: { organizationId: string; secretKey: SecretKey },
  after: string | null,
  limit: number,
): Promise<Integration[]> {
  const rows = await listIntegrations(tx, organizationId, after, limit)
  return rows.map((row) => open(secretKey, row))
}

/**
 * Changes an integration, which servers see within two seconds. `change` gets it as it is, under its lock, and says what it shall be.
 * Throws `not_found`. A rollback leaves it as it was.
 */
export async function changeIntegration(
  tx: Tx,
  { organizationId, secretKey }: { organizationId: string; secretKey: SecretKey },
  id: string,
  change: (before: Integration) => Pick<Integration, 'label' | 'isEnabled' | 'settings'>,
): Promise<{ before: Integration; after: Integration }> {
  const row = await lockIntegration(tx, organizationId, id)
  if (row === undefined) throw new AppError('not_found', `There is no integration ${id}.`)
  const before = open(secretKey, row)
  const after = { ...before, ...change(before) }
  const settings = encryptSecret(secretKey, id, JSON.stringify(after.settings))
  await updateIntegration(tx, organizationId, { id, label: after.label, settings, isEnabled: after.isEnabled })
  return { before, after }
}

function open(secretKey: SecretKey, row: IntegrationRow): Integration {
  return {
    id: row.id,
    provider: row.provider,
    label: row.label,
    settings: JSON.parse(decryptSecret(secretKey, row.id, row.settings)),
    isEnabled: row.is_enabled,
    createdAt: row.created_at,
    endpointId: row.endpoint_id,
  }
}
