import type { Db, Query } from '../database.ts'
import { type DbOptions, defineDb } from './define-db.ts'
import { settle } from './statements.ts'

/** The part of `pg`'s client that is used; no dependency on the package. */
export interface PgClientLike {
  query(config: { name?: string; text: string; values?: unknown[] }): Promise<{ rows: unknown[]; command: string }>
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  /** `new Pool({ pipeline: true })`, pg 8.20 or newer: statements are sent without waiting for the one before. */
  readonly pipeline?: boolean
}

export interface PgPoolLike {
  connect(): Promise<PgClientLike>
}

/** The client that a pool gives out. `pg` declares `connect` twice, and inference alone would take the wrong one. */
export type ClientOf<Pool> = Pool extends { connect: { (): Promise<infer Client>; (callback: never): void } }
  ? Client
  : Pool extends { connect(): Promise<infer Client> }
    ? Client
    : never

export interface PgOptions extends DbOptions {
  /** Named statements, planned once per connection. Switch off behind a pooler that cannot keep them. Default true. */
  readonly preparedStatements?: boolean
}

/**
 * Uses a pool of `pg`. The effect gets the checked-out client, inside a transaction of READ COMMITTED.
 *
 * What the effect throws rolls back, and so does a statement that failed, whoever caught its error. With `pipeline: true`
 * the pool saves a round trip at the start and one at the end of every transaction.
 */
export function fromPg<Pool extends PgPoolLike>(pool: Pool, options: PgOptions = {}): Db<ClientOf<Pool>> {
  const named = options.preparedStatements ?? true
  const guarded = new WeakSet<PgClientLike>()
  return defineDb(options, async (_scope, work) => {
    const client = await pool.connect()
    if (!guarded.has(client)) {
      guarded.add(client)
      // A backend that ends between two statements tells only this event; unheard, it would end the process.
      client.on('error', () => undefined)
    }
    const sent: Promise<unknown>[] = []
    const send = (config: { name?: string; text: string; values?: unknown[] }) => {
      const result = client.query(config)
      sent.push(result)
      result.catch(() => undefined)
      return result
    }
    const query: Query = async <Row>(text: string, values: readonly unknown[], name?: string) => {
      const config = { text, values: [...values] }
      const result = await send(named && name !== undefined ? { name, ...config } : config)
      return result.rows as Row[]
    }
    let connectionError: Error | undefined
    try {
      const begun = send({ text: 'begin isolation level read committed' })
      if (client.pipeline !== true) await begun
      const value = await work(client as ClientOf<Pool>, query)
      // Without a pipeline, the driver wants one statement after the other.
      if (client.pipeline !== true) await settle(sent)
      const commit = send({ text: 'commit' })
      await settle(sent)
      const committed = await commit
      if (committed.command !== 'COMMIT') throw new Error('the transaction was rolled back instead of committed')
      return value
    } catch (error) {
      connectionError = await rollBack(send, sent)
      throw error
    } finally {
      client.release(connectionError)
    }
  })
}

async function rollBack(send: (config: { text: string }) => Promise<unknown>, sent: readonly Promise<unknown>[]) {
  try {
    await Promise.allSettled(sent)
    await send({ text: 'rollback' })
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
