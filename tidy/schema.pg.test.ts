/** House rules of the schema, asked of a migrated database and not of the text of the migrations. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../apps/office/test/support/test-database.ts'

let database: TestDatabase
let owner: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  owner = new pg.Client({ connectionString: database.ownerUrl })
  await owner.connect()
})

afterAll(async () => {
  await owner.end()
  await database.drop()
})

async function list(text: string, values: unknown[] = []): Promise<string[]> {
  const { rows } = await owner.query<Record<string, unknown>>({ text, values })
  return rows.map((row) => Object.values(row).join(' '))
}

/** Directories: whose an address is, and whose work is due. Read before the organisation is known, so they have no policy. */
const directories = ['due_work', 'webhook_endpoints']

/** Every column that the server's role may change. A fact's own columns are never here. */
const changeable = [
  'allocations.reversal_reason',
  'allocations.reversed_at',
  'api_keys.revoked_at',
  'contact_points.removed_at',
  'contacts.city',
  'contacts.company_id',
  'contacts.country',
  'contacts.name',
  'contacts.postal_code',
  'contacts.search_name',
  'contacts.street',
  'contacts.tax_id',
  'contacts.version',
  'deals.amount_minor',
  'deals.closed_at',
  'deals.contact_id',
  'deals.currency',
  'deals.expected_on',
  'deals.stage',
  'deals.title',
  'deals.version',
  'delivery_bodies.body',
  'due_work.due_at',
  'events.answer',
  'events.attempt',
  'events.copies',
  'events.error_code',
  'events.error_message',
  'events.finished_at',
  'events.holder',
  'events.is_final',
  'events.last_arrived_at',
  'events.lease_until',
  'events.next_attempt_at',
  'events.started_at',
  'events.state',
  'events.target_capability',
  'events.target_id',
  'events.target_type',
  'events_windows.opened_at',
  'events_windows.ordinal',
  'integrations.is_enabled',
  'integrations.label',
  'integrations.settings',
  // Sent again, an invitation has another link.
  'invitations.cancelled_at',
  'invitations.expires_at',
  'invitations.link_hash',
  'invoice_adjustments.reversal_reason',
  'invoice_adjustments.reversed_at',
  'invoices.adjusted_minor',
  'invoices.contact_id',
  'invoices.credited_minor',
  // Of a draft: an issued invoice points at what it said, with its currency and its total.
  'invoices.currency',
  'invoices.discount_percent',
  'invoices.due_on',
  'invoices.issued_at',
  'invoices.lifecycle',
  'invoices.notes',
  'invoices.number',
  'invoices.paid_minor',
  'invoices.sequence',
  'invoices.series',
  'invoices.settle_count',
  'invoices.total_minor',
  'invoices.version',
  // An upsert takes the lock of a subject by writing what is there.
  'members.removed_at',
  'members.role',
  'money_subjects.source',
  'notifications.read_at',
  'number_series.next_sequence',
  'payments.applied_minor',
  'payments.contact_id',
  'payments.invoice_reference',
  'payments.is_placed_by_hand',
  'payments.returned_minor',
  'payments.version',
  // Asked again, a question tells of its new occasion.
  'review_items.data',
  'review_items.decided_at',
  'review_items.decided_by',
  'review_items.decision',
  'review_items.delivery_id',
  'review_items.event_id',
  'review_items.note',
  'review_items.state',
]

/** A key and the table it is on, with the names of its columns in order. */
const keys = `
  select t.relname as table, c.conname as name, c.contype as type, f.relname as referenced,
    (select array_agg(a.attname::text order by k.position) from unnest(c.conkey) with ordinality as k (number, position)
      join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = k.number) as columns,
    (select a.attname from pg_attribute as a where a.attrelid = c.confrelid and a.attnum = c.confkey[1]) as points_at,
    exists (select from pg_index as i where i.indrelid = c.confrelid and i.indisvalid and i.indkey[0] = c.confkey[1]) as is_indexed
  from pg_constraint as c join pg_class as t on t.oid = c.conrelid left join pg_class as f on f.oid = c.confrelid
  where t.relnamespace = 'public'::regnamespace and c.contype in ('p', 'u', 'f') and t.relname <> 'migrations'`

interface Key {
  table: string
  name: string
  type: 'p' | 'u' | 'f'
  referenced: string | null
  columns: string[]
  is_indexed: boolean
}

test('every table with an organisation has row-level security, forced, with a policy for all commands', async () => {
  const unprotected = await list(`
    select t.relname from pg_class as t
    where t.relkind in ('r', 'p') and t.relnamespace = 'public'::regnamespace
      and exists (select from pg_attribute as a where a.attrelid = t.oid and a.attname = 'organization_id')
      and not (t.relrowsecurity and t.relforcerowsecurity and exists (
        select from pg_policy as p where p.polrelid = t.oid and p.polcmd = '*' and 0 = any(p.polroles)
          and regexp_replace(pg_get_expr(p.polqual, p.polrelid), '\\s+', ' ', 'g')
            like '(organization_id = ( SELECT (NULLIF(current_setting(%einmal.organization_id%, ''''::text))::uuid AS %))'))
    order by 1`)
  expect(unprotected).toEqual(directories)
})

test('every table without an organisation is known', async () => {
  const tables = await list(`
    select t.relname from pg_class as t
    where t.relkind in ('r', 'p') and t.relnamespace = 'public'::regnamespace
      and not exists (select from pg_attribute as a where a.attrelid = t.oid and a.attname = 'organization_id')`)
  // The root: which organisation one is in is said by the others.
  expect(tables.toSorted()).toEqual(['migrations', 'organizations'])
})

test('every key of a tenant table holds the organisation, behind a selective column', async () => {
  const { rows } = await owner.query<Key>(keys)
  expect(rows.length).toBeGreaterThan(30)
  const wrong = rows
    .filter(({ table, type }) => !(directories.includes(table) && type === 'p'))
    // The one key that is an organisation: it leads out of the tenant's tables, to the organisation itself.
    .filter(({ referenced }) => referenced !== 'organizations')
    // A person belongs to no organisation; that they are a member of one is what the row says.
    .filter(({ name }) => name !== 'members_user_id_fkey')
    .filter(({ table }) => table !== 'organizations')
    .filter(({ columns }) => columns.indexOf('organization_id') < 1)
  expect(wrong).toEqual([])
})

test('every unique index of a tenant table holds the organisation, behind a selective column', async () => {
  const wrong = await list(
    `select i.indexrelid::regclass from pg_index as i join pg_class as t on t.oid = i.indrelid
     where t.relnamespace = 'public'::regnamespace and i.indisunique and t.relname not in ('migrations', 'organizations') and t.relname <> all($1)
       and coalesce(array_position(i.indkey::int2[], (select attnum from pg_attribute
         where attrelid = t.oid and attname = 'organization_id')), 0) < 1`,
    [directories],
  )
  expect(wrong).toEqual([])
})

test('every foreign key finds the row it points at by the first column of an index', async () => {
  const { rows } = await owner.query<Key>(keys)
  const foreign = rows.filter(({ type }) => type === 'f')
  expect(foreign.length).toBeGreaterThan(10)
  expect(foreign.filter((key) => !key.is_indexed)).toEqual([])
})

test('the server’s role owns nothing, passes no policy by and is a member of nothing', async () => {
  expect(
    await list(`
      select rolname, 'super' from pg_roles where rolname = 'einmal_office' and (rolsuper or rolbypassrls or rolcreaterole
        or rolcreatedb or rolreplication or rolcanlogin)
      union all select relname, 'owned' from pg_class where relowner = 'einmal_office'::regrole
      union all select nspname, 'owned' from pg_namespace where nspowner = 'einmal_office'::regrole
      union all select proname, 'owned' from pg_proc where proowner = 'einmal_office'::regrole
      union all select datname, 'owned' from pg_database where datdba = 'einmal_office'::regrole
      union all select roleid::regrole::text, 'member' from pg_auth_members where member = 'einmal_office'::regrole`),
  ).toEqual([])
  expect(await list(`select has_schema_privilege('einmal_office', 'public', 'create')`)).toEqual(['false'])
})

test('the server’s role can empty nothing, and delete nothing but lines, which a policy keeps to those of drafts', async () => {
  expect(
    await list(`
      select t.oid::regclass, p from pg_class as t, unnest(array['DELETE', 'TRUNCATE', 'TRIGGER', 'REFERENCES']) as p
      where t.relkind in ('r', 'p', 'v') and t.relnamespace in ('public'::regnamespace, 'auth'::regnamespace)
        and has_table_privilege('einmal_office', t.oid, p)`),
  ).toEqual(['invoice_lines DELETE'])
  expect(
    await list(`select polname from pg_policy where polrelid = 'invoice_lines'::regclass and polcmd = 'd'`),
  ).toEqual(['invoice_lines_of_drafts_removed'])
})

/** Policies that hold a writer to what is there, beside the one of each table that keeps organisations apart. */
const holding = [
  'allocations_reversed_once w',
  'api_keys_revoked_once w',
  'contact_points_removed_once w',
  'credit_allocations_types a',
  'invitations_ended_once w',
  'invoice_adjustments_reversed_once w',
  'invoice_lines_of_drafts a',
  'invoice_lines_of_drafts_removed d',
  'invoices_begin_as_drafts a',
  'invoices_counters w',
  'invoices_issued_once w',
  'payments_counters w',
]

test('policies that hold a writer to what is there bind together with that of the organisation, and are written down', async () => {
  // The one that lets the sign-in read to which organisations a person belongs has a test of its own.
  const further = `polname <> (polrelid::regclass || '_tenant') and polname <> 'members_of_person'`
  expect(await list(`select polname, polcmd from pg_policy where ${further} order by 1`)).toEqual(holding)
  // A permissive one would be another way in.
  expect(await list(`select polname from pg_policy where ${further} and polpermissive`)).toEqual([])
  expect(
    await list(`select polname from pg_policy where ${further} and not 'einmal_office'::regrole::oid = any (polroles)`),
  ).toEqual([])
})

test('the server’s role can change exactly the columns that are written down', async () => {
  const columns = await list(`
    select t.relname || '.' || a.attname from pg_class as t join pg_attribute as a on a.attrelid = t.oid
    where t.relkind in ('r', 'p') and t.relnamespace in ('public'::regnamespace, 'auth'::regnamespace) and a.attnum > 0
      and not a.attisdropped and has_column_privilege('einmal_office', t.oid, a.attnum, 'UPDATE')`)
  expect(columns.toSorted()).toEqual(changeable)
})

test('the server’s role sees no password, no session and no secret of the sign-in', async () => {
  const readable = await list(`
    select t.relname || '.' || a.attname from pg_class as t join pg_attribute as a on a.attrelid = t.oid
    where t.relnamespace = 'auth'::regnamespace and t.relkind = 'r' and a.attnum > 0
      and has_column_privilege('einmal_office', t.oid, a.attnum, 'SELECT')`)
  const tables = new Set(readable.map((column) => column.split('.')[0]))
  expect([...tables].toSorted()).toEqual(['user'])
  expect(readable.filter((column) => /password|token|secret|refresh|codes/i.test(column))).toEqual([])
})

test('the role of the sign-in enters people and reads who belongs where; of the office it sees nothing', async () => {
  expect(
    await list(`
      select t.relname, p from pg_class as t, unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as p
      where t.relkind in ('r', 'p') and t.relnamespace = 'public'::regnamespace
        and (has_table_privilege('einmal_auth', t.oid, p) or (p <> 'DELETE' and has_any_column_privilege('einmal_auth', t.oid, p)))
      order by 1, 2`),
  ).toEqual([
    'audit_entries INSERT',
    'invitations SELECT',
    'invitations UPDATE',
    'members INSERT',
    'members SELECT',
    'members UPDATE',
    'organizations INSERT',
    'organizations SELECT',
  ])
  // Beyond the organisation that is set, it reads who belongs where, and nothing else.
  expect(
    await list(`select polname, polcmd from pg_policy
      where 'einmal_auth'::regrole::oid = any (polroles) and polpermissive`),
  ).toEqual(['members_of_person r'])
})

test('there are no triggers and no rules', async () => {
  expect(await list(`select tgname, tgrelid::regclass from pg_trigger where not tgisinternal`)).toEqual([])
  expect(
    await list(`select r.rulename from pg_rewrite as r join pg_class as t on t.oid = r.ev_class
      where t.relkind = 'r' and t.relnamespace in ('public'::regnamespace, 'auth'::regnamespace)`),
  ).toEqual([])
})

test('an amount is a bigint, with its currency in the same row', async () => {
  const columns = await list(`
    select t.relname || '.' || a.attname, a.atttypid::regtype, exists (select from pg_attribute as c
      where c.attrelid = t.oid and c.attname = 'currency' and c.attnotnull) as has_currency
    from pg_class as t join pg_attribute as a on a.attrelid = t.oid
    where t.relkind in ('r', 'p') and t.relnamespace = 'public'::regnamespace and a.attname like '%\\_minor'`)
  expect(columns.length).toBeGreaterThan(8)
  const wrong = columns.filter((column) => !column.endsWith(' bigint true'))
  // The price of one unit may be finer than the smallest unit of the currency; what is owed for the line is not.
  expect(wrong).toEqual(['invoice_lines.unit_price_minor numeric true'])
})

test('no column holds a float', async () => {
  expect(
    await list(`
      select t.relname, a.attname from pg_class as t join pg_attribute as a on a.attrelid = t.oid
      where t.relnamespace = 'public'::regnamespace and t.relkind = 'r'
        and a.atttypid in ('real'::regtype, 'double precision'::regtype, 'money'::regtype)`),
  ).toEqual([])
})

test('a moment carries its zone', async () => {
  expect(
    await list(`
      select t.relname, a.attname from pg_class as t join pg_attribute as a on a.attrelid = t.oid
      where t.relnamespace = 'public'::regnamespace and t.relkind = 'r' and a.atttypid = 'timestamp'::regtype`),
  ).toEqual([])
})

test('a constraint is named after its table', async () => {
  expect(
    await list(`
      select t.relname, c.conname from pg_constraint as c join pg_class as t on t.oid = c.conrelid
      where t.relnamespace = 'public'::regnamespace and not starts_with(c.conname, t.relname || '_')`),
  ).toEqual([])
  expect(
    await list(`
      select t.relname, x.relname from pg_index as i join pg_class as t on t.oid = i.indrelid
      join pg_class as x on x.oid = i.indexrelid
      where t.relnamespace = 'public'::regnamespace and not starts_with(x.relname, t.relname || '_')`),
  ).toEqual([])
})

/** Words of ours, made of small letters and digits: no two collations can disagree about them. */
const ownWords = [
  'domain_events.type',
  'invoices.number',
  'invoices.series',
  'issued_documents.number',
  'issued_documents.series',
  'number_series.name',
  'payment_returns.kind',
  'payments.kind',
]

test('text that names something is compared byte by byte', async () => {
  const columns = await list(`
    select distinct t.relname || '.' || a.attname from pg_index as i join pg_class as t on t.oid = i.indrelid
    join pg_attribute as a on a.attrelid = t.oid and a.attnum = any(i.indkey)
    join pg_collation as c on c.oid = a.attcollation
    where t.relnamespace = 'public'::regnamespace and t.relname <> 'migrations' and i.indisunique
      and a.atttypid = 'text'::regtype and c.collname <> 'C'`)
  expect(columns.toSorted()).toEqual(ownWords)
})
