/** The events of the handlers under proof, and what these run on. */
import type pg from 'pg'
import { compositeId } from '../../src/index.ts'
import { createPool } from './database.ts'

export interface HandledEvent {
  readonly account: string
  readonly kind: string
  readonly id: string
}

/** Three events, of which the first and second are one where fields are joined, and the first and third where kinds are. */
export function handledEvents(fresh: string): HandledEvent[] {
  return [
    { account: `a:${fresh}`, kind: 'payment.paid', id: '1' },
    { account: 'a', kind: 'payment.paid', id: `${fresh}:1` },
    { account: `a:${fresh}`, kind: 'payment.refunded', id: '1' },
  ]
}

/** Under which name an effect is found at the target, whatever the handler takes for its key. */
export function referenceOf({ account, kind, id }: HandledEvent): string {
  return compositeId({ account, kind, id })
}

/** In a table without a key, so that every effect is seen. */
export async function bookEffect(client: pg.Pool | pg.PoolClient, event: HandledEvent): Promise<void> {
  await client.query('insert into effects (id) values ($1)', [referenceOf(event)])
}

export const targetUrl = process.env['TARGET_URL'] ?? ''

/** At the target outside. Throws where no answer came. */
export async function requestEffect(event: HandledEvent): Promise<string> {
  const reference = encodeURIComponent(referenceOf(event))
  const headers = { 'x-reference': reference, 'idempotency-key': reference }
  return (await fetch(targetUrl, { method: 'POST', headers })).text()
}

export const pool = createPool(process.env['DATABASE_URL'] ?? '', { max: 2 })
pool.on('connect', (client) => client.on('error', () => undefined))

export async function inTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    await client.query('begin')
    const value = await work(client)
    await client.query('commit')
    return value
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    // A connection on which something failed is not used again: its transaction ends with it.
    client.release(failure)
  }
}
