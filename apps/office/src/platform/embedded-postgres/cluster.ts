import { spawn } from 'node:child_process'
import { chownSync, closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { chown, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Access } from './access.ts'
import { giveFolder, initdbAccount, newClusterAccount } from './account.ts'
import { cleanEnvironment, prepareBinaries } from './binaries.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { dataArgument, killAll, listPostgresIn } from './processes.ts'

export interface ClusterOptions {
  readonly dataDir: string
  readonly access: Access
  /** False only where the caller gave up durability for the whole server. */
  readonly flush: boolean
  log(message: string): void
}

export function clusterFolder(dataDir: string): string {
  return join(dataDir, 'postgres')
}

/** Makes the empty cluster in a draft folder and renames it: `postgres` is either complete or not there. */
export async function createCluster({ dataDir, access, flush, log }: ClusterOptions): Promise<void> {
  const draft = join(dataDir, 'postgres.new')
  await removeDraft(draft)
  const account = initdbAccount()
  const { initdb } = await prepareBinaries(account, log)
  await mkdir(draft, { mode: 0o700 })
  if (account) await chown(draft, account.uid, account.gid)
  const password = openPassword(dataDir, access.password, account)
  try {
    await run(initdb, {
      args: [
        ...['-D', dataArgument(draft), '-U', 'postgres', '--pwfile=/dev/fd/3', '--auth=scram-sha-256'],
        // Sorting and upper case must not depend on the machine on which the data was first made.
        ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
        ...['--no-instructions', ...(flush ? [] : ['--no-sync'])],
      ],
      options: { ...account, cwd: draft },
      password,
    })
  } finally {
    closeSync(password)
  }
  await giveFolder(draft, newClusterAccount())
  await rename(draft, clusterFolder(dataDir))
  if (flush) await flushFolder(dataDir)
}

/** An initdb that outlived a killed server may still be writing there. */
async function removeDraft(draft: string): Promise<void> {
  if (!existsSync(draft)) return
  killAll(listPostgresIn(draft))
  await rm(draft, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
}

/**
 * Hands the password over as an open file without a name: initdb takes it from a file only, its account reaches no file
 * below /root, and a file in /tmp could be read by others.
 */
function openPassword(dataDir: string, password: string, account: ReturnType<typeof initdbAccount>): number {
  const path = join(dataDir, 'postgres.password')
  rmSync(path, { force: true })
  writeFileSync(path, password, { mode: 0o600, flag: 'wx' })
  if (account) chownSync(path, account.uid, account.gid)
  const file = openSync(path, 'r')
  rmSync(path)
  return file
}

interface RunOptions {
  readonly args: string[]
  readonly options: { uid?: number; gid?: number; cwd: string }
  readonly password: number
}

async function run(program: string, { args, options, password }: RunOptions): Promise<void> {
  // In a session of its own, so that Ctrl-C ends the first start in its order instead of cutting it in half.
  const child = spawn(program, args, {
    ...options,
    env: cleanEnvironment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', password],
  })
  let output = ''
  const collect = (bytes: Buffer): void => {
    output += bytes.toString()
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const end = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code === 0 ? '' : `ended with ${signal ?? code}`))
  })
  if (end)
    throw new EmbeddedPostgresError(`The private database could not be prepared: initdb ${end}.\n${output.trim()}`)
}

async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** True when a cluster is there; a folder that is something else must not be taken for an empty one and overwritten. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  const folder = clusterFolder(dataDir)
  if (!existsSync(folder)) return false
  const entries = await readdir(folder)
  if (entries.includes('PG_VERSION')) return true
  throw new EmbeddedPostgresError(
    `${folder} is there, but holds no database. Put it back from a backup, or move it away.`,
  )
}
