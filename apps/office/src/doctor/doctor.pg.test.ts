/** Books that are in order, and the same books broken on purpose, as only the owner of the database can. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { breaks } from '../../test/support/broken-books/index.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts'
import { type WrittenBooks, writeBooks } from '../../test/support/written-books.ts'
import { createDatabase, type Db } from '../platform/database.ts'
import { textOf, toFindings } from './diagnose.ts'
import { checks, diagnose, type Finding, type FoundRow, openDoctor } from './index.ts'
import { beginSnapshot, endSnapshot } from './queries.ts'

let database: TestDatabase
let owner: pg.Pool
let db: Db
let books: WrittenBooks
let others: WrittenBooks

beforeAll(async () => {
  database = await createTestDatabase()
  owner = new pg.Pool({ connectionString: database.ownerUrl, max: 4 })
  owner.on('error', () => undefined)
  db = createDatabase({ url: database.ownerUrl, role: 'einmal_office' })
  books = await writeBooks(owner, 'Ours')
  others = await writeBooks(owner, 'Theirs')
})

afterAll(async () => {
  await db?.close()
  await owner?.end()
  await database?.drop()
})

/** Breaks the books in a transaction, looks as the server's role would, and takes all of it back. */
async function examineBroken(statements: readonly string[]): Promise<Finding[]> {
  const client = await owner.connect()
  try {
    await client.query('begin')
    await client.query('set local session_replication_role = replica')
    for (const statement of statements) await client.query(statement)
    await client.query(`set local role einmal_office; set local einmal.organization_id = '${books.organizationId}'`)
    const findings: Finding[] = []
    for (const check of checks) {
      const { rows } = await client.query<FoundRow>(textOf(check), [books.organizationId])
      findings.push(...toFindings(check, rows))
    }
    return findings
  } finally {
    await client.query('rollback')
    client.release()
  }
}

function idsOf(findings: readonly Finding[]): string[] {
  return findings.map(({ check }) => check).toSorted()
}

describe('books in order', () => {
  test('have no finding, whoever looks', async () => {
    const doctor = await openDoctor(database.ownerUrl)
    for (const { organizationId } of [books, others]) {
      expect(await db.transaction(organizationId, (tx) => diagnose(tx, organizationId))).toEqual([])
      expect(await doctor.examine(organizationId)).toEqual([])
    }
    await doctor.close()
  })

  test('of an organisation without a single row have no finding', async () => {
    const { rows } = await owner.query<{ id: string }>(
      `insert into organizations (id, name, slug, created_at) values (gen_random_uuid(), 'Empty', 'empty', now()) returning id`,
    )
    const organizationId = rows[0]?.id ?? ''
    expect(await db.transaction(organizationId, (tx) => diagnose(tx, organizationId))).toEqual([])
  })

  test('are looked through in milliseconds, so that a test can look after every step', async () => {
    const { organizationId } = books
    const tookMs: number[] = []
    while (tookMs.length < 30) {
      const startedAtMs = performance.now()
      await db.transaction(organizationId, (tx) => diagnose(tx, organizationId))
      tookMs.push(performance.now() - startedAtMs)
    }
    console.log(`all checks: ${tookMs.map((ms) => ms.toFixed(1)).join(', ')} ms`)
    expect(Math.min(...tookMs)).toBeLessThan(50)
  })
})

describe('broken on purpose', () => {
  test.each(breaks.map((each) => ({ ...each, name: `${each.check}: ${each.what}` })))('$name', async (broken) => {
    const findings = await examineBroken(broken.statements(books, others))
    const finding = findings.find(({ check }) => check === broken.check)
    expect(finding?.rows.map(({ subject }) => subject)).toEqual([broken.subject(books)])
    expect(idsOf(findings)).toEqual([broken.check, ...(broken.also ?? [])].toSorted())
  })

  test('of another organisation, they are no finding of this one', async () => {
    // The way to break a series takes all series of that name.
    for (const { statements } of breaks.filter(({ check }) => !check.startsWith('series.'))) {
      expect(await examineBroken(statements(others, books))).toEqual([])
    }
  })

  test('a check that finds more rows than anybody reads names a thousand and says that there are more', async () => {
    const [finding] = await examineBroken([
      `insert into events (id, organization_id, source, kind, external_id, state, holder, error_code, first_arrived_at,
          last_arrived_at, started_at, finished_at)
        select gen_random_uuid(), '${books.organizationId}', 'stripe', 'payment.paid', 'evt_' || i, 'failed',
          gen_random_uuid(), 'fault', now(), now(), now(), now() from generate_series(1, 1001) as i`,
    ])
    expect(finding).toMatchObject({
      check: 'register.failed',
      severity: 'note',
      hasMore: true,
      rows: { length: 1_000 },
    })
  })

  test('the doctor could not mend them if it would: its transaction can write nothing', async () => {
    const client = await owner.connect()
    try {
      await client.query(beginSnapshot(books.organizationId))
      await expect(client.query('update invoices set paid_minor = 0')).rejects.toMatchObject({ code: '25006' })
    } finally {
      await client.query(endSnapshot)
      client.release()
    }
  })

  test('while the doctor looks, what is committed meanwhile is not seen by halves, but the next time', async () => {
    const doctor = await openDoctor(database.ownerUrl)
    const { organizationId } = books
    const paid = books.invoices['RE-00002']
    const setPaid = (change: number) =>
      owner.query(`update invoices set paid_minor = paid_minor + $1 where id = $2`, [change, paid])
    const findings = await doctor.examine(organizationId, async ({ id }) => {
      // The first statement has fixed the moment.
      if (id === checks[1]?.id) await setPaid(-1)
    })
    expect(findings).toEqual([])
    expect(idsOf(await doctor.examine(organizationId))).toEqual(['invoice.paid'])
    await setPaid(1)
    await doctor.close()
  })

  test('every check has a way to fail that was seen', () => {
    const broken = new Set(breaks.map(({ check }) => check))
    expect(checks.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([])
  })
})
