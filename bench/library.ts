/** The library against the same work written by hand, on the same database, in turns. */
import { attempt, createGroup, type Db, eventKey, install, once, uuidv7 } from 'einmal'
import { fromPg } from 'einmal/pg'
import pg from 'pg'
import { attemptByHand, attemptByTwoStatements, handTables, onceByHand } from './by-hand.ts'
import { inTurns, measure } from './measure.ts'
import { type Measured, type Row, ratio, report } from './report.ts'

const CALLERS = 32
/** In each turn. */
const SINGLES = 250
const MANY = 600
const GROUPED = 10_000

interface Pools {
  readonly pool: pg.Pool
  /** The same with `pipeline: true`. */
  readonly pipelined: pg.Pool
}

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
    await pool.query(handTables)
    await install(fromPg(pool))
    report(await measureAll({ pool, pipelined }))
  } finally {
    await pool.end()
    await pipelined.end()
    await admin.query('drop database bench_library with (force)')
    await admin.end()
  }
}

async function measureAll(pools: Pools): Promise<Row[]> {
  return [...(await measureGroups(pools)), ...(await measureOnce(pools)), ...(await measureAttempts(pools))]
}

function toRow(work: string, hand: Measured, ours: Measured): Row {
  return { work, hand, ours, ratio: ratio(ours.perSecond, hand.perSecond) }
}

/** One contestant; the same name is the same keys. */
function calls(name: string, count: number, callers: number, work: (key: string) => Promise<unknown>) {
  return (turn: number) => measure(count, callers, (index) => work(`${name}-${turn}-${index}`))
}

async function measureGroups({ pool, pipelined }: Pools): Promise<Row[]> {
  const submit = groupOf(fromPg(pipelined))
  const hand = calls('hand-group', MANY, CALLERS, (key) => onceByHand(pool, key))
  const grouped = calls('group', GROUPED, CALLERS, submit)
  const fresh = await inTurns({ hand, grouped, wide: calls('wide', GROUPED, 256, submit) })
  const again = await inTurns({ hand, grouped })
  return [
    toRow('grouped, 32 callers', fresh.hand, fresh.grouped),
    toRow('grouped, 256 callers (by hand: 32)', fresh.hand, fresh.wide),
    toRow('grouped duplicates, 32 callers', again.hand, again.grouped),
    toRow('grouped duplicates, 32 callers (by hand: new ones)', fresh.hand, again.grouped),
  ]
}

function groupOf(db: Db<pg.PoolClient>): (key: string) => Promise<unknown> {
  const group = createGroup<pg.PoolClient, null>(db, {
    async effect(client, events) {
      await client.query({
        name: 'effect',
        text: 'insert into effects (key) select * from unnest($1::text[])',
        values: [events.map((event) => event.incoming.key.id)],
      })
      return events.map(() => ({}))
    },
  })
  return (key) => {
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
}

async function measureOnce({ pool, pipelined }: Pools): Promise<Row[]> {
  const plain = fromPg(pool)
  const piped = fromPg(pipelined)
  const one = {
    hand: calls('hand-one', SINGLES, 1, (key) => onceByHand(pool, key)),
    plain: calls('one', SINGLES, 1, (key) => callOnce(plain, key)),
    piped: calls('one-piped', SINGLES, 1, (key) => callOnce(piped, key)),
  }
  const fresh = await inTurns(one)
  const again = await inTurns(one)
  const many = await inTurns({
    hand: calls('hand-many', MANY, CALLERS, (key) => onceByHand(pool, key)),
    plain: calls('many', MANY, CALLERS, (key) => callOnce(plain, key)),
    piped: calls('many-piped', MANY, CALLERS, (key) => callOnce(piped, key)),
  })
  return [
    toRow('once, one caller', fresh.hand, fresh.plain),
    toRow('once, one caller, pool with pipeline', fresh.hand, fresh.piped),
    toRow('once, a duplicate, one caller', again.hand, again.plain),
    toRow('once, a duplicate, one caller, pool with pipeline', again.hand, again.piped),
    toRow('once, 32 callers', many.hand, many.plain),
    toRow('once, 32 callers, pool with pipeline', many.hand, many.piped),
  ]
}

function callOnce(db: Db<pg.PoolClient>, id: string): Promise<unknown> {
  return once(db, { source: 'bench', kind: 'once', id }, async (client) => {
    await client.query('insert into effects (key) values ($1)', [id])
    return undefined
  })
}

/** A target that answers at once: what is left is the work at the register. */
const perform = () => Promise.resolve({ number: 1 })

async function measureAttempts({ pool, pipelined }: Pools): Promise<Row[]> {
  const plain = fromPg(pool)
  const piped = fromPg(pipelined)
  const one = {
    hand: calls('hand-attempt', SINGLES, 1, (key) => attemptByHand(pool, key, perform)),
    plain: calls('attempt', SINGLES, 1, (key) => callAttempt(plain, key, true)),
    piped: calls('attempt-piped', SINGLES, 1, (key) => callAttempt(piped, key, true)),
    handShort: calls('hand-short', SINGLES, 1, (key) => attemptByTwoStatements(pool, key, perform)),
    pipedShort: calls('attempt-short', SINGLES, 1, (key) => callAttempt(piped, key, false)),
  }
  const fresh = await inTurns(one)
  const again = await inTurns({ hand: one.hand, piped: one.piped })
  const many = await inTurns({
    hand: calls('hand-attempts', MANY, CALLERS, (key) => attemptByHand(pool, key, perform)),
    piped: calls('attempts', MANY, CALLERS, (key) => callAttempt(piped, key, true)),
  })
  return [
    toRow('attempt with record, one caller', fresh.hand, fresh.plain),
    toRow('attempt with record, one caller, pool with pipeline', fresh.hand, fresh.piped),
    toRow('attempt, one caller, pool with pipeline (by hand: two statements)', fresh.handShort, fresh.pipedShort),
    toRow('attempt, a duplicate, one caller, pool with pipeline', again.hand, again.piped),
    toRow('attempt with record, 32 callers, pool with pipeline', many.hand, many.piped),
  ]
}

function callAttempt(db: Db<pg.PoolClient>, id: string, isRecorded: boolean): Promise<unknown> {
  const record = async (client: pg.PoolClient) => {
    await client.query('insert into effects (key) values ($1)', [id])
  }
  return attempt(
    db,
    { source: 'bench', kind: 'attempt', id },
    {
      target: 'accepts_key',
      perform: async () => ({ answer: await perform() }),
      ...(isRecorded && { record }),
    },
  )
}
