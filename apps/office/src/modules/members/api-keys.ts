import type { Db, Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { newOrganizationToken, readOrganizationToken } from './organization-token.ts'
import { type ApiKeyRow, findApiKeyByHash, insertApiKey, lockApiKey, setApiKeyRevoked } from './queries.ts'
import type { ApiScope } from './roles.ts'

export interface ApiKeyIdentity {
  readonly organizationId: string
  readonly apiKeyId: string
  readonly name: string
  readonly scopes: readonly ApiScope[]
}

/** The prefix lets secret scanners find a key that somebody published. */
const PREFIX = 'einmal_'
/** Kept in the clear, so that a person can tell keys apart: the prefix and five characters. */
const START_LENGTH = 12
/** So long may a key that was revoked still be believed by a server that has just seen it. */
const FOUND_FOR_MS = 5_000
/** Shorter, and apart from the found ones: whoever guesses keys can push out other guesses, never a customer's key. */
const MISSING_FOR_MS = 2_000
const ENTRIES_MAX = 1_000

interface Remembered {
  readonly row: ApiKeyRow | null
  readonly atMs: number
}

interface Cache {
  readonly found: Map<string, Remembered>
  readonly missing: Map<string, Remembered>
}

const caches = new WeakMap<Db, Cache>()

/**
 * Whom a bearer token speaks for; `null` for every token that is unknown, revoked or expired.
 *
 * The answer is remembered for some seconds per `db`. An expiry is checked against `now` each time and therefore exact; revoking
 * takes effect within five seconds.
 */
export async function findApiKey(db: Db, bearerToken: string, now: Date): Promise<ApiKeyIdentity | null> {
  const token = bearerToken.startsWith(PREFIX) ? readOrganizationToken(bearerToken.slice(PREFIX.length)) : null
  if (token === null) return null
  const { organizationId, hash } = token
  const nowMs = now.getTime()
  const cache = cacheOf(db)
  let row = recall(cache.found, hash, nowMs, FOUND_FOR_MS) ?? recall(cache.missing, hash, nowMs, MISSING_FOR_MS)
  if (row === undefined) {
    row = await db.transaction(organizationId, (tx) => findApiKeyByHash(tx, organizationId, hash))
    remember(row === null ? cache.missing : cache.found, hash, { row, atMs: nowMs })
  }
  if (row === null || row.revoked_at !== null) return null
  if (row.expires_at !== null && row.expires_at.getTime() <= nowMs) return null
  return { organizationId, apiKeyId: row.id, name: row.name, scopes: row.scopes }
}

export interface ApiKeyInput {
  readonly name: string
  readonly scopes: readonly ApiScope[]
  readonly expiresAt: Date | null
  /** The member who makes it; `null` on the command line. */
  readonly createdBy: string | null
}

/** The key is in the answer and nowhere else: the database keeps its hash. A rollback takes the key back with its row. */
export async function createApiKey(
  tx: Tx,
  { organizationId, now, newId }: { organizationId: string; now: Date; newId: NewId },
  input: ApiKeyInput,
): Promise<{ key: string; row: ApiKeyRow }> {
  const token = newOrganizationToken(organizationId)
  const key = `${PREFIX}${token.text}`
  const row: ApiKeyRow = {
    id: newId(),
    organization_id: organizationId,
    name: input.name,
    start: key.slice(0, START_LENGTH),
    hash: token.hash,
    scopes: [...input.scopes],
    created_by: input.createdBy,
    created_at: now,
    expires_at: input.expiresAt,
    revoked_at: null,
  }
  await insertApiKey(tx, row)
  return { key, row }
}

/**
 * Switches a key off for good, within the five seconds for which a server believes what it has just seen. The first time stands:
 * `isNew` is false where it had been revoked before. Throws `not_found`.
 */
export async function revokeApiKey(
  tx: Tx,
  { organizationId, now }: { organizationId: string; now: Date },
  id: string,
): Promise<{ row: ApiKeyRow; isNew: boolean }> {
  const row = await lockApiKey(tx, organizationId, id)
  if (row === undefined) throw new AppError('not_found', `There is no key ${id}.`)
  if (row.revoked_at !== null) return { row, isNew: false }
  await setApiKeyRevoked(tx, organizationId, id, now)
  return { row: { ...row, revoked_at: now }, isNew: true }
}

export function apiKeyState(row: ApiKeyRow, now: Date): 'valid' | 'revoked' | 'expired' {
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at !== null && row.expires_at <= now ? 'expired' : 'valid'
}

function cacheOf(db: Db): Cache {
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
