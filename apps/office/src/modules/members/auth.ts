import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '@einmal/contract'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { APIError } from 'better-auth/api'
import { twoFactor } from 'better-auth/plugins/two-factor'
import { Kysely, PostgresDialect } from 'kysely'
import type { Pool } from 'pg'
import type { OfficeAddress } from './office-address.ts'

/** The part of the server's log that this module writes to. */
interface AuthLog {
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

export interface AuthSettings {
  /** A pool of its own, connected as `einmal_auth`: no other role may read password hashes and sessions. */
  readonly pool: Pool
  /** Where people reach the office; `https` makes the cookies secure. */
  readonly address: OfficeAddress
  /** Signs the session cookies; every server of one office needs the same. */
  readonly secret: string
  /** Sends the link for a new password; must not keep its caller waiting, or the time would tell who has an account. */
  readonly sendResetLink: (person: { email: string }, token: string, acceptLanguage: string | undefined) => void
  /** Told when somebody has set a new password by such a link, with the request that did it. */
  readonly onPasswordReset: (person: { id: string; email: string }, request: Request | undefined) => Promise<void>
  /** Returns false for a code of an authenticator that somebody has come in with already. */
  readonly mayUseCode: (userId: string, code: string, now: Date) => Promise<boolean>
  readonly log: AuthLog
}

/** The header in which we tell better-auth who is calling; `auth-routes.ts` sets it and drops whatever the client sent. */
export const CLIENT_IP_HEADER = 'x-client-ip'

/** So long a link for a new password is good. */
const RESET_SECONDS = 60 * 60

/**
 * The plain options. Hand these, not an instance, to `getMigrations`: an instance compares the tables with the
 * database as soon as it is made, and complains while they are not there yet.
 */
export function authOptions(settings: AuthSettings) {
  const { pool, address, secret, sendResetLink, onPasswordReset, mayUseCode, log } = settings
  return {
    appName: 'Einmal',
    baseURL: address.baseUrl,
    secret,
    trustedOrigins: async () => [...address.trustedOrigins],
    database: {
      db: new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) }),
      type: 'postgres',
      schemaName: 'auth',
      transaction: true,
    },
    emailAndPassword: {
      enabled: true,
      // A back office has no open door: people come in by invitation or as the owner of a new organisation.
      disableSignUp: true,
      minPasswordLength: PASSWORD_LENGTH_MIN,
      maxPasswordLength: PASSWORD_LENGTH_MAX,
      resetPasswordTokenExpiresIn: RESET_SECONDS,
      revokeSessionsOnPasswordReset: true,
      sendResetPassword: async ({ user, token }, request) =>
        sendResetLink(user, token, request?.headers.get('accept-language') ?? undefined),
      onPasswordReset: ({ user }, request) => onPasswordReset(user, request),
    },
    // What opens an account for an hour is stored as a hash, like everything else that does.
    verification: { storeIdentifier: 'hashed' },
    session: {
      // The cached cookie would keep saying "no organisation" for its whole life after one was chosen.
      cookieCache: { enabled: false },
      additionalFields: { activeOrganizationId: { type: 'string', required: false, input: false } },
    },
    databaseHooks: {
      session: {
        create: {
          async before({ userId, createdAt }, context) {
            // The code is right, and nobody has the session yet. Read on the way, it must not open a second one.
            if (
              context?.path === '/two-factor/verify-totp' &&
              !(await mayUseCode(userId, context.body.code, createdAt))
            ) {
              throw new APIError('UNAUTHORIZED', { code: 'INVALID_CODE', message: 'Wait for the next code.' })
            }
            const before = context?.context.session?.session
            return before?.userId === userId
              ? { data: { activeOrganizationId: before['activeOrganizationId'] } }
              : undefined
          },
        },
      },
    },
    rateLimit: {
      // Off outside of production unless told. Counts per process, by address; how often a password may be guessed is counted in
      // the database, by `sign-in-attempts.ts`, and would lock out a whole office here.
      enabled: true,
      customRules: { '/sign-in/email': false, '/get-session': false },
    },
    advanced: {
      cookiePrefix: 'einmal',
      database: { generateId: 'uuid' },
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
      // A link from elsewhere opens a page, which is the same for everybody; only what the page asks for is sent with cookies.
      defaultCookieAttributes: { sameSite: 'strict' },
      // Spelled out, because a mere NODE_ENV=test or TEST=1 in the environment would switch both checks off.
      disableOriginCheck: false,
      disableCSRFCheck: false,
    },
    // Refusals stay answers; a fault reaches the server's own error handler, which knows "database away" from a bug.
    onAPIError: { throw: true },
    telemetry: { enabled: false },
    logger: {
      // No `level` here: with one, better-auth also prints to the console beside us.
      disableColors: true,
      log: (level, message, ...details) => {
        const write = level === 'error' ? log.error : level === 'warn' ? log.warn : log.info
        write.call(log, message, { component: 'auth', ...errorFields(details) })
      },
    },
    plugins: [twoFactor({ issuer: 'Einmal' })],
  } satisfies BetterAuthOptions
}

/** Sign-in, passwords, second factors and sessions, on the tables of schema `auth`. */
export function createAuth(settings: AuthSettings) {
  return betterAuth(authOptions(settings))
}

export type Auth = ReturnType<typeof createAuth>

/** Of what better-auth adds to a message only errors are kept: other details may carry addresses or tokens. */
function errorFields(details: readonly unknown[]): Record<string, unknown> {
  const error = details.find((detail) => detail instanceof Error)
  return error === undefined ? {} : { error }
}
