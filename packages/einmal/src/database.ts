import type { Register } from './register.ts'

/** One statement in the transaction at hand. `name` marks statements worth preparing once per connection. */
export type Query = <Row>(text: string, values: readonly unknown[], name?: string) => Promise<Row[]>

/**
 * What the library needs of a database driver: a transaction, and statements in it.
 *
 * `NativeTx` is the driver's own transaction, handed through to the effect untouched, so that an effect is written
 * in the words of the driver one already uses. An adapter (`einmal/pg`, `einmal/kysely`) makes a `Db`.
 */
export interface Db<NativeTx> {
  /** Where the events stand, and under which names. */
  readonly register: Register
  /** The time, injected. Only recorded, never compared with a lease. */
  readonly now: () => Date
  /**
   * Runs `work` in one transaction of isolation READ COMMITTED and commits. Whatever `work` throws rolls back and is
   * thrown on. `scope` is the scope of all keys used inside, for databases that need to know the tenant first.
   */
  transaction<T>(scope: string, work: (tx: NativeTx, query: Query) => Promise<T>): Promise<T>
}

/**
 * What an error of the database asks for.
 *
 * `retry`: a deadlock or serialization failure, nothing happened, run it again. `connection`: the connection or the
 * server went away, so that a commit may or may not have happened. `busy`: a lock was not to be had in time, or no
 * connection was; nothing happened. `other`: everything else, and nothing to do with the database's health.
 */
export type ErrorClass = 'retry' | 'connection' | 'busy' | 'other'

const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
])

/** `pg` reports a connection that is lost, or too slow to answer, as a plain `Error`; these are its texts (pg 8). */
const connectionTexts = new RegExp(
  '^(Connection terminated|Client has encountered a connection error|Client was closed|' +
    'Cannot use a pool after|Query read timeout)',
)

/** Reads SQLSTATE (PostgreSQL manual, appendix A), the operating system's socket codes, and `pg`'s texts. */
export function classifyError(error: unknown): ErrorClass {
  if (typeof error !== 'object' || error === null) return 'other'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === '40001' || code === '40P01') return 'retry'
  if (code === '55P03' || code === '53300' || code === '57014') return 'busy'
  if (code.startsWith('08') || code.startsWith('57P') || socketCodes.has(code)) return 'connection'
  const message = error instanceof Error ? error.message : ''
  if (message.startsWith('timeout exceeded when trying to connect')) return 'busy'
  return connectionTexts.test(message) ? 'connection' : 'other'
}
