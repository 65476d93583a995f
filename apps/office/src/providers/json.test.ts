import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonDecimal, parseJson } from './json.ts'

const parse = (text: string) => {
  const parsed = parseJson(Buffer.from(text))
  return 'value' in parsed ? parsed.value : parsed.problem
}

test('IDEM-17 integers beyond 2^53 stay exact', () => {
  expect(parse('{"a":9007199254740993,"b":[-9007199254740992],"c":9007199254740991,"d":"9007199254740993"}')).toEqual({
    a: 9007199254740993n,
    b: [-9007199254740992n],
    c: 9007199254740991,
    d: '9007199254740993',
  })
})

test('a number with a point or an exponent keeps its text', () => {
  expect(parse('{"a":1190.0,"b":[1e4, 1E400 ],"c":\n-0.5}')).toEqual({
    a: new JsonDecimal('1190.0'),
    b: [new JsonDecimal('1e4'), new JsonDecimal('1E400')],
    c: new JsonDecimal('-0.5'),
  })
})

test('every integer in every place reads back as it was written', () => {
  const integer = fc.oneof(fc.bigInt(), fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }))
  fc.assert(
    fc.property(
      integer,
      fc.constantFrom(['[', ']'], ['{"a":', '}'], ['{"a":[1, ', ']}'], ['[\n', '\n]']),
      (value, [before, after]) => {
        const found = JSON.stringify(parse(`${before}${value}${after}`), (_key, v) =>
          typeof v === 'bigint' ? `${v}n` : v,
        )
        const digits = value.toString()
        expect(found.replace(/"(-?\d+)n"/, '$1')).toBe(`${before}${digits}${after}`.replace(/\s/g, ''))
      },
    ),
  )
})

test('without such numbers it is JSON.parse', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      fc.pre(!/[.eE]\d|\d[eE]|\d{16}/.test(text))
      expect(parse(text)).toEqual(JSON.parse(text))
    }),
  )
})

test('what is no JSON or no UTF-8 is a problem, never an exception', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(parseJson(Buffer.from(bytes))).toBeTypeOf('object')
    }),
  )
  expect(parseJson(Buffer.from([0x22, 0xff, 0x22]))).toEqual({ problem: 'The body is not valid UTF-8.' })
  expect(parse('\uFEFF{"a":1}')).toEqual({ a: 1 })
  expect(parse('')).toBe('The body is not readable as JSON.')
})
