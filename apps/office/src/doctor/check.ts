/** `wrong`: the books disagree. `note`: they agree, and something in them waits for a person. */
export type Severity = 'wrong' | 'note'

/**
 * Something that must hold in the books of every organisation, with the statement that looks for where it does not.
 *
 * A check asks the tables and nothing else. It says for itself what the rows must add up to, so that the code that writes
 * them, and the functions and generated columns of the database, are judged and not believed.
 */
export interface Check {
  /** Stable: `docs/doctor.md` and scripts name it. */
  readonly id: string
  /** What must hold, as a sentence. */
  readonly title: string
  readonly severity: Severity
  /** How it could have come about that it does not. */
  readonly cause: string
  /** What to do next. */
  readonly remedy: string
  /** Selects what disagrees in the organisation $1: first `subject`, the id, then columns that show the disagreement. */
  readonly sql: string
}

/** Said by statements that go through an organisation, so that they find its list index; true of every row. */
export const listed = `id <> '00000000-0000-0000-0000-000000000000'`

/** How rows that are written together come to disagree at all. `docs/doctor.md` says more of each. */
export const pastTheServer =
  'A write with another role than the server’s, a restore of a part of the database, or a bug.'

export const keepAndReport =
  'Change nothing by hand: keep a backup of this state, compare it with the last good one, and report it with the ids.'
