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

/** The tables are those of the catalogue, so that a new one is read by itself. */
export async function createRowReader(owner: pg.Pool): Promise<(organizationId: string) => Promise<OrganizationRows>> {
  const client = await owner.connect()
  const tables = await listTenantTables(client)
  client.release()
  const selects = [
    `select 'organizations' as name, to_jsonb(t)::text as row from organizations as t where id = $1`,
    ...tables.map(
      ({ name, organization }) =>
        `select '${name}', to_jsonb(t)::text from ${name} as t where ${organization ?? 'organization_id'} = $1`,
    ),
    ...Object.entries(ofPeople).map(
      ([name, person]) => `select '${name}', to_jsonb(t)::text from ${name} as t
        where ${person} in (select user_id from members where organization_id = $1)`,
    ),
  ]
  const text = `${selects.join(' union all ')} order by 1, 2`
  return async (organizationId) => {
    const { rows } = await owner.query<{ name: string; row: string }>(text, [organizationId])
    const found: Record<string, string[]> = {}
    for (const { name, row } of rows) found[name] = [...(found[name] ?? []), row]
    return found
  }
}
