import pg from 'pg'
import { createTestDatabase } from './test-database.ts'
import { type WrittenBooks, writeBooks } from './written-books.ts'

/** A database in which two organisations have rows in every table with an organisation. */
export interface TwoOrganizations {
  /** As the owner, whom no policy binds. */
  readonly client: pg.Client
  readonly officeUrl: string
  readonly ours: string
  readonly theirs: string
  close(): Promise<void>
}

export async function createTwoOrganizations(): Promise<TwoOrganizations> {
  const database = await createTestDatabase()
  const owner = new pg.Pool({ connectionString: database.ownerUrl, max: 1 })
  const ours = await writeBooks(owner, 'Ours')
  const theirs = await writeBooks(owner, 'Theirs')
  await owner.end()
  const client = new pg.Client({ connectionString: database.ownerUrl })
  await client.connect()
  for (const books of [ours, theirs]) await writeOtherRows(client, books)
  await renameExternalIds(client, theirs.organizationId)
  return {
    client,
    officeUrl: database.officeUrl,
    ours: ours.organizationId,
    theirs: theirs.organizationId,
    async close() {
      await client.end()
      await database.drop()
    },
  }
}

/** Rows of the tables that the written books leave empty, and pointers that they leave null. */
async function writeOtherRows(client: pg.Client, books: WrittenBooks): Promise<void> {
  const values = [books.organizationId, books.contactId]
  const event = `(select id from events where organization_id = $1 order by id limit 1)`
  const invoice = `(select id from invoices where organization_id = $1 and number = 'RE-00005')`
  const add = (text: string, count = 1) => client.query(text, values.slice(0, count))
  await add(
    `insert into contacts (id, organization_id, type, name, search_name, company_id, created_at)
     values (gen_random_uuid(), $1, 'person', 'Kim Roth', 'kim roth', $2, now())`,
    2,
  )
  await add(
    `insert into contact_points (id, organization_id, contact_id, kind, value, created_at)
     values (gen_random_uuid(), $1, $2, 'phone', '+4930123456', now())`,
    2,
  )
  await add(
    `insert into invoices (id, organization_id, type, contact_id, corrects_id, currency, total_minor, created_at)
     values (gen_random_uuid(), $1, 'credit_note', $2, ${invoice}, 'EUR', 100, now())`,
    2,
  )
  await add(`update payments set contact_id = $2 where organization_id = $1`, 2)
  await add(
    `insert into audit_entries (id, organization_id, actor_type, actor_id, action, subject_type, subject_id, data, recorded_at)
     values (gen_random_uuid(), $1, 'system', 'test', 'invoice.issue', 'invoice', ${invoice}, '{}', now())`,
  )
  await add(
    `insert into events_notes (event_id, organization_id, type, recorded_at) values (${event}, $1, 'remark', now())`,
  )
  await add(
    `insert into events_windows (digest, kind, source, organization_id, ordinal, opened_at)
     values ('digest', 'payment.paid', 'stripe', $1, 1, now())`,
  )
  const member = `(select id from members where organization_id = $1 order by id limit 1)`
  await add(
    `insert into api_keys (id, organization_id, name, start, hash, scopes, created_by, created_at)
     values (gen_random_uuid(), $1, 'shop', 'einmal_', $1::uuid::text, '{full}', ${member}, now())`,
  )
  await add(
    `insert into invitations (id, organization_id, email, role, link_hash, invited_by, created_at, expires_at, accepted_at, accepted_by)
     values (gen_random_uuid(), $1, 'came@example.org', 'agent', $1::uuid::text, ${member}, now(), now() + interval '7 days', now(), ${member}),
       (gen_random_uuid(), $1, 'open@example.org', 'agent', 'open ' || $1::uuid::text, ${member}, now(), now() + interval '7 days', null, null)`,
  )
  await add(`insert into due_work (organization_id, due_at) values ($1, now())`)
}

/** Both books have the same names of the same sources. Theirs get others, so that each names one row of one organisation. */
async function renameExternalIds(client: pg.Client, organizationId: string): Promise<void> {
  const columns = ['events.external_id', 'payments.external_id', 'money_subjects.external_id']
  for (const name of [...columns, 'payment_returns.external_id', 'payment_returns.original_id']) {
    const [table, column] = name.split('.')
    await client.query(`update ${table} set ${column} = 'their ' || ${column} where organization_id = $1`, [
      organizationId,
    ])
  }
}
