import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/database.ts'
import { decryptSecret, type SecretKey } from '../../platform/secrets.ts'
import { findEndpointOwner, findIntegration } from './queries.ts'

/** An address with all that is needed to receive on it. `settings` is as stored; the provider's schema reads it. */
export interface Endpoint {
  readonly endpointId: string
  readonly organizationId: string
  readonly provider: string
  readonly settings: unknown
}

export interface EndpointDirectory {
  /**
   * The enabled endpoint of this id, or `null`. Remembered for two seconds, so that a burst does not read it each time;
   * an integration that was switched off or got a new secret is seen after that time at the latest.
   */
  find(endpointId: string): Promise<Endpoint | null>
  /** The same, read anew: for a delivery that does not verify, since the secret may have been changed a moment ago. */
  findFresh(endpointId: string): Promise<Endpoint | null>
}

const REMEMBERED_MS = 2_000
const MAX_REMEMBERED = 1_000
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function createEndpointDirectory(parts: { db: Db; clock: Clock; secretKey: SecretKey }): EndpointDirectory {
  const remembered = new Map<string, { untilMs: number; endpoint: Promise<Endpoint | null> }>()

  function remember(endpointId: string): Promise<Endpoint | null> {
    const endpoint = readEndpoint(parts, endpointId)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(endpointId, { untilMs: parts.clock.now().getTime() + REMEMBERED_MS, endpoint })
    // A failed reading is no knowledge: the next delivery reads again.
    endpoint.catch(() => remembered.delete(endpointId))
    return endpoint
  }

  return {
    async find(endpointId) {
      if (!uuid.test(endpointId)) return null
      const known = remembered.get(endpointId)
      if (known !== undefined && known.untilMs > parts.clock.now().getTime()) return known.endpoint
      return remember(endpointId)
    },
    async findFresh(endpointId) {
      return uuid.test(endpointId) ? remember(endpointId) : null
    },
  }
}

async function readEndpoint(
  { db, secretKey }: { db: Db; secretKey: SecretKey },
  endpointId: string,
): Promise<Endpoint | null> {
  const owner = await findEndpointOwner(db, endpointId)
  if (owner === undefined) return null
  const integration = await db.transaction(owner.organization_id, (tx) =>
    findIntegration(tx, owner.organization_id, owner.integration_id),
  )
  if (integration === undefined || !integration.is_enabled) return null
  return {
    endpointId,
    organizationId: owner.organization_id,
    provider: owner.provider,
    settings: JSON.parse(decryptSecret(secretKey, integration.id, integration.settings)),
  }
}
