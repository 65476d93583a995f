/** Handlers that hold: those of the library, and one written by hand. */
import { randomUUID } from 'node:crypto'
import { fromPg } from '../../src/adapters/pg.ts'
import { attempt, crashPoint, once, type TargetCapability } from '../../src/index.ts'
import { bookEffect, type HandledEvent, inTransaction, pool, referenceOf, targetUrl } from './handled-event.ts'
import { performAt } from './target.ts'

const db = fromPg(pool)

export async function withOnce(event: HandledEvent) {
  const { account, kind, id } = event
  return once(db, { source: account, kind, id }, async (tx) => {
    await bookEffect(tx, event)
    await crashPoint('effect.booked')
    return { target: { type: 'payment', id: referenceOf(event) } }
  })
}

export async function withAttempt(event: HandledEvent) {
  const capability = process.env['CAPABILITY'] as TargetCapability
  const key = { source: 'shop', kind: 'label.print', id: referenceOf(event) }
  return attempt(db, key, { ...performAt(targetUrl, capability), leaseMs: 60_000 })
}

export async function uniqueKeyInOneTransaction(event: HandledEvent): Promise<string> {
  await inTransaction(async (client) => {
    const { rowCount } = await client.query('insert into marks values ($1) on conflict do nothing', [
      referenceOf(event),
    ])
    if (rowCount === 1) await bookEffect(client, event)
  })
  return 'booked'
}

/** A lease of its own: whoever has it books, together with the word that it is done. */
export async function takeOverWithOwnerCheck(event: HandledEvent): Promise<unknown> {
  return takeOver(event, 'and holder = $2')
}

export async function takeOverWithoutOwnerCheck(event: HandledEvent): Promise<unknown> {
  return takeOver(event, 'and $2 <> $1')
}

async function takeOver(event: HandledEvent, ownerCheck: string): Promise<unknown> {
  const holder = randomUUID()
  const { rowCount: isTaken } = await pool.query(
    `insert into jobs (key, holder, lease_until) values ($1, $2, now() + '1 minute')
      on conflict (key) do update set holder = $2, lease_until = excluded.lease_until
        where not jobs.is_done and jobs.lease_until < clock_timestamp()`,
    [referenceOf(event), holder],
  )
  if (isTaken === 0) {
    const { rows } = await pool.query('select is_done from jobs where key = $1', [referenceOf(event)])
    return { outcome: rows[0]?.is_done ? 'done' : 'in_progress' }
  }
  return inTransaction(async (client) => {
    const { rowCount } = await client.query(`update jobs set is_done = true where key = $1 ${ownerCheck}`, [
      ...[referenceOf(event), holder],
    ])
    if (rowCount === 0) return { outcome: 'lost' }
    await bookEffect(client, event)
    return { outcome: 'done' }
  })
}
