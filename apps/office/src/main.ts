import { mkdir } from 'node:fs/promises'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createApp } from './app.ts'
import { type Config, ConfigurationError, readConfig } from './config.ts'
import { readDemoFile, writeDemoFile } from './demo/demo-file.ts'
import { type SeedParts, seedDemo } from './demo/seed.ts'
import { createAuth } from './modules/members/index.ts'
import { systemClock } from './platform/clock.ts'
import { createDatabase, createPool } from './platform/database.ts'
import { EmbeddedPostgresError, startEmbeddedPostgres } from './platform/embedded-postgres/index.ts'
import { armFault } from './platform/fault-points.ts'
import { idsOf } from './platform/ids.ts'
import { createLog } from './platform/log.ts'
import { MigrationError, migrate } from './platform/migrate.ts'
import { deriveSecret, loadOrCreateSecretKey } from './platform/secrets.ts'
import { ensureServerLogin } from './platform/server-login.ts'

const migrations = join(import.meta.dirname, '../migrations')

/** Everything that was started, in the order in which it has to be stopped. */
const stops: (() => Promise<unknown>)[] = []
let isStopping = false

async function start(): Promise<void> {
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  stopWithParent()
  const config = readConfig()
  armFault(config.fault)
  const log = createLog(config.logLevel)
  const { databaseUrl, isOwner, secretKey } = await openDatabase(config)
  const onIdleError = (error: Error) => log.warn({ err: error }, 'an idle database connection broke')
  const db = createDatabase({ url: databaseUrl, role: 'einmal_office', onIdleError })
  const authPool = createPool({ url: databaseUrl, role: 'einmal_auth', maxConnections: 4, onIdleError })
  stops.unshift(
    () => db.close(),
    () => authPool.end(),
  )
  const clock = systemClock
  const newId = idsOf(clock)
  const auth = createAuth({
    pool: authPool,
    baseUrl: config.baseUrl,
    secret: deriveSecret(secretKey, 'sessions'),
    trustedOrigins: trustedOrigins(config),
    log: {
      info: (message, fields) => log.info(fields ?? {}, message),
      warn: (message, fields) => log.warn(fields ?? {}, message),
      error: (message, fields) => log.error(fields ?? {}, message),
    },
  })
  const { http, pipeline } = await createApp({ db, auth, clock, newId, secretKey, log, baseUrl: config.baseUrl })
  stops.unshift(closerOf(http), () => pipeline.drain())
  await http.listen({ host: config.host, port: config.port })
  const { port } = http.server.address() as AddressInfo
  const url = `http://${config.host === '0.0.0.0' ? 'localhost' : config.host}:${port}`
  if (config.demo && isOwner) await prepareDemo({ db, auth, clock, newId, secretKey }, config, url)
  print(`Einmal runs at ${url}`)
}

/** A private PostgreSQL, or the one that is configured; migrated, and with a login that owns nothing. */
async function openDatabase(config: Config) {
  if (config.databaseUrl !== null && config.secretKey !== null) {
    await migrate(config.ownerUrl ?? config.databaseUrl, migrations)
    return { databaseUrl: config.databaseUrl, secretKey: config.secretKey, isOwner: true }
  }
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log: print })
  stops.unshift(() => postgres.stop())
  print(`Data: ${config.dataDir}${postgres.joined ? ' (its database was running already; joined it)' : ''}`)
  const secretKey = config.secretKey ?? (await loadOrCreateSecretKey(config.dataDir))
  await migrate(postgres.ownerUrl, migrations)
  const databaseUrl = await ensureServerLogin(postgres.ownerUrl, deriveSecret(secretKey, 'database'))
  return { databaseUrl, secretKey, isOwner: !postgres.joined }
}

async function prepareDemo(parts: SeedParts, config: Config, url: string): Promise<void> {
  const known = await readDemoFile(config.dataDir)
  if (known === null) {
    await writeDemoFile(config.dataDir, await seedDemo(parts, url))
    print(`Demo organisation made; its key and addresses stand in ${join(config.dataDir, 'demo.json')}`)
  } else if (known.url !== url) {
    await writeDemoFile(config.dataDir, { ...known, url })
  }
}

/** Every name by which people reach this address; a browser takes `localhost` and `127.0.0.1` for two. */
function trustedOrigins(config: Config): string[] {
  return [config.baseUrl, `http://localhost:${config.port}`, `http://127.0.0.1:${config.port}`]
}

/** Answers what has come in, lets no new work begin, and stops the database last. */
function stop(): void {
  if (isStopping) return
  isStopping = true
  void (async () => {
    for (const each of stops) await each()
  })().then(
    () => process.exit(0),
    (error) => {
      console.error(error)
      process.exit(1)
    },
  )
}

/** How often, and how long at most, the end waits for connections. */
const SWEEP_EVERY_MS = 20
const CLOSE_MAX_MS = 10_000

/**
 * Answers what is in flight and waits for nothing else. Left to itself, the end would wait for every connection: for one
 * that its sender keeps for the next request after the last answer, and for one that a browser has opened in advance.
 */
function closerOf(http: FastifyInstance): () => Promise<void> {
  const sockets = new Set<Socket>()
  http.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return async () => {
    const sweep = setInterval(() => {
      http.server.closeIdleConnections()
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_EVERY_MS)
    const giveUp = setTimeout(() => http.server.closeAllConnections(), CLOSE_MAX_MS)
    try {
      await http.close()
    } finally {
      clearInterval(sweep)
      clearTimeout(giveUp)
    }
  }
}

/** npm may be killed without passing it on; a server without its starter would keep the port. */
function stopWithParent(): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop()
  }, 500).unref()
}

function print(message: string): void {
  process.stdout.write(`${message}\n`)
}

start().catch(async (error: unknown) => {
  if (isStopping) return
  isStopping = true
  const isForPeople = [ConfigurationError, EmbeddedPostgresError, MigrationError].some((kind) => error instanceof kind)
  console.error(`Einmal cannot start. ${error instanceof Error ? error.message : error}`)
  // What nobody foresaw comes with the place where it happened.
  if (!isForPeople) console.error(error)
  for (const each of stops) await each().catch(() => undefined)
  process.exit(1)
})
