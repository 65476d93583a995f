import { inspect } from 'node:util'
import { ConfigurationError } from '../config.ts'
import { EmbeddedPostgresError } from '../platform/embedded-postgres/index.ts'
import { isUnavailable } from '../platform/errors.ts'
import { MigrationError } from '../platform/migrate.ts'
import { exitCodes, Refusal, UsageError } from './command.ts'

/** Why a command ended, for people; of what nobody foresaw, all that is known. */
export interface Failure {
  readonly message: string
  readonly details: string | null
  readonly exitCode: number
}

/** Something is missing that the migrations make: a table, a column, a schema, a function, a role. */
const missing = new Set(['42P01', '42703', '3F000', '42883', '22023'])
/** The login was refused, or the database it names is not there. */
const refused = new Set(['28P01', '28000', '3D000', '42501'])

/** Words for what a command threw, with the exit code that says the same to a script. */
export function wordsFor(error: unknown): Failure {
  const message = messageOf(error)
  if (error instanceof Refusal) return { message, details: null, exitCode: error.exitCode }
  const isForPeople = [UsageError, ConfigurationError, EmbeddedPostgresError, MigrationError].some(
    (kind) => error instanceof kind,
  )
  if (isForPeople) return forPeople(message)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (missing.has(code)) {
    return forPeople(
      `The database has not been brought to this version (${message}). Do so with: npm run einmal -- migrate`,
    )
  }
  if (refused.has(code)) {
    return forPeople(
      `The database lets this login not do it (${message}). docs/operations.md says which roles a login needs.`,
    )
  }
  if (isUnavailable(error)) {
    return forPeople(`The database cannot be used: ${message}. Is it running, and does DATABASE_URL name it?`)
  }
  return { message, details: inspect(error), exitCode: exitCodes.failed }
}

function forPeople(message: string): Failure {
  return { message, details: null, exitCode: exitCodes.failed }
}

/** Where a name has several addresses, the error of all of them has no text, only a code. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' && 'code' in error ? String(error.code) : error.message
}
