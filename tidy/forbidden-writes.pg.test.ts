/**
 * Writes that must not be possible, tried at the database itself through the server's role: past every line of our code.
 * Each is refused, and the test names by what. docs/forbidden-writes.md shows the same list, and the last test compares the two.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestOffice, startServer, type TestOffice, type TestServer } from '../apps/office/test/support/office.ts'
import { NO_RIGHT, nameRefusal } from '../apps/office/test/support/refusal.ts'
import { type KeptBooks, keepBooks } from './kept-books.ts'

let office: TestOffice
let server: TestServer
let ours: KeptBooks
let theirs: KeptBooks
let client: pg.Client

beforeAll(async () => {
  office = await createTestOffice()
  server = await startServer(office)
  ours = await keepBooks(office, server.url, 'Ours')
  theirs = await keepBooks(office, server.url, 'Theirs')
  client = new pg.Client({ connectionString: office.database.officeUrl })
  await client.connect()
})

afterAll(async () => {
  await client?.end()
  await server?.stop()
  await office?.close()
})

/** What refuses where the row is there and no right is missing: a policy that does not show it to a writer. */
const UNCHANGED = 'changes no row'
const ALLOWED = 'allowed'

/** Statements of one transaction, the last of which is refused, unless nothing is. */
interface Write {
  readonly sql: string | ((books: KeptBooks) => readonly string[])
  /** For the last statement. */
  readonly values?: (books: KeptBooks) => readonly unknown[]
  /** A constraint, `policy` and its name, or one of the words above. */
  readonly by: string
}

/** The page as these tests make it: its chapters, each with its rows. */
const chapters = new Map<string, { readonly write: string; readonly by: readonly string[] }[]>()

function chapter(title: string, tests: (refuses: (write: string, writes: readonly Write[]) => void) => void): void {
  const rows: { write: string; by: string[] }[] = []
  chapters.set(title, rows)
  describe(title, () =>
    tests((write, writes) => {
      const by = [...new Set(writes.map((each) => each.by))]
      // What is allowed beside what is refused shows that only the one difference was too much.
      rows.push({ write, by: by.length === 1 ? by : by.filter((each) => each !== ALLOWED) })
      test(write, async () => {
        for (const { sql, values, by: expected } of writes) {
          const statements = typeof sql === 'string' ? [sql] : sql(ours)
          expect([sql, await refusalOf(statements, [...(values?.(ours) ?? [])])]).toEqual([sql, expected])
        }
      })
    }),
  )
}

/** Runs statements as the server would, for our organisation, and takes them back. Returns what refused the last one. */
async function refusalOf(statements: readonly string[], values: unknown[] = []): Promise<string> {
  await client.query('begin')
  try {
    await client.query(`set local einmal.organization_id = '${ours.organization.organizationId}'`)
    let rowCount: number | null = 0
    for (const [index, text] of statements.entries()) {
      const isLast = index === statements.length - 1
      const result = await client.query(text, isLast ? values : [])
      rowCount = result.rowCount
    }
    // What is looked at only at the commit is looked at here.
    await client.query('set constraints all immediate')
    return rowCount === 0 ? UNCHANGED : ALLOWED
  } catch (error) {
    return nameRefusal(error)
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

function wordsOf(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** Lines alone may go, and only those of a draft. */
const withoutDelete = wordsOf(`
  activities allocations api_keys audit_entries contact_points contacts credit_allocations deals deliveries delivery_bodies
  delivery_events domain_events events events_notes events_windows integrations invitations invoice_adjustments invoices
  issued_documents members money_subjects notifications number_series payment_mentions payment_returns payments review_items`)

const facts = wordsOf(`
  activities.data allocations.amount_minor allocations.invoice_id api_keys.hash api_keys.scopes audit_entries.actor_id contact_points.contact_id
  contact_points.is_shared contact_points.value contacts.type credit_allocations.amount_minor
  credit_allocations.invoice_id deliveries.verdict delivery_bodies.hash domain_events.data events.external_id
  events.fields events.fingerprint events.first_arrived_at events_notes.author events_notes.data events_notes.note invitations.email invitations.role invoice_adjustments.amount_minor invoice_adjustments.kind
  invoice_lines.net_minor invoices.type issued_documents.content issued_documents.number
  issued_documents.total_minor members.user_id notifications.data payment_mentions.event_id payment_returns.amount_minor
  payment_returns.kind payment_returns.original_id payments.amount_minor payments.currency payments.event_id
  payments.external_id payments.source`)

chapters.set('facts stay', [
  { write: `no row of ${withoutDelete.join(', ')} can be deleted`, by: [NO_RIGHT] },
  { write: `${facts.join(', ')} of a fact cannot be edited`, by: [NO_RIGHT] },
])

describe('facts stay', () => {
  test.each(withoutDelete)('no row of %s can be deleted', async (table) => {
    expect(await refusalOf([`delete from ${table}`])).toBe(NO_RIGHT)
    expect(await refusalOf([`truncate ${table}`])).toBe(NO_RIGHT)
  })

  test('no table is left out of these', async () => {
    expect((await tenantTables()).filter((table) => table !== 'invoice_lines')).toEqual(withoutDelete)
  })

  test.each(facts.map((fact) => fact.split('.')))('%s.%s of a fact cannot be edited', async (table, column) => {
    expect(await refusalOf([`update ${table} set ${column} = ${column}`])).toBe(NO_RIGHT)
  })
})

const key = (scopes: string) => `insert into api_keys (id, organization_id, name, start, hash, scopes, created_at)
  select gen_random_uuid(), organization_id, 'new', 'einmal_', 'new', ${scopes}, now() from members limit 1`

const invitation = (
  email: string,
) => `insert into invitations (id, organization_id, email, role, link_hash, invited_by, created_at, expires_at)
  select gen_random_uuid(), organization_id, '${email}', 'agent', 'new', id, now(), now() + interval '1 day' from members limit 1`

const allocate = `insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id, created_at)
  select gen_random_uuid(), organization_id, id, $2, $3, $4, event_id, now() from payments where id = $1`

function allocateTo(payment: string, invoice: string, amount: number): string {
  const values = [`'${payment}'`, `'${invoice}'`, `'EUR'`, String(amount)]
  return allocate.replace(/\$(\d)/g, (_, place: string) => values[Number(place) - 1] ?? '')
}

function addReturn(payment: string, amount: number): string {
  return `insert into payment_returns (id, organization_id, source, external_id, kind, return_id, original_id,
      original_source, event_id, amount_minor, currency, recorded_at)
    select gen_random_uuid(), organization_id, source, 're_new', 'refund', 're_new', external_id, source, event_id, ${amount},
      currency, now() from payments where id = '${payment}'`
}

chapter('money adds up', (refuses) => {
  refuses('an allocation cannot join two currencies', [
    { sql: allocate, values: (of) => [of.payment, of.otherInvoice, 'EUR', 1], by: 'allocations_invoice_fkey' },
    { sql: allocate, values: (of) => [of.payment, of.otherInvoice, 'USD', 1], by: 'allocations_payment_fkey' },
  ])
  refuses('a payment cannot be on one invoice twice', [
    { sql: allocate, values: (of) => [of.payment, of.invoice, 'EUR', 1], by: 'allocations_live_key' },
  ])
  refuses('an allocation of nothing, or below, is none', [
    { sql: allocate, values: (of) => [of.payment, of.adjusted, 'EUR', 0], by: 'allocations_amount_minor_check' },
    { sql: allocate, values: (of) => [of.payment, of.adjusted, 'EUR', -5], by: 'allocations_amount_minor_check' },
  ])
  refuses('an invoice cannot be paid beyond its total', [
    {
      sql: (of) => [
        allocateTo(of.moved, of.invoice, 6_001),
        `update invoices set paid_minor = 10001 where id = '${of.invoice}'`,
      ],
      by: 'invoices_sum_check',
    },
    {
      sql: (of) => [
        allocateTo(of.moved, of.invoice, 6_000),
        `update invoices set paid_minor = 10000 where id = '${of.invoice}'`,
      ],
      by: ALLOWED,
    },
  ])
  refuses('a payment cannot be applied beyond what was received', [
    {
      sql: (of) => [
        allocateTo(of.payment, of.adjusted, 1),
        `update payments set applied_minor = 4001 where id = '${of.payment}'`,
      ],
      by: 'payments_sum_check',
    },
  ])
  refuses('a payment cannot go back beyond what was received, nor while it lies on an invoice', [
    {
      sql: (of) => [addReturn(of.moved, 1), `update payments set returned_minor = 401 where id = '${of.moved}'`],
      by: 'payments_sum_check',
    },
    {
      sql: (of) => [addReturn(of.moved, 9_000), `update payments set returned_minor = 9400 where id = '${of.moved}'`],
      by: 'policy payments_counters',
    },
  ])
  for (const counter of ['paid_minor', 'credited_minor', 'adjusted_minor']) {
    const move = `update invoices set ${counter} = ${counter} + $2 where id = $1`
    refuses(`invoices.${counter} cannot be moved without a row that it adds up`, [
      { sql: move, values: (of) => [of.adjusted, 1], by: 'policy invoices_counters' },
      { sql: move, values: (of) => [of.adjusted, 0], by: ALLOWED },
    ])
  }
  for (const counter of ['applied_minor', 'returned_minor']) {
    const move = `update payments set ${counter} = ${counter} + $2 where id = $1`
    refuses(`payments.${counter} cannot be moved without a row that it adds up`, [
      { sql: move, values: (of) => [of.moved, -1], by: 'policy payments_counters' },
      { sql: move, values: (of) => [of.moved, 0], by: ALLOWED },
    ])
  }
  refuses('a counter that missed a row cannot be written again before it counts it', [
    {
      sql: (of) => [
        allocateTo(of.payment, of.adjusted, 1),
        `update invoices set version = version + 1 where id = '${of.adjusted}'`,
      ],
      by: 'policy invoices_counters',
    },
    {
      sql: (of) => [addReturn(of.payment, 1), `update payments set version = version + 1 where id = '${of.payment}'`],
      by: 'policy payments_counters',
    },
  ])
  const takeBack = (table: string, where: string) =>
    `update ${table} set reversed_at = now(), reversal_reason = 'again' where ${where}`
  refuses('an allocation is taken back once, with a reason, and never given back', [
    { sql: takeBack('allocations', 'reversed_at is not null'), by: UNCHANGED },
    { sql: takeBack('allocations', 'reversed_at is null'), by: ALLOWED },
    {
      sql: 'update allocations set reversed_at = null, reversal_reason = null where reversed_at is not null',
      by: UNCHANGED,
    },
    { sql: 'update allocations set reversed_at = now()', by: 'allocations_reversed_check' },
    { sql: `update allocations set reversal_reason = null`, by: 'policy allocations_reversed_once' },
  ])
  refuses('an adjustment is taken back once, with a reason, and never given back', [
    { sql: takeBack('invoice_adjustments', 'reversed_at is not null'), by: UNCHANGED },
    { sql: takeBack('invoice_adjustments', 'reversed_at is null'), by: ALLOWED },
    {
      sql: 'update invoice_adjustments set reversed_at = null, reversal_reason = null where reversed_at is not null',
      by: UNCHANGED,
    },
    { sql: 'update invoice_adjustments set reversed_at = now()', by: 'invoice_adjustments_reversed_check' },
    { sql: `update invoice_adjustments set reversal_reason = null`, by: 'policy invoice_adjustments_reversed_once' },
  ])
  const credit = `insert into credit_allocations (id, organization_id, credit_note_id, invoice_id, currency, amount_minor, event_id, created_at)
    select gen_random_uuid(), organization_id, $1, $2, 'EUR', $3, event_id, now() from payments limit 1`
  refuses('an invoice credits nothing, and a credit note is credited by nothing', [
    { sql: credit, values: (of) => [of.invoice, of.adjusted, 1], by: 'policy credit_allocations_types' },
    { sql: credit, values: (of) => [of.creditNote, of.creditNote, 1], by: 'policy credit_allocations_types' },
  ])
  refuses('a credit note credits one invoice, once, and not by nothing', [
    { sql: credit, values: (of) => [of.creditNote, of.credited, 1], by: 'credit_allocations_pkey' },
    { sql: credit, values: (of) => [of.creditNote, of.adjusted, 1], by: 'credit_allocations_pkey' },
    { sql: credit, values: (of) => [of.creditNote, of.adjusted, 0], by: 'credit_allocations_amount_minor_check' },
  ])
  refuses('a credit note is never paid and never adjusted', [
    {
      sql: (of) => [
        allocateTo(of.moved, of.creditNote, 1),
        `update invoices set paid_minor = 1 where id = '${of.creditNote}'`,
      ],
      by: 'invoices_credit_note_check',
    },
    {
      sql: (of) => [
        `insert into invoice_adjustments (id, organization_id, invoice_id, currency, kind, amount_minor, event_id, created_at)
         select gen_random_uuid(), organization_id, '${of.creditNote}', 'EUR', 'fee', 1, event_id, now() from payments limit 1`,
        `update invoices set adjusted_minor = 1 where id = '${of.creditNote}'`,
      ],
      by: 'invoices_credit_note_check',
    },
  ])
})

const copyPayment = `insert into payments (id, organization_id, source, external_id, kind, event_id, amount_minor, currency, recorded_at)
  select gen_random_uuid(), organization_id, source, $2, kind, event_id, $3, currency, now() from payments where id = $1`
const copyReturn = `insert into payment_returns (id, organization_id, source, external_id, kind, return_id, original_id,
    original_source, event_id, amount_minor, currency, recorded_at)
  select gen_random_uuid(), organization_id, source, coalesce($1, external_id), kind, return_id, original_id, original_source,
    event_id, $2, currency, now() from payment_returns`

chapter('a thing is there once', (refuses) => {
  refuses('one payment cannot be on record twice', [
    {
      sql: copyPayment.replace('$2', 'external_id').replace('$3', '$2'),
      values: (of) => [of.payment, 5],
      by: 'payments_external_id_key',
    },
    { sql: copyPayment, values: (of) => [of.payment, 'pi_new', 5], by: ALLOWED },
  ])
  refuses('one refund or dispute movement cannot be on record twice', [
    { sql: copyReturn, values: () => [null, 5], by: 'payment_returns_external_id_key' },
    { sql: copyReturn, values: () => ['re_new', 5], by: ALLOWED },
  ])
  refuses('a payment without an amount, or below zero, is none, and neither is a movement', [
    { sql: copyPayment, values: (of) => [of.payment, 'pi_new', 0], by: 'payments_amount_minor_check' },
    { sql: copyPayment, values: (of) => [of.payment, 'pi_new', -5], by: 'payments_amount_minor_check' },
    { sql: copyReturn, values: () => ['re_new', 0], by: 'payment_returns_amount_minor_check' },
    { sql: copyReturn, values: () => ['re_new', -5], by: 'payment_returns_amount_minor_check' },
  ])
  refuses('one event cannot be on record twice', [
    {
      sql: `insert into events (id, organization_id, source, kind, external_id, state, holder, first_arrived_at, last_arrived_at, started_at, finished_at)
        select gen_random_uuid(), organization_id, source, kind, external_id, state, holder, now(), now(), now(), now() from events where id = $1`,
      values: (of) => [of.event],
      by: 'events_external_id_key',
    },
  ])
  refuses('an event cannot be finished and unfinished at once', [
    {
      sql: `update events set state = 'in_progress' where id = $1`,
      values: (of) => [of.event],
      by: 'events_state_check',
    },
    { sql: `update events set state = 'done' where id = $1`, values: (of) => [of.event], by: 'events_state_check' },
  ])
  refuses('a question cannot be decided by nobody', [
    {
      sql: `update review_items set state = 'decided', decided_at = now(), decision = 'dismissed' where id = $1`,
      values: (of) => [of.reviewItem],
      by: 'review_items_decided_check',
    },
    {
      sql: `update review_items set state = 'decided' where id = $1`,
      values: (of) => [of.reviewItem],
      by: 'review_items_decided_check',
    },
  ])
})

const onInvoice = (change: string) => `update invoices set ${change} where id = $1`

chapter('documents keep their order', (refuses) => {
  refuses('the total of an issued invoice cannot be edited', [
    { sql: onInvoice('total_minor = total_minor + 1'), values: (of) => [of.adjusted], by: 'invoices_issued_fkey' },
    { sql: onInvoice('total_minor = total_minor + 1'), values: (of) => [of.draft], by: ALLOWED },
  ])
  refuses('currency, number, sequence, series and date of an issued invoice cannot be edited', [
    { sql: onInvoice(`currency = 'CHF'`), values: (of) => [of.otherInvoice], by: 'invoice_lines_invoice_fkey' },
    { sql: onInvoice(`number = 'RE-99999'`), values: (of) => [of.otherInvoice], by: 'invoices_issued_fkey' },
    { sql: onInvoice('sequence = 99999'), values: (of) => [of.otherInvoice], by: 'invoices_issued_fkey' },
    { sql: onInvoice(`series = 'other'`), values: (of) => [of.otherInvoice], by: 'invoices_issued_fkey' },
    { sql: onInvoice('issued_at = now()'), values: (of) => [of.otherInvoice], by: 'invoices_issued_fkey' },
  ])
  refuses('two invoices cannot have one number', [
    {
      sql: onInvoice('number = (select number from invoices where id = $2)'),
      values: (of) => [of.otherInvoice, of.invoice],
      by: 'invoices_number_key',
    },
    {
      sql: onInvoice('sequence = (select sequence from invoices where id = $2)'),
      values: (of) => [of.otherInvoice, of.invoice],
      by: 'invoices_sequence_key',
    },
  ])
  const withoutNumber = 'number = null, sequence = null, series = null, issued_at = null'
  refuses('an issued invoice cannot lose its number, and is no draft again', [
    { sql: onInvoice('number = null'), values: (of) => [of.otherInvoice], by: 'policy invoices_issued_once' },
    { sql: onInvoice(`lifecycle = 'draft'`), values: (of) => [of.otherInvoice], by: 'invoices_number_check' },
    {
      sql: onInvoice(`lifecycle = 'draft', ${withoutNumber}`),
      values: (of) => [of.otherInvoice],
      by: 'policy invoices_issued_once',
    },
    {
      sql: onInvoice(`lifecycle = 'void', ${withoutNumber}`),
      values: (of) => [of.otherInvoice],
      by: 'policy invoices_issued_once',
    },
    { sql: onInvoice(`lifecycle = 'void'`), values: (of) => [of.otherInvoice], by: ALLOWED },
  ])
  refuses('a void invoice stays as it is', [
    { sql: onInvoice(`lifecycle = 'issued'`), values: (of) => [of.voided], by: UNCHANGED },
    { sql: onInvoice('version = version + 1'), values: (of) => [of.voided], by: UNCHANGED },
  ])
  refuses('an invoice that is paid, credited or adjusted cannot be void', [
    { sql: onInvoice(`lifecycle = 'void'`), values: (of) => [of.invoice], by: 'invoices_number_check' },
    { sql: onInvoice(`lifecycle = 'void'`), values: (of) => [of.credited], by: 'invoices_number_check' },
    { sql: onInvoice(`lifecycle = 'void'`), values: (of) => [of.adjusted], by: 'invoices_number_check' },
  ])
  const addLine = `insert into invoice_lines (invoice_id, organization_id, currency, position, description, quantity, unit_price_minor, tax_percent, net_minor)
    select id, organization_id, currency, 99, 'More', 1, 1, 0, 1 from invoices where id = $1`
  const removeLines = 'delete from invoice_lines where invoice_id = $1'
  refuses('lines of an issued or void invoice cannot be added and not taken away', [
    { sql: addLine, values: (of) => [of.invoice], by: 'policy invoice_lines_of_drafts' },
    { sql: addLine, values: (of) => [of.voided], by: 'policy invoice_lines_of_drafts' },
    { sql: addLine, values: (of) => [of.draft], by: ALLOWED },
    { sql: removeLines, values: (of) => [of.invoice], by: UNCHANGED },
    { sql: removeLines, values: (of) => [of.voided], by: UNCHANGED },
    { sql: removeLines, values: (of) => [of.draft], by: ALLOWED },
  ])
  const begin = (columns: string, values: string) =>
    `insert into invoices (id, organization_id, currency, total_minor, created_at${columns})
     select gen_random_uuid(), organization_id, 'EUR', 500, now()${values} from invoices where id = $1`
  refuses('an invoice begins as a draft with nothing on it', [
    {
      sql: begin(', lifecycle, number, sequence, series, issued_at', `, 'issued', 'RE-77777', 77777, 'invoice', now()`),
      values: (of) => [of.draft],
      by: 'policy invoices_begin_as_drafts',
    },
    { sql: begin(', lifecycle', `, 'void'`), values: (of) => [of.draft], by: 'policy invoices_begin_as_drafts' },
    { sql: begin('', ''), values: (of) => [of.draft], by: ALLOWED },
  ])
  refuses('what an invoice said when it was issued is said once', [
    {
      sql: `insert into issued_documents select invoice_id, organization_id, currency, total_minor, 'RE-77777', 77777, series, issued_at, content
        from issued_documents where invoice_id = $1`,
      values: (of) => [of.invoice],
      by: 'issued_documents_pkey',
    },
  ])
})

chapter('contacts stay apart', (refuses) => {
  const addPoint = `insert into contact_points (id, organization_id, contact_id, kind, value, is_shared, created_at)
    select gen_random_uuid(), organization_id, $1, kind, value, $2, now() from contact_points where value = '+4930123456'`
  const ofPerson = addPoint.replace('$1', `(select id from contacts where type = 'person')`).replace('$2', '$1')
  refuses('two contacts cannot have one contact point, and one contact not twice', [
    { sql: ofPerson, values: () => [false], by: 'contact_points_identity_key' },
    { sql: ofPerson, values: () => [true], by: ALLOWED },
    { sql: addPoint, values: (of) => [of.company, true], by: 'contact_points_own_key' },
  ])
  const remove = 'update contact_points set removed_at = now()'
  refuses('a contact point that was taken away cannot be given back', [
    { sql: () => [remove, 'update contact_points set removed_at = null'], by: UNCHANGED },
    { sql: 'update contact_points set removed_at = null', by: 'policy contact_points_removed_once' },
    { sql: remove, by: ALLOWED },
  ])
  refuses('a company belongs to no company, and a person is none', [
    {
      sql: `update contacts set company_id = $1 where type = 'company'`,
      values: (of) => [of.company],
      by: 'contacts_company_check',
    },
    { sql: `update contacts set company_id = id where type = 'person'`, by: 'contacts_company_fkey' },
  ])
  refuses('a person, a contact point and a deal cannot be with a contact of another organisation', [
    {
      sql: `update contacts set company_id = $1 where type = 'person'`,
      values: () => [theirs.company],
      by: 'contacts_company_fkey',
    },
    {
      sql: addPoint.replace('$1, kind, value', `$1, kind, 'new'`),
      values: () => [theirs.company, false],
      by: 'contact_points_contact_fkey',
    },
    { sql: 'update deals set contact_id = $1', values: () => [theirs.company], by: 'deals_contact_fkey' },
  ])
  refuses('a deal is closed while it is won or lost, and then only', [
    { sql: `update deals set stage = 'won'`, by: 'deals_closed_check' },
    { sql: 'update deals set closed_at = now()', by: 'deals_closed_check' },
  ])
})

chapter('who was let in, and with what', (refuses) => {
  refuses('a key that is valid again, or revoked anew', [
    { sql: `update api_keys set revoked_at = now() where revoked_at is null`, by: ALLOWED },
    {
      sql: () => [`update api_keys set revoked_at = now()`, `update api_keys set revoked_at = null`],
      by: UNCHANGED,
    },
  ])
  refuses('a key that may more than there is, or nothing', [
    { sql: key(`'{everything}'`), by: 'api_keys_scopes_check' },
    { sql: key(`'{}'`), by: 'api_keys_scopes_check' },
    { sql: key(`'{read}'`), by: ALLOWED },
  ])
  refuses('an accepted invitation that is changed', [
    { sql: `update invitations set cancelled_at = now() where accepted_at is null`, by: ALLOWED },
    { sql: `update invitations set link_hash = 'other' where accepted_at is not null`, by: UNCHANGED },
  ])
  refuses('a second open invitation of one address', [
    { sql: invitation('open@example.org'), by: 'invitations_open_key' },
    { sql: invitation('came@example.org'), by: ALLOWED },
  ])
  refuses('a role that there is not', [
    { sql: `update members set role = 'root'`, by: 'members_role_check' },
    { sql: `update members set role = 'owner'`, by: ALLOWED },
  ])
})

// A policy sees one row as it would be: not the other rows of its transaction, and not the row as it was.
chapter('what the database alone lets through', (refuses) => {
  refuses('a ledger row that nobody counts, also one on a draft or on a credit note', [
    { sql: allocate, values: (of) => [of.payment, of.adjusted, 'EUR', 1], by: ALLOWED },
    { sql: allocate, values: (of) => [of.payment, of.draft, 'EUR', 1], by: ALLOWED },
    { sql: allocate, values: (of) => [of.payment, of.creditNote, 'EUR', 1], by: ALLOWED },
  ])
  refuses('a new payment whose counters say what no row does', [
    {
      sql: `insert into payments (id, organization_id, source, external_id, kind, event_id, amount_minor, currency, applied_minor, recorded_at)
        select gen_random_uuid(), organization_id, source, 'pi_new', kind, event_id, 5, currency, 5, now() from payments where id = $1`,
      values: (of) => [of.payment],
      by: ALLOWED,
    },
  ])
  refuses('contact, due date, discount and notes of an issued invoice; its issued document keeps what it said', [
    {
      sql: onInvoice(`contact_id = null, due_on = now(), discount_percent = 50, notes = 'other'`),
      values: (of) => [of.otherInvoice],
      by: ALLOWED,
    },
  ])
})

const PAGE = 'docs/forbidden-writes.md'

test(`${PAGE} says the same as these tests`, async () => {
  const text = await readFile(join(import.meta.dirname, '..', PAGE), 'utf8')
  const written = text
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [heading = '', ...lines] = part.split('\n')
      const rows = lines.filter((line) => line.startsWith('| ')).slice(2)
      return [heading, ...rows]
    })
  const tested = [...chapters].map(([heading, rows]) => [
    heading.replace(/^./, (letter) => letter.toUpperCase()),
    ...rows.map(({ write, by }) => `| ${write} | ${by.map(shown).join(', ')} |`),
  ])
  expect(written).toEqual(tested)
})

/** Names of the schema as code, words as words. */
function shown(by: string): string {
  return by.replace(/\b[a-z]+(_[a-z]+)+\b/g, (name) => `\`${name}\``)
}
