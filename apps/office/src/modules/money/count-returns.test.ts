import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ReturnKind } from '../../facts/index.ts'
import { type CountedReturn, countReturns } from './count-returns.ts'

const SOURCE = 'stripe'

function movement(kind: ReturnKind, amountMinor: number, returnId = 'r', source = SOURCE): CountedReturn {
  return { source, kind, returnId, amountMinor: BigInt(amountMinor) }
}

function count(...movements: readonly CountedReturn[]): number {
  return Number(countReturns(movements, SOURCE))
}

describe('what went back of a payment', () => {
  test('is nothing while nothing is told, and the sum of different refunds and disputes', () => {
    expect(count()).toBe(0)
    expect(
      count(movement('refund', 300, 're_1'), movement('refund', 200, 're_2'), movement('chargeback', 50, 'dp_1')),
    ).toBe(550)
  })

  test('is what a refund or dispute took minus what came back of it, and never below nothing', () => {
    expect(count(movement('refund', 300), movement('refund_reversal', 300))).toBe(0)
    expect(count(movement('chargeback', 300), movement('chargeback_reversal', 100))).toBe(200)
    // One that failed without having taken anything brings nothing, and takes nothing off another one.
    expect(count(movement('refund_reversal', 300, 're_1'), movement('refund', 200, 're_2'))).toBe(200)
  })

  test('takes again what a dispute took again after it had been won', () => {
    const [took, gave] = [movement('chargeback', 300), movement('chargeback_reversal', 300)]
    expect(count(took, gave, took)).toBe(300)
  })

  test('holds a refund and a dispute apart that have one name', () => {
    expect(count(movement('refund', 300, 'x'), movement('chargeback_reversal', 300, 'x'))).toBe(300)
  })

  test('is the largest running total, as long as the payment’s own source tells of no single refund', () => {
    const totals = [movement('refund_total', 120, 'total'), movement('refund_total', 200, 'total')]
    expect(count(...totals)).toBe(200)
    expect(count(...totals, movement('refund', 120, 're_1'))).toBe(120)
    expect(count(...totals, movement('refund_reversal', 120, 're_1'))).toBe(0)
    // A dispute is no refund, and what a person enters is beside what the source counts.
    expect(count(...totals, movement('chargeback', 50, 'dp_1'))).toBe(250)
    expect(count(...totals, movement('refund', 30, 'm', 'manual'))).toBe(230)
  })

  test('counts what a person booked as a difference', () => {
    expect(count(movement('correction', 70, 'conflict:1', 'correction'), movement('refund', 30))).toBe(100)
  })
})

const movements = fc.array(
  fc.record({
    source: fc.constantFrom(SOURCE, 'manual'),
    kind: fc.constantFrom<ReturnKind>(
      'refund',
      'refund_reversal',
      'refund_total',
      'chargeback',
      'chargeback_reversal',
      'correction',
    ),
    returnId: fc.constantFrom('a', 'b'),
    amountMinor: fc.bigInt({ min: 1n, max: 1_000n }),
  }),
  { maxLength: 12 },
)

test('is a sum over a set: the order in which movements come does not change it', () => {
  fc.assert(
    fc.property(
      movements.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, shuffled]) => {
        expect(countReturns(shuffled, SOURCE)).toBe(countReturns(all, SOURCE))
      },
    ),
  )
})

test('never falls by what is taken and never rises by what comes back, while no running total steps aside', () => {
  fc.assert(
    fc.property(movements, (all) => {
      const single = all.filter(({ kind }) => kind !== 'refund_total')
      const counted = countReturns(single, SOURCE)
      expect(counted).toBeGreaterThanOrEqual(0n)
      expect(countReturns([...single, movement('refund', 5, 'a')], SOURCE)).toBeGreaterThanOrEqual(counted)
      expect(countReturns([...single, movement('refund_reversal', 5, 'a')], SOURCE)).toBeLessThanOrEqual(counted)
    }),
  )
})
