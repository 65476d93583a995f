/** The library's work, written by hand as well as one does without it. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'

export const handTables = `
  create table hand_keys (id text primary key);
  create table hand_attempts (id text primary key, state text not null, holder uuid not null,
    lease_until timestamptz, answer jsonb);
  create table effects (id bigserial primary key, key text not null)`

/** One transaction: insert the key, insert one row, commit. */
export function onceByHand(pool: pg.Pool, key: string): Promise<void> {
  return inTransaction(pool, async (client) => {
    const inserted = await client.query('insert into hand_keys (id) values ($1) on conflict do nothing', [key])
    if (inserted.rowCount === 1) await client.query('insert into effects (key) values ($1)', [key])
  })
}

const reserveText = `insert into hand_attempts (id, state, holder, lease_until)
  values ($1, 'running', $2, clock_timestamp() + interval '30 seconds')
  on conflict (id) do update set holder = excluded.holder, lease_until = excluded.lease_until
    where hand_attempts.state = 'running' and hand_attempts.lease_until < clock_timestamp()`
const completeText = `update hand_attempts set state = 'done', lease_until = null, answer = $3
  where id = $1 and holder = $2 and state = 'running'`

/**
 * Two transactions: reserve the key with a lease, and commit; do the effect; complete it as its holder with one row beside
 * it, and commit.
 */
export async function attemptByHand(pool: pg.Pool, key: string, perform: () => Promise<unknown>): Promise<unknown> {
  const holder = randomUUID()
  const reserved = await inTransaction(pool, (client) => client.query(reserveText, [key, holder]))
  if (reserved.rowCount === 0) return findAnswer(pool, key)
  const answer = await perform()
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(completeText, [key, holder, JSON.stringify(answer)])
    if (rowCount === 1) await client.query('insert into effects (key) values ($1)', [key])
  })
  return answer
}

/** The same without a row beside it, so that each transaction is one statement and needs no `begin`. */
export async function attemptByTwoStatements(
  pool: pg.Pool,
  key: string,
  perform: () => Promise<unknown>,
): Promise<unknown> {
  const holder = randomUUID()
  const reserved = await pool.query(reserveText, [key, holder])
  if (reserved.rowCount === 0) return findAnswer(pool, key)
  const answer = await perform()
  await pool.query(completeText, [key, holder, JSON.stringify(answer)])
  return answer
}

async function findAnswer(pool: pg.Pool, key: string): Promise<unknown> {
  const { rows } = await pool.query<{ answer: unknown }>('select answer from hand_attempts where id = $1', [key])
  return rows[0]?.answer
}

/** Commits what `work` does on one connection, and rolls back what it throws. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const value = await work(client)
    await client.query('commit')
    return value
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}
