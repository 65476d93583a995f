import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Access, changePort, createAccess, findAccess, isPortFree, ownerUrl } from './access.ts'
import { serverAccount } from './account.ts'
import { prepareBinaries } from './binaries.ts'
import { clusterFolder, createCluster, hasCluster } from './cluster.ts'
import { EmbeddedPostgresError, setDatabaseUrl } from './embedded-postgres-error.ts'
import { type OwnerLock, tryOwnerLock } from './owner-lock.ts'
import { isPostgresIn, stopLeftovers } from './processes.ts'
import { type Server, startServer } from './server.ts'

export { EmbeddedPostgresError }

/**
 * A private, real PostgreSQL for a data folder. Any number of server processes may use one folder at the same time: the
 * first owns the database, the others join it. When the owner stops or dies, the database stops with it; connections of
 * the others break, and within about half a second one of them owns a new server on the same port with the same
 * password, so that its own pools and those of the others connect again. The same happens when PostgreSQL itself dies
 * under its owner. Nothing that was committed is lost on any of these ways.
 */
export interface EmbeddedPostgres {
  /**
   * Superuser: owns the database and migrates it. The same over all starts, as long as no other program takes the port.
   */
  readonly ownerUrl: string
  /** Another process owns the running database; we only joined it. Turns false when we take over from it. */
  readonly joined: boolean
  readonly dataDir: string
  /** Fast shutdown when we own the database; when we joined, only forgets it. May be called again. */
  stop(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string
  log(message: string): void
  /** Further `-c name=value`; those of the owner count. Tests turn fsync off here, the product never. */
  readonly settings?: Record<string, string>
}

/** How long a second process waits for the first one's start; crash recovery is the slow case. */
const joinLimitMs = 600_000
/** How often one that joined looks whether the owner is gone. */
const takeOverEveryMs = 250
/** A server that dies sooner than this after its start counts as failed, and the next try waits longer. */
const stableAfterMs = 10_000

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32') {
    throw new EmbeddedPostgresError(
      `The private database does not run on Windows itself, only in its Linux subsystem. ${setDatabaseUrl}`,
    )
  }
  const dataDir = prepareFolder(options.dataDir)
  const place: Place = { dataDir, cluster: clusterFolder(dataDir), log: options.log, settings: options.settings ?? {} }
  const startedAtMs = performance.now()
  let reported = false
  for (;;) {
    const lock = lockFolder(place)
    if (lock) return await own(place, lock)
    const access = findRunning(place)
    if (access) return keep(place, { access })
    const waitedMs = performance.now() - startedAtMs
    if (!reported && waitedMs > 1_000) {
      reported = true
      options.log('Another server process is starting the private database of this folder; waiting for it …')
    }
    if (waitedMs > joinLimitMs) {
      throw new EmbeddedPostgresError(
        `Another server process uses ${dataDir}, but its database cannot be reached from here. Stop it, or give this one a folder of its own.`,
      )
    }
    await delay(50)
  }
}

interface Place {
  readonly dataDir: string
  readonly cluster: string
  readonly settings: Record<string, string>
  log(message: string): void
}

interface Keeping {
  readonly access: Access
  readonly lock?: OwnerLock
  readonly server?: Server
}

/**
 * Secrets lie here too, so it is made for nobody else to enter. The real path, because that is what the kernel tells
 * about processes.
 */
function prepareFolder(path: string): string {
  mkdirSync(resolve(path), { recursive: true, mode: 0o700 })
  return realpathSync(path)
}

function readyPath(place: Place): string {
  return join(place.dataDir, 'postgres.ready')
}

/**
 * Takes the folder if nobody has it. From then on nobody joins what runs there before we say that it is ready: it may
 * be an orphan.
 */
function lockFolder(place: Place): OwnerLock | undefined {
  const lock = tryOwnerLock(join(place.dataDir, 'postgres.lock'))
  if (lock) rmSync(readyPath(place), { force: true })
  return lock
}

function findRunning(place: Place): Access | undefined {
  const pid = readReadyPid(place)
  return pid > 0 && isPostgresIn(place.cluster, pid) ? findAccess(place.dataDir) : undefined
}

/** 0 when no owner has said that its server is ready. */
function readReadyPid(place: Place): number {
  try {
    return Number(readFileSync(readyPath(place), 'utf8'))
  } catch {
    return 0
  }
}

async function own(place: Place, lock: OwnerLock): Promise<EmbeddedPostgres> {
  try {
    return keep(place, { ...(await firstLaunch(place)), lock })
  } catch (error) {
    lock.release()
    throw error
  }
}

/** The port may change here, and only here: nobody in this process knows it yet. */
async function firstLaunch(place: Place): Promise<{ access: Access; server: Server }> {
  let access = await prepareCluster(place)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return { access, server: await launch(place, access) }
    } catch (error) {
      if (attempt === 3 || (await isPortFree(access.port))) throw error
      const changed = await changePort(place.dataDir, access)
      place.log(
        `Port ${access.port} of the private database is in use by another program; it moves to ${changed.port}.`,
      )
      access = changed
    }
  }
}

async function prepareCluster({ dataDir, settings, log }: Place): Promise<Access> {
  const known = findAccess(dataDir)
  if (await hasCluster(dataDir)) {
    if (known) return known
    throw new EmbeddedPostgresError(
      `${join(dataDir, 'postgres.json')}, which holds the password of the database, is missing; put it back from a backup.`,
    )
  }
  log('Preparing the private database (first start, about 3 s) …')
  const access = known ?? (await createAccess(dataDir))
  await createCluster({ dataDir, access, flush: settings.fsync !== 'off', log })
  return access
}

async function launch(place: Place, access: Access): Promise<Server> {
  await stopLeftovers(place.cluster, place.log)
  const account = await serverAccount(place.cluster)
  const binaries = await prepareBinaries(account, place.log)
  const server = await startServer({ ...place, binaries, account, port: access.port })
  writeFileSync(readyPath(place), String(server.pid), { mode: 0o600 })
  return server
}

/** Watches over the database until stop(): starts it again when it dies, takes it over when its owner is gone. */
function keep(place: Place, start: Keeping): EmbeddedPostgres {
  const { access } = start
  const stopping = new AbortController()
  let { lock, server } = start
  let stopped: Promise<void> | undefined

  const pause = (ms: number): Promise<void> =>
    delay(ms, undefined, { ref: false, signal: stopping.signal }).catch(() => {})

  async function keepRunning(): Promise<void> {
    let failures = 0
    let startedAtMs = performance.now()
    while (!stopping.signal.aborted) {
      if (server) {
        const reason = await server.ended
        if (stopping.signal.aborted) return
        server = undefined
        failures = performance.now() - startedAtMs < stableAfterMs ? failures + 1 : 0
        place.log(`The private database ${reason}; starting it again …`)
        if (failures > 0) await pause(retryAfterMs(failures))
        continue
      }
      try {
        const joined = !lock
        lock ??= lockFolder(place)
        if (lock) {
          if (joined) place.log('The owner of the private database is gone; this process takes it over …')
          startedAtMs = performance.now()
          server = await launch(place, access)
        } else await pause(takeOverEveryMs)
      } catch (error) {
        failures += 1
        place.log(`The private database could not be started again: ${error instanceof Error ? error.message : error}`)
        await pause(retryAfterMs(failures))
      }
    }
  }

  const keeping = keepRunning()
  return {
    ownerUrl: ownerUrl(access),
    dataDir: place.dataDir,
    get joined() {
      return !lock
    },
    stop() {
      stopped ??= (async () => {
        stopping.abort()
        await server?.stop()
        await keeping
        // A start that was under way when we were asked to stop has come to its end by now.
        await server?.stop()
        if (!lock) return
        rmSync(readyPath(place), { force: true })
        lock.release()
      })()
      return stopped
    },
  }
}

function retryAfterMs(failures: number): number {
  return Math.min(30_000, 250 * 2 ** failures)
}
