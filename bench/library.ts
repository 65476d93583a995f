/** The library against a transaction written by hand: insert the key, insert one row, commit. */
import { createGroup, type Db, eventKey, install, once, uuidv7 } from 'einmal'
import { fromPg } from 'einmal/pg'
import pg from 'pg'
import { type Measured, type Row, ratio, report } from './report.ts'

const CALLERS = 32

export async function benchLibrary(ownerUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: ownerUrl })
  admin.on('error', () => undefined)
  await admin.connect()
  await admin.query('create database bench_library')
  const url = new URL(ownerUrl)
  url.pathname = '/bench_library'
  const pool = new pg.Pool({ connectionString: url.href, max: CALLERS })
  const pipelined = new pg.Pool({ connectionString: url.href, max: CALLERS, pipeline: true } as pg.PoolConfig)
  for (const each of [pool, pipelined]) each.on('error', () => undefined)
  try {
    await pool.query(
      'create table hand_keys (id text primary key); create table effects (id bigserial primary key, key text not null)',
    )
    const plain = fromPg(pool)
    await install(plain)
    report(await measureAll(pool, pipelined, plain))
  } finally {
    await pool.end()
    await pipelined.end()
    await admin.query('drop database bench_library with (force)')
    await admin.end()
  }
}

async function measureAll(pool: pg.Pool, pipelined: pg.Pool, plain: Db<pg.PoolClient>): Promise<Row[]> {
  const byHand = (key: string) => handWritten(pool, key)
  const piped = fromPg(pipelined)
  const group = createGroup<pg.PoolClient, null>(piped, {
    async effect(client, events) {
      await client.query({
        name: 'effect',
        text: 'insert into effects (key) select * from unnest($1::text[])',
        values: [events.map((event) => event.incoming.key.id)],
      })
      return events.map(() => ({}))
    },
  })
  const grouped = (key: string) => {
    const now = new Date()
    const id = uuidv7(now.getTime())
    return group.submit({
      id,
      key: eventKey({ source: 'bench', kind: 'group', id: key }),
      fingerprint: 'v1:',
      holder: id,
      arrivedAt: now,
      input: null,
    })
  }
  const single = (db: Db<pg.PoolClient>, kind: string) => (key: string) =>
    once(db, { source: 'bench', kind, id: key }, async (client) => {
      await client.query('insert into effects (key) values ($1)', [key])
      return undefined
    })
  // Everybody runs twice and the second run counts: connections are open, code is compiled, tables are not empty.
  const rows: Row[] = []
  for (const round of ['warm', 'run']) {
    const hand = await measure(4_000 * 2, CALLERS, (index) => byHand(`${round}-h-${index}`))
    const handAgain = await measure(4_000 * 2, CALLERS, (index) => byHand(`${round}-h-${index}`))
    const fresh = await measure(100_000, CALLERS, (index) => grouped(`${round}-g-${index}`))
    const again = await measure(100_000, CALLERS, (index) => grouped(`${round}-g-${index}`))
    const wide = await measure(100_000, 256, (index) => grouped(`${round}-w-${index}`))
    const handAlone = await measure(3_000, 1, (index) => byHand(`${round}-a-${index}`))
    const onceAlone = await measure(3_000, 1, (index) => single(plain, 'once')(`${round}-o-${index}`))
    const oncePipelined = await measure(3_000, 1, (index) => single(piped, 'piped')(`${round}-p-${index}`))
    if (round === 'warm') continue
    rows.push(
      { work: 'grouped, 32 callers', hand, ours: fresh, ratio: ratio(fresh.perSecond, hand.perSecond) },
      { work: 'grouped, 256 callers (by hand: 32)', hand, ours: wide, ratio: ratio(wide.perSecond, hand.perSecond) },
      {
        work: 'grouped duplicates, 32 callers',
        hand: handAgain,
        ours: again,
        ratio: ratio(again.perSecond, handAgain.perSecond),
      },
      {
        work: 'grouped duplicates, 32 callers (by hand: new ones)',
        hand,
        ours: again,
        ratio: ratio(again.perSecond, hand.perSecond),
      },
      {
        work: 'once, one caller',
        hand: handAlone,
        ours: onceAlone,
        ratio: ratio(onceAlone.perSecond, handAlone.perSecond),
      },
      {
        work: 'once, one caller, pool with pipeline',
        hand: handAlone,
        ours: oncePipelined,
        ratio: ratio(oncePipelined.perSecond, handAlone.perSecond),
      },
    )
  }
  return rows
}

async function handWritten(pool: pg.Pool, key: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const inserted = await client.query('insert into hand_keys (id) values ($1) on conflict do nothing', [key])
    if (inserted.rowCount === 1) await client.query('insert into effects (key) values ($1)', [key])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

async function measure(count: number, callers: number, work: (index: number) => Promise<unknown>): Promise<Measured> {
  const times = new Float64Array(count)
  let next = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < count) {
        const index = next
        next += 1
        const before = performance.now()
        await work(index)
        times[index] = performance.now() - before
      }
    }),
  )
  const perSecond = (count / (performance.now() - startedAt)) * 1000
  times.sort()
  return { perSecond, p50Ms: times[Math.floor(count * 0.5)] ?? 0, p99Ms: times[Math.floor(count * 0.99)] ?? 0 }
}
