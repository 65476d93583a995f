import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'

/**
 * Plain SQL, forward only: `NNNN_verb_noun.sql`, each in a transaction of its own with a limit on waiting for locks.
 *
 * A file whose first line is `-- breaking` makes older servers refuse the database. A file never changes once it was
 * released: its hash stands in the table, and another text under the same name is an error.
 */
export interface MigrationResult {
  readonly applied: readonly string[]
}

export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

const LOCK_TIMEOUT = '10s'
const CONNECT_TIMEOUT_MS = 10_000
/** Any number will do, as long as no other program on the database takes the same. */
const ADVISORY_LOCK = 7_203_114_551

interface Migration {
  readonly name: string
  readonly text: string
  readonly hash: string
  readonly isBreaking: boolean
}

/**
 * Brings the database up to this version. Several processes may start it at once: one works, the others wait for it.
 *
 * Throws `MigrationError` where the database is newer than this server and the newer part is breaking, where a released
 * file was changed, or where the role may not migrate.
 */
export async function migrate(ownerUrl: string, directory: string): Promise<MigrationResult> {
  const migrations = await readMigrations(directory)
  const client = new pg.Client({ connectionString: ownerUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => undefined)
  await connect(client)
  try {
    // A session's lock, since each file has a transaction of its own.
    await client.query('select pg_advisory_lock($1)', [ADVISORY_LOCK])
    await client.query(`create table if not exists migrations (
      name text primary key,
      hash text not null,
      is_breaking boolean not null,
      applied_at timestamptz not null default now()
    )`)
    const known = await client.query<{ name: string; hash: string; is_breaking: boolean }>(
      'select name, hash, is_breaking from migrations order by name',
    )
    refuseUnknown(known.rows, migrations)
    const done = new Set(known.rows.map((row) => row.name))
    const applied: string[] = []
    for (const migration of migrations) {
      if (done.has(migration.name)) continue
      await apply(client, migration)
      applied.push(migration.name)
    }
    return { applied }
  } finally {
    await client.end()
  }
}

async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    // Where a name has several addresses, the error of all of them has no text, only a code.
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const reason = (error instanceof Error && error.message) || code
    throw new MigrationError(`The database at ${client.host}:${client.port} cannot be used: ${reason}`, {
      cause: error,
    })
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_[a-z_]+\.sql$/.test(name)).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(directory, name), 'utf8')
      const hash = createHash('sha256').update(text).digest('hex')
      return { name, text, hash, isBreaking: text.startsWith('-- breaking') }
    }),
  )
}

function refuseUnknown(
  known: readonly { name: string; hash: string; is_breaking: boolean }[],
  migrations: readonly Migration[],
): void {
  const ours = new Map(migrations.map((migration) => [migration.name, migration]))
  for (const row of known) {
    const own = ours.get(row.name)
    if (own === undefined && row.is_breaking) {
      throw new MigrationError(
        `The database is newer than this server: it has ${row.name}, which older servers cannot work with. Start the newer version.`,
      )
    }
    if (own !== undefined && own.hash !== row.hash) {
      throw new MigrationError(
        `The migration ${row.name} was changed after it had been applied; add a new one instead.`,
      )
    }
  }
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`)
    await client.query('insert into migrations (name, hash, is_breaking) values ($1, $2, $3)', [
      migration.name,
      migration.hash,
      migration.isBreaking,
    ])
    await client.query(migration.text)
    await client.query('commit')
  } catch (error) {
    // Where the connection is gone, the server rolls back by itself; the reason is the error at hand.
    await client.query('rollback').catch(() => undefined)
    throw new MigrationError(
      `The migration ${migration.name} failed: ${error instanceof Error ? error.message : error}`,
      {
        cause: error,
      },
    )
  }
}
