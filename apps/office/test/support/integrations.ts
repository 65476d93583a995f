import { randomBytes } from 'node:crypto'
import { createIntegration } from '../../src/modules/integrations/index.ts'
import { decryptSecret, encryptSecret } from '../../src/platform/secrets.ts'
import { signSandboxDelivery, signStripeDelivery } from '../../src/providers/index.ts'
import type { Sender, TestOffice, TestOrganization } from './office.ts'

/** A further address of a provider with settings of its own, beside the two that every organisation of a test has. */
export async function addIntegration(
  office: TestOffice,
  { organizationId }: TestOrganization,
  provider: 'stripe' | 'sandbox',
  settings: Readonly<Record<string, unknown>>,
): Promise<Sender> {
  const { db, secretKey, clock, newId } = office
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const { endpointId } = await db.transaction(organizationId, (tx) =>
    createIntegration(
      tx,
      { organizationId, secretKey, now: clock.now(), newId },
      { provider, label: provider, settings: { webhookSecrets: [secret], ...settings } },
    ),
  )
  return {
    path: `/webhooks/${provider}/${endpointId}`,
    secret,
    sign(body, { nowMs = clock.now().getTime(), id = newId() } = {}) {
      return provider === 'stripe'
        ? signStripeDelivery({ body, secret, nowMs })
        : signSandboxDelivery({ id, body, secret, nowMs })
    },
  }
}

/** What an administrator does who sets right what was set wrong. A server that has just read the settings sees it a moment later. */
export async function changeSettings(
  { owner, secretKey }: TestOffice,
  sender: Pick<Sender, 'path'>,
  change: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { rows } = await owner.query<{ id: string; settings: Buffer }>(
    `select i.id, i.settings from integrations as i join webhook_endpoints as e on e.integration_id = i.id where e.id = $1`,
    [sender.path.split('/').at(-1)],
  )
  for (const { id, settings } of rows) {
    const changed = { ...JSON.parse(decryptSecret(secretKey, id, settings)), ...change }
    const sealed = encryptSecret(secretKey, id, JSON.stringify(changed))
    await owner.query('update integrations set settings = $2 where id = $1', [id, sealed])
  }
}
