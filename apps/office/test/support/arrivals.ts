import { type Answer, type Outgoing, send } from './entrances.ts'
import { stripePaid, type TestOffice, type TestOrganization } from './office.ts'

/** What the tests of faults look at beside the books: the register's row, and what is on record of each arrival. */
export interface EventRecord {
  readonly state: string
  readonly attempt: number
  readonly copies: number
  readonly error: string | null
}

export interface ArrivalRecord {
  readonly verdict: string
  readonly status: number
  /** What became of the event through this arrival. */
  readonly outcome: string | null
}

/** The events of one kind, as their owner reads them; an organisation of a test has one of each. */
export async function readEvents(office: TestOffice, organizationId: string, kind: string): Promise<EventRecord[]> {
  const { rows } = await office.owner.query<EventRecord>(
    `select state, attempt, copies, error_message as error from events
      where organization_id = $1 and kind = $2 order by id`,
    [organizationId, kind],
  )
  return rows
}

export async function readArrivals(office: TestOffice, organizationId: string): Promise<ArrivalRecord[]> {
  const { rows } = await office.owner.query<ArrivalRecord>(
    `select d.verdict, d.answer_status as status, link.outcome from deliveries as d
      left join delivery_events as link on link.delivery_id = d.id and link.organization_id = d.organization_id
      where d.organization_id = $1 order by d.id`,
    [organizationId],
  )
  return rows
}

export const PAID_KIND = 'payment.paid'

/** A signed delivery of Stripe: a payment for the invoice. One `id`, one event. */
export function stripeDelivery(
  organization: TestOrganization,
  payment: { id: string; amountMinor: number; invoice: string },
): Outgoing {
  const body = stripePaid({
    eventId: `evt_${payment.id}`,
    paymentId: `pi_${payment.id}`,
    amount: payment.amountMinor,
    invoice: payment.invoice,
  })
  return { path: organization.stripe.path, headers: organization.stripe.sign(body), body }
}

/** No sender of ours gives up earlier, and none comes this often within a test. */
const MAX_REPETITIONS = 100

/**
 * Does what every sender does: sends the same until it is told that it has arrived. Returns all answers; `null` is none
 * at all. Ends early at a 4xx, which would make a genuine sender give up.
 */
export async function sendUntilSafe(serverUrl: string, outgoing: Outgoing): Promise<(Answer | null)[]> {
  const answers: (Answer | null)[] = []
  for (;;) {
    const answer = await send(serverUrl, outgoing).catch(() => null)
    answers.push(answer)
    if (answer !== null && answer.status < 500) return answers
    if (answers.length === MAX_REPETITIONS) throw new Error(`no success after ${MAX_REPETITIONS} repetitions`)
  }
}

/** Books of an organisation with one open invoice, before anything has arrived or when nothing of it counts. */
export const untouched = {
  payments: [],
  activities: 0,
  notifications: 0,
  domainEvents: 0,
  reviewItems: [],
  invoices: [{ paymentState: 'open', paidMinor: 0, allocatedMinor: 0, paidEvents: 0 }],
}

/** The same after one payment of the whole invoice: once everywhere. */
export function paidOnce(organization: TestOrganization, amountMinor: number) {
  const members = organization.userIds.length
  return {
    payments: [
      {
        amountMinor,
        appliedMinor: amountMinor,
        allocatedMinor: amountMinor,
        unappliedMinor: 0,
        activities: 1,
        notifications: members,
        notifiedMembers: members,
        receivedEvents: 1,
      },
    ],
    activities: 1,
    notifications: members,
    domainEvents: 2,
    reviewItems: [],
    invoices: [
      { paymentState: 'settled', paidMinor: amountMinor, openMinor: 0, allocatedMinor: amountMinor, paidEvents: 1 },
    ],
  }
}
