import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Currency, currencies, findCurrency } from './currencies.ts'
import { MAX_AMOUNT_MINOR, parseDecimal, parseMinorUnits, type WireUnits } from './money.ts'

function currency(code: string): Currency {
  const found = findCurrency(code)
  if (found === undefined) throw new Error(`no currency ${code}`)
  return found
}

const EUR = currency('EUR')
const amounts = fc.bigInt({ min: 1n, max: MAX_AMOUNT_MINOR })
const anyCurrency = fc.constantFrom(...currencies)

/** Writes minor units as decimal text, the other way round and independent of the parser. */
function write(amountMinor: bigint, exponent: number): string {
  if (exponent === 0) return String(amountMinor)
  const digits = String(amountMinor).padStart(exponent + 1, '0')
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

describe('currencies', () => {
  test('the table has as many codes of each exponent as ISO 4217 List One of 2026-09-17', () => {
    const count = (exponent: number) => currencies.filter((row) => row.exponent === exponent).length
    expect([count(0), count(2), count(3), count(4)]).toEqual([17, 139, 7, 2])
    expect(currencies).toHaveLength(165)
  })

  test('codes and numeric codes are well formed and unique', () => {
    for (const row of currencies) {
      expect(row.code).toMatch(/^[A-Z]{3}$/)
      expect(row.numericCode).toMatch(/^\d{3}$/)
    }
    expect(new Set(currencies.map((row) => row.code)).size).toBe(currencies.length)
    expect(new Set(currencies.map((row) => row.numericCode)).size).toBe(currencies.length)
  })

  test.each([
    ['EUR', '978', 2],
    ['JPY', '392', 0],
    ['UGX', '800', 0],
    ['HUF', '348', 2],
    ['IQD', '368', 3],
    ['MGA', '969', 2],
    ['CLF', '990', 4],
    ['XCG', '532', 2],
    ['ZWG', '924', 2],
    ['UAH', '980', 2],
  ])('%s is %s with %i decimals', (code, numericCode, exponent) => {
    expect(findCurrency(code)).toEqual({ code, numericCode, exponent })
  })

  test.each(['XAU', 'XXX', 'XTS', 'XDR', 'HRK', 'BGN', 'ANG', 'eur', 'constructor', '', ' EUR'])(
    '%j is no currency',
    (code) => {
      expect(findCurrency(code)).toBeUndefined()
    },
  )
})

describe('parseMinorUnits', () => {
  test('every integer up to the maximum is itself, as number and as bigint', () => {
    fc.assert(
      fc.property(amounts, anyCurrency, (amountMinor, any) => {
        expect(parseMinorUnits(amountMinor, any)).toEqual({ amountMinor })
        expect(parseMinorUnits(Number(amountMinor), any)).toEqual({ amountMinor })
      }),
    )
  })

  test.each([
    [undefined, 'missing'],
    [null, 'missing'],
    [0, 'zero'],
    [-0, 'zero'],
    [0n, 'zero'],
    [-500, 'negative'],
    [16.4, 'not_an_integer'],
    [Number.NaN, 'not_an_integer'],
    [Number.POSITIVE_INFINITY, 'not_an_integer'],
    ['', 'not_an_integer'],
    ['abc', 'not_an_integer'],
    ['10000', 'not_an_integer'],
    [true, 'not_an_integer'],
    [{}, 'not_an_integer'],
    [[10000], 'not_an_integer'],
    [2 ** 53, 'too_large'],
    [9007199254740992n, 'too_large'],
    [1e300, 'too_large'],
  ])('AMT-11 %s is refused: %s', (value, problem) => {
    expect(parseMinorUnits(value, EUR)).toEqual({ problem })
  })

  test('a negative integer is taken where signs are allowed, zero is not', () => {
    expect(parseMinorUnits(-500, EUR, undefined, 'signed')).toEqual({ amountMinor: -500n })
    expect(parseMinorUnits(0, EUR, undefined, 'signed')).toEqual({ problem: 'zero' })
    expect(parseMinorUnits(-(2n ** 53n), EUR, undefined, 'signed')).toEqual({ problem: 'too_large' })
  })

  const wire: WireUnits = { exponents: { ISK: 2, MGA: 0 }, threeDecimalsEndInZero: true }

  test('AMT-01 a finer wire is divided exactly or refused, a coarser one multiplied', () => {
    expect(parseMinorUnits(500, currency('ISK'), wire)).toEqual({ amountMinor: 5n })
    expect(parseMinorUnits(550, currency('ISK'), wire)).toEqual({ problem: 'too_many_decimals' })
    expect(parseMinorUnits(500, currency('MGA'), wire)).toEqual({ amountMinor: 50000n })
    expect(parseMinorUnits(500, currency('JPY'), wire)).toEqual({ amountMinor: 500n })
    expect(parseMinorUnits(5120, currency('KWD'), wire)).toEqual({ amountMinor: 5120n })
    expect(parseMinorUnits(5124, currency('KWD'), wire)).toEqual({ problem: 'too_many_decimals' })
    expect(parseMinorUnits(MAX_AMOUNT_MINOR, currency('MGA'), wire)).toEqual({ problem: 'too_large' })
  })

  test('a wire with other decimals reads back what was written with them', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), anyCurrency, fc.nat(4), (amountMinor, any, wireExponent) => {
        const scale = 10n ** BigInt(Math.abs(wireExponent - any.exponent))
        const sent = wireExponent >= any.exponent ? amountMinor * scale : amountMinor / scale
        if (wireExponent < any.exponent && sent * scale !== amountMinor) return
        const read = parseMinorUnits(sent, any, {
          exponents: { [any.code]: wireExponent },
          threeDecimalsEndInZero: false,
        })
        expect(read).toEqual({ amountMinor })
      }),
    )
  })
})

describe('parseDecimal', () => {
  test('AMT-14 every amount written as decimal text is read back exactly', () => {
    fc.assert(
      fc.property(amounts, anyCurrency, (amountMinor, any) => {
        expect(parseDecimal(write(amountMinor, any.exponent), any)).toEqual({ amountMinor })
        expect(parseDecimal(`-${write(amountMinor, any.exponent)}`, any, { allowed: 'signed' })).toEqual({
          amountMinor: -amountMinor,
        })
      }),
    )
  })

  test.each([
    ['16.40', 1640n],
    ['1.15', 115n],
    ['4.35', 435n],
    ['81.20', 8120n],
    ['64.10', 6410n],
    ['1190.00', 119000n],
    ['50', 5000n],
    ['0.5', 50n],
  ])('AMT-14 %s is %s minor units', (text, amountMinor) => {
    expect(parseDecimal(text, EUR)).toEqual({ amountMinor })
  })

  test.each([
    [undefined, 'missing'],
    [null, 'missing'],
    [16.4, 'not_a_decimal'],
    ['', 'not_a_decimal'],
    [' ', 'not_a_decimal'],
    [' 1.00', 'not_a_decimal'],
    ['1.00\n', 'not_a_decimal'],
    ['1.234,5', 'not_a_decimal'],
    ['1,50', 'not_a_decimal'],
    ['1,234.50', 'not_a_decimal'],
    ['1e3', 'not_a_decimal'],
    ['NaN', 'not_a_decimal'],
    ['Infinity', 'not_a_decimal'],
    ['0x10', 'not_a_decimal'],
    ['+1.00', 'not_a_decimal'],
    ['01.00', 'not_a_decimal'],
    ['.50', 'not_a_decimal'],
    ['1.', 'not_a_decimal'],
    ['--1', 'not_a_decimal'],
    ['1.00 EUR', 'not_a_decimal'],
    ['١٠', 'not_a_decimal'],
    ['1.190', 'too_many_decimals'],
    ['-5.00', 'negative'],
    ['0.00', 'zero'],
    ['-0.00', 'zero'],
    ['90071992547409.92', 'too_large'],
    ['9'.repeat(1_000_000), 'not_a_decimal'],
  ])('AMT-11 %s is refused: %s', (value, problem) => {
    expect(parseDecimal(value, EUR)).toEqual({ problem })
  })

  test('AMT-01 a currency without minor units has no decimals', () => {
    expect(parseDecimal('4600', currency('JPY'))).toEqual({ amountMinor: 4600n })
    expect(parseDecimal('4600.00', currency('JPY'))).toEqual({ problem: 'too_many_decimals' })
  })

  test('AMT-03 groups of thousands are read only for a source that is known to write them', () => {
    const grouped = { groupedByComma: true }
    expect(parseDecimal('7,300', currency('JPY'))).toEqual({ problem: 'not_a_decimal' })
    expect(parseDecimal('7,300', currency('JPY'), grouped)).toEqual({ amountMinor: 7300n })
    expect(parseDecimal('1,234.50', currency('USD'), grouped)).toEqual({ amountMinor: 123450n })
    for (const text of ['1,23', '12,34.50', '1,234,5', ',123', '0,123', '1.234,50']) {
      expect(parseDecimal(text, currency('USD'), grouped)).toEqual({ problem: 'not_a_decimal' })
    }
  })
})

test('whatever comes in, an amount or a reason comes out, and the amount is in range', () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything({ withBigInt: true }), fc.string(), fc.double()), anyCurrency, (value, any) => {
      for (const read of [parseMinorUnits(value, any), parseDecimal(value, any)]) {
        if ('amountMinor' in read) expect(read.amountMinor > 0n && read.amountMinor <= MAX_AMOUNT_MINOR).toBe(true)
        else expect(typeof read.problem).toBe('string')
      }
    }),
    { numRuns: 1000 },
  )
})
