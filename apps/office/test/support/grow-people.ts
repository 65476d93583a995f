import pg from 'pg'
import type { TestOffice, TestOrganization } from './office.ts'

/** Of the one organisation; the others have an owner each. */
const MEMBERS = 500
const ORGANIZATIONS = 5_000
const INVITATIONS = 5_000
const KEYS = 500
const SESSIONS_EACH = 20
const ATTEMPTS = 50_000

/**
 * An office of many: people with their sessions, organisations with their owners, and one organisation with members who came and
 * left, invitations, keys and senders. Written by the owner, without the checks of foreign keys. Leaves statistics as they are.
 */
export async function growPeople(office: TestOffice, { organizationId }: TestOrganization): Promise<void> {
  const client = new pg.Client({ connectionString: office.database.ownerUrl })
  await client.connect()
  try {
    await client.query('set session_replication_role = replica')
    await client.query(
      `create function pg_temp.grown_id(kind integer, i bigint) returns uuid language sql immutable as $$
        select ('01980000-' || lpad(to_hex(kind), 4, '0') || '-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid $$`,
    )
    for (const text of textsOf(`'${organizationId}'::uuid`)) await client.query(text)
    await client.query('select pg_stat_force_next_flush()')
  } finally {
    await client.end()
  }
}

const kinds = { user: 1, organization: 2, member: 3, invitation: 4, key: 5, integration: 6, other: 7 } as const

function textsOf(crowd: string): string[] {
  const id = (kind: keyof typeof kinds, index = 'i') => `pg_temp.grown_id(${kinds[kind]}, ${index})`
  const people = `generate_series(1, ${ORGANIZATIONS}) as i`
  const at = `timestamptz '2026-01-15 12:00:00Z' + i * interval '1 second'`
  return [
    `insert into auth."user" (id, name, email, "emailVerified") select ${id('user')}, 'Person ' || i, 'p' || i || '@grown.example', true
      from ${people}`,
    `insert into auth.account (id, "accountId", "providerId", "userId", password, "updatedAt")
      select ${id('other')}, ${id('user')}::text, 'credential', ${id('user')}, 'x', ${at} from ${people}`,
    `insert into auth.session ("expiresAt", token, "updatedAt", "userId")
      select now() + i * interval '1 second', 'grown ' || i || ' ' || n, ${at}, ${id('user')}
      from ${people}, generate_series(1, ${SESSIONS_EACH}) as n`,
    `insert into auth.verification (identifier, value, "expiresAt") select 'grown ' || i, 'x', now() + interval '1 hour' from ${people}`,
    `insert into auth."twoFactor" (secret, "backupCodes", "userId") select 'x', 'x', ${id('user')} from ${people}`,
    `insert into auth.sign_in_attempts (bucket, attempts, started_at)
      select 'grown:' || i, 1, now() - i * interval '1 second' from generate_series(1, ${ATTEMPTS}) as i`,
    `insert into organizations (id, name, slug, created_at) select ${id('organization')}, 'Organisation ' || i, 'grown-' || i, ${at}
      from ${people}`,
    `insert into members (id, organization_id, user_id, role, joined_at)
      select ${id('member', `${MEMBERS} + i`)}, ${id('organization')}, ${id('user')}, 'owner', ${at} from ${people}`,
    `insert into members (id, organization_id, user_id, role, joined_at, removed_at)
      select ${id('member')}, ${crowd}, ${id('user')}, case when i % 100 = 0 then 'owner' else 'agent' end, ${at},
        case when i % 5 = 0 then ${at} end
      from generate_series(1, ${MEMBERS}) as i`,
    `insert into invitations (id, organization_id, email, role, link_hash, invited_by, created_at, expires_at, cancelled_at)
      select ${id('invitation')}, ${crowd}, 'guest' || i || '@grown.example', 'agent', 'grown ' || i,
        ${id('member', `1 + i % ${MEMBERS}`)}, ${at}, ${at} + interval '7 days', case when i % 10 > 0 then ${at} end
      from generate_series(1, ${INVITATIONS}) as i`,
    `insert into api_keys (id, organization_id, name, start, hash, scopes, created_by, created_at)
      select ${id('key')}, ${crowd}, 'Key ' || i, 'einmal_', 'grown ' || i, '{read}', ${id('member', `1 + i % ${MEMBERS}`)}, ${at}
      from generate_series(1, ${KEYS}) as i`,
    `insert into integrations (id, organization_id, provider, label, settings, created_at)
      select ${id('integration')}, ${id('organization')}, 'sandbox', 'Sender ' || i, '', ${at} from ${people}`,
    `insert into webhook_endpoints (id, organization_id, integration_id, provider)
      select ${id('integration')}, ${id('organization')}, ${id('integration')}, 'sandbox' from ${people}`,
    `insert into audit_entries (id, organization_id, actor_type, actor_id, action, subject_type, subject_id, data, recorded_at)
      select ${id('other')}, ${crowd}, 'member', ${id('member', `1 + i % ${MEMBERS}`)}::text, 'seed', 'member', ${id('member')}, '{}', ${at}
      from ${people}`,
  ]
}
