import { createHash } from 'node:crypto'
import { moneyAnswer } from '@einmal/contract'
import type { FastifyBaseLogger, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type ArrivedDelivery, recordDeliveries } from '../modules/deliveries/index.ts'
import type { Endpoint, EndpointDirectory } from '../modules/integrations/index.ts'
import { sender } from '../modules/members/index.ts'
import type { EventOutcome, Pipeline } from '../pipeline/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import { faultPoint } from '../platform/fault-points.ts'
import type { NewId } from '../platform/ids.ts'
import { type AnyPaymentProvider, paymentProviders, type Received } from '../providers/index.ts'
import { type Answer, answerOf, ignoredAnswer } from './answer.ts'
import { createFailedVerifications, type FailedVerifications } from './failed-verifications.ts'
import type { Metrics } from './metrics.ts'

export interface InboundParts {
  readonly db: Db
  readonly clock: Clock
  readonly newId: NewId
  readonly pipeline: Pipeline
  readonly endpoints: EndpointDirectory
  readonly metrics: Metrics
}

/** Stripe's and Standard Webhooks' bodies stay far below; the stated exception to "a genuine sender gets no 4xx". */
const BODY_BYTES_MAX = 1024 * 1024

/**
 * `POST /webhooks/:provider/:endpointId`, the way in for every provider.
 *
 * Register without `fastify-plugin`: the parser below keeps the bytes that were signed, for these routes only.
 */
export const webhookRoutes: FastifyPluginAsync<InboundParts> = async (app, parts) => {
  const failedVerifications = createFailedVerifications(parts.clock)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX }, (_request, body, done) =>
    done(null, body),
  )

  app.post<{ Params: { provider: string; endpointId: string }; Body: Buffer | undefined }>(
    '/webhooks/:provider/:endpointId',
    {
      bodyLimit: BODY_BYTES_MAX,
      config: { access: sender },
      schema: {
        summary: 'A delivery of a provider, signed as the provider signs',
        description:
          'Answered with success as soon as the event is safe here, and again for every repetition. The same event is booked once.',
        tags: ['webhooks'],
        params: z.object({ provider: z.string(), endpointId: z.string() }),
        response: { 200: moneyAnswer },
      },
      // The answer is made here from our own values; a second pass over it would only cost time.
      serializerCompiler: () => (data) => JSON.stringify(data),
    },
    (request, reply) => receiveDelivery({ ...parts, failedVerifications }, request.params, request, reply),
  )
}

async function receiveDelivery(
  parts: InboundParts & { readonly failedVerifications: FailedVerifications },
  params: { provider: string; endpointId: string },
  request: FastifyRequest<{ Body: Buffer | undefined }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { clock, newId, metrics, endpoints, failedVerifications } = parts
  const provider = paymentProviders[params.provider]
  const endpoint = await endpoints.find(params.endpointId)
  if (provider === undefined || endpoint === null || endpoint.provider !== params.provider) {
    throw new AppError('not_found', 'There is no such webhook address.')
  }
  const receivedAt = clock.now()
  const body = request.body ?? Buffer.alloc(0)
  const headers = request.headers as Record<string, string | undefined>
  let received = receive(provider, endpoint, headers, body, receivedAt)
  if (received.outcome === 'rejected') {
    // The secret may have been changed a moment ago.
    const fresh = await endpoints.findFresh(params.endpointId)
    if (fresh !== null) received = receive(provider, fresh, headers, body, receivedAt)
  }
  faultPoint('inbound.afterReceive')
  if (received.outcome === 'rejected') {
    metrics.deliveries.inc({ provider: provider.source, outcome: 'rejected' })
    if (failedVerifications.isTooMany(endpoint.endpointId, request.ip)) {
      throw new AppError('too_many_failed', 'Too many deliveries of yours did not verify; wait a minute.')
    }
    request.log.info(
      { endpointId: endpoint.endpointId, reason: received.reason, requestId: request.id },
      'delivery rejected',
    )
    throw new AppError('signature_invalid', received.reason)
  }
  if (received.outcome === 'handshake') {
    return reply.status(200).type(received.answer.contentType).send(received.answer.body)
  }
  const delivery: ArrivedDelivery = {
    id: newId(),
    endpointId: endpoint.endpointId,
    source: provider.source,
    receivedAt,
    headers: keptHeaders(provider, headers),
    body,
    bodyHash: createHash('sha256').update(body).digest(),
  }
  const answer = await commit(parts, endpoint, delivery, received, request.log)
  metrics.deliveries.inc({ provider: provider.source, outcome: answer.outcome })
  if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', answer.retryAfterSeconds)
  return reply.status(answer.status).send(answer.body)
}

function receive(
  provider: AnyPaymentProvider,
  endpoint: Endpoint,
  headers: Record<string, string | undefined>,
  body: Buffer,
  at: Date,
): Received {
  const settings = settingsOf(provider, endpoint)
  // Settings without a usable secret would verify everything: such an address is switched off.
  if (settings === null) throw new AppError('not_found', 'There is no such webhook address.')
  return provider.receive({ headers, body }, settings, at.getTime())
}

/** Checked once per reading of the endpoint, and not once per delivery. */
const checkedSettings = new WeakMap<Endpoint, { readonly settings: unknown } | null>()

function settingsOf(provider: AnyPaymentProvider, endpoint: Endpoint): unknown {
  let checked = checkedSettings.get(endpoint)
  if (checked === undefined) {
    const parsed = provider.settings.safeParse(endpoint.settings)
    checked = parsed.success ? { settings: parsed.data } : null
    checkedSettings.set(endpoint, checked)
  }
  return checked === null ? null : checked.settings
}

async function commit(
  parts: InboundParts,
  endpoint: Endpoint,
  delivery: ArrivedDelivery,
  received: Extract<Received, { outcome: 'ignored' | 'events' }>,
  log: FastifyBaseLogger,
): Promise<Answer> {
  const { organizationId } = endpoint
  if (received.outcome === 'ignored' || received.events.length === 0) {
    const reason = received.outcome === 'ignored' ? received.reason : 'no_events'
    await parts.db.transaction(organizationId, async (tx) =>
      recordDeliveries(tx, organizationId, [{ delivery, verdict: 'ignored', reason, answerStatus: 200, events: [] }]),
    )
    return ignoredAnswer(reason)
  }
  const outcomes: EventOutcome[] = await Promise.all(
    received.events.map((event) =>
      parts.pipeline.submit({ organizationId, event, delivery, holder: delivery.id, arrivedAt: delivery.receivedAt }),
    ),
  )
  for (const { cause, eventId, attempt } of outcomes) {
    if (cause !== undefined) log.error({ err: cause, eventId, attempt }, 'fault while booking an event')
  }
  return answerOf(outcomes)
}

function keptHeaders(
  provider: AnyPaymentProvider,
  headers: Record<string, string | undefined>,
): Record<string, string> {
  return Object.fromEntries(
    provider.keptHeaders.flatMap((name) => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
