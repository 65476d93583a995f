import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, test } from 'vitest'
import { defineRegister } from '../src/index.ts'
import { createOwnDatabase } from './support/database.ts'

const root = join(import.meta.dirname, '../../..')
const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8')

/** Every block of TypeScript, the file it says it is, and the output printed below it. */
const examples = [...readme.matchAll(/```ts\n\/\/ (examples\/\S+)\n(.*?)```.*?```text\n(.*?)```/gs)].map(
  ([, file = '', code = '', output = '']) => ({ file, code, output }),
)

describe('the README is true', () => {
  test('every block of TypeScript in it is an example that is run here', async () => {
    expect(examples).toHaveLength(readme.split('```ts\n').length - 1)
    expect(examples.length).toBeGreaterThan(0)
    const shown = new Set(examples.map(({ file }) => file))
    const files = await readdir(join(root, 'examples'))
    const own = files.filter((file) => /^(once|group|attempt|idempotency-key)-with-.*\.ts$/.test(file))
    for (const file of own) expect(shown).toContain(`examples/${file}`)
  })

  test.each(examples)('$file is what the README shows, and prints what it says', async ({ file, code, output }) => {
    expect(code).toBe(await readFile(join(root, file), 'utf8'))
    const database = await createOwnDatabase(inject('ownerUrl'))
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], {
      cwd: root,
      env: { ...process.env, DATABASE_URL: database.url, NODE_OPTIONS: '' },
      timeout: 50_000,
    })
    await database.drop()
    expect({ stdout, stderr }).toEqual({ stdout: output, stderr: '' })
  })

  test('the handlers that it proves are those of the example', async () => {
    const code = await readFile(join(root, 'examples/handlers-to-prove.ts'), 'utf8')
    expect(readme).toContain(code.replaceAll(/^(?=.)/gm, '    '))
  })

  test('its table of columns is that of the register', () => {
    const section = readme.slice(readme.indexOf('## The table'), readme.indexOf('## Group commit'))
    const described = [...section.matchAll(/^\| `(\w+)` +\|/gm)].map(([, column]) => column)
    const created = [...defineRegister().createTable.matchAll(/^ {2}(?!constraint)([a-z_]+) /gm)].map(
      ([, column]) => column,
    )
    expect(described).toEqual(created)
  })

  test('its other tables are those of the register, column by column', () => {
    const section = readme.slice(readme.indexOf('### Its tables'), readme.indexOf('## Adapters'))
    const described = [...section.matchAll(/^\|[^|]*\| `(\w+)` +\|/gm)].map(([, column]) => column)
    const { createLeases, createMemory, createWindows } = defineRegister()
    const created = [createLeases, createMemory, createWindows].flatMap((text) =>
      [...text.matchAll(/^ {2}(?:add column )?(?!constraint|where)([a-z_]+) /gm)].map(([, column]) => column),
    )
    expect(described).toEqual(created)
  })

  test('it names every outcome of an attempt', async () => {
    const source = await readFile(join(import.meta.dirname, '../src/attempt.ts'), 'utf8')
    const union = source.slice(
      source.indexOf('export type AttemptOutcome'),
      source.indexOf('export const DEFAULT_LEASE_MS'),
    )
    const outcomes = [...union.matchAll(/outcome: '(\w+)'/g)].map(([, outcome]) => outcome)
    const section = readme.slice(readme.indexOf('## Effects outside the database'), readme.indexOf('### What holds it'))
    const described = [...section.matchAll(/^\| `(\w+)` +\| (?!\.{3}|does|can)/gm)].map(([, outcome]) => outcome)
    expect(described).toEqual(expect.arrayContaining(outcomes))
  })

  test('it names every code of refusal', async () => {
    const source = await readFile(join(import.meta.dirname, '../src/keys.ts'), 'utf8')
    const union = source.slice(source.indexOf('export type KeyErrorCode'), source.indexOf('/** The value given'))
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code)
    const section = readme.slice(readme.indexOf('## Keys that are refused'))
    expect([...section.matchAll(/^\| `(\w+)` +\|/gm)].map(([, code]) => code)).toEqual(codes)
  })

  test('the limits stand before the features', () => {
    expect(readme.indexOf('## Limits')).toBeGreaterThan(0)
    expect(readme.indexOf('## Limits')).toBeLessThan(readme.indexOf('## What it does'))
  })
})
