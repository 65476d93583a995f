/** Looks for rows of another organisation that the server could read or write. Each finding names its table. */
import type { TenantTable } from './tenancy-catalogue.ts'
import { attempt, becomeServer, describeOutcome, type Trial, takeBack } from './tenancy-trial.ts'

const FIXTURE = 'apps/office/test/support/two-organizations.ts'

/** Tables in which nothing can be shown, because an organisation has no row in them. */
export async function findMissingRows(trial: Trial): Promise<string[]> {
  const findings: string[] = []
  for (const { name, organization, primaryKey } of trial.tables) {
    if (primaryKey.length === 0) findings.push(`${name} has no primary key`)
    if (organization === null) {
      findings.push(`${name} has row-level security, and no column that says whose a row is`)
      continue
    }
    for (const organizationId of [trial.ours, trial.theirs]) {
      if ((await countOf(trial, name, `${organization} = $1`, [organizationId])) > 0) continue
      const whose = organizationId === trial.ours ? 'ours' : 'theirs'
      findings.push(`${name} has no row that is ${whose}: write one for each organisation in ${FIXTURE}`)
    }
  }
  return findings
}

/** Rows that the server sees and should not, or does not see and should. */
export async function findReadableRows(trial: Trial): Promise<string[]> {
  const findings: string[] = []
  for (const table of tablesWithPolicy(trial)) {
    const { name, organization } = table
    const own = await countOf(trial, name, `${organization} = $1`, [trial.ours])
    const row = await firstRow(trial, table, trial.theirs)
    await takeBack(trial.client, async () => {
      await becomeServer(trial.client, trial.ours)
      const seen = await countOf(trial, name, `${organization} = $1`, [trial.ours])
      if (seen !== own) findings.push(`${name}: ${seen} of our ${own} rows can be read`)
      const foreign = await countOf(trial, name, `${organization} is distinct from $1`, [trial.ours])
      if (foreign > 0) findings.push(`${name}: ${foreign} rows of others can be read`)
      const byKey = await countOf(trial, name, hasKeyOf(table), [row])
      if (byKey > 0) findings.push(`${name}: their row can be read by its key`)
    })
    await takeBack(trial.client, async () => {
      await becomeServer(trial.client, null)
      const seen = await countOf(trial, name, 'true', [])
      if (seen > 0) findings.push(`${name}: ${seen} rows can be read without an organisation`)
    })
  }
  return findings
}

/** Writes that reach into another organisation. What refuses them is the policy of the table, and nothing by accident. */
export async function findWritableRows(trial: Trial): Promise<string[]> {
  const findings: string[] = []
  for (const table of tablesWithPolicy(trial)) {
    const { name, organization } = table
    const row = await firstRow(trial, table, trial.theirs)
    const writes = [
      { write: 'their row inserted', text: insertText(table), values: [row, '{}'], expected: 'refused by policy' },
      {
        write: 'our rows handed over',
        // Without a condition: reading a column would bring in the policies for reading, which look at the new row as well.
        text: `update ${name} set ${organization} = $1`,
        values: [trial.theirs],
        expected: 'refused by policy',
      },
      {
        write: 'their rows taken over',
        text: `update ${name} set ${organization} = $2 where ${organization} = $1`,
        values: [trial.theirs, trial.ours],
        expected: 'touches 0 rows',
      },
      {
        write: 'their rows updated',
        text: `update ${name} set ${organization} = ${organization} where ${organization} = $1`,
        values: [trial.theirs],
        expected: 'touches 0 rows',
      },
      {
        write: 'their rows deleted',
        text: `delete from ${name} where ${organization} = $1`,
        values: [trial.theirs],
        expected: 'touches 0 rows',
      },
    ]
    for (const { write, text, values, expected } of writes) {
      const outcome = await attempt(trial.client, async () => {
        await becomeServer(trial.client, trial.ours)
        return trial.client.query(text, values)
      })
      const found = describeOutcome(outcome)
      if (found !== expected) findings.push(`${name}: ${write}: ${found}`)
    }
  }
  return findings
}

/** Inserts the row `$1`, written as JSON, with the columns that `$2` gives other values. */
export function insertText({ name, columns }: TenantTable): string {
  const list = columns.join(', ')
  return `insert into ${name} (${list}) select ${list} from jsonb_populate_record(null::${name}, $1::jsonb || $2::jsonb)`
}

function tablesWithPolicy(trial: Trial): TenantTable[] {
  return trial.tables.filter(({ name, organization }) => organization !== null && !trial.directories.has(name))
}

async function countOf(trial: Trial, table: string, condition: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await trial.client.query<{ count: number }>(
    `select count(*)::integer as count from ${table} where ${condition}`,
    [...values],
  )
  return rows[0]?.count ?? 0
}

async function firstRow(trial: Trial, { name, organization }: TenantTable, organizationId: string): Promise<string> {
  const { rows } = await trial.client.query<{ row: string }>(
    `select to_jsonb(t)::text as row from ${name} as t where ${organization} = $1 limit 1`,
    [organizationId],
  )
  const [first] = rows
  if (first === undefined) throw new Error(`${name} has no row of an organisation: write one in ${FIXTURE}`)
  return first.row
}

function hasKeyOf({ name, primaryKey }: TenantTable): string {
  const list = primaryKey.join(', ')
  return `(${list}) = (select ${list} from jsonb_populate_record(null::${name}, $1::jsonb))`
}
