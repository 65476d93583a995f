/**
 * What most people write first: a table of keys; insert the key, do, update the row. In one transaction where the effect is
 * in the same database. A failure is written down, and the next call tries again.
 */
import pg from 'pg'
import { inTransaction } from '../by-hand.ts'
import { type Answer, answered, type Event, type Peer, type Settings, told } from './peer.ts'
import type { Work } from './work.ts'

export async function prepare(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`create table hand_keys (tenant text not null, source text not null, id text not null,
    state text not null, number int, primary key (id, source, tenant))`)
  await client.end()
}

type Queryable = Pick<pg.Pool, 'query'>

export async function open(settings: Settings, work: Work): Promise<Peer> {
  const pool = new pg.Pool({ connectionString: settings.databaseUrl, max: 20 })
  pool.on('error', () => undefined)

  function inside(event: Event): Promise<Answer> {
    return inTransaction(pool, async (client) => {
      const known = await reserve(client, event)
      if (known !== null) return known
      return finish(client, event, await work.write(event, (text, values) => client.query(text, values)))
    })
  }

  async function outside(event: Event): Promise<Answer> {
    const known = await reserve(pool, event)
    if (known !== null) return known
    try {
      return await finish(pool, event, await work.lookAndAct(event))
    } catch (error) {
      await pool.query(
        `update hand_keys set state = 'failed' where tenant = $1 and source = $2 and id = $3`,
        partsOf(event),
      )
      throw error
    }
  }

  const call = settings.kind === 'database' ? inside : outside
  return { call: (event) => call(event).catch((error: unknown) => told(wordOf(error), error)), close: () => pool.end() }
}

/** `null` where the work is ours. */
async function reserve(db: Queryable, event: Event): Promise<Answer | null> {
  const inserted = await db.query(
    `insert into hand_keys (tenant, source, id, state) values ($1, $2, $3, 'running')
      on conflict (id, source, tenant) do update set state = 'running' where hand_keys.state = 'failed'`,
    partsOf(event),
  )
  if (inserted.rowCount === 1) return null
  const { rows } = await db.query<{ state: string; number: number | null }>(
    'select state, number from hand_keys where tenant = $1 and source = $2 and id = $3',
    partsOf(event),
  )
  return rows[0]?.state === 'done' ? answered(rows[0].number) : told('in_progress', 'running')
}

async function finish(db: Queryable, event: Event, number: number): Promise<Answer> {
  await db.query(`update hand_keys set state = 'done', number = $4 where tenant = $1 and source = $2 and id = $3`, [
    ...partsOf(event),
    number,
  ])
  return answered(number)
}

function partsOf({ tenant, source, id }: Event): unknown[] {
  return [tenant, source, id]
}

function wordOf(error: unknown): 'refused' | 'failed' {
  return (error as { code?: unknown }).code === '23502' ? 'refused' : 'failed'
}
