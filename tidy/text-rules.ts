/** Rules that look at one line at a time: what must not be written, where it may, and what to write instead. */
import type { Rule } from './rule.ts'
import { codeLines, findLines, isSource, isTypeScript } from './tree.ts'

const office = 'apps/office/src'
const web = 'apps/web/src'
const clocks = [`${office}/platform/clock.ts`, `${web}/platform/clock.ts`]
/** Joined here, so that this file does not contain what it looks for. */
const double = 'as unknown' + ' as'
const suppressions = ['@ts-ig' + 'nore', '@ts-expect-' + 'error', '@ts-no' + 'check'].join('|')
const reminders = ['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')

const sqlFiles =
  /(\/([a-z]+-)?queries\.ts|packages\/einmal\/src\/register(-[a-z]+)?\.ts|apps\/office\/src\/platform\/(database|migrate|server-login)\.ts)$/

/** The start of a statement inside quotes, or Kysely's `sql` template. */
const sqlText =
  /(\bsql`)|['"`]\s*(select |insert into |update \w+ |delete from |truncate |create (table|role|database|index) |alter |drop |grant |revoke |with \w+ as|set local |begin\b|commit\b|rollback\b|lock table)/

interface LineRule extends Omit<Rule, 'check'> {
  readonly where: (path: string) => boolean
  readonly pattern: RegExp
  readonly message: string
}

/** Rules about code; comments may say what they like. */
const lineRules: readonly LineRule[] = [
  {
    name: 'SQL stands in queries.ts, in the register and in migrations',
    where: (path) => isSource(path) && !sqlFiles.test(path),
    pattern: sqlText,
    message: 'SQL text: move it into the queries.ts of the module that owns the table',
    broken: [
      { [`${office}/api/contact-routes.ts`]: 'await db.query(`select * from contacts`, [])' },
      { [`${office}/modules/money/invoices.ts`]: 'await send(tx, sql`delete from invoices`)' },
    ],
    sound: { [`${office}/modules/money/queries.ts`]: 'sql`select 1`', [`${office}/api/a.ts`]: "say('selected one')" },
  },
  {
    name: 'the environment is read in config.ts',
    where: (path) => isSource(path) && path !== `${office}/config.ts`,
    pattern: /\bprocess\.env\b/,
    message: 'process.env: add a setting to apps/office/src/config.ts and hand its value in',
    broken: [{ [`${office}/app.ts`]: 'const port = process.env.PORT' }],
    sound: { [`${office}/config.ts`]: 'process.env', [`${office}/a.ts`]: '/** Not process.env. */' },
  },
  {
    name: 'only main and cli end the process',
    where: (path) => isSource(path) && ![`${office}/main.ts`, `${office}/cli.ts`].includes(path),
    pattern: /\bprocess\.(exit\(|exitCode\b|abort\()/,
    message: 'process.exit: throw, and let main.ts decide how the process ends',
    broken: [{ [`${office}/app.ts`]: 'process.exit(1)' }],
    sound: { [`${office}/main.ts`]: 'process.exit(1)' },
  },
  {
    name: 'time is handed in',
    where: (path) => isSource(path) && !clocks.includes(path),
    pattern: /\bDate\.now\(|\bnew Date\(\)/,
    message: 'the machine’s clock: take a Clock (platform/clock.ts), or a Date as a parameter',
    broken: [
      { [`${office}/app.ts`]: 'const now = Date.now()' },
      { 'packages/einmal/src/once.ts': 'new Date()' },
      { [`${web}/modules/x/x-page.tsx`]: 'const now = Date.now()' },
    ],
    sound: {
      [`${office}/platform/clock.ts`]: 'new Date()',
      [`${web}/platform/clock.ts`]: 'Date.now()',
      [`${office}/app.ts`]: 'new Date(row.at)',
    },
  },
  {
    name: 'chance comes from crypto',
    where: isSource,
    pattern: /\bMath\.random\(/,
    message: 'Math.random: take newId (platform/ids.ts), or randomBytes of node:crypto for a secret',
    broken: [{ [`${office}/app.ts`]: 'Math.random()' }],
    sound: { [`${office}/app.ts`]: 'randomBytes(16)' },
  },
  {
    name: 'no amount passes through a float',
    where: isSource,
    pattern:
      /\b(Number|parseFloat|Number\.parseFloat)\((?=.*([mM]inor|[aA]mount))|([mM]inor|[aA]mount).*\bparseFloat\(/,
    message: 'an amount as a float: keep the bigint; read with parseMinorUnits or parseDecimal of platform/money.ts',
    broken: [
      { [`${office}/providers/payment/x.ts`]: 'const amountMinor = BigInt(Number(data.amount) * 100)' },
      { [`${office}/modules/money/x.ts`]: 'const total = Number(row.total_minor) / 2' },
      { [`${office}/modules/money/x.ts`]: 'const amount = parseFloat(text)' },
    ],
    sound: { [`${office}/inbound/x.ts`]: 'const port = Number(text)', [`${office}/x.ts`]: 'MAX = 2n ** 53n' },
  },
  {
    name: 'types are not argued away',
    where: isTypeScript,
    pattern: /: any\b(?!['(])|<any\b|, any>|\bany\[\]|[|&] any\b(?!\()|\bas any\b|\bas unknown\s+as\b/,
    message: 'any or a double cast: name the type, use unknown and narrow it, or list the place with its reason',
    broken: [
      { 'a.ts': `function read(value:${' any'}) {}` },
      { 'a.ts': `const rows: Map<string,${' any'}> = x` },
      { 'a.ts': `return row ${double} Payment` },
    ],
    sound: { 'a.ts': 'where id = any(ids)\nexpect.any(String)\n// any text\nproperty(x, (amount, any) => any)' },
  },
]

/** Rules about every line, comments included. */
const commentRules: readonly LineRule[] = [
  {
    name: 'no checker is silenced',
    where: isTypeScript,
    pattern: new RegExp(`${suppressions}|biome-ig${'nore'}`),
    message: 'a silenced checker: mend the cause, or list the place in tidy/exceptions.ts with its reason',
    broken: [{ 'a.ts': `// ${suppressions.split('|')[0]}` }, { 'a.ts': `// biome-ig${'nore'} lint: because` }],
    sound: { 'a.ts': '// the linter is right' },
  },
  {
    name: 'nothing is left for later in a comment',
    where: () => true,
    pattern: new RegExp(`\\b(${reminders})\\b`),
    message: 'a reminder: do it now, or write it down as an issue',
    broken: [{ 'a.ts': `// ${reminders.split('|')[0]}: later` }, { 'README.md': `${reminders.split('|')[1]}` }],
    sound: { 'a.ts': '// done' },
  },
  {
    name: 'no registry and no machine',
    where: (path) => path !== '.gitignore',
    pattern: /\bregistry\.[a-z]+\.(org|com|io)\b|(?<![\w.~-])\/(home|Users)\/[a-z]\w*\//i,
    message: 'the host of a registry, or a path of one machine: say it relative to the project',
    broken: [{ 'a.md': `https://registry.${'npmjs'}.org/x` }, { 'a.ts': `'/${'home'}/anna/einmal'` }],
    sound: { 'a.md': 'below /root (mode 0700), in ~/.cache' },
  },
]

export const textRules: readonly Rule[] = [
  ...lineRules.map((rule) => toRule(rule, codeLines)),
  ...commentRules.map((rule) => toRule(rule, (text) => text.split('\n'))),
]

function toRule(rule: LineRule, linesOf: (text: string) => string[]): Rule {
  const { name, broken, sound, where, pattern, message } = rule
  return { name, broken, sound, check: (tree) => findLines(tree, { where, pattern, message, linesOf }) }
}
