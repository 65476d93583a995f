import { describe, expect, test } from 'vitest'
import { documentRules } from './document-rules.ts'
import { exceptions } from './exceptions.ts'
import { type Rule, treeOf } from './rule.ts'
import { structureRules } from './structure-rules.ts'
import { textRules } from './text-rules.ts'
import { type Finding, readTree } from './tree.ts'

const rules: readonly Rule[] = [...textRules, ...structureRules, ...documentRules]
const tree = readTree()
const used = new Set<(typeof exceptions)[number]>()

function excuse(rule: Rule, finding: Finding): boolean {
  const line = tree.get(finding.path)?.split('\n')[finding.line - 1] ?? ''
  const found = exceptions.find(
    (exception) =>
      exception.rule === rule.name &&
      exception.path === finding.path &&
      (exception.about?.test(`${line}\n${finding.message}`) ?? true),
  )
  if (found !== undefined) used.add(found)
  return found !== undefined
}

describe.each(rules.map((rule) => ({ name: rule.name, rule })))('$name', ({ rule }) => {
  test('holds in the whole tree', () => {
    const findings = rule.check(tree).filter((finding) => !excuse(rule, finding))
    expect(findings.map(({ path, line, message }) => `${path}:${line} ${message}`)).toEqual([])
  })

  test('can fail', () => {
    expect(rule.broken.length).toBeGreaterThan(0)
    for (const files of rule.broken) {
      expect(rule.check(treeOf(files)), `nothing found in ${JSON.stringify(files).slice(0, 200)}`).not.toEqual([])
    }
    expect(rule.check(treeOf(rule.sound))).toEqual([])
  })
})

test('every exception is still needed', () => {
  const names = new Set(rules.map((rule) => rule.name))
  expect(exceptions.filter((exception) => !names.has(exception.rule))).toEqual([])
  expect(exceptions.filter((exception) => !used.has(exception)).map(({ rule, path }) => `${path}: ${rule}`)).toEqual([])
})
