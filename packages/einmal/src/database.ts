import type { Register } from './register.ts'

/** One statement in the transaction at hand. `name` marks statements worth preparing once per connection. */
export type Query = <Row>(text: string, values: readonly unknown[], name?: string) => Promise<Row[]>

/**
 * What the library needs of a database driver: a transaction, and statements in it.
 *
 * `NativeTx` is the driver's own transaction, handed through to the effect untouched, so that an effect is written
 * in the words of the driver one already uses. An adapter (`einmal/pg`, `einmal/postgres-js`, …) makes a `Db`.
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
  // Of postgres-js.
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
])

/** What `pg` 8 and PGlite report as a plain `Error`: a connection that is lost, closed, or too slow to answer. */
const connectionTexts = new RegExp(
  '^(Connection terminated|Client has encountered a connection error|Client was closed|' +
    'Cannot use a pool after|Query read timeout|PGlite is clos)',
)

const busyCodes = new Set(['55P03', '53300', '57014', 'CONNECT_TIMEOUT'])

/** Reads SQLSTATE (PostgreSQL manual, appendix A), the codes of sockets and of postgres-js, and texts of `pg` and PGlite. */
export function classifyError(thrown: unknown): ErrorClass {
  const error = driverError(thrown)
  if (typeof error !== 'object' || error === null) return 'other'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === '40001' || code === '40P01') return 'retry'
  if (busyCodes.has(code)) return 'busy'
  if (code.startsWith('08') || code.startsWith('57P') || socketCodes.has(code)) return 'connection'
  const message = error instanceof Error ? error.message : ''
  if (message.startsWith('timeout exceeded when trying to connect')) return 'busy'
  return connectionTexts.test(message) ? 'connection' : 'other'
}

/** Drizzle wraps what the driver said, and puts the text of the statement and all its values into the message. */
function driverError(error: unknown): unknown {
  const isWrapped = error instanceof Error && 'query' in error && 'params' in error && error.cause instanceof Error
  return isWrapped ? error.cause : error
}

/** The error as it goes on record: its name and its message, without the values of a statement. */
export function describeError(thrown: unknown): { readonly code: string; readonly message: string } {
  const error = driverError(thrown)
  return error instanceof Error
    ? { code: error.name, message: error.message }
    : { code: 'Error', message: String(error) }
}
