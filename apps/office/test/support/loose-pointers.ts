/** Columns that name another row without a foreign key (docs/decisions/0013-foreign-keys-for-money.md). */
import { listLoosePointers } from './tenancy-catalogue.ts'
import { becomeServer, pastForeignKeys, type Trial, takeBack } from './tenancy-trial.ts'

export interface LoosePointer {
  /** The columns that it may name: those a statement of the office looks it up in. */
  readonly names: readonly string[]
  /** Why a forged one shows nothing of another organisation. */
  readonly reason: string
}

/** Columns of the database that nobody thought about, and thoughts about columns that are gone. */
export async function findUnlistedPointers(trial: Trial, listed: ReadonlyMap<string, LoosePointer>): Promise<string[]> {
  const columns = await listLoosePointers(trial.client)
  return [
    ...columns
      .filter((column) => !listed.has(column))
      .map((column) => `${column} is in no foreign key, and not listed`),
    ...[...listed.keys()]
      .filter((column) => !columns.includes(column))
      .map((column) => `${column} is no loose pointer`),
  ]
}

/** Writes an id of theirs into a row of ours, and reads the two together as the server does. */
export async function findLeakingPointers(trial: Trial, listed: ReadonlyMap<string, LoosePointer>): Promise<string[]> {
  const findings: string[] = []
  for (const [column, { names }] of listed) {
    for (const target of names) {
      const right = await countJoined(trial, column, target, trial.ours)
      if (right === 0) findings.push(`${column}: a right value finds nothing in ${target}`)
      const forged = await countJoined(trial, column, target, trial.theirs)
      if (forged > 0) findings.push(`${column}: a forged value finds their row in ${target}`)
    }
  }
  return findings
}

/** How many rows of `target` the server finds behind a row of ours that names a row of that organisation. */
async function countJoined(trial: Trial, pointer: string, target: string, organizationId: string): Promise<number> {
  const { client } = trial
  const from = placeOf(trial, pointer)
  const to = placeOf(trial, target)
  // Where a table has no policy, the server's own statements carry the organisation.
  const within = trial.directories.has(to.table) ? `and t.${to.organization} = p.${from.organization}` : ''
  return takeBack(client, async () => {
    const row = await pastForeignKeys(client, async () => {
      // Alone in its table, so that no unique key is in the way.
      await client.query(
        `delete from ${from.table} where ${from.organization} = $1
         and ctid <> (select ctid from ${from.table} where ${from.organization} = $1 limit 1)`,
        [trial.ours],
      )
      const { rows } = await client.query<{ ctid: string }>(
        `update ${from.table} set ${from.column} = (
           select t.${to.column} from ${to.table} as t where t.${to.organization} = $2 and not exists (
             select from ${to.table} as o where o.${to.organization} <> $2 and o.${to.column} = t.${to.column}) limit 1)
         where ${from.organization} = $1 returning ctid::text`,
        [trial.ours, organizationId],
      )
      return rows[0]?.ctid
    })
    await becomeServer(client, trial.ours)
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::integer as count from ${from.table} as p
       join ${to.table} as t on t.${to.column}::text = p.${from.column}::text ${within} where p.ctid = $1::tid`,
      [row],
    )
    return rows[0]?.count ?? 0
  })
}

function placeOf(trial: Trial, name: string): { table: string; column: string; organization: string } {
  const [, tableName = '', column = ''] = /^(.*)\.([^.]+)$/.exec(name) ?? []
  const table = trial.tables.find((each) => each.name === tableName)
  if (table?.organization == null) throw new Error(`${name} is no column of a tenant table`)
  return { table: tableName, column, organization: table.organization }
}
