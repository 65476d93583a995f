import { createHash, randomBytes } from 'node:crypto'
import { isId } from '../../platform/ids.ts'

const SECRET_BYTES = 32
const ID_BYTES = 16
const LENGTH = 64

/**
 * A secret that says whose it is: 32 random bytes and the id of the organisation, 64 characters together.
 *
 * The organisation is known before anything is read, so that what the secret opens can stand behind row-level security. It proves
 * nothing: what counts is whether the organisation has the hash.
 */
export function newOrganizationToken(organizationId: string): { text: string; hash: string } {
  const id = Buffer.from(organizationId.replaceAll('-', ''), 'hex')
  const text = Buffer.concat([randomBytes(SECRET_BYTES), id]).toString('base64url')
  return { text, hash: hashOf(text) }
}

/** Whose the token claims to be, and the hash to look for there; `null` for what is no such token. */
export function readOrganizationToken(text: string): { organizationId: string; hash: string } | null {
  if (text.length !== LENGTH || !/^[\w-]+$/.test(text)) return null
  const hex = Buffer.from(text, 'base64url')
    .subarray(SECRET_BYTES, SECRET_BYTES + ID_BYTES)
    .toString('hex')
  const organizationId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return isId(organizationId) ? { organizationId, hash: hashOf(text) } : null
}

/** SHA-256, which is enough for 32 random bytes: there is nothing to guess. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
