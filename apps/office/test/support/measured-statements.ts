import pg from 'pg'

/** How PostgreSQL plans a statement: for the values given, or, if it has a name and came often, once for all values. */
export type PlanMode = 'custom' | 'generic'

/** A node of `explain (format json)`, as far as it is judged. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Actual Rows'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Sequential scans of a table or scans of an index, and the blocks of it that were read. */
interface Touched {
  readonly scans: number
  readonly blocks: number
}

export interface Measurement {
  readonly mode: PlanMode
  readonly plan: PlanNode
  /** What planning and running it touched, by table or index, the checks of foreign keys included. */
  readonly touched: ReadonlyMap<string, Touched>
}

export interface MeasuredStatement {
  /** In one line. */
  readonly text: string
  /** Rows it was given, or gave: the larger number. */
  readonly rows: number
  readonly measurements: readonly Measurement[]
}

/**
 * Runs `work` and measures every statement that the roles of the server send meanwhile, right before it is run: in the
 * same transaction, on the same connection with its settings, in every plan mode it may get, and taken back to a savepoint.
 */
export async function measureStatements(work: () => Promise<void>): Promise<readonly MeasuredStatement[]> {
  const prototype = pg.Client.prototype as unknown as { query: Query }
  const original = prototype.query
  const pending: Promise<MeasuredStatement>[] = []
  const inTransaction = new WeakSet<object>()
  prototype.query = function (this: OfficeClient, ...given: unknown[]) {
    const statement = statementOf(given)
    if (
      statement !== null &&
      this.connectionParameters.options !== undefined &&
      /role=einmal_(office|auth)/.test(this.connectionParameters.options)
    ) {
      if (/^begin\b/.test(statement.text)) inTransaction.add(this)
      else if (/^(commit|rollback)\b/.test(statement.text)) inTransaction.delete(this)
      else if (!statement.text.startsWith('set ')) {
        const send: Send = (text) => original.call(this, text) as Promise<pg.QueryResult>
        const measured = measure(send, statement, inTransaction.has(this))
        // Its error is not lost: it is thrown below.
        measured.catch(() => undefined)
        pending.push(measured)
      }
    }
    return original.apply(this, given)
  }
  try {
    await work()
  } finally {
    prototype.query = original
  }
  return Promise.all(pending)
}

type Query = (...given: unknown[]) => unknown
type Send = (text: string) => Promise<pg.QueryResult>

interface OfficeClient {
  readonly connectionParameters: { readonly options?: string }
}

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
  readonly isNamed: boolean
}

function statementOf([config, values]: readonly unknown[]): Statement | null {
  if (typeof config === 'string') return { text: config, values: Array.isArray(values) ? values : [], isNamed: false }
  if (typeof config !== 'object' || config === null || !('text' in config) || typeof config.text !== 'string')
    return null
  const given = 'values' in config && Array.isArray(config.values) ? config.values : []
  return { text: config.text, values: given, isNamed: 'name' in config && config.name !== undefined }
}

const touchedText = `select coalesce(jsonb_object_agg(c.relname, jsonb_build_object(
    'scans', pg_stat_get_xact_numscans(c.oid), 'blocks', pg_stat_get_xact_blocks_fetched(c.oid))), '{}') as touched
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('public', 'auth') and c.relkind in ('r', 'i') and pg_stat_get_xact_blocks_fetched(c.oid) > 0`

let measuredCount = 0

/** Sends all at once: what the office sends next stands behind it. */
async function measure(
  send: Send,
  { text, values, isNamed }: Statement,
  isInTransaction: boolean,
): Promise<MeasuredStatement> {
  const parameters = values.length === 0 ? '' : `(${values.map(literal).join(', ')})`
  const modes: readonly PlanMode[] = isNamed ? ['custom', 'generic'] : ['custom']
  const answers = modes.map((mode) => {
    measuredCount += 1
    const name = `measured_${measuredCount}`
    if (!isInTransaction) void ignore(send('begin'))
    void ignore(send('savepoint measured'))
    void ignore(send(`set local plan_cache_mode = force_${mode}_plan`))
    const prepared = send(`prepare ${name} as ${text}`)
    const before = send(touchedText)
    const explained = send(`explain (analyze, buffers, timing off, format json) execute ${name}${parameters}`)
    const after = send(touchedText)
    void ignore(send('rollback to savepoint measured'))
    void ignore(send('release savepoint measured'))
    void ignore(send(`deallocate ${name}`))
    if (!isInTransaction) void ignore(send('rollback'))
    const answer = Promise.all([before, explained, after, prepared])
    answer.catch(() => undefined)
    return { mode, answer }
  })
  const measurements: Measurement[] = []
  for (const { mode, answer } of answers) {
    const [before, explained, after] = await answer.catch((error: unknown) => {
      throw new Error(`cannot explain: ${oneLine(text)}`, { cause: error })
    })
    const [{ Plan: plan }] = explained.rows[0]['QUERY PLAN'] as [{ Plan: PlanNode }]
    measurements.push({ mode, plan, touched: difference(touchedOf(before), touchedOf(after)) })
  }
  const given = Math.max(1, ...values.map(elementCount), listLength(text))
  const returned = Math.max(...measurements.map(({ plan }) => plan['Actual Rows'] ?? 0))
  return { text: oneLine(text), rows: Math.max(given, returned), measurements }
}

async function ignore(answer: Promise<unknown>): Promise<void> {
  await answer.catch(() => undefined)
}

function touchedOf(result: pg.QueryResult): Readonly<Record<string, Touched>> {
  return result.rows[0].touched as Record<string, Touched>
}

function difference(
  before: Readonly<Record<string, Touched>>,
  after: Readonly<Record<string, Touched>>,
): Map<string, Touched> {
  const changed = Object.entries(after).map(([name, { scans, blocks }]): [string, Touched] => {
    const known = before[name] ?? { scans: 0, blocks: 0 }
    return [name, { scans: scans - known.scans, blocks: blocks - known.blocks }]
  })
  return new Map(changed.filter(([, { scans, blocks }]) => scans > 0 || blocks > 0))
}

/** Elements of a list, also of one that is written as PostgreSQL reads it, such as `{a,"b c"}`. */
function elementCount(value: unknown): number {
  if (Array.isArray(value)) return value.length
  if (typeof value !== 'string' || !/^\{.*\}$/s.test(value) || isJson(value)) return 1
  return value.match(/"(?:[^"\\]|\\.)*"|[^,{}"]+/gs)?.length ?? 0
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Parameters in the longest `in ($1, $2, …)`. */
function listLength(text: string): number {
  const lists = text.match(/ in \(\$\d+(, \$\d+)*\)/g) ?? []
  return Math.max(0, ...lists.map((list) => list.split(',').length))
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** A value as `execute` takes it: text, which PostgreSQL reads as the type of the parameter. */
function literal(value: unknown): string {
  const text = textOf(value)
  return text === null ? 'null' : `'${text.replaceAll("'", "''")}'`
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function elementOf(value: unknown): string {
  const text = textOf(value)
  return text === null ? 'null' : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
