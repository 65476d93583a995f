import type { Tx } from '../../platform/database.ts'
import type { NewId } from '../../platform/ids.ts'
import { encryptSecret, type SecretKey } from '../../platform/secrets.ts'
import { insertEndpoint, insertIntegration } from './queries.ts'

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
