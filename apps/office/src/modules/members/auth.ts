import { apiKey } from '@better-auth/api-key'
import { type BetterAuthOptions, betterAuth, getCurrentAdapter } from 'better-auth'
import { organization } from 'better-auth/plugins'
import { createAccessControl } from 'better-auth/plugins/access'
import { Kysely, PostgresDialect } from 'kysely'
import type { Pool } from 'pg'

/** The part of the server's log that this module writes to. */
interface AuthLog {
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

export interface AuthSettings {
  /** A pool of its own, connected as `einmal_auth`: no other role may read password hashes and sessions. */
  readonly pool: Pool
  /** Where people reach the office, such as `https://office.example.org`; `https` makes the cookies secure. */
  readonly baseUrl: string
  /** Signs the session cookies; every server of one office needs the same. */
  readonly secret: string
  /** Every origin people use, each spelled out: `localhost` and `127.0.0.1` are two. */
  readonly trustedOrigins: readonly string[]
  readonly log: AuthLog
}

const access = createAccessControl({
  organization: ['update', 'delete'],
  member: ['create', 'update', 'delete'],
  invitation: ['create', 'cancel'],
  apiKey: ['create', 'read', 'update', 'delete'],
})

/**
 * What each role may do with the organisation itself; a right to money, messages and the rest is added here together
 * with the route that asks for it. `roles[role].authorize({ apiKey: ['create'] })` checks one without a database.
 */
const roles = {
  owner: access.newRole({
    organization: ['update', 'delete'],
    member: ['create', 'update', 'delete'],
    invitation: ['create', 'cancel'],
    apiKey: ['create', 'read', 'update', 'delete'],
  }),
  admin: access.newRole({
    organization: ['update'],
    member: ['create', 'update', 'delete'],
    invitation: ['create', 'cancel'],
    apiKey: ['create', 'read', 'update', 'delete'],
  }),
  accountant: access.newRole({}),
  agent: access.newRole({}),
  viewer: access.newRole({}),
}

export type Role = keyof typeof roles

/** The header in which we tell better-auth who is calling; `auth-routes.ts` sets it and drops whatever the client sent. */
export const CLIENT_IP_HEADER = 'x-client-ip'

/**
 * The plain options. Hand these, not an instance, to `getMigrations`: an instance compares the tables with the
 * database as soon as it is made, and complains while they are not there yet.
 */
export function authOptions(settings: AuthSettings) {
  const { pool, baseUrl, secret, trustedOrigins, log } = settings
  return {
    appName: 'Einmal',
    baseURL: baseUrl,
    secret,
    trustedOrigins: [...trustedOrigins],
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
    },
    // The cached cookie would keep saying "no organisation" for its whole life after one was chosen.
    session: { cookieCache: { enabled: false } },
    rateLimit: {
      // Off outside of production unless told; it is what slows down the guessing of passwords. Counts per process.
      enabled: true,
    },
    advanced: {
      database: { generateId: 'uuid' },
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
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
    databaseHooks: {
      session: {
        create: {
          // Chosen at sign-in, so that no first request meets a session that belongs to nobody.
          before: async (session, context) => {
            if (context === null) return
            const adapter = await getCurrentAdapter(context.context.adapter)
            const [first] = await adapter.findMany<{ organizationId: string }>({
              model: 'member',
              where: [{ field: 'userId', value: session.userId }],
              sortBy: { field: 'createdAt', direction: 'asc' },
              limit: 1,
            })
            return { data: { ...session, activeOrganizationId: first?.organizationId ?? null } }
          },
        },
      },
    },
    plugins: [
      organization({
        ac: access,
        roles,
        creatorRole: 'owner',
        allowUserToCreateOrganization: false,
        // The facts of an organisation outlive every wish to be rid of it, and they name it without a foreign key.
        disableOrganizationDeletion: true,
      }),
      apiKey({
        references: 'organization',
        // The prefix lets secret scanners find a key that somebody published.
        defaultPrefix: 'einmal_',
        // Stored in the clear so that a person can tell keys apart: the prefix and five characters.
        startingCharactersConfig: { charactersLength: 12 },
        requireName: true,
        maximumNameLength: 100,
        // Ten requests a day by default; ours are limited where the work is done.
        rateLimit: { enabled: false },
      }),
    ],
  } satisfies BetterAuthOptions
}

/** Sign-in, sessions, organisations and the making of API keys, on the tables of schema `auth`. */
export function createAuth(settings: AuthSettings) {
  return betterAuth(authOptions(settings))
}

export type Auth = ReturnType<typeof createAuth>

/** Of what better-auth adds to a message only errors are kept: other details may carry addresses or tokens. */
function errorFields(details: readonly unknown[]): Record<string, unknown> {
  const error = details.find((detail) => detail instanceof Error)
  return error === undefined ? {} : { error }
}
