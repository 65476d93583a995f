/** Rules about how the parts fit: who imports whom, what a function takes, how long things are, what has to be listed. */
import { posix } from 'node:path'
import { rankOf, strangers, unitOf } from './ranks.ts'
import type { Rule } from './rule.ts'
import { codeLines, type Finding, isSource, isTypeScript, type Tree } from './tree.ts'

const src = 'apps/office/src/'

interface Import {
  readonly path: string
  readonly line: number
  /** Below `apps/office/src`. */
  readonly target: string
}

/** Imports between files of the office. Packages are lower than all of it and are named without a path. */
function* officeImports(tree: Tree): Generator<Import> {
  for (const [path, text] of tree) {
    if (!path.startsWith(src) || !isTypeScript(path)) continue
    for (const [index, line] of codeLines(text).entries()) {
      const specifier = /(?:from |import\(|import )'(\.[^']+)'/.exec(line)?.[1]
      if (specifier === undefined) continue
      yield { path, line: index + 1, target: posix.join(posix.dirname(path), specifier) }
    }
  }
}

const layers: Rule = {
  name: 'a folder imports from lower ranks only',
  check(tree) {
    const findings: Finding[] = []
    for (const { path, line, target } of officeImports(tree)) {
      if (!target.startsWith(src)) {
        if (path.endsWith('.test.ts')) continue
        findings.push({ path, line, message: 'an import from outside of src: packages are imported by their name' })
        continue
      }
      const from = unitOf(path.slice(src.length))
      const to = unitOf(target.slice(src.length))
      if (from === to) continue
      findings.push(...judgeImport(from, to).map((message) => ({ path, line, message })))
    }
    return findings
  },
  broken: [
    { [`${src}platform/database.ts`]: "import { x } from '../modules/money/index.ts'" },
    { [`${src}modules/contacts/queries.ts`]: "import { x } from '../members/index.ts'" },
    { [`${src}modules/contacts/queries.ts`]: "import { x } from '../../providers/index.ts'" },
    { [`${src}providers/payment/stripe.ts`]: "import { x } from '../../modules/money/index.ts'" },
    { [`${src}new-folder/x.ts`]: "import { x } from '../platform/clock.ts'" },
    { [`${src}app.ts`]: "import { x } from '../../../packages/einmal/src/index.ts'" },
  ],
  sound: {
    [`${src}modules/money/invoices.ts`]:
      "import { x } from '../../pipeline/index.ts'\nimport { y } from './queries.ts'",
    [`${src}app.ts`]: "import { x } from 'einmal'",
  },
}

function judgeImport(from: string, to: string): string[] {
  const rank = rankOf(from)
  const below = rankOf(to)
  if (rank === undefined || below === undefined) {
    return [`${rank === undefined ? from : to} has no rank: give it one in tidy/ranks.ts and in ARCHITECTURE.md`]
  }
  if (below >= rank) return [`${from} imports ${to}, which is not below it: move what both need further down`]
  return strangers
    .filter((pair) => pair.from.test(from) && pair.to.test(to))
    .map((pair) => `${from} imports ${to}: ${pair.instead}`)
}

const frontDoors: Rule = {
  name: 'a folder with an index.ts is entered through it',
  check(tree) {
    const findings: Finding[] = []
    for (const { path, line, target } of officeImports(tree)) {
      if (path.endsWith('.test.ts')) continue
      for (let folder = posix.dirname(target); folder.startsWith(src); folder = posix.dirname(folder)) {
        const door = `${folder}/index.ts`
        if (!tree.has(door) || path.startsWith(`${folder}/`) || target === door) continue
        findings.push({ path, line, message: `past the door: import from ${door}, and export there what you need` })
      }
    }
    return findings
  },
  broken: [
    {
      [`${src}modules/money/index.ts`]: '',
      [`${src}api/x.ts`]: "import { x } from '../modules/money/queries.ts'",
    },
    {
      [`${src}providers/index.ts`]: '',
      [`${src}inbound/x.ts`]: "import { x } from '../providers/payment/stripe.ts'",
    },
  ],
  sound: {
    [`${src}modules/money/index.ts`]: '',
    [`${src}modules/money/invoices.ts`]: "import { x } from './queries.ts'",
    [`${src}api/x.ts`]: "import { x } from '../modules/money/index.ts'\nimport { y } from '../platform/clock.ts'",
  },
}

const webModules = /^apps\/web\/src\/modules\/([^/]+)\//

const webAreas: Rule = {
  name: 'an area of the web app knows no other area',
  check: (tree) =>
    [...tree].flatMap(([path, text]) => {
      const area = webModules.exec(path)?.[1]
      if (area === undefined) return []
      return codeLines(text).flatMap((line, index) => {
        const specifier = /(?:from |import\(|import )'(\.[^']+)'/.exec(line)?.[1]
        if (specifier === undefined) return []
        const other = webModules.exec(posix.join(posix.dirname(path), specifier))?.[1]
        if (other === undefined || other === area) return []
        return [{ path, line: index + 1, message: `imports ${other}: move what both need to parts, frame or platform` }]
      })
    }),
  broken: [{ 'apps/web/src/modules/audit/audit-page.tsx': "import { x } from '../members/shapes.ts'" }],
  sound: {
    'apps/web/src/modules/audit/audit-page.tsx': "import { x } from './texts.ts'\nimport { y } from '../../areas.ts'",
  },
}

const moduleHeads: Rule = {
  name: 'a module says what it owns',
  check: (tree) =>
    [...tree].flatMap(([path, text]) => {
      if (!/^apps\/office\/src\/(modules\/[^/]+|pipeline|inbound)\/index\.ts$/.test(path)) return []
      const head = /^\/\*\*\n([\s\S]*?)\*\//.exec(text)?.[1] ?? ''
      const isComplete = head.split('\n').length > 3 && /\bTables?\b/.test(head) && /\bInvariants?\b/.test(head)
      if (isComplete) return []
      return [{ path, line: 1, message: 'begin with what the module owns, its Tables, and its Invariants' }]
    }),
  broken: [{ [`${src}modules/x/index.ts`]: "export { x } from './queries.ts'" }],
  sound: {
    [`${src}modules/x/index.ts`]:
      '/**\n * X: what it is for.\n * Table: `x`.\n * Invariant: one.\n * Rows are added.\n */\nexport {}',
  },
}

const writeVerb =
  /^(insert|update|delete|upsert|record|register|issue|create|add|change|mark|take|lock|answer|complete)/

const transactions: Rule = {
  name: 'the transaction is the first parameter',
  check: (tree) =>
    [...tree].flatMap(([path, text]) => {
      if (!isSource(path) || !path.startsWith(`${src}modules/`)) return []
      const isQueries = path.endsWith('/queries.ts')
      return [...text.matchAll(/^export (async )?function (\w+)(?:<[^(]*>)?\(\s*(\w*)/gm)].flatMap((match) => {
        const [, isAsync, name = '', first = ''] = match
        const isWrite = isAsync !== undefined && writeVerb.test(name)
        if ((!isQueries && !isWrite) || first === 'tx' || first === 'db') return []
        const line = text.slice(0, match.index).split('\n').length
        return [{ path, line, message: `${name} takes no tx or db first: take tx to join the caller's transaction` }]
      })
    }),
  broken: [
    { [`${src}modules/x/queries.ts`]: 'export async function findX(id: string, tx: Tx) {}' },
    { [`${src}modules/x/x.ts`]: 'export async function recordX(\n  context: Context,\n) {}' },
  ],
  sound: {
    [`${src}modules/x/queries.ts`]: 'export function findX(\n  tx: Tx,\n) {}\nfunction toX(row: Row) {}',
    [`${src}modules/x/x.ts`]: 'export function decideX(facts: Fact[]) {}\nexport async function findY(db: Db) {}',
  },
}

const fileNames: Rule = {
  name: 'a file is named after what it holds',
  check: (tree) =>
    [...tree.keys()].flatMap((path) => {
      const name = posix.basename(path)
      if (/^(utils?|helpers?|common|misc|manager)\b|[-_](utils?|helpers?|manager)\./.test(name)) {
        return [{ path, line: 0, message: 'a name for anything: name the file after the noun or verb it is about' }]
      }
      if (/^(packages|apps|tidy|bench)\/.*\.tsx?$/.test(path) && !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/.test(name)) {
        return [{ path, line: 0, message: 'not kebab-case: small letters, digits and hyphens' }]
      }
      return []
    }),
  broken: [{ [`${src}utils.ts`]: '' }, { [`${src}money-helpers.ts`]: '' }, { [`${src}fooBar.ts`]: '' }],
  sound: { [`${src}fault-points.ts`]: '', 'README.md': '', [`${src}a.pg.test.ts`]: '' },
}

const migrationNames: Rule = {
  name: 'migrations count up without a gap',
  check(tree) {
    const paths = [...tree.keys()].filter((path) => path.startsWith('apps/office/migrations/')).toSorted()
    return paths.flatMap((path, index) => {
      const number = String(index + 1).padStart(4, '0')
      const isNamed = new RegExp(`/${number}_[a-z]+_[a-z_]+\\.sql$`).test(path)
      return isNamed
        ? []
        : [{ path, line: 0, message: `expected ${number}_verb_noun.sql; make one with npm run db:new` }]
    })
  },
  broken: [{ 'apps/office/migrations/0002_create_x.sql': '' }, { 'apps/office/migrations/0001_x.sql': '' }],
  sound: { 'apps/office/migrations/0001_create_x.sql': '', 'apps/office/migrations/0002_add_y_to_x.sql': '' },
}

const MAX_FILE_LINES = 600
const MAX_FUNCTION_LINES = 70

const lengths: Rule = {
  name: `a file has at most ${MAX_FILE_LINES} lines and a function ${MAX_FUNCTION_LINES} of its own`,
  check: (tree) =>
    [...tree].flatMap(([path, text]) => {
      if (!isTypeScript(path)) return []
      const lines = text.split('\n').length - 1
      const long =
        lines > MAX_FILE_LINES ? [{ path, line: 0, message: `${lines} lines: split it by what it is about` }] : []
      // A test file's describe blocks are chapters, not functions.
      const functions = path.endsWith('.test.ts') ? [] : longFunctions(text)
      return [...long, ...functions.map((found) => ({ path, ...found }))]
    }),
  broken: [
    { 'a.ts': '\n'.repeat(MAX_FILE_LINES + 1) },
    { 'a.ts': `export function x() {\n${'  y()\n'.repeat(MAX_FUNCTION_LINES)}}\n` },
    { 'a.ts': `class X {\n  #y(\n    a: string,\n  ): void {\n${'    z()\n'.repeat(MAX_FUNCTION_LINES)}  }\n}\n` },
  ],
  sound: {
    'a.ts': `function x() {\n  if (y) {\n    z()\n  }\n}\n`,
    // A table of routes is as long as its routes; each of them is measured by itself.
    'b.ts': `const routes = (app) => {\n${`  app.get('/', () => {\n${'    x()\n'.repeat(40)}  })\n`.repeat(3)}}\n`,
  },
}

const functionStart =
  /^\s*(export )?(default )?(async )?function\b.*\{$|=> \{$|^\s*\).*\{$|^\s+(static |async |override |get |set )*#?\w+\(.*\).*\{$/
const controlFlow = /^\s*(\} )?(if|for|while|switch|do|try|catch|else)\b/

/** Lines of a function without those of functions inside it. Reads the indentation, which the formatter keeps exact. */
function longFunctions(text: string): { line: number; message: string }[] {
  const open: { indent: number; line: number; inner: number }[] = []
  const found: { line: number; message: string }[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const indent = line.search(/\S/)
    const current = open.at(-1)
    if (current !== undefined && indent === current.indent && line.trim().startsWith('}')) {
      open.pop()
      const length = index - current.line + 1
      const own = length - current.inner
      const outer = open.at(-1)
      if (outer !== undefined) outer.inner += length
      if (own > MAX_FUNCTION_LINES) {
        found.push({
          line: current.line + 1,
          message: `a function of ${own} lines: let it keep the course and move the work out`,
        })
      }
    }
    if (functionStart.test(line) && !controlFlow.test(line)) open.push({ indent, line: index, inner: 0 })
  }
  return found
}

const quietTests: Rule = {
  name: 'a test that does not run says why',
  check: (tree) =>
    [...tree].flatMap(([path, text]) => {
      if (!path.endsWith('.test.ts')) return []
      const lines = text.split('\n')
      return lines.flatMap((line, index) => {
        const isSkipped = /^\s*(test|it|describe)(\.\w+)*\.(only|skip|todo)\b/.test(line)
        const hasReason = /\/\/ \w/.test(line) || /^\s*(\/\/|\*\/|\/\*\*)/.test(lines[index - 1] ?? '')
        if (!isSkipped || (hasReason && !/\.only\b/.test(line))) return []
        return [{ path, line: index + 1, message: 'put the reason in a comment above; an .only is never left in' }]
      })
    }),
  broken: [{ 'a.test.ts': "test.skip('x', () => {})" }, { 'a.test.ts': "// because\ntest.only('x', () => {})" }],
  // The name of the condition is the reason.
  sound: { 'a.test.ts': "// Needs a second disk.\ntest.skip('x', y)\ntest.skipIf(!isRoot)('z', y)" },
}

const entrances = 'apps/office/test/support/entrances.ts'

const providers: Rule = {
  name: 'a provider is registered, has samples, and is an entrance of the exactly-once suite',
  check: (tree) =>
    [...tree].flatMap(([path, text]) => {
      const [, family, name] = /^apps\/office\/src\/providers\/([a-z]+)\/([a-z-]+)\.ts$/.exec(path) ?? []
      if (family === undefined || name === undefined || !/satisfies \w*Provider</.test(text)) return []
      const registry = tree.get(`${src}providers/index.ts`) ?? ''
      const list = tree.get(entrances)
      const missing = [
        ...(registry.includes(`'./${family}/${name}.ts'`) ? [] : ['add it to the list in providers/index.ts']),
        ...(tree.has(`${src}providers/${family}/samples/${name}.ts`) ? [] : [`add samples/${name}.ts beside it`]),
        ...(list?.includes(`provider: '${name}'`)
          ? []
          : [`add it to ${entrances}, so that the exactly-once matrix runs it`]),
      ]
      return missing.map((message) => ({ path, line: 0, message }))
    }),
  broken: [{ [`${src}providers/payment/adyen.ts`]: 'export const adyen = {} satisfies PaymentProvider<Settings>' }],
  sound: {
    [`${src}providers/payment/adyen.ts`]: 'export const adyen = {} satisfies PaymentProvider<Settings>',
    [`${src}providers/index.ts`]: "import { adyen } from './payment/adyen.ts'",
    [`${src}providers/payment/samples/adyen.ts`]: '',
    [entrances]: "{ provider: 'adyen' }",
    [`${src}providers/payment/sign.ts`]: 'export function sign() {}',
  },
}

const faultList = `${src}platform/fault-points.ts`

const faultPoints: Rule = {
  name: 'every fault point is passed in the code, and the crash suite goes through the list',
  check(tree) {
    const list = tree.get(faultList)
    if (list === undefined) return []
    const names = [...(/faultPoints = \[([\s\S]*?)\] as const/.exec(list)?.[1] ?? '').matchAll(/'([\w.]+)'/g)]
    const code = [...tree].filter(([path]) => isSource(path) && path !== faultList).map(([, text]) => text)
    const unused = names.flatMap(([, name = '']) =>
      code.some((text) => text.includes(`faultPoint('${name}')`))
        ? []
        : [{ path: faultList, line: 0, message: `${name} is passed nowhere: call faultPoint('${name}') or remove it` }],
    )
    const isIterated = [...tree].some(
      ([path, text]) => path.startsWith('apps/office/test/fault/') && /\bfaultPoints\b/.test(text),
    )
    const message = 'no test in apps/office/test/fault goes through faultPoints: a new point would go untested'
    return [...unused, ...(isIterated ? [] : [{ path: faultList, line: 0, message }])]
  },
  broken: [
    {
      [faultList]: "export const faultPoints = ['a.afterB'] as const",
      'apps/office/test/fault/x.test.ts': 'for (const point of faultPoints) x(point)',
    },
    {
      [faultList]: "export const faultPoints = ['a.afterB'] as const",
      [`${src}a.ts`]: "faultPoint('a.afterB')",
    },
  ],
  sound: {
    [faultList]: "export const faultPoints = ['a.afterB'] as const",
    [`${src}a.ts`]: "faultPoint('a.afterB')",
    'apps/office/test/fault/x.test.ts': 'for (const point of faultPoints) x(point)',
  },
}

export const structureRules: readonly Rule[] = [
  layers,
  frontDoors,
  webAreas,
  moduleHeads,
  transactions,
  fileNames,
  migrationNames,
  lengths,
  quietTests,
  providers,
  faultPoints,
]
