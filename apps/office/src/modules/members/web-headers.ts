import type { FastifyRequest } from 'fastify'
import { CLIENT_IP_HEADER } from './auth.ts'

/** The headers of a request as better-auth reads them, with the address of the client as the server knows it. */
export function toWebHeaders(request: FastifyRequest): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) headers.append(name, one)
  }
  // `set` also replaces what the client claims to be; better-auth limits by this address.
  headers.set(CLIENT_IP_HEADER, request.ip)
  return headers
}
