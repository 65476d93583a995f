import { describe, expect, test } from 'vitest'
import { formatsIn } from './formats.ts'

const nowMs = Date.parse('2026-11-30T12:00:00Z')
const ago = (seconds: number) => new Date(nowMs - seconds * 1000).toISOString()

describe('how long ago', () => {
  const { relative } = formatsIn('de-DE')

  test('under a minute is now', () => {
    expect(relative(ago(59), nowMs)).toBe('jetzt')
    expect(relative(ago(-5), nowMs)).toBe('jetzt')
  })

  test('is told in the largest unit that is full', () => {
    expect(relative(ago(60), nowMs)).toBe('vor 1 Minute')
    expect(relative(ago(3599), nowMs)).toBe('vor 59 Minuten')
    expect(relative(ago(2 * 3600), nowMs)).toBe('vor 2 Stunden')
    expect(relative(ago(86_400), nowMs)).toBe('gestern')
  })

  test('is a day of the calendar after a month', () => {
    expect(relative(ago(40 * 86_400), nowMs)).toBe('21.10.2026')
  })
})

describe('an amount', () => {
  const { amount } = formatsIn('en-GB')

  test('has the decimals of its currency', () => {
    expect(amount(12_345, 'EUR')).toBe('€123.45')
    expect(amount(12_345, 'JPY')).toBe('JP¥12,345')
    expect(amount(12_345, 'KWD')).toBe('KWD\u00a012.345')
  })

  test('is exact beyond what a float holds, and below one', () => {
    expect(amount(9_007_199_254_740_993n, 'EUR')).toBe('€90,071,992,547,409.93')
    expect(amount(-5, 'EUR')).toBe('-€0.05')
    expect(amount(0, 'EUR')).toBe('€0.00')
  })
})
