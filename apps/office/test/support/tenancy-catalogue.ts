/** What the database's own catalogue says of tenancy, so that no table, key or column has to be written down to be tested. */
import type pg from 'pg'

/** A table whose rows belong to organisations. Names are quoted where SQL needs it. */
export interface TenantTable {
  readonly name: string
  /** Null: it has row-level security, and no column that says whose a row is. */
  readonly organization: string | null
  readonly primaryKey: readonly string[]
  /** Columns that take a value. */
  readonly columns: readonly string[]
}

export interface ForeignKey {
  readonly name: string
  readonly table: string
  readonly referenced: string
  /** The column of the referenced table that says whose a row is; null where rows belong to nobody. */
  readonly referencedOrganization: string | null
  /** In the order of the key: the column that tells rows apart stands first. */
  readonly columns: readonly KeyColumn[]
}

interface KeyColumn {
  readonly name: string
  readonly pointsAt: string
  /** The server's role may change it. */
  readonly isChangeable: boolean
}

/** An expression for the name of the column that says whose a row of `relation` is. */
function organizationOf(relation: string): string {
  return `(select quote_ident(a.attname) from pg_attribute as a where a.attrelid = ${relation} and not a.attisdropped
    and a.attname in ('organization_id', 'organizationId'))`
}

/** Of every schema: tables with an organisation, and all with row-level security. Those of the sign-in without it have roles. */
const isTenant = (relation: string) => `${relation}.relkind in ('r', 'p')
  and ${relation}.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema')
  and ${relation}.relpersistence <> 't'
  and (${relation}.relrowsecurity or exists (
    select from pg_attribute as a where a.attrelid = ${relation}.oid and a.attname = 'organization_id' and not a.attisdropped))`

export async function listTenantTables(client: pg.ClientBase): Promise<TenantTable[]> {
  const { rows } = await client.query<TenantTable>(`
    select t.oid::regclass::text as name, ${organizationOf('t.oid')} as organization,
      array(select quote_ident(a.attname) from pg_index as i
        join pg_attribute as a on a.attrelid = t.oid and a.attnum = any(i.indkey)
        where i.indrelid = t.oid and i.indisprimary order by a.attnum) as "primaryKey",
      array(select quote_ident(a.attname) from pg_attribute as a where a.attrelid = t.oid and a.attnum > 0
        and not a.attisdropped and a.attgenerated = '' and a.attidentity <> 'a' order by a.attnum) as columns
    from pg_class as t where ${isTenant('t')} order by 1`)
  return rows
}

export async function listForeignKeys(client: pg.ClientBase): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(`
    select c.conname as name, t.oid::regclass::text as table, c.confrelid::regclass::text as referenced,
      case c.confrelid when 'organizations'::regclass then 'id' else ${organizationOf('c.confrelid')} end
        as "referencedOrganization",
      (select json_agg(json_build_object('name', quote_ident(a.attname), 'pointsAt', quote_ident(f.attname),
          'isChangeable', has_column_privilege('einmal_office', t.oid, a.attnum, 'UPDATE')) order by k.position)
        from unnest(c.conkey, c.confkey) with ordinality as k (own, other, position)
        join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = k.own
        join pg_attribute as f on f.attrelid = c.confrelid and f.attnum = k.other) as columns
    from pg_constraint as c join pg_class as t on t.oid = c.conrelid
    where c.contype = 'f' and c.conparentid = 0 and ${isTenant('t')} order by 1`)
  return rows
}

/** Columns that by their name point at another row, and that no foreign key holds to it. */
export async function listLoosePointers(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    select t.oid::regclass || '.' || quote_ident(a.attname) as name
    from pg_class as t join pg_attribute as a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    where ${isTenant('t')} and a.attname ~ '(_id|_hash|[a-z]Id)$' and a.attname not in ('organization_id', 'organizationId')
      and not exists (select from pg_constraint as c where c.contype = 'f' and c.conrelid = t.oid and a.attnum = any(c.conkey))
    order by t.relname collate "C", a.attname collate "C"`)
  return rows.map(({ name }) => name)
}

/** Views and functions that the server may use and that look at tables with the rights of somebody else. */
export async function listBypasses(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    select t.oid::regclass::text as name from pg_class as t
    where t.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema')
      and has_table_privilege('einmal_office', t.oid, 'SELECT')
      and (t.relkind = 'm' or t.relkind = 'v'
        and not coalesce('security_invoker=true' = any(t.reloptions) or 'security_invoker=on' = any(t.reloptions), false))
    union all select p.oid::regprocedure::text from pg_proc as p
    where p.prosecdef and p.pronamespace::regnamespace::text not in ('pg_catalog', 'information_schema')
      and has_function_privilege('einmal_office', p.oid, 'EXECUTE')
    order by 1`)
  return rows.map(({ name }) => name)
}
