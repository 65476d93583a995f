import { createHash } from 'node:crypto'
import type pg from 'pg'
import { systemClock } from '../../src/platform/clock.ts'
import { idsOf } from '../../src/platform/ids.ts'

/** Columns with their values, or with functions that give them when all rows are known. */
type Row = Record<string, unknown>

/** Books of one organisation, written row by row by the owner of the database: no code of the office had a hand in them. */
export interface WrittenBooks {
  readonly organizationId: string
  readonly endpointId: string
  readonly memberIds: readonly string[]
  readonly contactId: string
  /** By number; the draft is `draft`. */
  readonly invoices: Readonly<Record<string, string>>
  /** By the source's id of the payment, such as `pi_settled`. */
  readonly payments: Readonly<Record<string, string>>
  /** By the source's id of the event. */
  readonly events: Readonly<Record<string, string>>
  /** By the source's id of the movement. */
  readonly returns: Readonly<Record<string, string>>
}

export const AT = '2026-03-10T09:00:00Z'
/** Tables in the order in which their rows can be written. */
const tables = [
  'contacts',
  'deals',
  'integrations',
  'webhook_endpoints',
  'delivery_bodies',
  'deliveries',
  'events',
  'delivery_events',
  'number_series',
  'issued_documents',
  'invoices',
  'invoice_lines',
  'money_subjects',
  'payments',
  'payment_returns',
  'payment_mentions',
  'allocations',
  'credit_allocations',
  'invoice_adjustments',
  'activities',
  'notifications',
  'domain_events',
  'review_items',
] as const
type Table = (typeof tables)[number]

/** The rows of an organisation, table by table, until they are written. */
export type Book = Awaited<ReturnType<typeof openBook>>

export async function openBook(owner: pg.Pool, name: string) {
  const newId = idsOf(systemClock)
  const rows = new Map<Table, Row[]>(tables.map((table) => [table, []]))
  const { organizationId, memberIds } = await writeOrganization(owner, name)
  const add = (table: Table, row: Row): void => {
    rows.get(table)?.push({ organization_id: organizationId, ...row })
  }
  const books = {
    organizationId,
    endpointId: newId(),
    memberIds,
    contactId: newId(),
    invoices: {} as Record<string, string>,
    payments: {} as Record<string, string>,
    events: {} as Record<string, string>,
    returns: {} as Record<string, string>,
  }
  const contact = { type: 'company', name: 'Muster GmbH', search_name: 'muster gmbh' }
  add('contacts', { id: books.contactId, ...contact, created_at: AT })
  const integrationId = newId()
  add('integrations', {
    id: integrationId,
    provider: 'stripe',
    label: 'Stripe',
    settings: Buffer.from('x'),
    created_at: AT,
  })
  add('webhook_endpoints', { id: books.endpointId, integration_id: integrationId, provider: 'stripe' })
  return {
    books,
    newId,
    add,
    of: (table: Table) => rows.get(table) ?? [],
    async flush(database: pg.Pool) {
      for (const table of tables) await insertRows(database, table, rows.get(table) ?? [])
    },
  }
}

async function writeOrganization(owner: pg.Pool, name: string) {
  const { rows } = await owner.query<{ id: string }>(
    `insert into organizations (id, name, slug, created_at) values (gen_random_uuid(), $1, $2, now()) returning id`,
    [name, name.toLowerCase().replaceAll(' ', '-')],
  )
  const organizationId = rows[0]?.id ?? ''
  const memberIds: string[] = []
  for (const role of ['owner', 'accountant']) {
    const user = await owner.query<{ id: string }>(
      `insert into auth."user" (name, email, "emailVerified") values ($1, $2, true) returning id`,
      [`${name} ${role}`, `${role}@${organizationId}.example`],
    )
    const id = user.rows[0]?.id ?? ''
    memberIds.push(id)
    await owner.query(
      `insert into members (id, organization_id, user_id, role, joined_at) values (gen_random_uuid(), $1, $2, $3, now())`,
      [organizationId, id, role],
    )
  }
  return { organizationId, memberIds }
}

/** All rows of a table in one statement; they have the same columns. */
async function insertRows(database: pg.Pool, table: Table, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  if (columns.length === 0) return
  const values = rows.flatMap((row) =>
    columns.map((column) => {
      const value = row[column]
      return typeof value === 'function' ? value() : value
    }),
  )
  const places = rows.map(
    (_, row) => `(${columns.map((_, column) => `$${row * columns.length + column + 1}`).join(', ')})`,
  )
  await database.query(`insert into ${table} (${columns.join(', ')}) values ${places.join(', ')}`, values)
}

interface EventSpec {
  readonly source?: string
  readonly kind?: string
  readonly target?: { readonly type: string; readonly id: string }
  readonly answer?: object
  readonly copies?: number
}

export function addEvent(book: Book, externalId: string, spec: EventSpec): string {
  const { source = 'stripe', kind = 'payment.paid', target, answer = { applied: [] }, copies = 1 } = spec
  const id = book.newId()
  book.books.events[externalId] = id
  book.add('events', {
    id,
    source,
    kind,
    external_id: externalId,
    state: 'completed',
    holder: book.newId(),
    target_type: target?.type ?? null,
    target_id: target?.id ?? null,
    answer: JSON.stringify(answer),
    copies,
    first_arrived_at: AT,
    last_arrived_at: AT,
    started_at: AT,
    finished_at: AT,
  })
  return id
}

export function addDelivery(
  book: Book,
  links: readonly { event: string; outcome: string }[],
  verdict: 'accepted' | 'ignored' = 'accepted',
): string {
  const id = book.newId()
  const body = Buffer.from(`{"delivery":"${id}"}`)
  const hash = createHash('sha256').update(body).digest()
  book.add('delivery_bodies', { hash, body, first_received_at: AT })
  book.add('deliveries', {
    id,
    endpoint_id: book.books.endpointId,
    source: 'stripe',
    received_at: AT,
    headers: '{}',
    body_hash: hash,
    verdict,
    answer_status: 200,
  })
  for (const { event, outcome } of links) {
    book.add('delivery_events', { delivery_id: id, event_id: event, outcome })
  }
  return id
}

export function addLine(
  book: Book,
  subject: { type: string; id: string },
  key: string,
  type: string,
  eventId: string,
  data: object,
): void {
  book.add('activities', {
    id: book.newId(),
    subject_type: subject.type,
    subject_id: subject.id,
    key,
    type,
    event_id: eventId,
    data: JSON.stringify(data),
    recorded_at: AT,
  })
}

export function notify(book: Book, key: string, type: string, eventId: string, data: object): void {
  for (const recipient of book.books.memberIds) {
    book.add('notifications', {
      id: book.newId(),
      recipient_id: recipient,
      key,
      type,
      event_id: eventId,
      data: JSON.stringify(data),
      recorded_at: AT,
    })
  }
}

export function fire(
  book: Book,
  type: string,
  key: string,
  subject: { type: string; id: string },
  eventId: string,
): void {
  book.add('domain_events', {
    id: book.newId(),
    type,
    key,
    subject_type: subject.type,
    subject_id: subject.id,
    event_id: eventId,
    data: '{}',
    recorded_at: AT,
  })
}

export function ask(
  book: Book,
  key: string,
  kind: string,
  eventId: string,
  data: object,
  decision: string | null = null,
  deliveryId: string | null = null,
): void {
  book.add('review_items', {
    id: book.newId(),
    key,
    kind,
    state: decision === null ? 'open' : 'decided',
    event_id: eventId,
    delivery_id: deliveryId,
    data: JSON.stringify(data),
    created_at: AT,
    decided_at: decision === null ? null : AT,
    decided_by: decision === null ? null : 'somebody',
    decision,
  })
}
export function sumOf(rows: readonly Row[], isMeant: (row: Row) => boolean): number {
  return rows.filter(isMeant).reduce((sum, row) => sum + Number(row['amount_minor']), 0)
}
