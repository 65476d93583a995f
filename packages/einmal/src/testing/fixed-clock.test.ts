import { expect, test } from 'vitest'
import { fixedClock } from './fixed-clock.ts'

test('a fixed clock stands still until it is moved, and gives nobody a time that somebody else can change', () => {
  const { now, advance } = fixedClock('2026-11-30T12:00:00Z')
  now().setFullYear(1999)
  expect(now().toISOString()).toBe('2026-11-30T12:00:00.000Z')
  advance(90_000)
  expect(now().toISOString()).toBe('2026-11-30T12:01:30.000Z')
})

test('a fixed clock refuses what is no time', () => {
  expect(() => fixedClock('noon')).toThrow(RangeError)
})
