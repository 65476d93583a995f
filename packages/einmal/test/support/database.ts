import { randomUUID } from 'node:crypto'
import pg from 'pg'

/** As much of a pool as it takes to look at what was committed. */
export type Pool = Pick<pg.Pool, 'query'>

export interface OwnDatabase {
  readonly url: string
  /** For looking at what was committed, past the library. */
  readonly pool: Pool
  drop(): Promise<void>
}

export const createEffects = `create table effects (
  id text not null, note text, constraint effects_note_check check (note <> 'poison')
)`

/** An empty database of its own, with the table `effects`, on which nothing is unique: a second effect is seen. */
export async function createOwnDatabase(serverUrl: string): Promise<OwnDatabase> {
  const name = `einmal_${randomUUID().replaceAll('-', '')}`
  await onServer(serverUrl, `create database ${name} template template0`)
  // Whoever deadlocks is found out at once, so that a test which provokes it does not wait a second for each.
  await onServer(serverUrl, `alter database ${name} set deadlock_timeout = '20ms'`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const pool = createPool(url.href)
  await pool.query(createEffects)
  return {
    url: url.href,
    pool,
    async drop() {
      await pool.end()
      await onServer(serverUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

export function createPool(url: string, config: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...config })
  pool.on('error', () => undefined)
  return pool
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

export interface RegisterRow {
  readonly state: string
  readonly attempt: number
  readonly copies: number
  readonly error_code: string | null
  readonly error_message: string | null
  readonly is_final: boolean
  readonly target_id: string | null
}

export async function findRow(pool: Pool, id: string, table = 'einmal_events'): Promise<RegisterRow | undefined> {
  const { rows } = await pool.query<RegisterRow>(
    `select state, attempt, copies, error_code, error_message, is_final, target_id from ${table} where external_id = $1`,
    [id],
  )
  if (rows.length > 1) throw new Error(`${rows.length} rows of one id`)
  return rows[0]
}

export async function countEffects(pool: Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select count(*)::int as count from effects where id = $1', [id])
  return rows[0]?.count ?? 0
}
