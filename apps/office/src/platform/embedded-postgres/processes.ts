import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

const isLinux = process.platform === 'linux'

/**
 * Where PostgreSQL is told to find its data; its working folder is set to the same place. On Linux the kernel's name
 * for the working folder spares it the walk down the path, so the data can lie below a folder (/root, mode 0700) that
 * its account may not enter.
 */
export function dataArgument(folder: string): string {
  return isLinux ? '/proc/self/cwd' : folder
}

/** What the running or last server wrote about itself: process id and state. */
export function readPostmaster(cluster: string): { pid: number; state: string } | undefined {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number(lines[0])
    return pid > 0 ? { pid, state: lines[7]?.trim() ?? '' } : undefined
  } catch {
    return undefined
  }
}

/**
 * Every living PostgreSQL process of this folder: server, sessions, and an initdb. A number in a file alone proves
 * nothing, numbers come again.
 */
export function listPostgresIn(cluster: string): number[] {
  if (isLinux) {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => isPostgresIn(cluster, pid))
  }
  const postmaster = readPostmaster(cluster)
  return postmaster && isPostgresIn(cluster, postmaster.pid) ? [postmaster.pid] : []
}

export function isPostgresIn(cluster: string, pid: number): boolean {
  if (!isLinux) {
    // No cheap way to ask for a working folder here; the name of the program has to do.
    return (
      basename(
        spawnSync('ps', ['-o', 'comm=', '-p', String(pid)])
          .stdout.toString()
          .trim(),
      ) === 'postgres'
    )
  }
  try {
    const program = basename(readlinkSync(`/proc/${pid}/exe`))
    // The kernel adds " (deleted)" when the packages were installed anew or a draft was removed meanwhile.
    return (
      /^(postgres|initdb)( |$)/.test(program) &&
      readlinkSync(`/proc/${pid}/cwd`).replace(/ \(deleted\)$/, '') === cluster
    )
  } catch {
    return false
  }
}

/** Sends the signal; a process that is gone by now is what the caller wanted. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

export function killAll(pids: readonly number[]): void {
  for (const pid of pids) sendSignal(pid, 'SIGKILL')
}

/** Looks every 10 ms; false when the limit passed first. */
export async function waitUntil(holds: () => boolean, limitMs: number): Promise<boolean> {
  const startedAtMs = performance.now()
  while (!holds()) {
    if (performance.now() - startedAtMs > limitMs) return false
    await delay(10)
  }
  return true
}

/** How long a fast shutdown may take: it writes out what the checkpoints have left open, which a slow disk feels. */
export const shutdownLimitMs = 60_000

/**
 * Ends what an earlier owner left running, and removes a note of a server that is no more. Only the holder of the owner
 * lock may call it: whatever runs in the folder then has lost its owner.
 */
export async function stopLeftovers(cluster: string, log: (message: string) => void): Promise<void> {
  const isEmpty = (): boolean => listPostgresIn(cluster).length === 0
  const postmaster = readPostmaster(cluster)
  if (!isEmpty()) {
    if (postmaster && isPostgresIn(cluster, postmaster.pid)) {
      log(`A private database without its server is still running (process ${postmaster.pid}); stopping it …`)
      sendSignal(postmaster.pid, 'SIGINT')
      if (!(await waitUntil(isEmpty, shutdownLimitMs))) sendSignal(postmaster.pid, 'SIGQUIT')
    }
    // Sessions whose server was killed notice it at their next wait; one that is computing does not, and would keep the
    // memory busy.
    if (!(await waitUntil(isEmpty, 2_000))) killAll(listPostgresIn(cluster))
    if (!(await waitUntil(isEmpty, 10_000))) {
      throw new EmbeddedPostgresError(
        `PostgreSQL processes in ${cluster} do not end: ${listPostgresIn(cluster).join(', ')}.`,
      )
    }
  }
  // PostgreSQL mends the note of a dead server itself, but trusts the number when another program has got it since.
  if (postmaster && isAlive(postmaster.pid)) rmSync(join(cluster, 'postmaster.pid'), { force: true })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
