import { sendText, type Tx } from '../platform/database.ts'
import type { Check, Severity } from './check.ts'
import { checks } from './checks.ts'
import { joinAsBefore, joinByHash } from './queries.ts'

/** A row that disagrees: what it is about, and columns that show how. Amounts are in minor units. */
export type FoundRow = Readonly<Record<string, unknown>> & { readonly subject: string }

/** A check that does not hold, with the rows that say so. */
export interface Finding {
  readonly check: string
  readonly title: string
  readonly severity: Severity
  readonly cause: string
  readonly remedy: string
  readonly rows: readonly FoundRow[]
  /** There are more rows than these. */
  readonly hasMore: boolean
}

/** As many rows of one check are named; whoever has more of them has one cause and not a thousand. */
const ROWS_MAX = 1_000

/** The statement of a check, with an end. */
export function textOf(check: Check): string {
  return `${check.sql}\n      order by 1 limit ${ROWS_MAX + 1}`
}

/** What the rows of a check say; nothing, where there are none. */
export function toFindings(check: Check, rows: readonly FoundRow[]): Finding[] {
  if (rows.length === 0) return []
  const { id, title, severity, cause, remedy } = check
  return [
    {
      check: id,
      title,
      severity,
      cause,
      remedy,
      rows: rows.slice(0, ROWS_MAX),
      hasMore: rows.length > ROWS_MAX,
    },
  ]
}

/**
 * Every check at once, in the caller's transaction; nothing is awaited in between. For tests, after each step: on books of
 * some hundred rows it takes milliseconds.
 *
 * Each check is one statement and sees one moment, in which it must hold; the moments of two checks may differ while others
 * write. `openDoctor` looks at one moment for all of them.
 */
export async function diagnose(tx: Tx, organizationId: string): Promise<Finding[]> {
  void sendText(tx, joinByHash, [])
  const answers = checks.map((check) =>
    sendText<FoundRow>(tx, textOf(check), [organizationId], `doctor.${check.id}`).then((rows) =>
      toFindings(check, rows),
    ),
  )
  void sendText(tx, joinAsBefore, [])
  return (await Promise.all(answers)).flat()
}
