/**
 * Tenancy of every table, made from the catalogue of the database: a new table, foreign key or pointer is found by itself, and
 * asks for rows or for a reason.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findForgedKeys } from '../support/forged-keys.ts'
import { findLeakingPointers, findUnlistedPointers, type LoosePointer } from '../support/loose-pointers.ts'
import { listBypasses } from '../support/tenancy-catalogue.ts'
import { findMissingRows, findReadableRows, findWritableRows } from '../support/tenancy-rows.ts'
import { attempt, becomeServer, describeOutcome, inTrial, type Outcome, type Trial } from '../support/tenancy-trial.ts'
import { createTwoOrganizations, type TwoOrganizations } from '../support/two-organizations.ts'

/** They answer what has to be known before the organisation is. A reason for each; no other table goes without a policy. */
const directories = new Map([
  ['due_work', 'whose work is due: an organisation and a time'],
  ['webhook_endpoints', 'whose an address is: opaque ids and the name of a provider'],
])

const knownKeys = {
  ownerless: new Map([
    ['auth."user"', 'a person belongs to no organisation; that they are a member of one is what the row says'],
  ]),
  notInserted: new Map([
    [
      'invoices_issued_fkey',
      'the server inserts drafts, whose number is null; it issues them by an update, tried by hand below',
    ],
  ]),
}

const event = { names: ['events.id'], reason: 'of the trail: looked up under the policy of events' }
const sourceName = 'a name that its source gave, looked up with source and organisation'
const subjects = ['contacts.id', 'deals.id', 'invoices.id', 'payments.id', 'payment_returns.id']

const loosePointers = new Map<string, LoosePointer>([
  ['activities.event_id', event],
  [
    'activities.subject_id',
    { names: subjects, reason: 'of the trail: a time line is read by the subject that was asked for' },
  ],
  ['allocations.event_id', event],
  [
    'audit_entries.actor_id',
    { names: ['members.id', 'api_keys.id'], reason: 'of the trail: names are looked up with the organisation' },
  ],
  ['audit_entries.subject_id', { names: subjects, reason: 'of the trail: read by the subject that was asked for' }],
  [
    'invitations.link_hash',
    { names: [], reason: 'of a secret: looked up under the policy of the organisation it names' },
  ],
  ['contacts.tax_id', { names: [], reason: 'a number of the tax office' }],
  ['credit_allocations.event_id', event],
  ['deliveries.body_hash', { names: ['delivery_bodies.hash'], reason: 'of the trail: bodies have a policy' }],
  [
    'deliveries.endpoint_id',
    { names: ['webhook_endpoints.id'], reason: 'the directory has no policy: its one join carries the organisation' },
  ],
  ['delivery_events.delivery_id', { names: ['deliveries.id'], reason: 'of the trail: deliveries have a policy' }],
  ['delivery_events.event_id', event],
  ['domain_events.event_id', event],
  ['domain_events.subject_id', { names: subjects, reason: 'of the trail: every subject has a policy' }],
  ['events.external_id', { names: [], reason: sourceName }],
  ['events.target_id', { names: subjects, reason: 'text that may name a thing outside; every subject has a policy' }],
  ['events_notes.event_id', event],
  ['invoice_adjustments.event_id', event],
  ['invoices.copied_from_id', { names: ['invoices.id'], reason: 'a pointer for people: invoices have a policy' }],
  ['issued_documents.invoice_id', { names: ['invoices.id'], reason: 'the invoice points here by a key of its own' }],
  ['money_subjects.external_id', { names: ['payments.external_id'], reason: sourceName }],
  ['notifications.event_id', event],
  ['notifications.recipient_id', { names: [], reason: 'a person, who asks for their own; joined with nothing' }],
  ['payment_returns.event_id', event],
  ['payment_returns.external_id', { names: [], reason: sourceName }],
  [
    'payment_returns.original_id',
    { names: ['payments.external_id', 'money_subjects.external_id'], reason: sourceName },
  ],
  ['payment_returns.return_id', { names: [], reason: sourceName }],
  ['payments.event_id', event],
  [
    'payments.external_id',
    { names: ['payment_returns.original_id', 'money_subjects.external_id'], reason: sourceName },
  ],
])

let place: TwoOrganizations

beforeAll(async () => {
  place = await createTwoOrganizations()
})

afterAll(async () => {
  await place?.close()
})

function trial<T>(work: (trial: Trial) => Promise<T>, change = 'select'): Promise<T> {
  return inTrial({ ...place, directories: new Set(directories.keys()) }, change, work)
}

const forgedKeys = (each: Trial) => findForgedKeys(each, knownKeys)
const unlistedPointers = (each: Trial) => findUnlistedPointers(each, loosePointers)
const leakingPointers = (each: Trial) => findLeakingPointers(each, loosePointers)

test('two organisations have rows in every table, so that there is something to see', async () => {
  expect(await trial(findMissingRows)).toEqual([])
})

test('a server sees the rows of its organisation, none of another, and without an organisation none at all', async () => {
  expect(await trial(findReadableRows)).toEqual([])
})

test('a connection on which no organisation was ever set sees no row of any table', async () => {
  const tables = await trial(async ({ tables }) => tables.filter(({ name }) => !directories.has(name)))
  const client = new pg.Client({ connectionString: place.officeUrl })
  await client.connect()
  await client.query('begin')
  for (const { name } of tables) {
    const outcome = await attempt(client, () => client.query(`select from ${name}`))
    expect([name, describeOutcome(outcome)]).toEqual([
      name,
      expect.stringMatching(/^(touches 0 rows|refused by no right)$/),
    ])
  }
  await client.end()
})

test('no row of another organisation can be written, changed, taken over or deleted, and none of ours handed over', async () => {
  expect(await trial(findWritableRows)).toEqual([])
})

test('in every foreign key another organisation’s id is refused, by the key or a policy, and the right one is not', async () => {
  expect(await trial(forgedKeys)).toEqual([])
})

test('a draft cannot be issued as a document of another organisation', async () => {
  const issue = (each: Trial, organizationId: string): Promise<Outcome> =>
    attempt(each.client, async () => {
      await each.client.query(
        `insert into issued_documents
         select i.id, i.organization_id, i.currency, i.total_minor, 'RE-77777', 77777, 'invoice', now(), '{}'
         from invoices as i where i.organization_id = $1 and i.lifecycle = 'draft' and i.type = 'invoice'`,
        [organizationId],
      )
      const { rows } = await each.client.query(
        `select total_minor, number, sequence, series, issued_at::text from issued_documents
         where organization_id = $1 and number = 'RE-77777'`,
        [organizationId],
      )
      await becomeServer(each.client, each.ours)
      return each.client.query(
        `update invoices set lifecycle = 'issued', total_minor = $1, number = $2, sequence = $3, series = $4, issued_at = $5
         where lifecycle = 'draft' and type = 'invoice'`,
        Object.values(rows[0] ?? {}),
      )
    })
  await trial(async (each) => {
    expect(await issue(each, each.ours)).toEqual({ rowCount: 1 })
    expect(await issue(each, each.theirs)).toEqual({ refusedBy: 'invoices_issued_fkey' })
  })
})

test('a column that names another row is in a foreign key, or listed with the reason why not', async () => {
  expect(await trial(unlistedPointers)).toEqual([])
})

test('a forged id where no foreign key stands finds nothing of another organisation', async () => {
  expect(await trial(leakingPointers)).toEqual([])
})

test('no view and no function lends the server the rights of somebody else', async () => {
  expect(await trial(({ client }) => listBypasses(client))).toEqual([])
})

const policyOfDeals = (using: string, check = using) =>
  `drop policy deals_tenant on deals; create policy deals_tenant on deals using (${using}) with check (${check})`
const isOurs = `organization_id = (select nullif(current_setting('einmal.organization_id', true), '')::uuid)`
const keyOfDeals = (columns: string, references: string) =>
  `alter table deals drop constraint deals_contact_fkey,
     add constraint deals_contact_fkey foreign key ${columns} references contacts ${references}`

/** Each breaks one thing, and names what has to be found then. */
const breaks: readonly [string, string, (trial: Trial) => Promise<string[]>, RegExp[]][] = [
  [
    'a new table without rows',
    'create table letters (id uuid primary key, organization_id uuid)',
    findMissingRows,
    [/^letters has no row that is ours/, /^letters has no row that is theirs/],
  ],
  [
    'a table of the sign-in with row-level security and without rows',
    'create table auth.letters (id uuid primary key, "organizationId" uuid); alter table auth.letters enable row level security',
    findMissingRows,
    [/^auth\.letters has no row that is ours/, /^auth\.letters has no row that is theirs/],
  ],
  [
    'row-level security without an organisation',
    'create table auth.letters (id uuid primary key); alter table auth.letters enable row level security',
    findMissingRows,
    [/^auth\.letters has row-level security, and no column/],
  ],
  [
    'a table without a primary key',
    `create table letters (organization_id uuid);
     insert into letters select id from organizations`,
    findMissingRows,
    [/^letters has no primary key/],
  ],
  [
    'a dropped policy',
    'drop policy deals_tenant on deals',
    findReadableRows,
    [/^deals: 0 of our \d+ rows can be read/],
  ],
  [
    'disabled row-level security',
    'alter table deals disable row level security',
    findReadableRows,
    [/^deals: \d+ rows of others/, /^deals: their row can be read by its key/, /^deals: \d+ rows can be read without/],
  ],
  [
    'disabled row-level security',
    'alter table deals disable row level security',
    findWritableRows,
    [
      /inserted: refused by deals_pkey/,
      /handed over: /,
      /taken over: /,
      /their rows updated: touches 1/,
      /deleted: touches 1/,
    ],
  ],
  [
    'a policy that fails where no organisation is set',
    policyOfDeals(`${isOurs} or nullif(current_setting('einmal.organization_id', true), '') is null`),
    findReadableRows,
    [/^deals: \d+ rows can be read without an organisation/],
  ],
  [
    'a policy that looks at rows as they are and not as they will be',
    policyOfDeals(isOurs, 'true'),
    findWritableRows,
    [/^deals: their row inserted: /, /^deals: our rows handed over: /],
  ],
  [
    'a policy for one command, beside the one for all',
    'create policy deals_open on deals for delete using (true); create policy deals_seen on deals for select using (true)',
    findWritableRows,
    [/^deals: their rows deleted: touches 1/],
  ],
  [
    'a foreign key that is gone',
    'alter table deals drop constraint deals_contact_fkey',
    unlistedPointers,
    [/^deals\.contact_id is in no foreign key/],
  ],
  [
    'a pointer that got a foreign key',
    'alter table payments add constraint payments_event_fkey foreign key (event_id, organization_id) references events',
    unlistedPointers,
    [/^payments\.event_id is no loose pointer/],
  ],
  [
    'a foreign key without the organisation',
    `alter table contacts add constraint contacts_id_key unique (id); ${keyOfDeals('(contact_id)', '(id)')}`,
    forgedKeys,
    [
      /^deals_contact_fkey: insert by the server: a row of another organisation is accepted/,
      /^deals_contact_fkey: insert by the owner: a row of another/,
      /^deals_contact_fkey: update by the server: a row of another/,
    ],
  ],
  [
    'a foreign key with an organisation that is not the row’s own',
    `alter table deals add column contact_organization_id uuid; update deals set contact_organization_id = organization_id;
     ${keyOfDeals('(contact_id, contact_organization_id)', '(id, organization_id)')}`,
    forgedKeys,
    [/^deals_contact_fkey: insert by the server, the organisation forged as well: a row of another/],
  ],
  [
    'a foreign key that is not looked at',
    'alter table payment_mentions disable trigger all',
    forgedKeys,
    [
      /^payment_mentions_event_fkey: insert by the server: a row/,
      /_event_fkey: insert by the owner/,
      /_payment_fkey: insert by the server/,
      /_payment_fkey: insert by the owner/,
    ],
  ],
  [
    'a unique key that refuses before the foreign key does',
    `insert into deals (id, organization_id, title, contact_id, stage, currency, amount_minor, created_at)
       select gen_random_uuid(), organization_id, 'Other', id, 'new', 'EUR', 0, now() from contacts where type = 'person';
     create unique index deals_contact_key on deals (contact_id)`,
    forgedKeys,
    [
      /^deals_contact_fkey: insert by the server: no forged value came as far as the key \(refused by deals_contact_key\)/,
      /^deals_contact_fkey: insert by the owner: no forged value/,
      /^deals_contact_fkey: update by the server: no forged value/,
    ],
  ],
  [
    'a policy that refuses what is right as well',
    'create policy deals_never on deals as restrictive for insert to einmal_office with check (false)',
    forgedKeys,
    [
      /^deals_contact_fkey: insert by the server: no right value is accepted \(refused by policy deals_never\)/,
      /^deals_contact_fkey: insert by the server, the organisation forged as well: no right value/,
      /^deals_organization_id_fkey: insert by the server, the organisation forged as well: no right value/,
    ],
  ],
  [
    'an exception that excuses nothing any more',
    'drop policy invoices_begin_as_drafts on invoices',
    forgedKeys,
    [/^invoices_issued_fkey: needs no exception/, /^invoices_issued_fkey: needs no exception/],
  ],
  [
    'a table that belongs to nobody, behind a foreign key',
    `create table colors (id uuid primary key);
     alter table deals add column color_id uuid constraint deals_color_fkey references colors`,
    forgedKeys,
    [/^deals_color_fkey: whose are the rows of colors\?/],
  ],
  [
    'a body that every organisation may read',
    `create policy delivery_bodies_open on delivery_bodies for select using (true)`,
    leakingPointers,
    [/^deliveries\.body_hash: a forged value finds their row in delivery_bodies\.hash/],
  ],
  [
    'a view with the rights of its owner',
    'create view all_deals as select * from deals; grant select on all_deals to einmal_office',
    ({ client }) => listBypasses(client),
    [/^all_deals$/],
  ],
]

describe('these tests can fail', () => {
  test.each(breaks)('%s is found', async (_name, change, find, expected) => {
    expect(await trial(find, change)).toEqual(expected.map((pattern) => expect.stringMatching(pattern)))
  })
})
