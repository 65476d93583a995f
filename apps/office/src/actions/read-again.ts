import { findDelivery, listDeliveriesOfEvents } from '../modules/deliveries/index.ts'
import type { EndpointDirectory } from '../modules/integrations/index.ts'
import { findEvent } from '../modules/register/index.ts'
import type { Pipeline, ToldEvent } from '../pipeline/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database.ts'
import { AppError, isUnavailable } from '../platform/errors.ts'
import type { NewId } from '../platform/ids.ts'
import { paymentProviders, type Received } from '../providers/index.ts'

export interface ReadAgainParts {
  readonly db: Db
  readonly clock: Clock
  readonly newId: NewId
  readonly endpoints: EndpointDirectory
}

/** What this version understands of a stored delivery. */
export type ReadAgain = Exclude<Received, { outcome: 'rejected' }>

/**
 * Reads a stored delivery again, with the adapter and the settings of now. Its signature was verified when it arrived.
 *
 * Throws `decision_unsuitable` where the body is no longer kept, or its integration is switched off.
 */
export async function readAgain(
  { db, endpoints }: Pick<ReadAgainParts, 'db' | 'endpoints'>,
  organizationId: string,
  deliveryId: string,
): Promise<ReadAgain> {
  const delivery = await db.transaction(organizationId, (tx) => findDelivery(tx, organizationId, deliveryId))
  if (delivery === undefined || delivery.body === null) {
    throw new AppError('decision_unsuitable', 'What arrived is no longer kept; enter what is missing by hand.')
  }
  const endpoint = await endpoints.findFresh(delivery.endpoint_id)
  const provider = endpoint === null ? undefined : paymentProviders[endpoint.provider]
  const settings = provider?.settings.safeParse(endpoint?.settings)
  if (provider === undefined || settings?.success !== true) {
    throw new AppError('decision_unsuitable', 'The integration that this came through is switched off.')
  }
  const headers = delivery.headers as Record<string, string>
  const received = provider.reread({ headers, body: delivery.body }, settings.data)
  if (received.outcome === 'rejected') throw new Error('an adapter rejected a delivery that was verified before')
  return received
}

/**
 * The event that failed through a fault of ours, as its delivery tells it now. Throws `not_found`, and `decision_unsuitable` where
 * nothing is there that could be booked.
 */
export async function readFailedEvent(
  parts: ReadAgainParts,
  organizationId: string,
  eventId: string,
): Promise<ToldEvent> {
  const { db, clock, newId } = parts
  const { row, deliveries } = await db.transaction(organizationId, async (tx) => ({
    row: await findEvent(tx, organizationId, eventId),
    deliveries: await listDeliveriesOfEvents(tx, organizationId, [eventId]),
  }))
  if (row === undefined) throw new AppError('not_found', `There is no event ${eventId}.`)
  const latest = deliveries.at(-1)
  if (latest === undefined) {
    throw new AppError('decision_unsuitable', 'No delivery brought this event; whoever sent it has to send it again.')
  }
  const received = await readAgain(parts, organizationId, latest.id)
  const event = (received.outcome === 'events' ? received.events : []).find(
    ({ source, kind, id }) => source === row.source && kind === row.kind && id === row.external_id,
  )
  if (event === undefined) {
    throw new AppError('decision_unsuitable', 'Read again, the delivery no longer tells of this event.')
  }
  return { organizationId, event, delivery: null, holder: newId(), arrivedAt: clock.now() }
}

/**
 * Runs `work`, which books the event inside its own transaction: the next attempt of its register row, and a duplicate where it was
 * booked meanwhile. A fault of ours counts as one more failed attempt, as it does where a delivery fails.
 */
export async function attemptAgain<T>(pipeline: Pipeline, told: ToldEvent | null, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (told !== null && !(error instanceof AppError) && !isUnavailable(error)) {
      await pipeline.recordFailedAttempt(told, error)
    }
    throw error
  }
}
