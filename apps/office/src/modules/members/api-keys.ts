import { defaultKeyHasher } from '@better-auth/api-key'
import { type ApiKeyRow, type MembersDatabase, selectApiKeyByHash } from './queries.ts'

/**
 * What a key may do. `register`: use the register for programs outside. `resolve`: say how work of programs ended. `full`:
 * everything.
 */
export const apiScopes = ['full', 'register', 'resolve'] as const
export type ApiScope = (typeof apiScopes)[number]

export interface ApiKeyIdentity {
  readonly organizationId: string
  readonly apiKeyId: string
  readonly name: string
  readonly scopes: readonly ApiScope[]
}

/** Under which name the scopes stand among the permissions that better-auth keeps with a key. */
export const SCOPES_OF = 'einmal'

/** So long may a key that was disabled or deleted still be believed by a server that has just seen it. */
const FOUND_FOR_MS = 5_000
/** Shorter, and apart from the found ones: whoever guesses keys can push out other guesses, never a customer's key. */
const MISSING_FOR_MS = 2_000
const ENTRIES_MAX = 1_000
/** Ours have some seventy characters; anything far longer is not worth hashing. */
const TOKEN_LENGTH_MAX = 200

interface Remembered {
  readonly row: ApiKeyRow | null
  readonly atMs: number
}

interface Cache {
  readonly found: Map<string, Remembered>
  readonly missing: Map<string, Remembered>
}

const caches = new WeakMap<MembersDatabase, Cache>()

/**
 * Whom a bearer token speaks for; `null` for every token that is unknown, disabled or expired.
 *
 * Looked up by hash in one select, because better-auth's own check costs two updates a request. The answer is
 * remembered for some seconds per `db`, so hand in the long-lived one and not a transaction. An expiry is checked
 * against `now` each time and therefore exact; disabling takes effect within five seconds.
 */
export async function findApiKey(db: MembersDatabase, bearerToken: string, now: Date): Promise<ApiKeyIdentity | null> {
  if (bearerToken === '' || bearerToken.length > TOKEN_LENGTH_MAX) return null
  const hash = await defaultKeyHasher(bearerToken)
  const nowMs = now.getTime()
  const cache = cacheOf(db)
  let row = recall(cache.found, hash, nowMs, FOUND_FOR_MS) ?? recall(cache.missing, hash, nowMs, MISSING_FOR_MS)
  if (row === undefined) {
    row = await selectApiKeyByHash(db, hash)
    remember(row === null ? cache.missing : cache.found, hash, { row, atMs: nowMs })
  }
  if (row === null || row.enabled !== true) return null
  if (row.expiresAt !== null && row.expiresAt.getTime() <= nowMs) return null
  const scopes = readScopes(row.permissions)
  return { organizationId: row.organizationId, apiKeyId: row.id, name: row.name ?? '', scopes }
}

/** A key without permissions is one from before there were any. What cannot be read allows nothing. */
export function readScopes(permissions: string | null): readonly ApiScope[] {
  if (permissions === null) return ['full']
  try {
    const scopes = (JSON.parse(permissions) as Record<string, unknown>)[SCOPES_OF]
    return apiScopes.filter((scope) => Array.isArray(scopes) && scopes.includes(scope))
  } catch {
    return []
  }
}

function cacheOf(db: MembersDatabase): Cache {
  let cache = caches.get(db)
  if (cache === undefined) {
    cache = { found: new Map(), missing: new Map() }
    caches.set(db, cache)
  }
  return cache
}

/** `undefined` when nothing is known; an entry from the future means that the clock was set back. */
function recall(entries: Map<string, Remembered>, hash: string, nowMs: number, forMs: number) {
  const entry = entries.get(hash)
  if (entry === undefined) return undefined
  const ageMs = nowMs - entry.atMs
  if (ageMs >= 0 && ageMs < forMs) return entry.row
  entries.delete(hash)
  return undefined
}

function remember(entries: Map<string, Remembered>, hash: string, entry: Remembered): void {
  if (entries.size >= ENTRIES_MAX) {
    const oldest = entries.keys().next()
    if (!oldest.done) entries.delete(oldest.value)
  }
  entries.set(hash, entry)
}
