import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Account } from './account.ts'
import { type Binaries, cleanEnvironment } from './binaries.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { dataArgument, readPostmaster, sendSignal, shutdownLimitMs } from './processes.ts'

/** A PostgreSQL server that this process started. */
export interface Server {
  readonly pid: number
  /** Resolves with the reason when it has ended, whoever ended it. */
  readonly ended: Promise<string>
  /** Fast shutdown: open transactions are rolled back, everything committed is on disk. */
  stop(): Promise<void>
}

export interface ServerOptions {
  readonly dataDir: string
  readonly cluster: string
  readonly binaries: Binaries
  readonly account: Account
  readonly port: number
  readonly settings: Record<string, string>
  log(message: string): void
}

const defaults: Record<string, string> = {
  // A small machine runs the server beside it; the rest of the memory serves better as file cache.
  shared_buffers: '256MB',
  // Several server processes with a pool each, and the workers.
  max_connections: '100',
  // Payments write much: rarer checkpoints mean fewer full pages in the log. A restart after a crash stays within
  // seconds.
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  // The package has no compiler for it, and our statements are too short to gain.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Only the life of the server: a failed statement is the caller's to log, and its text may hold personal data.
  log_min_messages: 'log',
  cluster_name: 'einmal',
}

/** Starts PostgreSQL and returns when it takes connections. Crash recovery may need its time and is waited for. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { cluster, log } = options
  const logPath = join(options.dataDir, 'postgres.log')
  const logFile = openLog(logPath)
  const logStart = statSync(logPath).size
  const watchdog = startWatchdog(options)
  // A session of its own: Ctrl-C goes to the whole group, and the database must outlive the server's drain.
  const child = spawn(options.binaries.postgres, argumentsOf(options), {
    ...options.account,
    cwd: cluster,
    env: cleanEnvironment,
    detached: true,
    stdio: ['ignore', logFile, logFile],
  })
  if (child.pid) watchdog.stdin?.write(`${child.pid}\n`)
  closeSync(logFile)
  const server = superviseServer(child, watchdog)
  let end: string | undefined
  void server.ended.then((reason) => {
    end = reason
  })
  let reportedAtMs = performance.now()
  for (;;) {
    if (end !== undefined) {
      throw new EmbeddedPostgresError(`The private database did not start (${end}).\n${readLog(logPath, logStart)}`)
    }
    const postmaster = readPostmaster(cluster)
    if (postmaster && postmaster.pid === child.pid && postmaster.state === 'ready') return server
    if (performance.now() - reportedAtMs > 5_000) {
      reportedAtMs = performance.now()
      log('The private database is still putting itself in order after a crash …')
    }
    await Promise.race([server.ended, nextLook()])
  }
}

function nextLook(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10))
}

function argumentsOf({ cluster, port, settings }: ServerOptions): string[] {
  // TCP, because the path of a socket ends at 107 bytes and a data folder may lie deep.
  const fixed = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '' }
  const all = Object.entries({ ...defaults, ...settings, ...fixed })
  return ['-D', dataArgument(cluster), ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/**
 * A shell that waits on a pipe to us. However this process dies, the kernel closes the pipe, and the shell shuts
 * PostgreSQL down. It starts first, so that PostgreSQL never runs unwatched.
 */
function startWatchdog({ account, cluster }: ServerOptions): ChildProcess {
  const script = 'read -r pid || exit 0; read -r word; [ "$word" = done ] || kill -INT "$pid"'
  const watchdog = spawn('/bin/sh', ['-c', script, 'einmal-postgres-watchdog', cluster], {
    ...account,
    cwd: '/',
    env: cleanEnvironment,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without it the database lacks the guard but not the service: the next start ends an orphan.
  watchdog.on('error', () => {})
  watchdog.stdin?.on('error', () => {})
  watchdog.unref()
  if (watchdog.stdin && 'unref' in watchdog.stdin && typeof watchdog.stdin.unref === 'function') watchdog.stdin.unref()
  return watchdog
}

function superviseServer(child: ChildProcess, watchdog: ChildProcess): Server {
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code}`))
  }).then(async (reason) => {
    await dismissWatchdog(watchdog)
    return reason
  })
  // A script that forgets stop() may end; the watchdog then does its work.
  child.unref()
  return {
    pid: child.pid ?? 0,
    ended,
    stop: async () => {
      child.ref()
      const escalation = [
        setTimeout(() => child.kill('SIGQUIT'), shutdownLimitMs),
        setTimeout(() => child.kill('SIGKILL'), shutdownLimitMs + 10_000),
      ]
      if (child.exitCode === null && child.signalCode === null && child.pid) sendSignal(child.pid, 'SIGINT')
      await ended
      for (const timer of escalation) clearTimeout(timer)
    },
  }
}

/**
 * Told before it could take the number of the ended server for a living one; waited for, so that nothing of us stays
 * behind.
 */
function dismissWatchdog(watchdog: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (!watchdog.pid || watchdog.exitCode !== null || watchdog.signalCode !== null) return resolve()
    watchdog.ref()
    watchdog.once('exit', () => resolve())
    watchdog.stdin?.end('done\n')
  })
}

/** Keeps one older log beside the current one, so that it never grows without end. */
function openLog(path: string): number {
  const sizeMax = 5_000_000
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > sizeMax) {
    rmSync(`${path}.1`, { force: true })
    renameSync(path, `${path}.1`)
  }
  return openSync(path, 'a', 0o600)
}

function readLog(path: string, start: number): string {
  const charactersMax = 2_000
  return readFileSync(path).subarray(start).toString().trim().slice(-charactersMax)
}
