/** Lets rows of one organisation point at rows of another, by every foreign key there is, and looks what refuses it. */
import type { ForeignKey, TenantTable } from './tenancy-catalogue.ts'
import { insertText } from './tenancy-rows.ts'
import { attempt, becomeServer, describeOutcome, type Outcome, pastForeignKeys, type Trial } from './tenancy-trial.ts'

/** What is known of single tables and keys, each with its reason. */
export interface KnownKeys {
  /** Referenced tables whose rows belong to no organisation, so that there is nothing to forge. */
  readonly ownerless: ReadonlyMap<string, string>
  /** Keys that no row which the server may insert has a value in. */
  readonly notInserted: ReadonlyMap<string, string>
}

type Actor = 'server' | 'owner'

interface SourceRow {
  readonly ctid: string
  readonly row: string
}

/** What may be written to a column of a key, and what was found in its way. */
interface Forgery {
  readonly write: string
  readonly run: (source: SourceRow, values: string) => Promise<Outcome>
  /** Values that are right, and have to be accepted. */
  readonly right: readonly string[]
  readonly forged: readonly string[]
  readonly proves: (refusedBy: string) => boolean
}

export async function findForgedKeys(trial: Trial, known: KnownKeys): Promise<string[]> {
  const findings: string[] = []
  for (const key of trial.keys) {
    if (key.referencedOrganization === null) {
      if (known.ownerless.has(key.referenced)) continue
      findings.push(
        `${key.name}: whose are the rows of ${key.referenced}? List it as ownerless with a reason, or carry the organisation`,
      )
      continue
    }
    const sources = await listSources(trial, key)
    const notInserted = known.notInserted.has(key.name)
    for (const forgery of await listForgeries(trial, key)) {
      const finding = await findAccepted(sources, forgery)
      const isExcused = notInserted && forgery.write.startsWith('insert by the server')
      if (isExcused && finding?.isTried !== false) findings.push(`${key.name}: needs no exception`)
      if (finding !== null && (finding.isTried || !isExcused))
        findings.push(`${key.name}: ${forgery.write}: ${finding.text}`)
    }
  }
  return findings
}

async function listForgeries(trial: Trial, key: ForeignKey): Promise<Forgery[]> {
  const table = tableOf(trial, key)
  const theirs = await listTargets(trial, key, trial.theirs, plainColumns(key))
  const byKey = (refusedBy: string) => refusedBy === key.name
  const byKeyOrPolicy = (refusedBy: string) => byKey(refusedBy) || refusedBy.startsWith('policy')
  const insertBy = (actor: Actor) => (source: SourceRow, values: string) =>
    writeAgain(trial, actor, table, source, values)
  const forgeries: Forgery[] = []
  const insert = { right: ['{}'], forged: theirs }
  if (plainColumns(key).length > 0) {
    forgeries.push(
      { write: 'insert by the server', run: insertBy('server'), ...insert, proves: byKeyOrPolicy },
      // No policy binds the owner: only the key is left to refuse.
      { write: 'insert by the owner', run: insertBy('owner'), ...insert, proves: byKey },
    )
  }
  const organizations = key.columns.filter((column) => !plainColumns(key).includes(column))
  if (organizations.length > 0 && !trial.directories.has(key.table)) {
    const isOwn = organizations.some(({ name }) => name === table.organization)
    forgeries.push({
      write: 'insert by the server, the organisation forged as well',
      run: insertBy('server'),
      right: ['{}'],
      forged: await listTargets(trial, key, trial.theirs, key.columns),
      proves: isOwn ? (refusedBy) => refusedBy === 'policy' : byKeyOrPolicy,
    })
  }
  // Where the column that tells rows apart stays as it is, no update reaches another row.
  if (key.columns[0]?.isChangeable === true) {
    forgeries.push({
      write: 'update by the server',
      run: (source, values) => pointElsewhere(trial, key, source, values),
      right: await listTargets(trial, key, trial.ours, plainColumns(key)),
      forged: theirs,
      proves: byKeyOrPolicy,
    })
  }
  return forgeries
}

interface Finding {
  /** False: no right value is accepted, so that the refusal of a forged one would say nothing. */
  readonly isTried: boolean
  readonly text: string
}

/** Shows first that a right value is accepted, then that a forged one is not; and that no accident refused it. */
async function findAccepted(
  sources: readonly SourceRow[],
  { run, right, forged, proves }: Forgery,
): Promise<Finding | null> {
  const refusals = new Set<string>()
  const source = await firstAccepted(sources, right, run, refusals)
  if (source === null) {
    return {
      isTried: false,
      text: `no right value is accepted (${[...refusals].join(', ') || 'there is no row to try'})`,
    }
  }
  refusals.clear()
  for (const values of forged) {
    const outcome = await run(source, values)
    if ('rowCount' in outcome && outcome.rowCount > 0) {
      return { isTried: true, text: `a row of another organisation is accepted (${values})` }
    }
    if ('refusedBy' in outcome && proves(outcome.refusedBy)) return null
    refusals.add(describeOutcome(outcome))
  }
  const why = [...refusals].join(', ') || 'they have no row to point at'
  return { isTried: true, text: `no forged value came as far as the key (${why})` }
}

async function firstAccepted(
  sources: readonly SourceRow[],
  right: readonly string[],
  run: Forgery['run'],
  refusals: Set<string>,
): Promise<SourceRow | null> {
  for (const source of sources) {
    for (const values of right) {
      const outcome = await run(source, values)
      if ('rowCount' in outcome && outcome.rowCount === 1) return source
      refusals.add(describeOutcome(outcome))
    }
  }
  return null
}

/** Writes a row once more in its own place, so that no unique key is in the way, with `values` in some of its columns. */
function writeAgain(
  trial: Trial,
  actor: Actor,
  table: TenantTable,
  source: SourceRow,
  values: string,
): Promise<Outcome> {
  const { client } = trial
  return attempt(client, async () => {
    await pastForeignKeys(client, () => client.query(`delete from ${table.name} where ctid = $1::tid`, [source.ctid]))
    if (actor === 'server') await becomeServer(client, trial.ours)
    return client.query(insertText(table), [source.row, values])
  })
}

/** Touches no row where a column that the server may not change would have to be another. */
function pointElsewhere(trial: Trial, key: ForeignKey, source: SourceRow, values: string): Promise<Outcome> {
  const { client } = trial
  const columnsWhere = (isChangeable: boolean) =>
    plainColumns(key)
      .filter((column) => column.isChangeable === isChangeable)
      .map(({ name }) => name)
  const changed = columnsWhere(true).join(', ')
  const kept = columnsWhere(false).map((name) => `and t.${name} = v.${name}`)
  const from = `jsonb_populate_record(null::${key.table}, $1::jsonb) as v`
  return attempt(client, async () => {
    await becomeServer(client, trial.ours)
    return client.query(
      `update ${key.table} as t set (${changed}) = (select ${changed} from ${from})
       where t.ctid = $2::tid and exists (select from ${from} where true ${kept.join(' ')})`,
      [values, source.ctid],
    )
  })
}

/** Our rows in which the key has a value. */
async function listSources(trial: Trial, key: ForeignKey): Promise<SourceRow[]> {
  const { organization } = tableOf(trial, key)
  const isSet = key.columns.map(({ name }) => `${name} is not null`).join(' and ')
  const { rows } = await trial.client.query<SourceRow>(
    `select t.ctid::text as ctid, to_jsonb(t)::text as row from ${key.table} as t where ${organization} = $1 and ${isSet}`,
    [trial.ours],
  )
  return rows
}

/** What `columns` of the key have to hold to point at rows of that organisation, and at none of another. */
async function listTargets(
  trial: Trial,
  key: ForeignKey,
  organizationId: string,
  columns: ForeignKey['columns'],
): Promise<string[]> {
  const { referenced, referencedOrganization } = key
  const pairs = columns.map(({ name, pointsAt }) => `'${unquote(name)}', t.${pointsAt}`).join(', ')
  const same = plainColumns(key).map(({ pointsAt }) => `o.${pointsAt} = t.${pointsAt}`)
  const isAmbiguous =
    same.length === 0
      ? 'false'
      : `exists (select from ${referenced} as o where o.${referencedOrganization} <> $1 and ${same.join(' and ')})`
  const { rows } = await trial.client.query<{ values: string }>(
    `select jsonb_build_object(${pairs})::text as values from ${referenced} as t
     where t.${referencedOrganization} = $1 and not ${isAmbiguous}`,
    [organizationId],
  )
  return rows.map(({ values }) => values)
}

/** The columns of a key that say which row, and not whose. */
function plainColumns(key: ForeignKey): ForeignKey['columns'] {
  return key.columns.filter(({ pointsAt }) => pointsAt !== key.referencedOrganization)
}

function tableOf(trial: Trial, key: ForeignKey): TenantTable {
  const table = trial.tables.find(({ name }) => name === key.table)
  if (table === undefined) throw new Error(`${key.table} is no tenant table`)
  return table
}

function unquote(name: string): string {
  return name.replace(/^"(.*)"$/, '$1')
}
