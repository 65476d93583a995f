/**
 * The database: a pool, transactions of one organisation, and Kysely on them.
 *
 * A function that takes a `Tx` joins the caller's transaction, one that takes a `Db` owns its own; there is no third
 * kind. Statements of one transaction travel without waiting for each other (`pg` with `pipeline`), so that what does
 * not depend on an answer costs no round trip: start them all, then await.
 */

import type { Socket } from 'node:net'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  sql as kyselySql,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import pg from 'pg'
import { isId } from './ids.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'

/** One transaction of one organisation. Row-level security shows it that organisation's rows and no others. */
export type Tx = Kysely<Tables> & { readonly [transactionBrand]: true }

declare const transactionBrand: unique symbol

export interface Db {
  /**
   * Runs `work` in one transaction of the organisation, isolation READ COMMITTED, and commits. Whatever it throws rolls
   * back and is thrown on; a statement that was sent and not awaited fails the commit.
   */
  transaction<T>(organizationId: string, work: (tx: Tx) => Promise<T>): Promise<T>
  /** Outside any organisation: only the directory and the readable columns of the members. */
  query<Row>(text: string, values: readonly unknown[]): Promise<Row[]>
  close(): Promise<void>
}

export interface DatabaseOptions {
  readonly url: string
  /** Entered by every connection; owns no table and passes no policy by. */
  readonly role: 'einmal_office' | 'einmal_auth'
  readonly maxConnections?: number
  /** Told of connections that break while nobody uses them. */
  readonly onIdleError?: (error: Error) => void
}

/** How long a statement waits for a lock before the sender is told to come again. */
const LOCK_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 5_000
/**
 * After so long without an answer the connection counts as lost. Longer than a group can wait for its locks; without it,
 * a database that falls silent would hold up an organisation until somebody restarts the server.
 */
const QUERY_TIMEOUT_MS = 30_000

const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, BigInt)
// A date is a day and no moment: as a Date it would move east of Greenwich.
types.setTypeParser(pg.types.builtins.DATE, (value) => value)
types.setTypeParser(pg.types.builtins.NUMERIC, (value) => value)

/**
 * Settings of every connection.
 *
 * No sequential scans: every statement of ours has an index, and PostgreSQL would rather read a table that was empty
 * when it was last looked at, in the checks of foreign keys even for the life of the connection. No bitmap scans: they
 * lose the order of the index, so that a page would be cut from a sorted organisation, where few rows are expected.
 */
function settingsOf(role: string, further: string): string {
  const settings = {
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: 60_000,
    enable_seqscan: 'off',
    enable_bitmapscan: 'off',
    jit: 'off',
  }
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  // The last one counts: an address may change a limit, and never the role.
  return [...ours, further, `-c role=${role}`].join(' ')
}

/** The options of an address, apart from it: `pg` would let them replace ours altogether, and the role with them. */
function splitOptions(address: string): { connectionString: string; options: string } {
  const url = URL.canParse(address) ? new URL(address) : null
  const options = url?.searchParams.get('options')
  if (!url || !options) return { connectionString: address, options: '' }
  url.searchParams.delete('options')
  return { connectionString: url.href, options }
}

export function createPool(options: DatabaseOptions): pg.Pool {
  const { connectionString, options: further } = splitOptions(options.url)
  const pool = new pg.Pool({
    connectionString,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    options: settingsOf(options.role, further),
    types,
    pipeline: true,
  } as pg.PoolConfig)
  // Without a listener, a backend that is terminated while idle would end the process.
  pool.on('error', (error) => options.onIdleError?.(error))
  // The pool itself listens only while a connection is idle. In use, its statements tell whoever waits for them.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

export function createDatabase(options: DatabaseOptions): Db {
  return databaseOn(createPool(options))
}

/** A database on a pool that somebody else uses as well; its `close` ends the pool. */
export function databaseOn(pool: pg.Pool): Db {
  return {
    async transaction(organizationId, work) {
      if (!isId(organizationId)) throw new Error('a transaction needs the id of an organisation')
      const connection = new TransactionConnection(await pool.connect())
      try {
        // The setting as a literal, so that it also reaches the nodes of a cluster.
        void connection.send(`begin; set local einmal.organization_id = '${organizationId}'`)
        const tx = new Kysely<Tables>({ dialect: dialectOf(connection) }) as Tx
        connections.set(tx, connection)
        const value = await work(tx)
        await connection.commit()
        return value
      } catch (error) {
        await connection.rollBack()
        throw connection.causeOf(error)
      } finally {
        connection.release()
      }
    },
    async query<Row>(text: string, values: readonly unknown[]) {
      const result = await pool.query<Row & pg.QueryResultRow>(text, [...values])
      return result.rows
    },
    close: () => pool.end(),
  }
}

const connections = new WeakMap<Tx, TransactionConnection>()

/**
 * Sends a statement at once, behind those already sent, and without waiting for their answers.
 *
 * The rows may be left unawaited where nothing depends on them: the transaction waits for every statement before it
 * commits, and fails if one failed. (Kysely's own `execute` starts a little later, so it has to be awaited.)
 */
export function send<Row>(tx: Tx, statement: Statement): Promise<Row[]> {
  return sendText(tx, statement.text, statement.values, statement.name)
}

/** `send` for text that is SQL already. A statement with a name is planned once per connection. */
export function sendText<Row>(tx: Tx, text: string, values: readonly unknown[], name?: string): Promise<Row[]> {
  const connection = connections.get(tx)
  if (connection === undefined) throw new Error('this is no transaction of the database')
  const rows = connection.send(text, values, name).then((result) => result.rows as Row[])
  rows.catch(() => undefined)
  return rows
}

/** One checked-out client with the statements that were sent on it and have not been answered. */
class TransactionConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient
  readonly #sent: Promise<unknown>[] = []
  #firstError: unknown
  #brokenBy: Error | undefined
  #hasEnded = false
  #isHeld = false
  readonly #stream: Socket

  constructor(client: pg.PoolClient) {
    this.#client = client
    this.#stream = (client as pg.PoolClient & { connection: { stream: Socket } }).connection.stream
  }

  send(text: string, values?: readonly unknown[], name?: string): Promise<pg.QueryResult> {
    // Somebody else may have the connection by now, and the statement would become part of their transaction.
    if (this.#hasEnded) return Promise.reject(new Error('the transaction of this statement has ended'))
    return this.#query(text, values, name)
  }

  #query(text: string, values?: readonly unknown[], name?: string): Promise<pg.QueryResult> {
    this.#holdUntilNextTick()
    const result = this.#client.query({
      text,
      ...(values === undefined ? {} : { values: [...values] }),
      ...(name === undefined ? {} : { name }),
    })
    // Its error is not lost: commit finds it among the statements sent.
    result.catch((error: unknown) => {
      this.#firstError ??= error
    })
    this.#sent.push(result)
    return result
  }

  /** Statements sent at one moment leave in one packet: without, each costs several system calls. */
  #holdUntilNextTick(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#stream.cork()
    process.nextTick(() => {
      this.#isHeld = false
      this.#stream.uncork()
    })
  }

  /** After a failed statement every further one fails with 25P02, which says nothing; what counts is the first error. */
  causeOf(error: unknown): unknown {
    const isEcho = error instanceof Error && 'code' in error && error.code === '25P02'
    return isEcho ? (this.#firstError ?? error) : error
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    // Planned anew each time: the best plan of a list hangs on its filter and on how large the table is by now, and a plan
    // that was kept from a young table would sort a whole organisation for one page.
    const result = await this.send(query.sql, query.parameters)
    return {
      rows: result.rows,
      ...(result.rowCount === null ? {} : { numAffectedRows: BigInt(result.rowCount) }),
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for the method, and a pipelined connection cannot stream.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('a pipelined connection cannot stream')
  }

  async commit(): Promise<void> {
    const committed = this.#query('commit')
    this.#hasEnded = true
    for (const statement of await Promise.allSettled(this.#sent)) {
      if (statement.status === 'rejected') throw statement.reason
    }
    if ((await committed).command !== 'COMMIT') throw new Error('the transaction was rolled back instead of committed')
  }

  async rollBack(): Promise<void> {
    this.#hasEnded = true
    try {
      await this.#query('rollback')
    } catch (error) {
      this.#brokenBy = error instanceof Error ? error : new Error(String(error))
    }
    await Promise.allSettled(this.#sent)
  }

  release(): void {
    this.#client.release(this.#brokenBy)
  }
}

function dialectOf(connection: TransactionConnection) {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new OneConnectionDriver(connection),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

/** Hands the one connection to every statement at once, where Kysely's own transaction makes them queue. */
class OneConnectionDriver implements Driver {
  readonly #connection: TransactionConnection

  constructor(connection: TransactionConnection) {
    this.#connection = connection
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }

  async init(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  async destroy(): Promise<void> {}

  beginTransaction(): Promise<void> {
    return Promise.reject(new Error('a Tx is a transaction already'))
  }

  commitTransaction = this.beginTransaction
  rollbackTransaction = this.beginTransaction
}

/** Written out: a parameter would not show the planner that an index may be used. */
const noId = kyselySql.lit('00000000-0000-0000-0000-000000000000')

/**
 * Rows of one organisation, for lists. The second condition is true of every row, and is what the list indexes want to
 * hear; look-ups by key do not say it, so that none can choose to walk an organisation.
 */
export function listedIn(organizationId: string) {
  return kyselySql<boolean>`organization_id = ${organizationId} and id <> ${noId}`
}

/** The second condition alone, for a table under another name: `isListed('m.id')`. */
export function isListed(id: string) {
  return kyselySql<boolean>`${kyselySql.ref(id)} <> ${noId}`
}

export { sql } from './statement.ts'
