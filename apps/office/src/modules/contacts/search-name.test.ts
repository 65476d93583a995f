import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { endOfPrefix, isBefore, searchNameOf } from './search-name.ts'

describe('a search name', () => {
  test.each([
    ['  Müller GmbH ', 'müller gmbh'],
    ['MU\u0308LLER GMBH', 'müller gmbh'],
    ['ＡＣＭＥ', 'acme'],
    ['ΟΔΟΣ', 'οδοσ'],
  ])('%j is looked for as %j', (name, searched) => {
    expect(searchNameOf(name)).toBe(searched)
  })

  test('of any name is text that a column and an index entry can hold', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
        const searched = searchNameOf(name)
        expect(searched.isWellFormed() && !searched.includes('\0')).toBe(true)
        expect(Buffer.byteLength(searched)).toBeLessThanOrEqual(400)
      }),
    )
  })

  test('of the beginning of a name finds the name, in the order of bytes', () => {
    const names = fc.string({ unit: 'grapheme-composite', minLength: 1, maxLength: 150 })
    fc.assert(
      fc.property(names, fc.nat(), (name, cut) => {
        const beginning = [...name].slice(0, 1 + (cut % [...name].length)).join('')
        const first = searchNameOf(beginning)
        const found = searchNameOf(name)
        expect(!isBefore(found, first) && isBefore(found, endOfPrefix(first))).toBe(true)
      }),
    )
  })

  test('of another name is not found by it', () => {
    const first = searchNameOf('Mus')
    for (const name of ['Mur', 'Mut', 'Mu', 'Nus']) {
      const other = searchNameOf(name)
      expect(isBefore(other, first) || !isBefore(other, endOfPrefix(first)), name).toBe(true)
    }
  })
})
