/** One place that a rule does not hold for, and why. One that excuses nothing any more fails the test. */
export interface Exception {
  readonly rule: string
  readonly path: string
  /** Matches the line or the message; without it, the whole file is excused. */
  readonly about?: RegExp
  readonly reason: string
}

const sql = 'SQL stands in queries.ts, in the register and in migrations'
const float = 'no amount passes through a float'
const types = 'types are not argued away'

/** An amount is at most 2^53 - 1 (platform/money.ts), so its JSON number is exact. Nothing may be computed with it. */
const onItsWayOut = /return Number\(amountMinor\)/

export const exceptions: readonly Exception[] = [
  {
    rule: sql,
    path: 'apps/office/src/app.ts',
    about: /'select 1'/,
    reason: 'the probe of /readyz asks whether the database answers, and no module',
  },
  {
    rule: sql,
    path: 'apps/office/src/platform/embedded-postgres/owner-lock.ts',
    reason: 'a lock of SQLite on an empty file: no table, no row',
  },
  {
    rule: sql,
    path: 'packages/einmal/src/adapters/pg.ts',
    about: /'begin |'commit'|'rollback'/,
    reason: 'an adapter begins and ends transactions; all that touches the table stands in register.ts',
  },
  {
    rule: sql,
    path: 'apps/office/src/commands/api-key.ts',
    about: /'revoke <key id>'/,
    reason: 'a verb of the command line, and no statement',
  },
  ...['desk', 'invoice', 'payment', 'register'].map((subject) => ({
    rule: sql,
    path: `apps/office/src/doctor/${subject}-checks.ts`,
    reason:
      'the doctor judges the tables of all modules, so none of them can own its statements; each is a line of a list',
  })),
  {
    rule: 'time is handed in',
    path: 'packages/einmal/src/adapters/define-db.ts',
    about: /options\.now \?\?/,
    reason: 'the default of a library whose caller may hand in a clock',
  },
  {
    rule: float,
    path: 'apps/office/src/platform/money.ts',
    about: onItsWayOut,
    reason: 'the one place where a bigint goes on its way into JSON',
  },
  {
    rule: types,
    path: 'apps/office/src/pipeline/fact-kind.ts',
    about: /return kind as unknown/,
    reason: 'a list of kinds forgets their types; state and rows travel only between functions of one kind',
  },
  {
    rule: types,
    path: 'apps/office/test/support/measured-statements.ts',
    about: /prototype as unknown/,
    reason: 'a spy on a method of pg whose overloads the test does not care about',
  },
  {
    rule: types,
    path: 'tidy/text-rules.ts',
    about: /pattern: /,
    reason: 'the pattern that looks for it',
  },
  {
    rule: 'a file has at most 600 lines and a function 70 of its own',
    path: 'apps/office/test/support/grow-office.ts',
    reason: 'one insert for each table, table by table: a list, and no course to follow',
  },
  {
    rule: 'no checker is silenced',
    path: 'apps/office/src/platform/database.ts',
    about: /useYield/,
    reason: 'Kysely demands a generator that a pipelined connection cannot offer',
  },
  {
    rule: 'nothing is left for later in a comment',
    path: 'apps/office/src/platform/currencies.ts',
    about: /no currency/,
    reason: 'the ISO code for "no currency" has three letters that look like a reminder',
  },
  {
    rule: 'nothing is left for later in a comment',
    path: 'apps/office/src/platform/money.test.ts',
    about: /'XAU'|XTS|XDR/,
    reason: 'the same code in the list of those without a minor unit',
  },
  {
    rule: 'a module says what it owns',
    path: 'apps/office/src/modules/audit/index.ts',
    reason: 'its last line is the invariant',
  },
  {
    rule: 'the transaction is the first parameter',
    path: 'apps/office/src/modules/register/work.ts',
    reason: 'a step of a program is a transaction of its own, which the library begins and may begin again',
  },
  {
    rule: 'the transaction is the first parameter',
    path: 'apps/office/src/modules/members/organizations.ts',
    reason: 'an organisation is made on the door’s database, in a transaction that nobody else can be in',
  },
]
