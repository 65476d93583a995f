import { type ApiScope, readScopes } from './api-keys.ts'
import type { Auth } from './auth.ts'

/** What people may see of a key: never the key, never its hash. */
export interface ApiKeySummary {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  /** Its first characters, by which a person tells keys apart. */
  readonly start: string
  readonly scopes: readonly ApiScope[]
  readonly isEnabled: boolean
  readonly createdAt: Date
  readonly expiresAt: Date | null
}

/** An organisation has a handful. */
const KEYS_MAX = 1_000

/** The row as better-auth's adapter gives it. */
interface StoredKey {
  readonly id: string
  readonly referenceId: string
  readonly name: string | null
  readonly start: string | null
  readonly enabled: boolean | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly permissions: string | null
}

/** The keys of an organisation, oldest first, revoked ones too. */
export async function listApiKeys(auth: Auth, organizationId: string): Promise<ApiKeySummary[]> {
  const { adapter } = await auth.$context
  const rows = await adapter.findMany<StoredKey>({
    model: 'apikey',
    where: [{ field: 'referenceId', value: organizationId }],
    sortBy: { field: 'createdAt', direction: 'asc' },
    limit: KEYS_MAX,
  })
  return rows.map(toSummary)
}

/**
 * Switches a key off for good, within the five seconds for which a server believes what it has just seen. Its row stays, because
 * the audit names it. Returns the key as it was, and `null` where there is none.
 */
export async function revokeApiKey(auth: Auth, apiKeyId: string, now: Date): Promise<ApiKeySummary | null> {
  const { adapter } = await auth.$context
  const where = [{ field: 'id', value: apiKeyId }]
  const known = await adapter.findOne<StoredKey>({ model: 'apikey', where })
  if (known === null) return null
  await adapter.update({ model: 'apikey', where, update: { enabled: false, updatedAt: now } })
  return toSummary(known)
}

/** A person who may make keys for the organisation; `null` where nobody is left who may. */
export async function findOwner(auth: Auth, organizationId: string): Promise<{ userId: string } | null> {
  const { adapter } = await auth.$context
  const members = await adapter.findMany<{ userId: string; role: string }>({
    model: 'member',
    where: [{ field: 'organizationId', value: organizationId }],
    sortBy: { field: 'createdAt', direction: 'asc' },
    limit: KEYS_MAX,
  })
  const owner = members.find(({ role }) => role.split(',').includes('owner'))
  return owner === undefined ? null : { userId: owner.userId }
}

function toSummary(row: StoredKey): ApiKeySummary {
  return {
    id: row.id,
    organizationId: row.referenceId,
    name: row.name ?? '',
    start: row.start ?? '',
    scopes: readScopes(row.permissions),
    isEnabled: row.enabled === true,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
  }
}
