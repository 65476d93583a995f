import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineRegister } from 'einmal'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts'
import { createDatabase, send, sql } from './database.ts'
import { startEmbeddedPostgres } from './embedded-postgres/index.ts'
import { MigrationError, migrate } from './migrate.ts'

const migrations = join(import.meta.dirname, '../../migrations')
const organizationId = '0198c0de-0000-7000-8000-000000000001'

let folder: string
const databases: TestDatabase[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'einmal-migrate-'))
})

afterAll(async () => {
  for (const database of databases) await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function emptyDatabase(): Promise<string> {
  const database = await createTestDatabase('template1')
  databases.push(database)
  return database.ownerUrl
}

/** A folder of migrations with these texts, in the order given. */
async function folderOf(...texts: string[]): Promise<string> {
  const directory = await mkdtemp(join(folder, 'migrations-'))
  await Promise.all(texts.map((text, index) => writeFile(join(directory, `000${index + 1}_make_part.sql`), text)))
  return directory
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

async function namesIn(url: string): Promise<string[]> {
  const rows = await query<{ name: string }>(url, 'select name from migrations order by name')
  return rows.map((row) => row.name)
}

async function hasTable(url: string, name: string): Promise<boolean> {
  const [row] = await query<{ found: boolean }>(url, `select to_regclass('${name}') is not null as found`)
  return row?.found === true
}

test('twenty servers that migrate an empty database at once apply each migration once', async () => {
  const url = await emptyDatabase()
  const files = (await readdir(migrations)).toSorted()
  const results = await Promise.all(Array.from({ length: 20 }, () => migrate(url, migrations)))
  expect(results.flatMap((result) => result.applied).toSorted()).toEqual(files)
  // One does all of it: nobody begins in the middle of another's work.
  expect(results.filter((result) => result.applied.length > 0)).toHaveLength(1)
  expect(await namesIn(url)).toEqual(files)
  expect(await migrate(url, migrations)).toEqual({ applied: [] })
})

test('a migration that fails leaves nothing of itself and names itself; mended, the next start goes on from there', async () => {
  const url = await emptyDatabase()
  const directory = await folderOf(
    'create table first ()',
    'create table second (); select 1 / 0;',
    'create table third ()',
  )
  const failing = migrate(url, directory)
  await expect(failing).rejects.toBeInstanceOf(MigrationError)
  await expect(failing).rejects.toThrow('The migration 0002_make_part.sql failed: division by zero')
  expect(await namesIn(url)).toEqual(['0001_make_part.sql'])
  expect([await hasTable(url, 'first'), await hasTable(url, 'second'), await hasTable(url, 'third')]).toEqual([
    true,
    false,
    false,
  ])
  await writeFile(join(directory, '0002_make_part.sql'), 'create table second ()')
  expect((await migrate(url, directory)).applied).toEqual(['0002_make_part.sql', '0003_make_part.sql'])
})

test('a migration whose connection breaks names itself and leaves nothing', async () => {
  const url = await emptyDatabase()
  const directory = await folderOf('create table half (); select pg_terminate_backend(pg_backend_pid());')
  const failing = migrate(url, directory)
  await expect(failing).rejects.toBeInstanceOf(MigrationError)
  await expect(failing).rejects.toThrow(/^The migration 0001_make_part.sql failed: terminating connection/)
  expect(await namesIn(url)).toEqual([])
  expect(await hasTable(url, 'half')).toBe(false)
})

test('a migration whose text was changed after it had been applied is refused, and nothing is done', async () => {
  const url = await emptyDatabase()
  const directory = await folderOf('create table first ()')
  await migrate(url, directory)
  await writeFile(join(directory, '0001_make_part.sql'), 'create table first (id int)')
  await writeFile(join(directory, '0002_make_part.sql'), 'create table second ()')
  const refused = migrate(url, directory)
  await expect(refused).rejects.toBeInstanceOf(MigrationError)
  await expect(refused).rejects.toThrow('The migration 0001_make_part.sql was changed after it had been applied')
  expect(await hasTable(url, 'second')).toBe(false)
})

test('an older server refuses a database with a breaking part that it does not know', async () => {
  const url = await emptyDatabase()
  await migrate(
    url,
    await folderOf('create table first ()', '-- breaking: the old name goes\nalter table first rename to other'),
  )
  const refused = migrate(url, await folderOf('create table first ()'))
  await expect(refused).rejects.toBeInstanceOf(MigrationError)
  await expect(refused).rejects.toThrow(/newer than this server: it has 0002_make_part\.sql/)
})

test('an older server works with a database whose newer part breaks nothing', async () => {
  const url = await emptyDatabase()
  await migrate(url, await folderOf('create table first ()', 'alter table first add column note text'))
  expect(await migrate(url, await folderOf('create table first ()'))).toEqual({ applied: [] })
})

test('a migration waits for a lock for a limited time only', async () => {
  const url = await emptyDatabase()
  const setting = `current_setting('lock_timeout') as value`
  await migrate(url, await folderOf(`create table seen as select ${setting}`, `insert into seen select ${setting}`))
  expect(await query(url, 'select value from seen')).toEqual([{ value: '10s' }, { value: '10s' }])
})

test.each(['createTable', 'createLeases', 'createWindows'] as const)(
  "the register's tables are what the library asks for, word for word: %s",
  async (part) => {
    const register = defineRegister({ table: 'events', scopeColumn: 'organization_id', scopeType: 'uuid' })
    const text = await readFile(join(migrations, '0002_create_register.sql'), 'utf8')
    expect(text).toContain(`\n${register[part]}\n`)
  },
)

test('an owner without superuser rights migrates, and serves in the roles he made; one without CREATEROLE uses roles that exist', async () => {
  // A cluster of its own, because roles belong to the cluster.
  const dataDir = join(folder, 'cluster')
  const server = await startEmbeddedPostgres({
    dataDir,
    log: () => undefined,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', shared_buffers: '16MB' },
  })
  try {
    const urlOf = (user: string, database: string) => {
      const url = new URL(server.ownerUrl)
      Object.assign(url, { username: user, password: 'secret', pathname: `/${database}` })
      return url.href
    }
    const asSuperuser = (text: string) => query(server.ownerUrl, text)
    await asSuperuser(`create role maker login createrole password 'secret'`)
    await asSuperuser(`create role plain login password 'secret'`)
    await asSuperuser('create database made owner maker')
    await asSuperuser('create database used owner plain')

    // Nobody has made the roles yet, and this one may not.
    const tooEarly = migrate(urlOf('plain', 'used'), migrations)
    await expect(tooEarly).rejects.toThrow(/^The migration 0001_create_auth.sql failed: permission denied/)
    expect(await namesIn(urlOf('plain', 'used'))).toEqual([])

    const made = urlOf('maker', 'made')
    expect((await migrate(made, migrations)).applied).not.toEqual([])
    await expectSeparateOrganizations(made)

    const used = urlOf('plain', 'used')
    expect((await migrate(used, migrations)).applied).not.toEqual([])
    await asSuperuser('grant einmal_office, einmal_auth to plain')
    await expectSeparateOrganizations(used)
  } finally {
    await server.stop()
  }
})

/** Serving with the owner's own login: the roles can be entered, and their rows stay apart. */
async function expectSeparateOrganizations(url: string): Promise<void> {
  const other = '0198c0de-0000-7000-8000-000000000002'
  const db = createDatabase({ url, role: 'einmal_office', maxConnections: 1 })
  try {
    await db.transaction(organizationId, (tx) =>
      send(
        tx,
        sql`insert into number_series (name, organization_id, prefix) values ('invoice', ${organizationId}::uuid, 'R-')`,
      ),
    )
    const names = (id: string) => db.transaction(id, (tx) => send(tx, sql`select name from number_series`))
    expect(await names(organizationId)).toEqual([{ name: 'invoice' }])
    expect(await names(other)).toEqual([])
  } finally {
    await db.close()
  }
}
