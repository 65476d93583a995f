/**
 * `npm run bench [-- library|webhook]`: measures against code written by hand, on the same database, in the same run,
 * and prints ratios. The database is a private PostgreSQL with all its durability on.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../apps/office/src/platform/embedded-postgres/index.ts'
import { benchLibrary } from './library.ts'
import { benchWebhook } from './webhook.ts'

const only = process.argv[2]
const dataDir = await mkdtemp(join(tmpdir(), 'einmal-bench-'))
const server = await startEmbeddedPostgres({ dataDir, log: (message) => process.stdout.write(`${message}\n`) })
try {
  await printSettings(server.ownerUrl)
  if (only === undefined || only === 'library') await benchLibrary(server.ownerUrl)
  if (only === undefined || only === 'webhook')
    await benchWebhook(server.ownerUrl, { seconds: 8, connections: [64, 256] })
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await server.stop()
  await rm(dataDir, { recursive: true, force: true })
}

async function printSettings(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ name: string; setting: string }>(
    `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'server_version')`,
  )
  await client.end()
  const settings = rows.map((row) => `${row.name} = ${row.setting}`).join(', ')
  process.stdout.write(`${cpus().length} cores, Node ${process.version}, ${settings}\n`)
}
