import { type ErrorCode, errors } from '@einmal/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { AppError, isUnavailable } from './errors.ts'

/** Seconds after which a sender may come again when the database is away or too busy. */
const RETRY_AFTER_SECONDS = 2

/** The only place that turns an error into an answer: `application/problem+json` with a stable `code` (RFC 9457). */
export function installProblems(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => sendProblem(request, reply, error))
  app.setNotFoundHandler((request, reply) =>
    sendProblem(
      request,
      reply,
      new AppError('not_found', `There is no ${request.method} ${request.url.split('?')[0]}.`),
    ),
  )
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const refusal = toRefusal(error)
  if (refusal.code === 'internal') request.log.error({ err: error, requestId: request.id }, 'fault')
  if (refusal.code === 'unavailable') {
    request.log.warn({ err: error, requestId: request.id }, 'the database is away or too busy')
  }
  if (refusal.retryAfterSeconds !== null || ['unavailable', 'in_progress'].includes(refusal.code)) {
    reply.header('retry-after', refusal.retryAfterSeconds ?? RETRY_AFTER_SECONDS)
  }
  const { status, title } = errors[refusal.code]
  // As text: an object would go through the route's own answer schema.
  return reply
    .status(status)
    .type('application/problem+json')
    .send(
      JSON.stringify({
        type: `urn:einmal:error:${refusal.code}`,
        title,
        status,
        code: refusal.code,
        detail: refusal.detail,
        requestId: request.id,
        ...refusal.extra,
      }),
    )
}

function toRefusal(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (hasZodFastifySchemaValidationErrors(error)) {
    const problems = error.validation.map(
      (issue) => `${issue.instancePath.slice(1) || error.validationContext}: ${issue.message}`,
    )
    return new AppError('invalid', problems.join('; '))
  }
  if (isUnavailable(error)) {
    return new AppError('unavailable', 'Send the same again in a moment; what is done already is not done twice.')
  }
  const code = errorCode(error)
  if (code !== null) return new AppError(code, error instanceof Error ? error.message : code)
  return new AppError('internal', 'It is in the log under this requestId. Sending the same again does nothing twice.', {
    cause: error,
  })
}

/** Fastify's own refusals, by their code. */
function errorCode(error: unknown): ErrorCode | null {
  if (!(error instanceof Error) || !('statusCode' in error)) return null
  switch (error.statusCode) {
    // An address with a part longer than any of ours.
    case 414:
      return 'not_found'
    case 413:
      return 'body_too_large'
    case 415:
      return 'media_type_unsupported'
    case 400:
      return 'bad_request'
    default:
      return null
  }
}
