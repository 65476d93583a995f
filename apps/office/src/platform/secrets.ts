import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** 32 bytes that open everything stored under `encryptSecret`. */
export type SecretKey = Buffer & { readonly brand?: 'SecretKey' }

const IV_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM: initialisation vector, authentication tag, cipher text. `context` must be the same on the way back. */
export function encryptSecret(key: SecretKey, context: string, text: string): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context))
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), encrypted])
}

/** Throws where the key is another one, or the bytes were changed or belong to another context. */
export function decryptSecret(key: SecretKey, context: string, sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  return decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}

/** Reads `EINMAL_SECRET_KEY`: 32 bytes as base64 or as 64 hex digits. */
export function parseSecretKey(text: string): SecretKey {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64')
  if (bytes.length !== 32) {
    throw new Error('EINMAL_SECRET_KEY must be 32 bytes in base64 or hex; make one with: openssl rand -base64 32')
  }
  return bytes
}

/** The key of a private installation, made at the first start. Two first starts agree on one: the first file wins. */
export async function loadOrCreateSecretKey(dataDir: string): Promise<SecretKey> {
  const path = join(dataDir, 'secret.key')
  const known = await readKeyFile(path)
  if (known !== null) return known
  // Under its name the file is whole from the first moment: a crash or another start would find half a key otherwise.
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`
  await writeFile(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(draft, path)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    await rm(draft)
  }
  const key = await readKeyFile(path)
  if (key === null) throw new Error(`${path} was removed while the server started`)
  return key
}

async function readKeyFile(path: string): Promise<SecretKey | null> {
  try {
    return parseSecretKey((await readFile(path, 'utf8')).trim())
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** A secret for one purpose, made from the key, so that one key has to be kept and not several. */
export function deriveSecret(key: SecretKey, purpose: string): string {
  return Buffer.from(hkdfSync('sha256', key, '', `einmal:${purpose}`, 32)).toString('base64url')
}
