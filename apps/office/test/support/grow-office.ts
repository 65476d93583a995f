import pg from 'pg'
import type { TestOffice, TestOrganization } from './office.ts'

export interface GrownOffice {
  /** Issued invoices with an open rest. */
  readonly numbers: readonly string[]
  readonly eventIds: readonly string[]
  readonly paymentIds: readonly string[]
  readonly invoiceIds: readonly string[]
  /** An id in the middle of every list. */
  readonly middleIds: Readonly<Record<'event' | 'payment' | 'invoice' | 'contact' | 'reviewItem', string>>
}

const INVOICES = 50_000
/** Of whom payments are; the others only stand in the list. */
const CONTACTS = 1_000
const ALL_CONTACTS = 20_000
const DEALS = 20_000

/**
 * Years of an office in a minute: payments with all that belongs to each of them, in one organisation. Every fiftieth
 * payment found no invoice; every hundredth was told of twice.
 *
 * Written by the owner set by set, without the checks of foreign keys, on two connections. Leaves statistics as they are.
 */
export async function growOffice(
  office: TestOffice,
  organization: TestOrganization,
  paymentCount: number,
): Promise<GrownOffice> {
  const asOwner = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: office.database.ownerUrl })
    await client.connect()
    try {
      const value = await work(client)
      // What this connection counted is handed in now, and not while somebody measures.
      await client.query('select pg_stat_force_next_flush()')
      return value
    } finally {
      await client.end()
    }
  }
  const firstNumber = await asOwner(async (client) => {
    const { rows } = await client.query<{ next_sequence: string }>(
      `select coalesce(max(next_sequence), 1) as next_sequence from number_series where organization_id = $1`,
      [organization.organizationId],
    )
    return Number(rows[0]?.next_sequence)
  })
  const texts = seedTexts(organization, paymentCount, firstNumber)
  const seed = async (client: pg.Client) => {
    await client.query(`set session_replication_role = replica`)
    await client.query(seedIdText)
    for (let text = texts.shift(); text !== undefined; text = texts.shift()) await client.query(text)
  }
  await Promise.all([asOwner(seed), asOwner(seed)])
  const some = Array.from({ length: 40 }, (_, index) => 1 + Math.floor((index * paymentCount) / 41))
  return {
    numbers: Array.from({ length: 40 }, (_, index) => numberOf(firstNumber + index * 1_201)),
    eventIds: some.map((index) => seedId(kinds.event, index)),
    paymentIds: some.map((index) => seedId(kinds.payment, index)),
    invoiceIds: some.map((index) => seedId(kinds.invoice, index % INVOICES)),
    middleIds: {
      event: seedId(kinds.event, Math.floor(paymentCount / 2)),
      payment: seedId(kinds.payment, Math.floor(paymentCount / 2)),
      invoice: seedId(kinds.invoice, INVOICES / 2),
      contact: seedId(kinds.contact, CONTACTS / 2),
      reviewItem: seedId(kinds.reviewItem, Math.floor(paymentCount / 2)),
    },
  }
}

const kinds = {
  event: 1,
  delivery: 2,
  payment: 3,
  allocation: 4,
  activity: 5,
  notification: 6,
  domainEvent: 7,
  invoice: 8,
  contact: 9,
  reviewItem: 10,
  auditEntry: 11,
  contactPoint: 12,
  deal: 13,
  paymentReturn: 14,
  adjustment: 15,
  creditAllocation: 16,
} as const

/** The first id of the past, in milliseconds: ids are ordered as if one had been made each millisecond. */
const FIRST_MS = 1_750_000_000_000

const seedIdText = `create function pg_temp.seed_id(kind integer, i bigint) returns uuid language sql immutable as $$
  select (lpad(to_hex(${FIRST_MS} + i), 12, '0') || '7' || lpad(to_hex(kind), 3, '0') || '8000' || lpad(to_hex(i), 12, '0'))::uuid
$$`

function seedId(kind: number, index: number): string {
  const hex = (value: number, length: number) => value.toString(16).padStart(length, '0')
  const time = hex(FIRST_MS + index, 12)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(kind, 3)}-8000-${hex(index, 12)}`
}

function numberOf(sequence: number): string {
  return `RE-${String(sequence).padStart(5, '0')}`
}

function seedTexts(organization: TestOrganization, paymentCount: number, firstNumber: number): string[] {
  const organizationId = `'${organization.organizationId}'::uuid`
  const recipientId = `'${organization.userIds[0]}'::uuid`
  const endpointId = `'${organization.stripe.path.split('/').at(-1)}'::uuid`
  const id = (kind: keyof typeof kinds, index = 'i') => `pg_temp.seed_id(${kinds[kind]}, ${index})`
  const payments = `generate_series(1, ${paymentCount}) as i`
  const at = `timestamptz '2025-06-15 12:00:00Z' + i * interval '1 millisecond'`
  const isUnapplied = 'i % 50 = 0'
  const invoiceIndex = `i % ${INVOICES}`
  const contactIndex = `i % ${CONTACTS}`
  const data = `jsonb_build_object('paymentId', ${id('payment')}, 'amountMinor', 10000, 'appliedMinor', 10000, 'currency', 'EUR')`
  const paymentsPerInvoice = Math.floor(paymentCount / INVOICES)
  const number = `'RE-' || lpad((i + ${firstNumber})::text, greatest(5, length((i + ${firstNumber})::text)), '0')`
  return [
    `insert into payments (id, organization_id, source, external_id, kind, event_id, amount_minor, currency,
        applied_minor, returned_minor, invoice_reference, contact_id, payer_name, payer_email, occurred_at, recorded_at)
      select ${id('payment')}, ${organizationId}, 'stripe', 'pi_' || i, 'payment', ${id('event')}, 10000, 'EUR',
        case when ${isUnapplied} then 0 else 10000 end, case when ${isUnapplied} then 100 else 0 end,
        case when i % 100 = 0 then null when ${isUnapplied} then 'PO-' || i
          else 'RE-' || lpad((${invoiceIndex} + ${firstNumber})::text, 5, '0') end,
        ${id('contact', contactIndex)}, 'Payer ' || i, null, ${at}, ${at}
      from ${payments}`,
    `insert into events (id, organization_id, source, kind, external_id, state, holder, fingerprint, target_type, target_id,
        answer, first_arrived_at, last_arrived_at, started_at, finished_at)
      select ${id('event')}, ${organizationId}, 'stripe', 'payment.paid', 'evt_' || i, 'completed', ${id('delivery')},
        'v1:10000:EUR', 'payment', ${id('payment')}::text,
        '{"applied": [{"amountMinor": 10000, "currency": "EUR"}]}', ${at}, ${at}, ${at}, ${at}
      from ${payments}`,
    `insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id, created_at)
      select ${id('allocation')}, ${organizationId}, ${id('payment')}, ${id('invoice', invoiceIndex)}, 'EUR', 10000,
        ${id('event')}, ${at}
      from ${payments} where not ${isUnapplied}`,
    `insert into deliveries (id, organization_id, endpoint_id, source, received_at, headers, body_hash, verdict, answer_status)
      select ${id('delivery')}, ${organizationId}, ${endpointId}, 'stripe', ${at}, '{}', sha256(i::text::bytea), 'accepted', 200
      from ${payments}`,
    `insert into delivery_bodies (hash, organization_id, body, first_received_at)
      select sha256(i::text::bytea), ${organizationId}, '{}', ${at} from ${payments}`,
    `insert into delivery_events (delivery_id, event_id, organization_id, outcome)
      select ${id('delivery')}, ${id('event')}, ${organizationId}, 'done' from ${payments}`,
    `insert into activities (id, organization_id, subject_type, subject_id, key, type, event_id, data, recorded_at)
      select ${id('activity')}, ${organizationId}, 'contact', ${id('contact', contactIndex)},
        'payment:' || ${id('invoice', invoiceIndex)} || ':stripe:pi_' || i, 'payment.received', ${id('event')}, ${data}, ${at}
      from ${payments}`,
    `insert into notifications (id, organization_id, recipient_id, key, type, event_id, data, recorded_at)
      select ${id('notification')}, ${organizationId}, ${recipientId}, 'payment:stripe:pi_' || i, 'payment.received',
        ${id('event')}, ${data}, ${at}
      from ${payments}`,
    `insert into domain_events (id, organization_id, type, key, subject_type, subject_id, event_id, data, recorded_at)
      select ${id('domainEvent')}, ${organizationId}, 'payment.received', ${id('payment')}::text, 'payment', ${id('payment')},
        ${id('event')}, ${data}, ${at}
      from ${payments}`,
    `insert into money_subjects (external_id, source, organization_id)
      select 'pi_' || i, 'stripe', ${organizationId} from ${payments}`,
    `insert into payment_mentions (payment_id, event_id, organization_id, currency)
      select ${id('payment')}, ${id('event', 'i + 1')}, ${organizationId}, 'EUR' from ${payments} where i % 100 = 1`,
    `insert into review_items (id, organization_id, key, kind, event_id, delivery_id, data, created_at)
      select ${id('reviewItem')}, ${organizationId}, 'unapplied:' || ${id('payment')}, 'unapplied', ${id('event')},
        ${id('delivery')}, ${data}, ${at}
      from ${payments} where ${isUnapplied}`,
    `insert into invoices (id, organization_id, lifecycle, series, sequence, number, contact_id, currency, total_minor,
        paid_minor, credited_minor, adjusted_minor, issued_at, created_at)
      select ${id('invoice')}, ${organizationId}, 'issued', 'invoice', i + ${firstNumber}, ${number},
        ${id('contact', contactIndex)}, 'EUR', 1000000000, case when ${isUnapplied} then 0 else ${paymentsPerInvoice * 10_000} end,
        case when i % 10 = 0 then 100 else 0 end, case when i % 10 = 0 then 100 else 0 end,
        ${at}, ${at}
      from generate_series(0, ${INVOICES - 1}) as i`,
    `insert into invoice_lines (invoice_id, organization_id, currency, position, description, quantity, unit_price_minor,
        tax_percent, net_minor)
      select ${id('invoice')}, ${organizationId}, 'EUR', position, 'Work', 1, 500000000, 0, 500000000
      from generate_series(0, ${INVOICES - 1}) as i, generate_series(1, 2) as position`,
    `insert into issued_documents (invoice_id, organization_id, currency, total_minor, number, sequence, series, issued_at, content)
      select ${id('invoice')}, ${organizationId}, 'EUR', 1000000000, ${number}, i + ${firstNumber}, 'invoice', ${at}, '{}'
      from generate_series(0, ${INVOICES - 1}) as i`,
    `insert into payment_returns (id, organization_id, source, external_id, kind, return_id, original_id, original_source,
        event_id, amount_minor, currency, recorded_at)
      select ${id('paymentReturn')}, ${organizationId}, 'stripe', 're_' || i, 'refund', 're_' || i, 'pi_' || i, 'stripe',
        ${id('event')}, 100, 'EUR', ${at}
      from ${payments} where ${isUnapplied}`,
    `insert into invoice_adjustments (id, organization_id, invoice_id, currency, kind, amount_minor, event_id, created_at)
      select ${id('adjustment')}, ${organizationId}, ${id('invoice')}, 'EUR', 'cash_discount', 100, ${id('event')}, ${at}
      from generate_series(0, ${INVOICES - 1}) as i where i % 10 = 0`,
    `insert into credit_allocations (id, organization_id, credit_note_id, invoice_id, currency, amount_minor, event_id, created_at)
      select ${id('creditAllocation')}, ${organizationId}, ${id('invoice', 'i + 1')}, ${id('invoice')}, 'EUR', 100, ${id('event')}, ${at}
      from generate_series(0, ${INVOICES - 1}) as i where i % 10 = 0`,
    `insert into audit_entries (id, organization_id, actor_type, actor_id, action, subject_type, subject_id, data, recorded_at)
      select ${id('auditEntry')}, ${organizationId}, 'system', 'seed', 'invoice.issue', 'invoice', ${id('invoice')}, '{}', ${at}
      from generate_series(0, ${INVOICES - 1}) as i`,
    `insert into contacts (id, organization_id, type, name, search_name, company_id, created_at)
      select ${id('contact')}, ${organizationId}, case when i % 10 = 0 then 'company' else 'person' end, 'Contact ' || i,
        'contact ' || i, case when i % 10 = 0 then null else ${id('contact', '(i - i % 10)')} end, ${at}
      from generate_series(0, ${ALL_CONTACTS - 1}) as i`,
    `insert into contact_points (id, organization_id, contact_id, kind, value, is_shared, created_at)
      select ${id('contactPoint')}, ${organizationId}, ${id('contact', 'i / 2')}, case i % 2 when 0 then 'email' else 'phone' end,
        case i % 2 when 0 then 'contact' || i || '@grown.example' else '+49301' || lpad(i::text, 6, '0') end, false, ${at}
      from generate_series(0, ${2 * ALL_CONTACTS - 1}) as i`,
    `insert into deals (id, organization_id, title, contact_id, stage, currency, amount_minor, created_at, closed_at)
      select ${id('deal')}, ${organizationId}, 'Deal ' || i, ${id('contact', contactIndex)},
        case when i % 20 = 0 then 'new' else 'won' end, 'EUR', 10000, ${at}, case when i % 20 = 0 then null else ${at} end
      from generate_series(0, ${DEALS - 1}) as i`,
    `update number_series set next_sequence = ${firstNumber + INVOICES} where organization_id = ${organizationId}`,
  ]
}
