import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keepAndReport, pastTheServer } from './check.ts'
import { checks } from './index.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/doctor.md'), 'utf8')

/** What many checks have in common is a chapter of the page. */
function shortened(text: string): string {
  return text
    .replace(pastTheServer, '[A common cause](#common-causes).')
    .replace(keepAndReport, '[Keep and report](#keep-and-report).')
}

test('docs/doctor.md has a row for every check, in its order and in its words, and no other', () => {
  const [, table] = /<!-- checks:begin -->\n\n([\s\S]*?)\n\n<!-- checks:end -->/.exec(page) ?? []
  const rows = checks.map(
    ({ id, title, severity, cause, remedy }) =>
      `| \`${id}\` | ${severity} | ${title} | ${shortened(cause)} | ${shortened(remedy)} |`,
  )
  expect(table?.split('\n')).toEqual([
    '| check | | what must hold | how it could have come about that it does not | what to do |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ])
})

test('docs/doctor.md says what the sentences mean that many checks have in common', () => {
  const words = page.replaceAll('\n', ' ')
  expect(words).toContain(pastTheServer)
  expect(words).toContain(keepAndReport)
})

test('a check has a name of its own, sentences that end where they should, and no character that a table cannot hold', () => {
  expect(new Set(checks.map(({ id }) => id)).size).toBe(checks.length)
  for (const { id, title, cause, remedy } of checks) {
    expect(id).toMatch(/^[a-z]+\.[a-z]+$/)
    expect(title).toMatch(/[^.]$/)
    expect(cause).toMatch(/\.$/)
    expect(remedy).toMatch(/\.$/)
    expect(title + cause + remedy).not.toMatch(/[|\n]/)
  }
})
