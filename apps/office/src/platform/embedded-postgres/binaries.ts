import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from './account.ts'
import { EmbeddedPostgresError, setDatabaseUrl } from './embedded-postgres-error.ts'

export interface Binaries {
  readonly postgres: string
  readonly initdb: string
}

const platform = `${process.platform}-${process.arch}`

/** Programs of ours get nothing from the environment: a stray PGDATA or LC_ALL would change what they do. */
export const cleanEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Finds binaries that the account can run: in place where it reaches them, else in a copy that is kept for the next
 * start (root's account does not reach a project below /root; a user may not add the links to a package that root
 * installed).
 */
export async function prepareBinaries(account: Account, log: (message: string) => void): Promise<Binaries> {
  const source = findPackage()
  const problems: string[] = []
  if (makeLinks(source.folder) && (!account || isReachableByAnyone(source.folder))) {
    const problem = await findProblem(source.folder, account)
    if (!problem) return binariesIn(source.folder)
    problems.push(problem)
  }
  for (const home of stagingHomes(account)) {
    const staged = join(home, `postgres-${source.version}-${platform}`)
    try {
      if (!existsSync(staged)) {
        log('Copying PostgreSQL to where its account can run it (once, about 1 s) …')
        await stage(source.folder, staged)
      }
      if (!isOurs(home) || !isOurs(staged)) throw new Error(`${staged} can be changed by others`)
      const problem = await findProblem(staged, account)
      if (!problem) return binariesIn(staged)
      problems.push(problem)
    } catch (error) {
      problems.push(messageOf(error))
    }
  }
  throw new EmbeddedPostgresError(
    `The PostgreSQL that comes with the packages does not run on this machine (${problems.join('; ')}). ${setDatabaseUrl}`,
  )
}

function findPackage(): { folder: string; version: string } {
  const name = `@embedded-postgres/${platform}`
  try {
    const folder = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const description: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const version =
      typeof description === 'object' && description && 'version' in description ? String(description.version) : ''
    return { folder: join(folder, 'native'), version }
  } catch {
    throw new EmbeddedPostgresError(`No PostgreSQL for ${platform} is installed (package ${name}). ${setDatabaseUrl}`)
  }
}

function binariesIn(folder: string): Binaries {
  return { postgres: join(folder, 'bin', 'postgres'), initdb: join(folder, 'bin', 'initdb') }
}

/**
 * The package holds its links as a list, for an install script that we do not run. Answers whether all of them exist
 * now.
 */
function makeLinks(folder: string): boolean {
  const links: unknown = JSON.parse(readFileSync(join(folder, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(links)) return false
  return links.every(({ source, target }: { source: string; target: string }) => {
    const link = join(folder, relative('native', target))
    if (existsSync(link)) return true
    try {
      symlinkSync(basename(source), link)
    } catch {
      // Another process may have been quicker; whether the link exists is all that counts.
    }
    return existsSync(link)
  })
}

function isReachableByAnyone(folder: string): boolean {
  const everyoneEnters = 0o001
  const everyoneRuns = 0o005
  for (let path = folder; path !== dirname(path); path = dirname(path)) {
    if ((statSync(path).mode & everyoneEnters) === 0) return false
  }
  return (statSync(join(folder, 'bin', 'postgres')).mode & everyoneRuns) === everyoneRuns
}

function stagingHomes(account: Account): string[] {
  if (!account) return [join(homedir(), '.cache', 'einmal'), join(tmpdir(), `einmal-${process.getuid?.()}`)]
  return ['/var/lib/einmal', '/var/tmp/einmal-root', join(tmpdir(), 'einmal-root')]
}

/** A folder that anybody could have made or can change (in /tmp above all) would run a stranger's program. */
function isOurs(folder: string): boolean {
  const othersWrite = 0o022
  const { uid, mode } = lstatSync(folder)
  return uid === process.getuid?.() && (mode & othersWrite) === 0
}

/** Copies into a draft and renames it, so that a copy is either complete or not there. */
async function stage(source: string, target: string): Promise<void> {
  mkdirSync(dirname(target), { recursive: true, mode: 0o755 })
  if (!isOurs(dirname(target))) throw new Error(`${dirname(target)} can be changed by others`)
  // A umask of 077 is common for root and would lock out the account.
  chmodSync(dirname(target), 0o755)
  const draft = `${target}.${randomBytes(6).toString('hex')}`
  try {
    await copyTree(source, draft)
    makeLinks(draft)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    // Two first starts on one machine: the other was quicker.
    if (!existsSync(target)) throw error
  }
}

async function copyTree(source: string, target: string): Promise<void> {
  await mkdir(target)
  chmodSync(target, 0o755)
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name)
    const to = join(target, entry.name)
    if (entry.isDirectory()) await copyTree(from, to)
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      await copyFile(from, to)
      chmodSync(to, basename(source) === 'bin' ? 0o755 : 0o644)
    }
  }
}

/** Says why the binaries cannot run (no execute permission on that disk, another C library), or nothing. */
async function findProblem(folder: string, account: Account): Promise<string | undefined> {
  try {
    await promisify(execFile)(binariesIn(folder).postgres, ['--version'], {
      ...account,
      cwd: '/',
      env: cleanEnvironment,
    })
    return undefined
  } catch (error) {
    return messageOf(error).trim()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
