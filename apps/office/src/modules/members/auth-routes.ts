import type {} from '@fastify/swagger'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Clock } from '../../platform/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { type Access, anybody, person } from './access.ts'
import { findPerson, type Person, recordPersonal } from './callers.ts'
import type { Door } from './door.ts'
import { deleteSession, listMemberships } from './door-queries.ts'
import { requireOwnOrigin } from './origin.ts'
import { toWebHeaders } from './web-headers.ts'

/** The largest thing anybody sends here is a name and a password. */
const BODY_BYTES_MAX = 64 * 1024
const DEVICE_COOKIE = 'einmal.device'
const DEVICE_COOKIE_SECONDS = 365 * 24 * 60 * 60

export interface AuthRouteParts {
  readonly door: Door
  readonly clock: Clock
  readonly newId: NewId
}

/**
 * What the pages need of better-auth, and nothing else of it: each path with who may use it. `audit` is what the members' organisations
 * are told of it.
 */
const paths: Readonly<Record<string, { readonly access: Access; readonly audit?: string }>> = {
  '/sign-in/email': { access: anybody, audit: 'session.start' },
  '/two-factor/verify-totp': { access: anybody, audit: 'two_factor.verify' },
  '/two-factor/verify-backup-code': { access: anybody, audit: 'two_factor.recover' },
  '/sign-out': { access: anybody },
  '/request-password-reset': { access: anybody },
  '/reset-password': { access: anybody },
  '/revoke-sessions': { access: person, audit: 'session.end_all' },
  '/change-password': { access: person, audit: 'password.change' },
  '/update-user': { access: person, audit: 'person.rename' },
  '/two-factor/enable': { access: person },
  '/two-factor/disable': { access: person, audit: 'two_factor.disable' },
  '/two-factor/generate-backup-codes': { access: person, audit: 'two_factor.new_codes' },
}

/**
 * The paths above under `/api/auth`. Register it as it is, without `fastify-plugin`: the body parser below must not reach
 * other routes. better-auth's refusals are `{code, message}`; ours, and faults, are problem answers.
 *
 * A sign-in is counted before the password is looked at, always makes a new session, and ends the one that the browser had before.
 */
export const authRoutes: FastifyPluginAsync<AuthRouteParts> = async (app, parts) => {
  const { door } = parts
  const { origin } = new URL(door.address.baseUrl)
  // better-auth parses bodies itself and refuses what is not JSON, so it gets the bytes as they came.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  for (const [path, { access, audit }] of Object.entries(paths)) {
    app.route<{ Body: Buffer | undefined }>({
      method: 'POST',
      url: `/api/auth${path}`,
      bodyLimit: BODY_BYTES_MAX,
      schema: { hide: true },
      config: { access },
      handler: async (request, reply) => {
        requireOwnOrigin(request, door.address.trustedOrigins)
        const webRequest = toWebRequest(request, origin, request.body)
        const before = await findPerson(door, webRequest.headers)
        if (access.who === 'person' && before === null) throw new AppError('unauthorized', 'Sign in first.')
        const visit: Visit = { request, webRequest, path, audit, before: before?.person ?? null }
        const { response, cookies } = await letIn(parts, visit)
        reply.status(response.status)
        response.headers.forEach((value, name) => {
          if (name !== 'set-cookie') reply.header(name, value)
        })
        // One header each: a cookie's expiry contains a comma, so joined ones cannot be taken apart again.
        for (const cookie of [...response.headers.getSetCookie(), ...cookies]) reply.header('set-cookie', cookie)
        return reply.send(Buffer.from(await response.arrayBuffer()))
      },
    })
  }
}

interface Visit {
  readonly request: FastifyRequest<{ Body: Buffer | undefined }>
  readonly webRequest: Request
  readonly path: string
  readonly audit: string | undefined
  /** Who was signed in when the request came. */
  readonly before: Person | null
}

async function letIn(parts: AuthRouteParts, visit: Visit): Promise<{ response: Response; cookies: readonly string[] }> {
  const { auth, guard, proven } = parts.door
  const { request, webRequest, path } = visit
  const email = emailOf(request.body)
  const now = parts.clock.now()
  switch (path) {
    case '/sign-in/email': {
      const attempt = await guard.begin(email, request.ip, keptBy(request), now)
      const response = await auth.handler(webRequest)
      if (!response.ok) return { response, cookies: [] }
      const kept = await attempt.succeed()
      await recordVisit(parts, visit, response)
      return { response, cookies: [deviceCookie(parts.door, kept)] }
    }
    case '/request-password-reset': {
      // The same answer as ever: it tells nobody who has an account, nor how often it was asked for.
      const isRefused = !(await guard.mayReset(email, now))
      return { response: isRefused ? Response.json({ status: true }) : await auth.handler(webRequest), cookies: [] }
    }
    default: {
      const response = await auth.handler(webRequest)
      if (response.ok) await recordVisit(parts, visit, response)
      const owner = proven.get(webRequest)
      return { response, cookies: owner === undefined ? [] : [deviceCookie(parts.door, await guard.trust(owner))] }
    }
  }
}

/** Tells the organisations of the person, and ends the session that a new one takes the place of. */
async function recordVisit(
  parts: AuthRouteParts,
  { path, audit, before, request }: Visit,
  response: Response,
): Promise<void> {
  const { door, clock, newId } = parts
  const userId = before !== null && path !== '/sign-in/email' ? before.userId : await signedInBy(response)
  // With a second factor the password alone lets nobody in yet.
  if (audit === undefined || userId === null) return
  if (path === '/sign-in/email' && before !== null) await deleteSession(door.db, before.userId, before.sessionId)
  const action = path === '/two-factor/verify-totp' && before !== null ? 'two_factor.enable' : audit
  const memberships = await listMemberships(door.db, userId)
  await recordPersonal(door.db, memberships, action, { address: request.ip }, { now: clock.now(), newId })
}

async function signedInBy(response: Response): Promise<string | null> {
  const answer = (await response.clone().json()) as { user?: { id?: string } } | null
  return answer?.user?.id ?? null
}

/** The address in a body of JSON; whatever else came is refused by better-auth. */
function emailOf(body: Buffer | undefined): string {
  try {
    const { email } = JSON.parse(body?.toString() ?? '') as { email?: unknown }
    return typeof email === 'string' ? email : ''
  } catch {
    return ''
  }
}

function keptBy(request: FastifyRequest): string | undefined {
  const cookies = request.headers.cookie?.split(/; */) ?? []
  return cookies.find((cookie) => cookie.startsWith(`${DEVICE_COOKIE}=`))?.slice(DEVICE_COOKIE.length + 1)
}

function deviceCookie({ address }: Door, value: string): string {
  const secure = address.baseUrl.startsWith('https:') ? '; Secure' : ''
  return `${DEVICE_COOKIE}=${value}; Path=/api/auth; Max-Age=${DEVICE_COOKIE_SECONDS}; HttpOnly; SameSite=Strict${secure}`
}

/** The origin is our own and never the Host header, which the sender chooses. */
function toWebRequest(request: FastifyRequest, origin: string, body: Buffer | undefined): Request {
  const { pathname, search } = new URL(request.url, origin)
  return new Request(`${origin}${pathname}${search}`, {
    method: request.method,
    headers: toWebHeaders(request),
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  })
}
