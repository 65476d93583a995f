/** Rules that hold documents and code together: what a page says must be there. */
import { posix } from 'node:path'
import type { Rule } from './rule.ts'
import { type Finding, isSource, type Tree } from './tree.ts'

/** Without fenced blocks, in which a `#` is a comment of the shell. */
function proseLines(text: string): string[] {
  let isInBlock = false
  return text.split('\n').map((line) => {
    if (/^\s*```/.test(line)) {
      isInBlock = !isInBlock
      return ''
    }
    return isInBlock ? '' : line
  })
}

const titles: Rule = {
  name: 'a page has one title',
  check: (tree) =>
    [...tree].flatMap(([path, text]) => {
      if (!path.endsWith('.md')) return []
      const count = proseLines(text).filter((line) => line.startsWith('# ')).length
      return count === 1
        ? []
        : [{ path, line: 0, message: `${count} titles: one line begins with "# ", the rest with "## "` }]
    }),
  broken: [{ 'a.md': '# One\n# Two\n' }, { 'a.md': 'no title' }],
  sound: { 'a.md': '# One\n```sh\n# a comment\n```\n## Part\n' },
}

const links: Rule = {
  name: 'links between pages lead somewhere',
  check: (tree) =>
    [...tree].flatMap(([path, text]) => {
      if (!path.endsWith('.md')) return []
      const folders = new Set([...tree.keys()].flatMap((file) => ancestorsOf(file)))
      return proseLines(text).flatMap((line, index) =>
        [...line.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
          if (/^(https?:|mailto:)/.test(target)) return []
          const [file = '', anchor] = target.split('#')
          const found = file === '' ? path : posix.join(posix.dirname(path), file).replace(/\/$/, '')
          if (!tree.has(found) && !folders.has(found)) {
            return [{ path, line: index + 1, message: `the link to ${target} leads nowhere` }]
          }
          if (anchor === undefined || anchorsOf(tree.get(found) ?? '').has(anchor)) return []
          return [{ path, line: index + 1, message: `${found} has no heading #${anchor}` }]
        }),
      )
    }),
  broken: [{ 'docs/a.md': '[b](b.md)' }, { 'a.md': '# A\n[b](#nowhere)' }],
  sound: { 'docs/a.md': '[b](../b.md#part-one) [c](https://x.example/y)', 'b.md': '# B\n## Part one' },
}

function ancestorsOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

function anchorsOf(text: string): Set<string> {
  const headings = proseLines(text).filter((line) => /^#+ /.test(line))
  return new Set(
    headings.map((line) =>
      line
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

const errorsFile = 'packages/contract/src/errors.ts'
const errorsPage = 'docs/errors.md'

const errorCodes: Rule = {
  name: 'every error code is explained in docs/errors.md and used',
  check(tree) {
    const list = tree.get(errorsFile)
    if (list === undefined) return []
    const page = tree.get(errorsPage) ?? ''
    const code = [...tree].filter(([path]) => isSource(path) && path !== errorsFile).map(([, text]) => text)
    const codes = [...list.matchAll(/^ {2}(\w+): \{ status: (\d+), title: '(.*)' \},$/gm)]
    const findings: Finding[] = codes.flatMap(([, name = '', status = '', title = '']) => {
      const row = `| \`${name}\` | ${status} | ${title} |`
      return [
        ...(page.includes(row)
          ? []
          : [{ path: errorsPage, line: 0, message: `the row is missing or differs: ${row} … |` }]),
        ...(code.some((text) => text.includes(`'${name}'`))
          ? []
          : [{ path: errorsFile, line: 0, message: `${name} is used nowhere: remove it` }]),
      ]
    })
    const known = new Set(codes.map(([, name]) => name))
    for (const [, name] of page.matchAll(/^\| `(\w+)` \|/gm)) {
      if (!known.has(name)) findings.push({ path: errorsPage, line: 0, message: `${name} is no code: remove its row` })
    }
    return findings
  },
  broken: [
    { [errorsFile]: "  gone: { status: 404, title: 'Gone' },\n", [`packages/contract/src/x.ts`]: "'gone'" },
    { [errorsFile]: "  gone: { status: 404, title: 'Gone' },\n", [errorsPage]: '| `gone` | 404 | Gone | x |' },
    { [errorsFile]: '', [errorsPage]: '| `gone` | 404 | Gone | x |' },
  ],
  sound: {
    [errorsFile]: "  gone: { status: 404, title: 'Gone' },\n",
    [errorsPage]: '| `gone` | 404 | Gone | x |',
    [`packages/contract/src/x.ts`]: "'gone'",
  },
}

const guaranteesPage = 'docs/guarantees.md'

/** Tests are named in a cell as `path` followed by one or more “titles”. */
const namedTest = /`([^`]+\.ts)`((?:[ ,]*“[^”]+”)+)/g

const guarantees: Rule = {
  name: 'every promise names tests that exist',
  check(tree) {
    const page = tree.get(guaranteesPage)
    if (page === undefined) return []
    return page.split('\n').flatMap((line, index) => {
      if (!/^\| /.test(line) || /^\| (Promise|---|Taken away)/.test(line)) return []
      const found = (message: string) => ({ path: guaranteesPage, line: index + 1, message })
      const named = [...line.matchAll(namedTest)]
      if (named.length === 0) return [found('a row without a test: `path.test.ts` “title of the test”')]
      return named.flatMap(([, path = '', titles = '']) => {
        const text = tree.get(path)
        if (text === undefined) return [found(`there is no ${path}`)]
        const missing = [...titles.matchAll(/“([^”]+)”/g)].filter(([, title = '']) => !hasTest(text, title))
        return missing.map(([, title]) => found(`${path} has no test “${title}”`))
      })
    })
  },
  broken: [
    { [guaranteesPage]: '| Once | unique key | trust us | none |' },
    { [guaranteesPage]: '| Once | unique key | `a.test.ts` “it is once” | none |' },
    { [guaranteesPage]: '| Once | unique key | `a.test.ts` “it is once” | none |', 'a.test.ts': "test('twice')" },
  ],
  sound: {
    [guaranteesPage]:
      '| Promise | x |\n| --- | --- |\n| Once | key | `a.test.ts` “it is once”, “so is a Stripe event” | none |',
    'a.test.ts': "test('it is once', x)\ntest.each(names)('so is a %s event', x)",
  },
}

/** The page may quote a title with its placeholders filled in, so those match anything. */
function hasTest(text: string, title: string): boolean {
  return [...text.matchAll(/(['"`])((?:\\.|(?!\1).)+)\1/g)].some(([, , quoted = '']) => {
    const plain = quoted.replaceAll("\\'", "'")
    if (plain === title) return true
    if (!/\$\{|%s|\$\w/.test(plain) || plain.length < 12) return false
    const pattern = plain.split(/\$\{[^}]*\}|%s|\$\w+/).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    return new RegExp(`^${pattern.join('.*')}$`).test(title)
  })
}

const decisionNames: Rule = {
  name: 'decisions count up and have their four parts',
  check(tree: Tree) {
    const paths = [...tree.keys()].filter((path) => path.startsWith('docs/decisions/')).toSorted()
    return paths.flatMap((path, index) => {
      const number = String(index + 1).padStart(4, '0')
      const text = tree.get(path) ?? ''
      const parts = ['## Context', '## Decision', '## Consequences', '## Alternatives', '## Where']
      const missing = parts.filter((part) => !text.includes(`\n${part}\n`))
      return [
        ...(posix.basename(path).startsWith(`${number}-`)
          ? []
          : [{ path, line: 0, message: `expected number ${number}` }]),
        ...(missing.length === 0 ? [] : [{ path, line: 0, message: `these parts are missing: ${missing.join(', ')}` }]),
      ]
    })
  },
  broken: [{ 'docs/decisions/0002-x.md': '# X\n' }],
  sound: {
    'docs/decisions/0001-x.md': '# X\n\n## Context\n\n## Decision\n\n## Consequences\n\n## Alternatives\n\n## Where\n',
  },
}

export const documentRules: readonly Rule[] = [titles, links, errorCodes, guarantees, decisionNames]
