import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import { createDatabase, type Db } from '../platform/database.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../platform/embedded-postgres/index.ts'
import { type MigrationResult, migrate } from '../platform/migrate.ts'
import { deriveSecret, loadOrCreateSecretKey, type SecretKey } from '../platform/secrets.ts'
import { ensureServerLogin } from '../platform/server-login.ts'
import { exitCodes, Refusal, type Surroundings, UsageError } from './command.ts'
import { listOrganizations, type OrganizationName } from './queries.ts'

/** The plain SQL that makes a database an office's. */
export const migrationsFolder = join(import.meta.dirname, '../../migrations')

/** A database that was brought to this version, and the login with which a server works on it. */
export interface ServerDatabase {
  readonly databaseUrl: string
  readonly secretKey: SecretKey
  /** The database is ours alone; false where another process runs it and this one has joined. */
  readonly isOwner: boolean
}

/**
 * A private PostgreSQL, or the one that is configured; migrated, and with a login that owns nothing. `onStart` is given what has
 * to be stopped in the end, as soon as there is something.
 */
export async function openServerDatabase(
  config: Config,
  print: (line: string) => void,
  onStart: (stop: () => Promise<void>) => void,
): Promise<ServerDatabase> {
  const { databaseUrl, secretKey } = config
  if (databaseUrl !== null && secretKey !== null) {
    await migrate(config.ownerUrl ?? databaseUrl, migrationsFolder)
    return { databaseUrl, secretKey, isOwner: true }
  }
  const postgres = await startPrivate(config, print)
  onStart(() => postgres.stop())
  print(`Data: ${config.dataDir}${postgres.joined ? ' (its database was running already; joined it)' : ''}`)
  const ownKey = secretKey ?? (await loadOrCreateSecretKey(config.dataDir))
  await migrate(postgres.ownerUrl, migrationsFolder)
  const serverUrl = await ensureServerLogin(postgres.ownerUrl, deriveSecret(ownKey, 'database'))
  return { databaseUrl: serverUrl, secretKey: ownKey, isOwner: !postgres.joined }
}

async function startPrivate({ dataDir }: Config, print: (line: string) => void): Promise<EmbeddedPostgres> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  return startEmbeddedPostgres({ dataDir, log: print })
}

/** Brings the database to this version. A private one runs for as long as that takes, and is made where there is none. */
export async function migrateDatabase({ note }: Surroundings): Promise<MigrationResult> {
  const config = readConfig()
  if (config.databaseUrl !== null) return migrate(config.ownerUrl ?? config.databaseUrl, migrationsFolder)
  const postgres = await startPrivate(config, note)
  try {
    return await migrate(postgres.ownerUrl, migrationsFolder)
  } finally {
    await postgres.stop()
  }
}

/** The database as a command sees it: with the server's rights and no others. */
export interface CommandDatabase {
  readonly db: Db
  /** For connections of one's own, which must enter one of the two roles. */
  readonly url: string
  readonly config: Config
}

/**
 * Runs `work` on the office's database: the one that is configured, or the private one of the data folder, which is joined where
 * a server runs it, and otherwise started for as long as the command takes.
 */
export async function withDatabase<T>(
  { note }: Surroundings,
  work: (database: CommandDatabase) => Promise<T>,
): Promise<T> {
  const config = readConfig()
  if (config.databaseUrl !== null) return withUrl(config.databaseUrl, config, work)
  if (!existsSync(join(config.dataDir, 'postgres.json'))) {
    throw new Refusal(
      `There is no office in ${config.dataDir}. Start one with npm start, or say where it is: EINMAL_DATA_DIR for another ` +
        'folder, DATABASE_URL for a PostgreSQL of yours.',
      exitCodes.failed,
    )
  }
  const postgres = await startPrivate(config, note)
  try {
    return await withUrl(postgres.ownerUrl, config, work)
  } finally {
    await postgres.stop()
  }
}

async function withUrl<T>(url: string, config: Config, work: (database: CommandDatabase) => Promise<T>): Promise<T> {
  const db = createDatabase({ url, role: 'einmal_office', maxConnections: 2 })
  try {
    return await work({ db, url, config })
  } finally {
    await db.close()
  }
}

/** All organisations by name, or the one that is meant by an id, a name, or the slug of its address. */
export async function selectOrganizations(db: Db, text: string | undefined): Promise<OrganizationName[]> {
  const all = await listOrganizations(db)
  if (text === undefined) return all
  const [first, ...others] = all.filter(({ id, name, slug }) => [id, name, slug].includes(text))
  if (first === undefined) throw new Refusal(`There is no organisation "${text}". ${listOf(all)}`, exitCodes.failed)
  if (others.length > 0) {
    throw new Refusal(
      `Several organisations bear the name "${text}"; say which by its id. ${listOf([first, ...others])}`,
    )
  }
  return [first]
}

/** The one that is meant; where none is named, the only one there is. */
export async function selectOrganization(db: Db, text: string | undefined): Promise<OrganizationName> {
  const [first, ...others] = await selectOrganizations(db, text)
  if (first === undefined) throw new Refusal('There is no organisation yet.', exitCodes.failed)
  if (others.length > 0) {
    throw new UsageError(`Say which organisation: --organization <id or name>. ${listOf([first, ...others])}`)
  }
  return first
}

const LISTED_MAX = 20

function listOf(organizations: readonly OrganizationName[]): string {
  const lines = organizations.slice(0, LISTED_MAX).map(({ id, name }) => `\n  ${id}  ${name}`)
  const rest = organizations.length - lines.length
  return organizations.length === 0
    ? 'There is none yet.'
    : `There are:${lines.join('')}${rest > 0 ? `\n  … and ${rest} more` : ''}`
}

/** The option that all commands about an organisation share. */
export const organizationOption = {
  type: 'string',
  value: '<id or name>',
  about: 'the organisation it is about',
} as const
