import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ContentError,
  canonicalJson,
  compareContent,
  differingFields,
  fieldDigests,
  fingerprintOf,
  parseExactly,
} from './content.ts'

const SEED = 20_261_130

describe('canonical JSON', () => {
  test('sorts members by UTF-16 code units, as the vector of RFC 8785, section 3.2.3, does', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\u{1f600}': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    }
    expect(Object.values(JSON.parse(canonicalJson(value)))).toHaveLength(7)
    const order = [...canonicalJson(value).matchAll(/:"([^"]+)"/g)].map(([, text]) => text)
    expect(order).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ])
  })

  test('prints literals, numbers and texts as the vector of RFC 8785, section 3.2.4, does, but for 1E30', () => {
    const value = JSON.parse(
      '{"numbers":[333333333.33333329,4.50,2e-3,0.000000000000000000000000001],' +
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    )
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    )
  })

  test('is one text for one meaning, whatever the order of members, and again after a way through JSON', () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true, min: -(2 ** 53) + 1, max: 2 ** 53 - 1 })
    const leaf = fc.oneof(number, fc.string({ unit: 'grapheme' }), fc.boolean(), fc.constant(null))
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('value')), fc.dictionary(fc.string(), tie('value'))),
    })).value
    fc.assert(
      fc.property(value, (given) => {
        const text = canonicalJson(given)
        expect(canonicalJson(JSON.parse(text))).toBe(text)
        expect(canonicalJson(reversed(given))).toBe(text)
      }),
      { seed: SEED, numRuns: 500 },
    )
  })

  test.each([
    ['an integer from 2^53 on', 2 ** 53],
    ['1E30', 1e30],
    ['infinity', Number.POSITIVE_INFINITY],
    ['not a number', Number.NaN],
    ['a bigint', 1n],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['a function', () => 1],
    ['undefined', undefined],
    ['half a surrogate pair', '\ud800'],
  ])('refuses %s, and says where it is', (_title, value) => {
    for (const [wrapped, path] of [
      [{ a: [1, value] }, '/a/1'],
      [{ 'x/~y': { b: [value] } }, '/x~1~0y/b/0'],
    ] as const) {
      const error = catchError(() => canonicalJson(wrapped))
      expect(error).toBeInstanceOf(ContentError)
      expect(error).toMatchObject({ path })
    }
  })

  test('leaves out members that are undefined, keeps a member named __proto__, and refuses what is too deep', () => {
    expect(canonicalJson({ b: 1, a: undefined })).toBe('{"b":1}')
    expect(canonicalJson(JSON.parse('{"__proto__":1}'))).toBe('{"__proto__":1}')
    expect(canonicalJson(-0)).toBe('0')
    let deep: unknown = 1
    for (let depth = 0; depth < 5_000; depth += 1) deep = [deep]
    expect(() => canonicalJson(deep)).toThrow(ContentError)
  })
})

describe('a fingerprint', () => {
  test('trap 3: is the same for any order, white space and form of number, and another one for any other value', () => {
    const of = (text: string) => fingerprintOf(parseExactly(text))
    const first = of('{"amount":10,"currency":"EUR"}')
    for (const same of [
      '{"currency":"EUR","amount":10}',
      '{ "amount" : 10.0 ,\n "currency" : "EUR" }',
      '{"amount":1e1,"currency":"\\u0045UR"}',
      '{"amount":0.10e2,"currency":"EUR"}',
    ]) {
      expect(of(same)).toBe(first)
    }
    for (const other of [
      '{"amount":"10","currency":"EUR"}',
      '{"amount":10.01,"currency":"EUR"}',
      '{"amount":-10,"currency":"EUR"}',
      '{"amount":10,"currency":"EUR "}',
      '{"amount":10,"currency":"eur"}',
      '{"amount":10}',
      '{"amount":10,"currency":"EUR","x":null}',
      '[{"amount":10,"currency":"EUR"}]',
    ]) {
      expect(of(other)).not.toBe(first)
    }
  })

  test('is the SHA-256 of the canonical JSON under a version, and never changes', () => {
    expect(fingerprintOf({ b: 2, a: 1 })).toBe('jcs1:43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777')
    expect(fingerprintOf({}, 'v2')).toMatch(/^v2:[0-9a-f]{64}$/)
    for (const version of ['', 'a:b']) expect(() => fingerprintOf({}, version)).toThrow(RangeError)
  })

  test('of a number that JSON could not keep is refused, so that two amounts never have one', () => {
    for (const text of ['9007199254740993', '9007199254740992', '0.12345678901234567891', '1e400', '1e-400', '-1e30']) {
      expect(catchError(() => parseExactly(`{"amount":${text}}`))).toMatchObject({
        name: 'ContentError',
        path: 'amount',
      })
    }
    for (const text of ['9007199254740991', '-0', '0.1', '1.10', '100e-2', '123456.78', '-0.000', '5e-324']) {
      expect(parseExactly(text)).toBe(Number(text))
    }
  })
})

describe('two bodies of one event', () => {
  test.each([
    ['identical', '{"a":1}', '{"a":1}', []],
    ['identical', 'no JSON', 'no JSON', []],
    ['same_meaning', '{"a":1,"b":[1.0,true]}', ' {"b":[1,true],"a":1e0}\n', []],
    ['different', '{"a":1}', '{"a":"1"}', ['/a']],
    ['different', '{"a":{"b":[1,2]},"c":3}', '{"a":{"b":[1,5]},"d":3}', ['/a/b/1', '/c', '/d']],
    ['different', '{"a":[1]}', '{"a":[1,2]}', ['/a/1']],
    ['different', '{"a":[]}', '{"a":{}}', ['/a']],
    ['different', '{"a":null}', '{}', ['/a']],
    ['different', '[1]', '1', ['']],
    ['different', 'no JSON', '{}', ['']],
    ['different', '{"a":9007199254740993}', '{"a": 9007199254740993}', ['a']],
    ['different', '{"a~/b":1}', '{"a~/b":2}', ['/a~0~1b']],
  ])('are %s: %s and %s', (verdict, first, second, paths) => {
    expect(compareContent(first, second)).toEqual({ verdict, paths })
    expect(compareContent(second, first).verdict).toBe(verdict)
  })

  test('are different at 100 places at most, and at any depth', () => {
    const many = (value: number) => JSON.stringify(Array.from({ length: 500 }, () => value))
    expect(compareContent(many(1), many(2)).paths).toHaveLength(100)
    const deep = (value: number) => `${'['.repeat(1_000)}${value}${']'.repeat(1_000)}`
    expect(compareContent(deep(1), deep(2)).verdict).toBe('different')
  })

  test('are different where one is nested deeper than can be read', () => {
    const deep = (depth: number, value: number) => `${'['.repeat(depth)}${value}${']'.repeat(depth)}`
    for (const depth of [10_000, 100_000]) {
      expect(catchError(() => parseExactly(deep(depth, 1)))).toBeInstanceOf(ContentError)
      expect(compareContent(deep(depth, 1), deep(depth, 2))).toEqual({ verdict: 'different', paths: [''] })
    }
  })
})

describe('the digests of fields', () => {
  test('name the fields that differ, are missing or are new, and only those', () => {
    const stored = fieldDigests({ amount: 10, currency: 'EUR', lines: [{ n: 1 }], gone: undefined, old: 1 })
    const same = fieldDigests({ currency: 'EUR', lines: JSON.parse('[{"n":1.0}]'), amount: 10.0, old: 1 })
    expect(differingFields(stored, same)).toEqual([])
    const other = fieldDigests({ amount: '10', currency: 'EUR', lines: [{ n: 2 }], fresh: null })
    expect(differingFields(stored, other)).toEqual(['amount', 'fresh', 'lines', 'old'])
  })
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)])
  return Object.assign(Object.create(null), Object.fromEntries(members.toReversed()))
}

function catchError(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
