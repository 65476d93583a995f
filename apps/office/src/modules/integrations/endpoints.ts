import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/database.ts'
import { isId } from '../../platform/ids.ts'
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
  /**
   * The same as it is now, give or take a second: for a delivery that does not verify, since the secret may have been
   * changed a moment ago. Whoever sends nonsense makes us read once a second, and no more.
   */
  findFresh(endpointId: string): Promise<Endpoint | null>
}

const REMEMBERED_MS = 2_000
const FRESH_MS = 1_000
const MAX_REMEMBERED = 1_000

interface Remembered {
  readonly readAtMs: number
  readonly endpoint: Promise<Endpoint | null>
}

export function createEndpointDirectory(parts: { db: Db; clock: Clock; secretKey: SecretKey }): EndpointDirectory {
  const remembered = new Map<string, Remembered>()

  function find(endpointId: string, maxAgeMs: number): Promise<Endpoint | null> {
    const nowMs = parts.clock.now().getTime()
    const known = remembered.get(endpointId)
    if (known !== undefined && nowMs - known.readAtMs < maxAgeMs) return known.endpoint
    const endpoint = readEndpoint(parts, endpointId)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(endpointId, { readAtMs: nowMs, endpoint })
    endpoint.then(
      // An address that does not exist is not remembered: guesses must not drive out those that do.
      (found) => found ?? remembered.delete(endpointId),
      // A failed reading is no knowledge: the next delivery reads again.
      () => remembered.delete(endpointId),
    )
    return endpoint
  }

  return {
    find: async (endpointId) => (isId(endpointId) ? find(endpointId, REMEMBERED_MS) : null),
    findFresh: async (endpointId) => (isId(endpointId) ? find(endpointId, FRESH_MS) : null),
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
