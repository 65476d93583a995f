/**
 * `npm run bench:peers [-- speed|<scenario> …] [--write]`: the same scenarios, and the same work, for einmal and for
 * published packages. Installs them beside this file, checks the types of this folder, and starts a private PostgreSQL and,
 * where one is installed, a private Redis. `--write` puts the table into RESULTS.md.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../apps/office/src/platform/embedded-postgres/index.ts'
import { install } from './install.ts'
import { loadPeer, type PeerName, peerNames } from './peer.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { type Result, toTable } from './results.ts'
import { scenarios } from './scenarios.ts'
import { measureSpeed } from './speed.ts'
import { type Played, play, type Servers, unexpected } from './stage.ts'

const needsRedis: readonly PeerName[] = ['powertools', 'node-idempotency']
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isWritten = process.argv.includes('--write')
const say = (message: string) => process.stdout.write(`${message}\n`)
const unknown = words.filter((word) => word !== 'speed' && !scenarios.some(({ name }) => name === word))
if (unknown.length > 0) throw new Error(`no scenario: ${unknown.join(', ')}`)
if (isWritten && words.length > 0) throw new Error('RESULTS.md holds all scenarios: --write without names')

await install(say)
const redis = await startRedis()
if (redis === null) say('No Redis: node-idempotency and Powertools are left out. Install redis-server to have them.')
const dataDir = await mkdtemp(join(tmpdir(), 'einmal-bench-peers-'))
const server = await startEmbeddedPostgres({ dataDir, log: say, settings: { max_connections: '500' } })
try {
  const databaseUrl = await createDatabase(server.ownerUrl)
  const servers = { databaseUrl, redisUrl: redis?.url ?? null }
  const present = peerNames.filter((name) => redis !== null || !needsRedis.includes(name))
  for (const name of present) await (await loadPeer(name)).prepare?.(databaseUrl)
  if (words.includes('speed')) await measureSpeed(servers, present)
  else await compare(servers, present, redis)
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await server.stop()
  await redis?.stop()
  await rm(dataDir, { recursive: true, force: true })
}

async function createDatabase(ownerUrl: string): Promise<string> {
  const admin = new pg.Client({ connectionString: ownerUrl })
  await admin.connect()
  await admin.query('create database bench_peers')
  await admin.end()
  const url = new URL(ownerUrl)
  url.pathname = '/bench_peers'
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await client.query('create table effects (number int generated always as identity, reference text not null)')
  await client.end()
  return url.href
}

async function compare(servers: Servers, present: readonly PeerName[], running: RedisServer | null): Promise<void> {
  const chosen = scenarios.filter(({ name }) => words.length === 0 || words.includes(name))
  const results: Result[] = []
  for (const scenario of chosen) {
    const played = new Map<PeerName, Played>()
    for (const peer of present) {
      const findings = await play(peer, scenario, servers)
      played.set(peer, findings)
      say(`${scenario.name}, ${peer}: ${describe(findings)}`)
    }
    results.push({ scenario, played })
  }
  const table = toTable(results, present, running?.version)
  say(`\n${table}`)
  if (isWritten) await writeFile(join(import.meta.dirname, 'RESULTS.md'), table)
  for (const { scenario, played } of results) {
    for (const [kind, finding] of unexpected(scenario, played.get('einmal') ?? new Map())) {
      say(`einmal breaks: ${scenario.title}, ${kind}: ${finding.verdict} ${finding.fact}`)
      process.exitCode = 1
    }
  }
}

function describe(played: Played): string {
  return [...played].map(([kind, { verdict, effects }]) => `${kind} ${effects} ${verdict}`).join('; ')
}
