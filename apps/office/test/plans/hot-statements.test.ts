import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type Db } from '../../src/platform/database.ts'
import { growOffice } from '../support/grow-office.ts'
import { growPeople } from '../support/grow-people.ts'
import { type MeasuredStatement, measureStatements } from '../support/measured-statements.ts'
import { createTestOffice, type TestOffice, type TestOrganization } from '../support/office.ts'
import { workOnPeople } from './people-work.ts'
import { effortFaults, type IndexColumns, planFaults, readIndexColumns, wholeTableFaults } from './plan-faults.ts'
import { entries, entriesOf, sentByOthers } from './statements.ts'
import { type Desk, openDesk, workThrough, writeEverything } from './work-day.ts'

const PAYMENTS = 1_000_000
/** A connection plans a named statement for its values five times before it may keep one plan for all values. */
const RUNS_UNTIL_PLANS_STAY = 6
/** An index of a million rows is entered through three or four blocks where an empty one has one. */
const DEEPER_INDEXES = 2

const stages = [
  'fresh and never analysed',
  'fresh and analysed while empty',
  'grown to a million payments, with the statistics of the empty one',
  'grown to a million payments and analysed',
] as const
type Stage = (typeof stages)[number]

const measured = new Map<Stage, readonly MeasuredStatement[]>()
let indexes: IndexColumns
/** What the same writes touched over one and the same connection, when its database was empty and when it was grown. */
const oldConnection = { freshBlocks: 0, grownBlocks: 0, wholeTables: [] as string[] }

beforeAll(async () => {
  const young = await openOffice()
  indexes = await readIndexColumns(young.office.owner)
  measured.set('fresh and never analysed', await measureStatements(() => workThrough(young.desk, young.large)))
  await young.close()

  const { office, db, desk, large, small, crowd, close } = await openOffice({ analysedEmpty: true })
  measured.set('fresh and analysed while empty', await measureStatements(() => workThrough(desk, large)))
  for (let run = 1; run <= RUNS_UNTIL_PLANS_STAY; run += 1) await workThrough(desk, large)
  const write = async () => {
    await writeEverything(desk, large)
  }
  oldConnection.freshBlocks = (await touchedBy(office, db, write)).blocks
  const grown = await growOffice(office, large, PAYMENTS)
  await growPeople(office, crowd)
  const touched = await touchedBy(office, db, write)
  oldConnection.grownBlocks = touched.blocks
  oldConnection.wholeTables = touched.wholeTables
  const work = async () => {
    await workThrough(desk, large, grown)
    await workThrough(desk, small)
    await workOnPeople(desk, crowd, office.newId())
  }
  measured.set('grown to a million payments, with the statistics of the empty one', await measureStatements(work))
  await office.owner.query('analyze')
  measured.set('grown to a million payments and analysed', await measureStatements(work))
  await close()
}, 900_000)

interface OpenOffice {
  readonly office: TestOffice
  readonly db: Db
  readonly desk: Desk
  readonly large: TestOrganization
  readonly small: TestOrganization
  /** Many people, and no money: each of them would be told of each payment. */
  readonly crowd: TestOrganization
  close(): Promise<void>
}

/** One connection, so that what it planned early is still in use late; statistics change when the test says so. */
async function openOffice({ analysedEmpty = false } = {}): Promise<OpenOffice> {
  const office = await createTestOffice()
  const { rows } = await office.owner.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname in ('public', 'auth')`,
  )
  for (const { name } of rows) await office.owner.query(`alter table ${name} set (autovacuum_enabled = false)`)
  if (analysedEmpty) await office.owner.query('analyze')
  const db = createDatabase({ url: office.database.ownerUrl, role: 'einmal_office', maxConnections: 1 })
  const desk = await openDesk(office, db)
  const large = await office.addOrganization('Large')
  const small = await office.addOrganization('Small')
  const crowd = await office.addOrganization('Crowd')
  return {
    ...{ office, db, desk, large, small, crowd },
    async close() {
      await desk.app.http.close()
      await db.close()
      await office.close()
    },
  }
}

/** Blocks that `work` read through the connection of `db`, and the tables that it read from end to end. */
async function touchedBy(office: TestOffice, db: Db, work: () => Promise<void>) {
  const read = async () => {
    // The connection hands in what it counted before it says that it is ready.
    await db.query('select pg_stat_force_next_flush()', [])
    const { rows } = await office.owner.query<{ name: string; seq_scan: number; blocks: number }>(
      `select t.relname as name, t.seq_scan::float, (heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))::float as blocks
        from pg_stat_user_tables t join pg_statio_user_tables using (relid)`,
    )
    return rows
  }
  const before = new Map((await read()).map((row) => [row.name, row]))
  await work()
  const after = (await read()).map((row) => ({
    name: row.name,
    scans: row.seq_scan - (before.get(row.name)?.seq_scan ?? 0),
    blocks: row.blocks - (before.get(row.name)?.blocks ?? 0),
  }))
  return {
    blocks: after.reduce((sum, { blocks }) => sum + blocks, 0),
    wholeTables: after.flatMap(({ name, scans }) => (scans > 0 ? [`${name}: ${scans} times`] : [])),
  }
}

/** Each fault once, however often it was found. */
function distinct(faults: readonly string[]): string[] {
  return [...new Set(faults)].toSorted()
}

function statementsOf(stage: Stage): readonly MeasuredStatement[] {
  return measured.get(stage) ?? []
}

describe.each(stages)('a database %s', (stage) => {
  test('is entered by every statement through an index on what tells rows of an organisation apart', () => {
    expect(distinct(statementsOf(stage).flatMap((statement) => planFaults(statement, indexes)))).toEqual([])
  })

  test('is never read from end to end, neither by a statement nor by the check of a foreign key', () => {
    expect(distinct(statementsOf(stage).flatMap((statement) => wholeTableFaults(statement, indexes)))).toEqual([])
  })

  test('costs every statement a number of blocks that grows with its own rows only', () => {
    expect(distinct(statementsOf(stage).flatMap(effortFaults))).toEqual([])
  })
})

test('a connection that made its plans while the database was empty reads no table from end to end when it is grown', () => {
  expect(oldConnection.wholeTables).toEqual([])
})

test('a connection that made its plans while the database was empty does the same writes with at most twice the blocks', () => {
  expect(oldConnection.freshBlocks).toBeGreaterThan(0)
  expect(oldConnection.grownBlocks / oldConnection.freshBlocks).toBeLessThan(DEEPER_INDEXES)
})

describe('the list of statements', () => {
  test('has an entry for every statement that the office sends, and only one', () => {
    const texts = new Set(stages.flatMap((stage) => statementsOf(stage).map(({ text }) => text)))
    const faults = [...texts].flatMap((text) => {
      const found = entriesOf(text)
      return found.length === 1 ? [] : [`${found.map(({ label }) => label).join(', ') || 'no entry'}: ${text}`]
    })
    expect(faults).toEqual([])
  })

  test.each(stages)('has no entry that was not measured in a database %s', (stage) => {
    const sent = new Set(statementsOf(stage).flatMap(({ text }) => entriesOf(text).map(({ label }) => label)))
    expect(entries.filter(({ label }) => !sent.has(label)).map(({ label }) => label)).toEqual([])
  })

  test('has an entry for every function of a module that could send one', async () => {
    const named = new Set([...entries.map(({ label }) => label.split(' ')[0]), ...Object.keys(sentByOthers)])
    expect((await queryFunctions()).filter((name) => !named.has(name))).toEqual([])
  })

  test('misses none, because no statement stands outside the queries of a module and the library', async () => {
    const sends =
      /\bsql`|\bsend(Text)?\(\s*tx\b|\.(selectFrom|insertInto|updateTable|deleteFrom|mergeInto)\(|\.query[<(]/
    const files = await sourceFiles(['modules', 'pipeline', 'api', 'inbound'])
    const senders = await Promise.all(
      files.map(async (file) => (sends.test(await readFile(join(source, file), 'utf8')) ? [file] : [])),
    )
    const others = senders.flat().filter((file) => !/^modules\/[^/]+\/([a-z-]+-)?queries\.ts$/.test(file))
    // Hands the library's own statements on.
    expect(others).toEqual(['pipeline/register-database.ts'])
  })
})

const source = join(import.meta.dirname, '../../src')

async function sourceFiles(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(join(source, folder), { recursive: true })
      return names.map((name) => `${folder}/${name}`)
    }),
  )
  return found
    .flat()
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .toSorted()
}

async function queryFunctions(): Promise<string[]> {
  const files = (await sourceFiles(['modules'])).filter((file) => file.endsWith('queries.ts'))
  const found = await Promise.all(
    files.map(async (file) => {
      const exported = (await import(join(source, file))) as Record<string, unknown>
      return Object.entries(exported).flatMap(([name, value]) =>
        typeof value === 'function' ? [`${file.split('/')[1]}.${name}`] : [],
      )
    }),
  )
  return found.flat()
}
