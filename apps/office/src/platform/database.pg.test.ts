import { randomUUID } from 'node:crypto'
import { classifyError } from 'einmal'
import { sql as kyselySql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts'
import { createDatabase, createPool, type Db, send, sendText, sql, type Tx } from './database.ts'

let database: TestDatabase
let owner: pg.Pool
const opened: Db[] = []
const unhandled: unknown[] = []
const onUnhandled = (error: unknown) => unhandled.push(error)

beforeAll(async () => {
  process.on('unhandledRejection', onUnhandled)
  process.on('uncaughtException', onUnhandled)
  database = await createTestDatabase()
  owner = new pg.Pool({ connectionString: database.ownerUrl, max: 2 })
})

afterEach(async () => {
  for (const db of opened.splice(0)) await db.close()
  expect(unhandled).toEqual([])
})

afterAll(async () => {
  await owner.end()
  await database.drop()
  process.off('unhandledRejection', onUnhandled)
  process.off('uncaughtException', onUnhandled)
})

/** One connection, so that what a transaction leaves on it would be met by the next. */
function open(url = database.ownerUrl, maxConnections = 1): Db {
  const db = createDatabase({ url, role: 'einmal_office', maxConnections })
  opened.push(db)
  return db
}

/** Any table of a tenant will do; this one needs no other row. */
function insertSeries(tx: Tx, organizationId: string, name: string): Promise<unknown> {
  return send(
    tx,
    sql`insert into number_series (name, organization_id, prefix) values (${name}, ${organizationId}::uuid, 'T-')`,
  )
}

async function listSeries(organizationId: string): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    'select name from number_series where organization_id = $1 order by name',
    [organizationId],
  )
  return rows.map((row) => row.name)
}

async function backendOf(tx: Tx): Promise<number> {
  const [row] = await send<{ pid: number }>(tx, sql`select pg_backend_pid() as pid`)
  return row?.pid ?? 0
}

test('what a transaction did is there after it, whether its statements were awaited or not', async () => {
  const organizationId = randomUUID()
  const answer = await open().transaction(organizationId, async (tx) => {
    await insertSeries(tx, organizationId, 'awaited')
    void insertSeries(tx, organizationId, 'sent')
    return 'the value'
  })
  expect(answer).toBe('the value')
  expect(await listSeries(organizationId)).toEqual(['awaited', 'sent'])
})

test('a statement that was sent and not awaited, and fails, fails the commit with its own error', async () => {
  const organizationId = randomUUID()
  const db = open()
  const failing = db.transaction(organizationId, async (tx) => {
    void insertSeries(tx, organizationId, 'twin')
    void insertSeries(tx, organizationId, 'twin')
    void insertSeries(tx, organizationId, 'later')
  })
  await expect(failing).rejects.toMatchObject({ code: '23505', constraint: 'number_series_pkey' })
  expect(await listSeries(organizationId)).toEqual([])
})

test('an error that somebody swallows never lets the rest commit', async () => {
  const organizationId = randomUUID()
  const db = open()
  const swallowing = db.transaction(organizationId, async (tx) => {
    await insertSeries(tx, organizationId, 'before')
    await send(tx, sql`select 1 / 0`).catch(() => undefined)
    return 'as if nothing had happened'
  })
  await expect(swallowing).rejects.toMatchObject({ code: '22012' })
  const withKysely = db.transaction(organizationId, async (tx) => {
    await insertSeries(tx, organizationId, 'before')
    await tx
      .selectFrom('events')
      .select(kyselySql`1 / 0`.as('nothing'))
      .executeTakeFirst()
      .catch(() => undefined)
    await kyselySql`select 1 / 0`.execute(tx).catch(() => undefined)
  })
  await expect(withKysely).rejects.toThrow(/division by zero/)
  expect(await listSeries(organizationId)).toEqual([])
})

test('the error thrown is the first cause, not the echo that the next awaited statement gets', async () => {
  const organizationId = randomUUID()
  const echoing = open().transaction(organizationId, async (tx) => {
    void send(tx, sql`select 1 / 0`)
    // Answered with "current transaction is aborted", which says nothing of what the caller may do about it.
    await insertSeries(tx, organizationId, 'later')
  })
  await expect(echoing).rejects.toMatchObject({ code: '22012' })
})

test('an error thrown by the work rolls back and is thrown on as it is, and the connection stays usable', async () => {
  const organizationId = randomUUID()
  const db = open()
  const reason = new Error('no')
  let pid = 0
  const failing = db.transaction(organizationId, async (tx) => {
    pid = await backendOf(tx)
    await insertSeries(tx, organizationId, 'awaited')
    void insertSeries(tx, organizationId, 'sent')
    throw reason
  })
  await expect(failing).rejects.toBe(reason)
  expect(await listSeries(organizationId)).toEqual([])
  expect(await db.transaction(organizationId, backendOf)).toBe(pid)
})

test('statements reach the server in the order in which they were sent', async () => {
  const organizationId = randomUUID()
  const digits = [1, 2, 3, 4, 5, 6, 7, 8, 9]
  const [row] = await open().transaction(organizationId, async (tx) => {
    void insertSeries(tx, organizationId, 'order')
    for (const digit of digits) {
      // Texts of their own, so that some are planned anew and some are not.
      const text = `update number_series set next_sequence = next_sequence * 10 + ${digit} where name = 'order'`
      void sendText(tx, digit % 2 === 0 ? text : `${text} and prefix = 'T-'`, [])
    }
    return send<{ sequence: bigint }>(tx, sql`select next_sequence as sequence from number_series where name = 'order'`)
  })
  expect(row?.sequence).toBe(1_123_456_789n)
})

test('the organisation is that of the transaction alone: gone after a commit and after a rollback', async () => {
  const [mine, other] = [randomUUID(), randomUUID()]
  const db = open()
  const setting = async () => {
    const [row] = await db.query<{ value: string | null }>(
      `select current_setting('einmal.organization_id', true) as value`,
      [],
    )
    return row?.value ?? ''
  }
  const visible = async (tx: Tx) => {
    const rows = await send<{ name: string }>(tx, sql`select name from number_series order by name`)
    return rows.map((row) => row.name)
  }
  await db.transaction(mine, (tx) => insertSeries(tx, mine, 'mine'))
  expect(await setting()).toBe('')
  await db.transaction(mine, () => Promise.reject(new Error('no'))).catch(() => undefined)
  expect(await setting()).toBe('')
  expect(await db.query('select name from number_series', [])).toEqual([])
  expect(await db.transaction(other, visible)).toEqual([])
  expect(await db.transaction(mine, visible)).toEqual(['mine'])
  const foreign = db.transaction(other, (tx) => insertSeries(tx, mine, 'smuggled'))
  await expect(foreign).rejects.toThrow(/row-level security/)
  expect(await listSeries(mine)).toEqual(['mine'])
})

test('text that is no id of an organisation is refused before anything is sent', async () => {
  // Nobody listens there: whoever asked for a connection would be told so.
  const db = open('postgres://nobody@127.0.0.1:1/nothing')
  const ids = ['', '0', `${randomUUID()}'; drop table events; --`, randomUUID().toUpperCase(), ` ${randomUUID()}`]
  for (const id of ids) {
    let ran = false
    const refused = db.transaction(id, async () => {
      ran = true
    })
    await expect(refused, id).rejects.toThrow('a transaction needs the id of an organisation')
    expect(ran).toBe(false)
  }
})

test('a connection that breaks in the middle of a transaction is thrown away, and the next one is whole', async () => {
  const organizationId = randomUUID()
  const db = open()
  for (const isAwaited of [true, false]) {
    let pid = 0
    const broken = db.transaction(organizationId, async (tx) => {
      pid = await backendOf(tx)
      await insertSeries(tx, organizationId, 'before')
      await owner.query('select pg_terminate_backend($1, 5000)', [pid])
      const next = insertSeries(tx, organizationId, 'after')
      if (isAwaited) await next
    })
    const error = await broken.catch((reason: unknown) => reason)
    expect(classifyError(error), String(error)).toBe('connection')
    expect(await listSeries(organizationId)).toEqual([])
    expect(await db.transaction(organizationId, backendOf)).not.toBe(pid)
  }
})

test('a connection that breaks while nobody uses it is thrown away, and its owner is told', async () => {
  const told = Promise.withResolvers<Error>()
  const db = createDatabase({
    url: database.ownerUrl,
    role: 'einmal_office',
    maxConnections: 1,
    onIdleError: (error) => told.resolve(error),
  })
  opened.push(db)
  const pid = await db.transaction(randomUUID(), backendOf)
  await owner.query('select pg_terminate_backend($1, 5000)', [pid])
  expect(classifyError(await told.promise)).toBe('connection')
  expect(await db.transaction(randomUUID(), backendOf)).not.toBe(pid)
})

test('a statement of a transaction that has ended is refused, and never runs in the next one', async () => {
  const [first, second] = [randomUUID(), randomUUID()]
  const db = open()
  let kept: Tx | undefined
  await db.transaction(first, async (tx) => {
    kept = tx
  })
  const late = await db.transaction(second, async () => {
    if (kept === undefined) throw new Error('the first transaction did not run')
    return Promise.allSettled([insertSeries(kept, second, 'late'), kept.selectFrom('events').select('id').execute()])
  })
  expect(late.map((result) => result.status)).toEqual(['rejected', 'rejected'])
  expect(await listSeries(second)).toEqual([])
})

test('int8 comes as bigint, a date as the text of its day, a decimal as its text, bytes as a buffer', async () => {
  const [row] = await open().query<Record<string, unknown>>(
    `select 9007199254740993::int8 as big, '2026-03-29'::date as day, 12.5000::numeric as decimal, '\\x00ff'::bytea as bytes,
      '2026-03-29T00:30:00Z'::timestamptz as moment, 7::int4 as small`,
    [],
  )
  expect(row).toEqual({
    big: 9_007_199_254_740_993n,
    day: '2026-03-29',
    decimal: '12.5000',
    bytes: Buffer.from([0, 255]),
    moment: new Date('2026-03-29T00:30:00Z'),
    small: 7,
  })
})

test('options in the address are added to ours and never take the role away', async () => {
  const url = new URL(database.ownerUrl)
  url.searchParams.set('options', '-c lock_timeout=123 -c role=none')
  const db = open(url.href)
  const settings = `select current_user as role, current_setting('lock_timeout') as lock, current_setting('enable_seqscan') as scan`
  expect(await db.query(settings, [])).toEqual([{ role: 'einmal_office', lock: '123ms', scan: 'off' }])
  const auth = createPool({ url: url.href, role: 'einmal_auth', maxConnections: 1 })
  expect((await auth.query(settings)).rows).toMatchObject([{ role: 'einmal_auth' }])
  await auth.end()
})

test('nobody waits without a limit, neither for a lock nor for an answer', async () => {
  const pool = createPool({ url: database.ownerUrl, role: 'einmal_office' })
  expect(pool.options.query_timeout).toBeGreaterThan(10_000)
  await pool.end()
  const [row] = await open().query<{ value: string }>(`select current_setting('lock_timeout') as value`, [])
  expect(row?.value).toBe('5s')
})
