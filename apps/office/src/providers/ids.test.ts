import { eventKey } from 'einmal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bodyId, isUsableId, readId } from './ids.ts'

function libraryTakes(id: string): boolean {
  try {
    return eventKey({ source: 'stripe', kind: 'payment.paid', id }).id === id
  } catch {
    return false
  }
}

describe('isUsableId', () => {
  const odd = fc.constantFrom(
    'null',
    ' NULL ',
    'undefined',
    'NaN',
    'none',
    'nil',
    '(null)',
    '[object Object]',
    '',
    ' ',
    '\t',
    '\u00a0',
    'a\0b',
    '\ud800',
    '1790000000',
    '1790000000000',
    '9999999999',
    '1000000000',
    '12345',
    '2026-03-10T10:00:00Z',
    '2026-03-10 10:00',
    '2026-03-10',
    'x'.repeat(1024),
    'x'.repeat(1025),
    'é'.repeat(512),
    'é'.repeat(513),
    'pay_1',
    '0',
  )

  test('says what the library says, for every text', () => {
    fc.assert(
      fc.property(fc.oneof(odd, fc.string({ unit: 'binary' }), fc.string({ maxLength: 2000 })), (id) => {
        expect(isUsableId(id)).toBe(libraryTakes(id))
      }),
      { numRuns: 2000 },
    )
  })

  test('whatever readId makes of a value is usable, and different values stay different', () => {
    const value = fc.oneof(odd, fc.anything({ withBigInt: true }), fc.bigInt({ min: 1n }))
    fc.assert(
      fc.property(value, value, (one, two) => {
        const [a, b] = [readId(one), readId(two)]
        if (a !== null) expect(isUsableId(a) && libraryTakes(a)).toBe(true)
        if (a !== null && a === b) expect(String(one)).toBe(String(two))
      }),
      { numRuns: 2000 },
    )
  })
})

test('readId reads text and positive integers, and nothing else', () => {
  expect(readId(9007199254740993n)).toBe('9007199254740993')
  expect(readId(17)).toBe('17')
  for (const value of [0, -1, 1.5, 2 ** 53, true, {}, [], null, undefined]) expect(readId(value)).toBeNull()
  expect(readId('x'.repeat(1025))).toMatch(/^sha256:[0-9a-f]{64}$/)
})

test('bodyId is 128 bits of SHA-256 of the bytes', () => {
  expect(bodyId(Buffer.from('abc'))).toBe('body:ba7816bf8f01cfea414140de5dae2223')
})
