import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { arrayText, sql } from './statement.ts'

const client = new pg.Client({ connectionString: inject('ownerUrl') })
beforeAll(() => client.connect())
afterAll(() => client.end())

const text = fc.string({ unit: 'binary' }).map((value) => value.toWellFormed().replaceAll('\0', ''))
const special = fc.constantFrom(
  '',
  'null',
  'NULL',
  '{}',
  '{a,b}',
  '"',
  '\\',
  '\\"',
  ' ',
  '\t\n',
  'a,b',
  "'",
  'ü',
  '€',
  '🙂',
)

test('any list of texts arrives in PostgreSQL as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(text, special, fc.constant(null))), async (list) => {
      const { rows } = await client.query('select $1::text[] as list', [arrayText(list)])
      expect(rows[0].list).toEqual(list)
    }),
    { numRuns: 500 },
  )
})

test('any list of bytes arrives in PostgreSQL as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array()), async (list) => {
      const { rows } = await client.query('select $1::bytea[] as list', [
        arrayText(list.map((bytes) => Buffer.from(bytes))),
      ])
      expect(rows[0].list.map((bytes: Buffer) => [...bytes])).toEqual(list.map((bytes) => [...bytes]))
    }),
    { numRuns: 200 },
  )
})

test('numbers, truth values and nothing arrive as they were', async () => {
  const { rows } = await client.query('select $1::bigint[] as big, $2::boolean[] as truth', [
    arrayText([9007199254740993n, -1n, null]),
    arrayText([true, false, null]),
  ])
  expect(rows[0]).toEqual({ big: ['9007199254740993', '-1', null], truth: [true, false, null] })
})

test('a place in the code has one text and one name, whatever its values', () => {
  const at = (id: string, ids: string[]) => sql`select ${id} = any(${ids})`
  const one = at('a', [])
  const other = at('b', ['c'])
  expect(one.text).toBe('select $1 = any($2)')
  expect([other.text, other.name]).toEqual([one.text, one.name])
  expect(other.values).toEqual(['b', '{c}'])
  expect(sql`select ${1}`.name).not.toBe(one.name)
})
