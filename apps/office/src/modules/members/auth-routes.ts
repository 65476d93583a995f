import type {} from '@fastify/swagger'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { type Auth, CLIENT_IP_HEADER } from './auth.ts'

/** The largest thing anybody sends here is a name and a password. */
const BODY_BYTES_MAX = 64 * 1024

/**
 * better-auth under `/api/auth`. Register it as it is, without `fastify-plugin`: the body parser below must not reach
 * other routes. Its refusals are `{code, message}`; faults are thrown and become our problem answers.
 */
export const authRoutes: FastifyPluginAsync<{ auth: Auth }> = async (app, { auth }) => {
  const { origin } = new URL(auth.options.baseURL)

  // better-auth parses bodies itself and refuses what is not JSON, so it gets the bytes as they came.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.route<{ Body: Buffer | undefined }>({
    method: ['GET', 'POST'],
    url: '/api/auth/*',
    bodyLimit: BODY_BYTES_MAX,
    schema: { hide: true },
    handler: async (request, reply) => {
      const response = await auth.handler(toWebRequest(request, origin, request.body))
      reply.status(response.status)
      response.headers.forEach((value, name) => {
        if (name !== 'set-cookie') reply.header(name, value)
      })
      // One header each: a cookie's expiry contains a comma, so joined ones cannot be taken apart again.
      for (const cookie of response.headers.getSetCookie()) reply.header('set-cookie', cookie)
      return reply.send(Buffer.from(await response.arrayBuffer()))
    },
  })
}

/** The origin is our own and never the Host header, which the sender chooses. */
function toWebRequest(request: FastifyRequest, origin: string, body: Buffer | undefined): Request {
  const { pathname, search } = new URL(request.url, origin)
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) headers.append(name, one)
  }
  // `set` also replaces what the client claims to be; better-auth limits sign-ins by this address.
  headers.set(CLIENT_IP_HEADER, request.ip)
  return new Request(`${origin}${pathname}${search}`, {
    method: request.method,
    headers,
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  })
}
