import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { type OfficeProcess, startOffice } from './office-process.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

/** An office as people reach it: a process on an empty database of its own, at the address that its links name. */
export interface ServedOffice {
  readonly url: string
  readonly database: TestDatabase
  /** All that it has printed and logged so far. */
  output(): string
  /** Waits until the output matches, and gives what the first group caught: a link, for example. */
  printed(pattern: RegExp): Promise<string>
  stop(): Promise<void>
}

/** `env` is laid over the defaults: no demo, warnings in the log. */
export async function serveOffice(env: Readonly<Record<string, string>> = {}): Promise<ServedOffice> {
  const database = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'einmal-office-'))
  const port = await freePort()
  const settings = {
    PORT: String(port),
    EINMAL_BASE_URL: `http://127.0.0.1:${port}`,
    DATABASE_URL: database.ownerUrl,
    EINMAL_SECRET_KEY: randomBytes(32).toString('base64'),
    EINMAL_DEMO: 'off',
    EINMAL_LOG_LEVEL: 'warn',
  }
  const office: OfficeProcess = await startOffice(dataDir, { env: { ...settings, ...env } })
  return {
    url: office.url,
    database,
    output: office.output,
    printed: (pattern) =>
      vi.waitFor(
        () => {
          const found = pattern.exec(office.output())
          if (found === null) throw new Error(`the office has not printed ${pattern} yet:\n${office.output()}`)
          return found[1] ?? found[0]
        },
        { interval: 20, timeout: 10_000 },
      ),
    async stop() {
      const { exitCode, signalCode } = office.child
      if (exitCode === null && signalCode === null) await office.end('SIGTERM')
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** The address has to be known before the office listens: cookies and links are made for it. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
