import type {} from '@fastify/swagger'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Clock } from '../../platform/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { type AuthPath, authPaths } from './auth-paths.ts'
import { findPerson, type Person, recordPersonal } from './callers.ts'
import type { Door } from './door.ts'
import { deleteChallenges, deleteSession, listMemberships } from './door-queries.ts'
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
 * The paths of `authPaths` under `/api/auth`. better-auth's refusals are `{code, message}`; ours, and faults, are problem answers.
 *
 * better-auth gets the body as our schema has read it, written anew: what we counted an attempt for is what it looks at. An attempt
 * is counted before the password is looked at. A sign-in always makes a new session, and ends the one that the browser had before.
 */
export const authRoutes: FastifyPluginAsync<AuthRouteParts> = async (app, parts) => {
  const { door } = parts
  const { origin } = new URL(door.address.baseUrl)
  app.addHook('onRequest', async (request) => requireOwnOrigin(request, door.address.trustedOrigins))
  for (const path of authPaths) {
    app.route({
      method: 'POST',
      url: `/api/auth${path.path}`,
      bodyLimit: BODY_BYTES_MAX,
      schema: { hide: true, body: path.body },
      config: { access: path.access },
      handler: async (request, reply) => {
        const webRequest = toWebRequest(request, origin)
        const before = await findPerson(door, webRequest.headers)
        if (path.access.who === 'person' && before === null) throw new AppError('unauthorized', 'Sign in first.')
        const { response, cookies } = await letIn(parts, path, { request, webRequest, before: before?.person ?? null })
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
  readonly request: FastifyRequest
  readonly webRequest: Request
  /** Who was signed in when the request came. */
  readonly before: Person | null
}

async function letIn(
  parts: AuthRouteParts,
  path: AuthPath,
  visit: Visit,
): Promise<{ response: Response; cookies: readonly string[] }> {
  const { auth, guard, proven } = parts.door
  const { request, webRequest, before } = visit
  const now = parts.clock.now()
  const email = emailOf(request.body) ?? before?.email ?? ''
  if (path.asksForLink) {
    if (await guard.mayReset(email, now)) await auth.handler(webRequest)
    // The same answer as ever: it tells nobody who has an account, nor how often it was asked for.
    return { response: Response.json({ status: true }), cookies: [] }
  }
  const attempt = path.looksAtPassword ? await guard.begin(email, request.ip, keptBy(request), now) : null
  const response = await auth.handler(webRequest)
  if (!response.ok) return { response, cookies: [] }
  const kept = await attempt?.succeed()
  const owner = proven.get(webRequest)
  // Whose mailbox it is counts before who happens to be signed in there.
  const known = owner?.userId ?? (path.signsIn ? null : before?.userId)
  await recordVisit(parts, path, visit, known ?? (await signedInBy(response)))
  const device = owner === undefined ? kept : await guard.trust(owner.email)
  return { response, cookies: device === undefined ? [] : [deviceCookie(parts.door, device)] }
}

/** Ends what a visit takes the place of, and tells the organisations of the person. */
async function recordVisit(
  { door, clock, newId }: AuthRouteParts,
  { path, audit, setsPassword, signsIn }: AuthPath,
  { before, request }: Visit,
  userId: string | null,
): Promise<void> {
  if (signsIn && before !== null) await deleteSession(door.db, before.userId, before.sessionId)
  // With a second factor the password alone lets nobody in yet.
  if (userId === null) return
  if (setsPassword) await deleteChallenges(door.db, userId)
  const action = path === '/two-factor/verify-totp' && before !== null ? enabling(before) : audit
  if (action === null) return
  const memberships = await listMemberships(door.db, userId)
  await recordPersonal(door.db, memberships, action, { address: request.ip }, { now: clock.now(), newId })
}

/** A first code turns the second factor on; a further one of somebody who is in changes nothing. */
function enabling({ hasTwoFactor }: Person): string | null {
  return hasTwoFactor ? null : 'two_factor.enable'
}

async function signedInBy(response: Response): Promise<string | null> {
  const answer = (await response.clone().json()) as { user?: { id?: string } } | null
  return answer?.user?.id ?? null
}

function emailOf(body: unknown): string | null {
  const email = typeof body === 'object' && body !== null && 'email' in body ? body.email : null
  return typeof email === 'string' ? email : null
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
function toWebRequest(request: FastifyRequest, origin: string): Request {
  const { pathname } = new URL(request.url, origin)
  const headers = toWebHeaders(request)
  headers.set('content-type', 'application/json')
  headers.delete('content-length')
  return new Request(`${origin}${pathname}`, { method: 'POST', headers, body: JSON.stringify(request.body) })
}
