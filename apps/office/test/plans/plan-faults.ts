import type pg from 'pg'
import type { MeasuredStatement, Measurement, PlanNode } from '../support/measured-statements.ts'
import { type Entry, entriesOf } from './statements.ts'

/** Columns of every index, the leading one first. */
export type IndexColumns = ReadonlyMap<string, readonly string[]>

export async function readIndexColumns(owner: pg.Pool): Promise<IndexColumns> {
  const { rows } = await owner.query<{ name: string; columns: string[] }>(
    `select c.relname as name,
        array_agg(regexp_replace(pg_get_indexdef(i.indexrelid, k::integer, true), '[("]|::.*', '', 'g') order by k) as columns
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
        cross join lateral generate_series(1, i.indnkeyatts) as k
      where n.nspname in ('public', 'auth') group by c.relname`,
  )
  return new Map(rows.map(({ name, columns }) => [name, columns]))
}

/** The column that all rows of an organisation share. */
const ORGANIZATION_COLUMN = 'organization_id'

/** The members of an organisation are few, and all of them are told; whether work is due is one row for each organisation. */
const tablesReadWhole = ['members', 'due_work']

/**
 * What is wrong with the plans of a statement, whatever the size of the database: a table read from end to end, or an
 * index that is entered by nothing that tells rows of one organisation apart.
 */
export function planFaults(statement: MeasuredStatement, indexes: IndexColumns): string[] {
  const [entry] = entriesOf(statement.text)
  if (entry === undefined || (entry.isPage === true && entry.mayWalk !== undefined)) return []
  return statement.measurements.flatMap(({ mode, plan }) =>
    nodeFaults(plan, { entry, indexes, isLimited: false }).map((fault) => `${entry.label} (${mode}): ${fault}`),
  )
}

interface Surroundings {
  readonly entry: Entry
  readonly indexes: IndexColumns
  /** Below a limit that ends the scan early: nothing between the two has to see all rows first. */
  readonly isLimited: boolean
}

function nodeFaults(node: PlanNode, surroundings: Surroundings): string[] {
  const type = node['Node Type']
  const isLimited = type === 'Limit' || (surroundings.isLimited && !/Sort|Aggregate|Hash|Bitmap/.test(type))
  const below = (node.Plans ?? []).flatMap((child) => nodeFaults(child, { ...surroundings, isLimited }))
  if (type === 'Seq Scan') return [`reads all of ${node['Relation Name']}`, ...below]
  const index = node['Index Name']
  if (index === undefined || !/^(Index Scan|Index Only Scan|Bitmap Index Scan)$/.test(type)) return below
  const fault = scanFault(index, node['Index Cond'] ?? '', { ...surroundings, isLimited })
  return fault === null ? below : [fault, ...below]
}

function scanFault(index: string, condition: string, { entry, indexes, isLimited }: Surroundings): string | null {
  const columns = indexes.get(index) ?? []
  const operators = columns.map((column) => operatorsOn(column, condition))
  // A page may go along the ids of all organisations where nearly all rows are of one: its limit ends it, and the test of effort
  // sees whether it does for the small one as well. Pages are planned anew each time, for the organisation at hand.
  if (operators[0]?.length === 0 && entry.isPage === true && isLimited) return null
  if (operators[0]?.length === 0) return `walks ${index} without its leading column (${condition || 'no condition'})`
  const entered = columns.filter((_, position) => operators.slice(0, position + 1).every(isNarrow))
  if (entered.some((column) => column !== ORGANIZATION_COLUMN)) return null
  if (entry.isPage === true && isLimited) return null
  if (tablesReadWhole.some((table) => index.startsWith(`${table}_`))) return null
  return `walks an organisation along ${index} (${condition})`
}

/** How a condition of an index compares one of its columns, which PostgreSQL prints on the left. */
function operatorsOn(column: string, condition: string): string[] {
  const comparison = new RegExp(`\\((?:\\w+\\.)?"?${column}"?\\)?(?:::\\w+)? (=|<=|>=|<|>|IS)\\s`, 'g')
  return [...condition.matchAll(comparison)].map(([, operator]) => operator ?? '')
}

/** One value or one interval: an interval with an open end is half of everything. */
function isNarrow(operators: readonly string[]): boolean {
  const has = (pattern: RegExp) => operators.some((operator) => pattern.test(operator))
  return has(/^(=|IS)$/) || (has(/^<=?$/) && has(/^>=?$/))
}

/** Blocks that one row may cost, with its entries in all indexes and the checks of all its foreign keys. */
const BLOCKS_PER_ROW = 30
/**
 * Blocks that a statement may cost beside its rows, such as the recipients of an organisation. The dearest one, an invoice going over
 * to open with its entries in every index, costs 61 in all, give or take a page split; a walk over the large database costs thousands.
 */
const BLOCKS_PER_STATEMENT = 60

/** What is wrong with how much a statement touched on a large database. */
export function effortFaults(statement: MeasuredStatement): string[] {
  const [entry] = entriesOf(statement.text)
  if (entry === undefined || entry.mayWalk !== undefined) return []
  const { label, rowsEach = 1 } = entry
  const rows = statement.rows * rowsEach
  return statement.measurements.flatMap((measurement) => {
    const blocks = blocksOf(measurement)
    if (blocks <= BLOCKS_PER_STATEMENT + BLOCKS_PER_ROW * rows) return []
    const most = [...measurement.touched].toSorted(([, a], [, b]) => b.blocks - a.blocks)[0]
    const by = indexesIn(measurement.plan).join(', ')
    return [`${label} (${measurement.mode}): ${blocks} blocks for ${rows} rows, most of them in ${most?.[0]}, by ${by}`]
  })
}

/** Each index that a plan enters, with what it enters it by. */
function indexesIn(node: PlanNode): string[] {
  const index = node['Index Name']
  const own = index === undefined ? [] : [`${index} (${node['Index Cond'] ?? 'no condition'})`]
  return [...own, ...(node.Plans ?? []).flatMap(indexesIn)]
}

function blocksOf({ touched }: Measurement): number {
  return [...touched.values()].reduce((sum, { blocks }) => sum + blocks, 0)
}

/** Tables that were read from end to end while the statement ran, by whatever: the checks of foreign keys too. */
export function wholeTableFaults(statement: MeasuredStatement, indexes: IndexColumns): string[] {
  const label = entriesOf(statement.text)[0]?.label ?? statement.text
  return statement.measurements.flatMap(({ mode, touched }) =>
    [...touched]
      .filter(([name, { scans }]) => scans > 0 && !indexes.has(name))
      .map(([name]) => `${label} (${mode}): ${name} was read from end to end`),
  )
}
