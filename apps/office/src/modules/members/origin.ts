import type { FastifyRequest } from 'fastify'
import { AppError } from '../../platform/errors.ts'

const readingMethods = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses a write that a browser sends with cookies from another site, or without saying from where: every browser says it of its
 * own accord, in the header `Origin`. Throws `origin_refused`.
 */
export function requireOwnOrigin(request: FastifyRequest, trustedOrigins: readonly string[]): void {
  if (readingMethods.includes(request.method)) return
  const { origin, cookie } = request.headers
  if (origin === undefined && cookie === undefined) return
  if (origin !== undefined && trustedOrigins.includes(origin)) return
  throw new AppError(
    'origin_refused',
    `The office does not take writes from ${origin ?? 'a page that does not say where it is'}. Open it at ${trustedOrigins[0]}, or say in EINMAL_BASE_URL where it is reached.`,
  )
}
