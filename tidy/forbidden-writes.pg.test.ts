/**
 * Writes that must not be possible, tried at the database itself through the server's role: past every line of our code.
 * Each is refused, and the test names by what.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createTestOffice,
  deliver,
  startServer,
  stripePaid,
  type TestOffice,
  type TestOrganization,
  type TestServer,
} from '../apps/office/test/support/office.ts'

let office: TestOffice
let server: TestServer
let ours: Books
let theirs: Books
let client: pg.Client

/** One row of each kind, made by the server, in one organisation. */
interface Books {
  readonly organization: TestOrganization
  readonly invoice: string
  readonly otherInvoice: string
  readonly payment: string
  readonly event: string
  readonly delivery: string
  readonly reviewItem: string
  readonly company: string
}

beforeAll(async () => {
  office = await createTestOffice()
  server = await startServer(office)
  ours = await keepBooks('Ours')
  theirs = await keepBooks('Theirs')
  client = new pg.Client({ connectionString: office.database.officeUrl })
  await client.connect()
})

afterAll(async () => {
  await client?.end()
  await server?.stop()
  await office?.close()
})

async function keepBooks(name: string): Promise<Books> {
  const organization = await office.addOrganization(name)
  const invoice = await organization.issueInvoice({ amountMinor: 10_000n, currency: 'EUR' })
  const other = await organization.issueInvoice({ amountMinor: 500n, currency: 'USD' })
  const paymentId = `pi_${randomUUID()}`
  await pay(organization, 4_000, invoice.number, paymentId)
  // A second event about the same payment, which leaves a mention.
  await pay(organization, 4_000, invoice.number, paymentId)
  await pay(organization, 700, 'a number nobody has')
  const { organizationId, contactId } = organization
  await office.owner.query(
    `insert into contacts (id, organization_id, type, name, search_name, company_id, created_at)
     values (gen_random_uuid(), $1, 'person', 'Kim Roth', 'kim roth', $2, now())`,
    [organizationId, contactId],
  )
  await office.owner.query(
    `insert into contact_points (id, organization_id, contact_id, kind, value, created_at)
     values (gen_random_uuid(), $1, $2, 'phone', '+4930123456', now())`,
    [organizationId, contactId],
  )
  await office.owner.query(
    `insert into deals (id, organization_id, title, contact_id, stage, currency, amount_minor, created_at)
     values (gen_random_uuid(), $1, 'Website', $2, 'new', 'EUR', 100, now())`,
    [organizationId, contactId],
  )
  const { rows } = await office.owner.query<{ payment: string; event: string; delivery: string; item: string }>(
    `select p.id as payment, p.event_id as event, d.delivery_id as delivery, r.id as item
     from payments as p join delivery_events as d on d.event_id = p.event_id, review_items as r
     where p.organization_id = $1 and r.organization_id = $1 and p.applied_minor > 0`,
    [organizationId],
  )
  const [row] = rows
  if (row === undefined) throw new Error('the server booked nothing')
  return {
    organization,
    invoice: invoice.id,
    otherInvoice: other.id,
    payment: row.payment,
    event: row.event,
    delivery: row.delivery,
    reviewItem: row.item,
    company: contactId,
  }
}

async function pay(
  organization: TestOrganization,
  amount: number,
  invoice: string,
  paymentId = `pi_${randomUUID()}`,
): Promise<void> {
  const body = stripePaid({ eventId: `evt_${randomUUID()}`, paymentId, amount, invoice })
  const answer = await deliver(server.url, organization.stripe, body)
  expect(answer.status).toBe(200)
}

/** Runs one statement as the server would, for our organisation, and takes it back. Returns what refused it. */
async function refusalOf(text: string, values: unknown[] = []): Promise<string> {
  await client.query('begin')
  try {
    await client.query(`set local einmal.organization_id = '${ours.organization.organizationId}'`)
    const { rowCount } = await client.query(text, values)
    // What is looked at only at the commit is looked at here.
    await client.query('set constraints all immediate')
    return `allowed, ${rowCount} rows`
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    if (error.code === '42501') return /row-level security/.test(error.message) ? 'policy' : 'no right'
    return error.constraint ?? `${error.code} ${error.message}`
  } finally {
    await client.query('rollback')
  }
}

/** The tables with an organisation, the directory excepted. */
async function tenantTables(): Promise<string[]> {
  const { rows } = await office.owner.query<{ name: string }>(
    `select relname as name from pg_class where relrowsecurity and relnamespace = 'public'::regnamespace order by 1`,
  )
  return rows.map((row) => row.name)
}

describe('facts stay', () => {
  test.each([
    'payments',
    'deliveries',
    'delivery_bodies',
    'delivery_events',
    'events',
    'allocations',
    'activities',
    'domain_events',
    'audit_entries',
    'invoices',
    'review_items',
    'contacts',
    'contact_points',
    'deals',
  ])('no row of %s can be deleted', async (table) => {
    expect(await refusalOf(`delete from ${table}`)).toBe('no right')
    expect(await refusalOf(`truncate ${table}`)).toBe('no right')
  })

  test.each([
    ['payments', 'amount_minor', '1'],
    ['payments', 'currency', "'USD'"],
    ['payments', 'external_id', "'pi_other'"],
    ['payments', 'source', "'other'"],
    ['payments', 'event_id', 'gen_random_uuid()'],
    ['allocations', 'amount_minor', '1'],
    ['allocations', 'invoice_id', 'gen_random_uuid()'],
    ['deliveries', 'verdict', "'ignored'"],
    ['events', 'external_id', "'evt_other'"],
    ['events', 'fingerprint', "'v1:other'"],
    ['events', 'first_arrived_at', 'now()'],
    ['delivery_bodies', 'hash', "'\\x00'"],
    ['audit_entries', 'actor_id', "'somebody else'"],
    ['activities', 'data', "'{}'"],
    ['contacts', 'type', "'person'"],
    ['contact_points', 'value', "'+4930999999'"],
    ['contact_points', 'is_shared', 'true'],
    ['contact_points', 'contact_id', 'gen_random_uuid()'],
  ])('%s.%s of a fact cannot be edited', async (table, column, value) => {
    expect(await refusalOf(`update ${table} set ${column} = ${value}`)).toBe('no right')
  })

  test('the total of an issued invoice cannot be edited', async () => {
    expect(await refusalOf('update invoices set total_minor = 1')).toBe('no right')
    expect(await refusalOf('update invoices set currency = $1', ['USD'])).toBe('no right')
    expect(await refusalOf('update invoice_lines set net_minor = 1')).toBe('no right')
  })
})

describe('money adds up', () => {
  test('an allocation cannot join two currencies', async () => {
    const text = `insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id, created_at)
      values (gen_random_uuid(), $1, $2, $3, $4, 1, $5, now())`
    const values = (currency: string) => [
      ours.organization.organizationId,
      ours.payment,
      ours.otherInvoice,
      currency,
      ours.event,
    ]
    expect(await refusalOf(text, values('EUR'))).toBe('allocations_invoice_fkey')
    expect(await refusalOf(text, values('USD'))).toBe('allocations_payment_fkey')
  })

  test('an invoice cannot be paid beyond its total', async () => {
    expect(await refusalOf('update invoices set paid_minor = total_minor + 1 where id = $1', [ours.invoice])).toBe(
      'invoices_sum_check',
    )
    expect(await refusalOf('update invoices set paid_minor = -1 where id = $1', [ours.invoice])).toBe(
      'invoices_paid_minor_check',
    )
  })

  test('a payment cannot be applied beyond what was received', async () => {
    expect(await refusalOf('update payments set applied_minor = amount_minor + 1 where id = $1', [ours.payment])).toBe(
      'payments_sum_check',
    )
    expect(await refusalOf('update payments set returned_minor = amount_minor where id = $1', [ours.payment])).toBe(
      'payments_sum_check',
    )
  })

  test('a payment cannot be on one invoice twice', async () => {
    const text = `insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id, created_at)
      values (gen_random_uuid(), $1, $2, $3, 'EUR', 1, $4, now())`
    expect(await refusalOf(text, [ours.organization.organizationId, ours.payment, ours.invoice, ours.event])).toBe(
      'allocations_live_key',
    )
  })

  test('a payment without an amount, or below zero, is none', async () => {
    const text = `insert into payments (id, organization_id, source, external_id, kind, original_id, event_id, amount_minor, currency, recorded_at)
      select gen_random_uuid(), organization_id, source, 'pi_new', kind, original_id, event_id, $1, currency, now() from payments where id = $2`
    expect(await refusalOf(text, [0, ours.payment])).toBe('payments_amount_minor_check')
    expect(await refusalOf(text, [-5, ours.payment])).toBe('payments_amount_minor_check')
  })

  test('one payment cannot be on record twice', async () => {
    const text = `insert into payments (id, organization_id, source, external_id, kind, original_id, event_id, amount_minor, currency, recorded_at)
      select gen_random_uuid(), organization_id, source, external_id, kind, original_id, event_id, amount_minor, currency, now() from payments where id = $1`
    expect(await refusalOf(text, [ours.payment])).toBe('payments_external_id_key')
  })

  test('one event cannot be on record twice', async () => {
    const text = `insert into events (id, organization_id, source, kind, external_id, state, holder, first_arrived_at, last_arrived_at, started_at, finished_at)
      select gen_random_uuid(), organization_id, source, kind, external_id, state, holder, now(), now(), now(), now() from events where id = $1`
    expect(await refusalOf(text, [ours.event])).toBe('events_external_id_key')
  })
})

describe('documents keep their order', () => {
  test('two invoices cannot have one number', async () => {
    const text = `update invoices set number = (select number from invoices where id = $2) where id = $1`
    expect(await refusalOf(text, [ours.otherInvoice, ours.invoice])).toBe('invoices_number_key')
    const sequence = `update invoices set sequence = (select sequence from invoices where id = $2) where id = $1`
    expect(await refusalOf(sequence, [ours.otherInvoice, ours.invoice])).toBe('invoices_sequence_key')
  })

  test('an issued invoice cannot lose its number', async () => {
    expect(await refusalOf('update invoices set number = null where id = $1', [ours.invoice])).toBe(
      'invoices_number_check',
    )
    expect(await refusalOf(`update invoices set lifecycle = 'draft' where id = $1`, [ours.invoice])).toBe(
      'invoices_number_check',
    )
  })

  test('an invoice that holds a payment cannot be void', async () => {
    expect(await refusalOf(`update invoices set lifecycle = 'void' where id = $1`, [ours.invoice])).toBe(
      'invoices_number_check',
    )
  })

  test('a question cannot be decided by nobody', async () => {
    expect(
      await refusalOf(
        `update review_items set state = 'decided', decided_at = now(), decision = 'dismissed' where id = $1`,
        [ours.reviewItem],
      ),
    ).toBe('review_items_decided_check')
    expect(await refusalOf(`update review_items set state = 'decided' where id = $1`, [ours.reviewItem])).toBe(
      'review_items_decided_check',
    )
  })

  test('an allocation cannot be taken back without a reason', async () => {
    expect(await refusalOf('update allocations set reversed_at = now()')).toBe('allocations_reversed_check')
  })

  test('an event cannot be finished and unfinished at once', async () => {
    expect(await refusalOf(`update events set state = 'in_progress' where id = $1`, [ours.event])).toBe(
      'events_state_check',
    )
    expect(await refusalOf(`update events set state = 'done' where id = $1`, [ours.event])).toBe('events_state_check')
  })
})

describe('contacts stay apart', () => {
  const addPoint = `insert into contact_points (id, organization_id, contact_id, kind, value, is_shared, created_at)
    select gen_random_uuid(), organization_id, $1, kind, value, $2, now() from contact_points`

  test('two contacts cannot have one contact point, and one contact not twice', async () => {
    const { rows } = await office.owner.query<{ id: string }>(
      `select id from contacts where organization_id = $1 and type = 'person'`,
      [ours.organization.organizationId],
    )
    expect(await refusalOf(addPoint, [rows[0]?.id, false])).toBe('contact_points_identity_key')
    expect(await refusalOf(addPoint, [rows[0]?.id, true])).toBe('allowed, 1 rows')
    expect(await refusalOf(addPoint, [ours.company, true])).toBe('contact_points_own_key')
  })

  test('a contact point that was taken away cannot be given back', async () => {
    await office.owner.query(
      `insert into contact_points (id, organization_id, contact_id, kind, value, created_at, removed_at)
       values (gen_random_uuid(), $1, $2, 'phone', '+4930777777', now(), now())`,
      [ours.organization.organizationId, ours.company],
    )
    const taken = `update contact_points set removed_at = $1 where value = '+4930777777'`
    expect(await refusalOf(taken, [null])).toBe('allowed, 0 rows')
    const living = `update contact_points set removed_at = $1 where value = '+4930123456'`
    expect(await refusalOf(living, [null])).toBe('policy')
    expect(await refusalOf(living, [new Date()])).toBe('allowed, 1 rows')
  })

  test('a company belongs to no company, and a person is none', async () => {
    const text = `update contacts set company_id = $1 where type = $2`
    expect(await refusalOf(text, [ours.company, 'company'])).toBe('contacts_company_check')
    const person = `update contacts set company_id = id where type = 'person'`
    expect(await refusalOf(person)).toBe('contacts_company_fkey')
  })

  test('a deal is closed while it is won or lost, and then only', async () => {
    expect(await refusalOf(`update deals set stage = 'won'`)).toBe('deals_closed_check')
    expect(await refusalOf('update deals set closed_at = now()')).toBe('deals_closed_check')
  })
})

describe('organisations do not meet', () => {
  test('another organisation’s rows cannot be read, in any table', async () => {
    const tables = await tenantTables()
    expect(tables.length).toBeGreaterThan(15)
    const { organizationId } = theirs.organization
    for (const table of tables) {
      await client.query('begin')
      await client.query(`set local einmal.organization_id = '${ours.organization.organizationId}'`)
      const foreign = await client.query(`select 1 from ${table} where organization_id <> $1`, [
        ours.organization.organizationId,
      ])
      const asked = await client.query(`select 1 from ${table} where organization_id = $1`, [organizationId])
      await client.query('rollback')
      expect([table, foreign.rowCount, asked.rowCount]).toEqual([table, 0, 0])
    }
  })

  test('without an organisation no row can be read, in any table', async () => {
    for (const table of await tenantTables()) {
      const { rowCount } = await client.query(`select 1 from ${table}`)
      expect([table, rowCount]).toEqual([table, 0])
    }
  })

  test('a row cannot be written into another organisation, in any table', async () => {
    for (const table of await tenantTables()) {
      const { rows } = await office.owner.query<{ columns: string; values: string }>(
        `select string_agg(quote_ident(attname), ', ') as columns,
           string_agg(case when attname = 'organization_id' then quote_literal($2::text) else 'null' end, ', ') as values
         from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
        [table, theirs.organization.organizationId],
      )
      const [row] = rows
      expect([table, await refusalOf(`insert into ${table} (${row?.columns}) values (${row?.values})`)]).toEqual([
        table,
        'policy',
      ])
    }
  })

  test('a row cannot point at another organisation’s row, by any foreign key', async () => {
    const { rows } = await office.owner.query<{ name: string; table: string; columns: string[] }>(
      `select c.conname as name, c.conrelid::regclass::text as table,
         (select array_agg(a.attname::text order by k.position) from unnest(c.conkey) with ordinality as k (number, position)
           join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = k.number) as columns
       from pg_constraint as c join pg_class as t on t.oid = c.conrelid
       where c.contype = 'f' and t.relnamespace = 'public'::regnamespace
         and c.confrelid <> 'auth.organization'::regclass order by 1`,
    )
    expect(rows.length).toBeGreaterThan(8)
    for (const key of rows) expect([key.name, await foreignWrite(key)]).toEqual([key.name, key.name])
  })
})

/** Copies one of our rows with the foreign key's first column naming a row of the other organisation. */
async function foreignWrite(key: { table: string; columns: string[] }): Promise<string> {
  const column = key.columns[0] ?? ''
  const { rows } = await office.owner.query<{ columns: string[]; unique_columns: string[] }>(
    `select array_agg(attname::text) as columns, array(select distinct a.attname::text from pg_index as i
       join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = any(i.indkey) where i.indrelid = $1::regclass and i.indisunique
         and a.attname not in ('organization_id', 'currency')) as unique_columns
     from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [key.table],
  )
  const { columns = [], unique_columns: unique = [] } = rows[0] ?? {}
  const foreign = await foreignValue(key.table, column)
  const values = columns.map((name) => {
    if (name === column) return foreign
    if (name === 'id') return 'gen_random_uuid()'
    return unique.includes(name) && !key.columns.includes(name) ? freshValue(name) : name
  })
  return refusalOf(
    // One that has such a pointer itself, where there is one: the others may not be allowed any.
    `insert into ${key.table} (${columns.join(', ')}) select ${values.join(', ')} from ${key.table}
     order by ${column} is null limit 1`,
  )
}

/** The same column of the row that the other organisation has, as SQL. */
async function foreignValue(table: string, column: string): Promise<string> {
  const known: Record<string, string> = {
    contact_id: theirs.organization.contactId,
    company_id: theirs.company,
    event_id: theirs.event,
    delivery_id: theirs.delivery,
    payment_id: theirs.payment,
    invoice_id: theirs.invoice,
  }
  if (known[column] !== undefined) return `'${known[column]}'::uuid`
  const { rows } = await office.owner.query<{ value: string }>(
    `select quote_literal(${column}) || '::' || pg_typeof(${column}) as value from ${table} where organization_id = $1`,
    [theirs.organization.organizationId],
  )
  return rows[0]?.value ?? ''
}

/** A value that breaks no unique key, so that only the foreign key is left to refuse. */
function freshValue(column: string): string {
  if (column === 'position' || column === 'sequence') return `${column} + 1000`
  return ['external_id', 'key', 'number', 'value'].includes(column) ? `'fresh'` : column
}
