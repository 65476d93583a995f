import { randomBytes, randomInt } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

/**
 * What one needs to reach the database. Both stay the same over all starts, so that pools reconnect after a restart.
 */
export interface Access {
  readonly port: number
  readonly password: string
}

function accessPath(dataDir: string): string {
  return join(dataDir, 'postgres.json')
}

export function findAccess(dataDir: string): Access | undefined {
  let text: string
  try {
    text = readFileSync(accessPath(dataDir), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const access: unknown = JSON.parse(text)
  if (typeof access === 'object' && access && 'port' in access && 'password' in access) {
    const { port, password } = access
    if (typeof port === 'number' && typeof password === 'string') return { port, password }
  }
  throw new EmbeddedPostgresError(
    `${accessPath(dataDir)} does not hold a port and a password; put it back from a backup.`,
  )
}

export async function createAccess(dataDir: string): Promise<Access> {
  return saveAccess(dataDir, { port: await findFreePort(), password: randomBytes(24).toString('base64url') })
}

export async function changePort(dataDir: string, access: Access): Promise<Access> {
  return saveAccess(dataDir, { ...access, port: await findFreePort() })
}

/**
 * Without this file the data is locked away: written beside it, flushed, renamed, and readable by the owner from its
 * first byte.
 */
function saveAccess(dataDir: string, access: Access): Access {
  const draft = `${accessPath(dataDir)}.new`
  const file = openSync(draft, 'w', 0o600)
  writeSync(file, `${JSON.stringify(access)}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(draft, accessPath(dataDir))
  return access
}

export function ownerUrl({ port, password }: Access): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
}

/**
 * Below the range from which systems pick the ports of outgoing connections: the port is to be free again at every
 * later start.
 */
async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_000)
    if (await isPortFree(port)) return port
  }
  throw new EmbeddedPostgresError('No free port for the private database between 20000 and 32000.')
}

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1' }, () => probe.close(() => resolve(true)))
  })
}
