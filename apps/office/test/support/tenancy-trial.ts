import type pg from 'pg'
import { nameRefusal } from './refusal.ts'
import { type ForeignKey, listForeignKeys, listTenantTables, type TenantTable } from './tenancy-catalogue.ts'
import type { TwoOrganizations } from './two-organizations.ts'

/** A transaction that is taken back in the end, in which one organisation tries to reach the rows of another. */
export interface Trial {
  readonly client: pg.ClientBase
  readonly ours: string
  readonly theirs: string
  /** Tables that tell whose something is before the organisation is known, and so have no policy. */
  readonly directories: ReadonlySet<string>
  readonly tables: readonly TenantTable[]
  readonly keys: readonly ForeignKey[]
}

interface Place extends Pick<TwoOrganizations, 'client' | 'ours' | 'theirs'> {
  readonly directories: ReadonlySet<string>
}

/**
 * The server's role has every right to every tenant table here, more than it has in an office, so that no missing right
 * stands in for a policy or a key. `change` is what to do to the database first.
 */
export async function inTrial<T>(place: Place, change: string, work: (trial: Trial) => Promise<T>): Promise<T> {
  const { client } = place
  await client.query('begin')
  try {
    await client.query(change)
    const tables = await listTenantTables(client)
    const keys = await listForeignKeys(client)
    const names = tables.map(({ name }) => name).join(', ')
    await client.query(`grant select, insert, update, delete on ${names} to einmal_office`)
    return await work({ ...place, tables, keys })
  } finally {
    await client.query('rollback')
  }
}

/** Undoes what `work` did, settings and role with it. */
export async function takeBack<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('savepoint trial')
  try {
    return await work()
  } finally {
    await client.query('rollback to savepoint trial')
    await client.query('release savepoint trial')
  }
}

/** What an attempt came to: the number of rows that it touched, or what refused it. */
export type Outcome = { readonly rowCount: number } | { readonly refusedBy: string }

/** Takes back what `work` did, whatever became of it. What is looked at only at the commit is looked at here. */
export function attempt(client: pg.ClientBase, work: () => Promise<pg.QueryResult>): Promise<Outcome> {
  return takeBack(client, async () => {
    try {
      const { rowCount } = await work()
      await client.query('set constraints all immediate')
      return { rowCount: rowCount ?? 0 }
    } catch (error) {
      return { refusedBy: nameRefusal(error) }
    }
  })
}

export function describeOutcome(outcome: Outcome): string {
  return 'refusedBy' in outcome ? `refused by ${outcome.refusedBy}` : `touches ${outcome.rowCount} rows`
}

/** From here on the transaction is one of the server, for an organisation or for none. Taken back with `takeBack`. */
export async function becomeServer(client: pg.ClientBase, organizationId: string | null): Promise<void> {
  await client.query(`select set_config('einmal.organization_id', $1, true)`, [organizationId ?? ''])
  await client.query('set local role einmal_office')
}

/** Without foreign keys, as the owner: what a faulty repair could leave behind. */
export async function pastForeignKeys<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('set local session_replication_role = replica')
  const value = await work()
  await client.query('set local session_replication_role = origin')
  return value
}
