import type pg from 'pg'
import { listTenantTables } from './tenancy-catalogue.ts'

/** All rows of an organisation, table by table, as their owner sees them; those of its people among them. */
export type OrganizationRows = Readonly<Record<string, readonly string[]>>

/** Of people, who belong to no organisation by any column. */
const ofPeople = {
  'auth."user"': 'id',
  'auth.account': '"userId"',
  'auth.session': '"userId"',
  'auth."twoFactor"': '"userId"',
} as const

export interface RowReader {
  read(organizationId: string): Promise<OrganizationRows>
  /** A digest of each table's rows of the organisation: for looking often whether anything changed. */
  digest(organizationId: string): Promise<Readonly<Record<string, string>>>
  /** Which of the texts stand anywhere in a row of the organisation. */
  known(organizationId: string, texts: readonly string[]): Promise<string[]>
}

/** The tables are those of the catalogue, so that a new one is read by itself. */
export async function createRowReader(owner: pg.Pool): Promise<RowReader> {
  const client = await owner.connect()
  const tables = await listTenantTables(client)
  client.release()
  const all = [
    `select 'organizations' as name, to_jsonb(t)::text as row from organizations as t where id = $1`,
    ...tables.map(
      ({ name, organization }) =>
        `select '${name}', to_jsonb(t)::text from ${name} as t where ${organization ?? 'organization_id'} = $1`,
    ),
    ...Object.entries(ofPeople).map(
      ([name, person]) => `select '${name}', to_jsonb(t)::text from ${name} as t
        where ${person} in (select user_id from members where organization_id = $1)`,
    ),
  ].join(' union all ')
  return {
    async read(organizationId) {
      const { rows } = await owner.query<{ name: string; row: string }>(`${all} order by 1, 2`, [organizationId])
      const found: Record<string, string[]> = {}
      for (const { name, row } of rows) found[name] = [...(found[name] ?? []), row]
      return found
    },
    async digest(organizationId) {
      const { rows } = await owner.query<{ name: string; digest: string }>(
        `select name, count(*) || ' rows: ' || md5(string_agg(row, '' order by row)) as digest from (${all}) as a group by 1`,
        [organizationId],
      )
      return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]))
    },
    async known(organizationId, texts) {
      if (texts.length === 0) return []
      const { rows } = await owner.query<{ text: string }>(
        `with a as materialized (${all}) select t as text from unnest($2::text[]) as t
          where exists (select from a where strpos(row, t) > 0)`,
        [organizationId, texts],
      )
      return rows.map(({ text }) => text)
    },
  }
}
