import { expect } from 'vitest'
import type { Answer, Entrance } from './entrances.ts'
import type { TestOffice, TestOrganization } from './office.ts'

/** What stands in the books of an organisation, read from the tables as their owner: no code of the office is asked. */
export interface Books {
  readonly payments: readonly BookedPayment[]
  readonly invoices: readonly BookedInvoice[]
  /** Of what reached the house; what the fixture itself did is left out. */
  readonly events: readonly BookedEvent[]
  readonly deliveries: number
  /** But for those of issuing, which the fixture does. */
  readonly activities: number
  readonly notifications: number
  /** But for those of issuing, which the fixture does. */
  readonly domainEvents: number
  readonly audits: number
  readonly reviewItems: readonly { readonly kind: string; readonly state: string; readonly reason: string | null }[]
}

export interface BookedPayment {
  readonly source: string
  readonly externalId: string
  readonly currency: string
  readonly amountMinor: number
  readonly appliedMinor: number
  readonly unappliedMinor: number
  /** What the ledger says was applied; the counter has to agree. */
  readonly allocatedMinor: number
  readonly activities: number
  readonly notifications: number
  readonly notifiedMembers: number
  readonly receivedEvents: number
}

export interface BookedInvoice {
  readonly id: string
  readonly number: string | null
  readonly paymentState: string
  readonly paidMinor: number
  readonly openMinor: number
  readonly allocatedMinor: number
  readonly paidEvents: number
}

export interface BookedEvent {
  readonly source: string
  readonly kind: string
  readonly externalId: string
  readonly state: string
  readonly attempt: number
  readonly copies: number
  /** Deliveries on record that brought this event. */
  readonly deliveries: number
  /** Of these, the ones through which it was booked. */
  readonly done: number
}

export async function readBooks(office: TestOffice, organizationId: string): Promise<Books> {
  const { rows } = await office.owner.query<Books>(
    `select
      (select coalesce(jsonb_agg(to_jsonb(p) order by p."externalId", p."source"), '[]') from (${paymentsOf}) as p) as payments,
      (select coalesce(jsonb_agg(to_jsonb(i) order by i.number), '[]') from (${invoicesOf}) as i) as invoices,
      (select coalesce(jsonb_agg(to_jsonb(e) order by e."externalId"), '[]') from (${eventsOf}) as e) as events,
      (select coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'state', state, 'reason', data ->> 'reason') order by id), '[]')
        from review_items where organization_id = $1) as "reviewItems",
      (select count(*)::int from deliveries where organization_id = $1) as deliveries,
      (select count(*)::int from activities where organization_id = $1 and type <> 'invoice.issued') as activities,
      (select count(*)::int from notifications where organization_id = $1) as notifications,
      (select count(*)::int from domain_events where organization_id = $1 and type <> 'invoice.issued') as "domainEvents",
      (select count(*)::int from audit_entries where organization_id = $1) as audits`,
    [organizationId],
  )
  const [books] = rows
  if (books === undefined) throw new Error('a select without a table gives one row')
  return books
}

const paymentsOf = `
  select p.source, p.external_id as "externalId", p.currency, p.amount_minor as "amountMinor",
    p.applied_minor as "appliedMinor", p.unapplied_minor as "unappliedMinor",
    coalesce(l.allocated, 0) as "allocatedMinor", coalesce(a.lines, 0) as activities,
    coalesce(n.notes, 0) as notifications, coalesce(n.members, 0) as "notifiedMembers",
    coalesce(d.received, 0) as "receivedEvents"
  from payments as p
  left join (select payment_id, sum(amount_minor) as allocated from allocations
    where organization_id = $1 and reversed_at is null group by 1) as l on l.payment_id = p.id
  left join (select data ->> 'paymentId' as payment_id, count(*) as lines from activities
    where organization_id = $1 and type = 'payment.received' group by 1) as a on a.payment_id = p.id::text
  left join (select data ->> 'paymentId' as payment_id, count(*) as notes, count(distinct recipient_id) as members
    from notifications where organization_id = $1 and type = 'payment.received' group by 1) as n on n.payment_id = p.id::text
  left join (select subject_id, count(*) as received from domain_events
    where organization_id = $1 and type = 'payment.received' group by 1) as d on d.subject_id = p.id
  where p.organization_id = $1`

const invoicesOf = `
  select i.id, i.number, i.payment_state as "paymentState", i.paid_minor as "paidMinor", i.open_minor as "openMinor",
    coalesce(l.allocated, 0) as "allocatedMinor", coalesce(d.paid, 0) as "paidEvents"
  from invoices as i
  left join (select invoice_id, sum(amount_minor) as allocated from allocations
    where organization_id = $1 and reversed_at is null group by 1) as l on l.invoice_id = i.id
  left join (select subject_id, count(*) as paid from domain_events
    where organization_id = $1 and type = 'invoice.paid' group by 1) as d on d.subject_id = i.id
  where i.organization_id = $1`

const eventsOf = `
  select e.source, e.kind, e.external_id as "externalId", e.state, e.attempt, e.copies,
    coalesce(b.deliveries, 0) as deliveries, coalesce(b.done, 0) as done
  from events as e
  left join (select event_id, count(*) as deliveries, count(*) filter (where outcome = 'done') as done
    from delivery_events where organization_id = $1 group by 1) as b on b.event_id = e.id
  where e.organization_id = $1 and e.kind not in ('contact.create', 'invoice.create', 'invoice.issue')`

export interface ExpectedMoney {
  readonly entrance: Entrance
  readonly amountMinor: number
  /** Arrivals that must be on record, copies included. */
  readonly arrivals: number
  /** The answers that were received, except those that a scenario broke on purpose. */
  readonly answers: readonly Answer[]
  /** How many different payments were sent; each has to count once. */
  readonly payments?: number
  /** Answers that said "booked now". Fewer than payments where one was lost on the way. */
  readonly firstAnswers?: number
  /** Kinds of the questions that have to lie on the desk. */
  readonly reviewItems?: readonly string[]
}

/**
 * The one assertion of everything that arrives more than once: each payment is one row, one activity line, one
 * notification per member and one `payment.received`; the one invoice moved once by it and told of being paid once;
 * every arrival is counted; and no sender was given a reason to worry.
 */
export async function expectOnce(
  office: TestOffice,
  organization: TestOrganization,
  expected: ExpectedMoney,
): Promise<void> {
  const { entrance, amountMinor, arrivals, answers, payments = 1, firstAnswers = payments, reviewItems = [] } = expected
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200))
  const copies = answers.filter(entrance.isCopy)
  expect(answers.length - copies.length, 'answers that say: booked through this arrival').toBe(firstAnswers)
  for (const answer of answers) {
    // A webhook is told what moved through this very arrival; the API gives the first answer again, word for word.
    const moved = entrance.provider !== null && entrance.isCopy(answer) ? 0 : amountMinor
    expect(answer.body['applied']).toEqual({ amountMinor: moved, currency: 'EUR' })
  }

  const members = organization.userIds.length
  const isWebhook = entrance.provider !== null
  const books = await readBooks(office, organization.organizationId)
  expect(books).toMatchObject({
    payments: Array.from({ length: payments }, () => ({
      amountMinor,
      appliedMinor: amountMinor,
      allocatedMinor: amountMinor,
      unappliedMinor: 0,
      activities: 1,
      notifications: members,
      notifiedMembers: members,
      receivedEvents: 1,
    })),
    invoices: [
      {
        paymentState: 'settled',
        openMinor: 0,
        paidMinor: payments * amountMinor,
        allocatedMinor: payments * amountMinor,
        paidEvents: 1,
      },
    ],
    events: Array.from({ length: payments }, () => ({ state: 'completed', done: isWebhook ? 1 : 0 })),
    deliveries: isWebhook ? arrivals : 0,
    activities: payments,
    notifications: members * (payments + reviewItems.length),
    domainEvents: payments + 1,
    audits: isWebhook ? 0 : payments,
    reviewItems: reviewItems.map((kind) => ({ kind, state: 'open' })),
  })
  expect(sum(books.events.map((event) => event.copies)), 'copies in the register').toBe(arrivals)
  for (const event of books.events) expect(event.deliveries).toBe(isWebhook ? event.copies : 0)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
