import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { moneyFingerprint, type PaymentFact, type ReturnFact } from './index.ts'

const fact: PaymentFact = {
  type: 'payment',
  kind: 'payment',
  source: 'sandbox',
  externalId: 'pay_1',
  amount: { amountMinor: 10000n, currency: 'EUR' },
  invoiceReference: 'INV-1',
  payer: { name: 'Kim', email: 'kim@example.test' },
  occurredAt: new Date(0),
}

describe('moneyFingerprint', () => {
  test('is the same on every machine and in every release of version 1', () => {
    expect(moneyFingerprint(fact)).toBe('v1:Sn8NIzAaMKCaXgwqmXDMsoRMLcjK_m8pWAocC7XH0Xs')
  })

  test('ignores payer, reference, time and the event that brought it', () => {
    const other: PaymentFact = {
      ...fact,
      invoiceReference: null,
      payer: { name: null, email: null },
      occurredAt: null,
    }
    expect(moneyFingerprint(other)).toBe(moneyFingerprint(fact))
  })

  test('differs for every other kind, amount, currency and original', () => {
    const refund: ReturnFact = {
      type: 'return',
      kind: 'refund',
      source: 'sandbox',
      externalId: 're_1',
      returnId: 're_1',
      original: { source: 'sandbox', externalId: 'pay_1' },
      amount: { amountMinor: 10000n, currency: 'EUR' },
      occurredAt: null,
    }
    const content = fc.record({
      kind: fc.constantFrom('refund', 'chargeback'),
      amountMinor: fc.bigInt({ min: 1n, max: 30n }),
      currency: fc.constantFrom('EUR', 'USD', 'JPY'),
      originalId: fc.oneof(fc.constantFrom('a', 'b', '1', '","'), fc.string()),
    })
    const of = (c: { kind: 'refund' | 'chargeback'; amountMinor: bigint; currency: string; originalId: string }) =>
      moneyFingerprint({
        ...refund,
        kind: c.kind,
        amount: { amountMinor: c.amountMinor, currency: c.currency },
        original: { source: 'sandbox', externalId: c.originalId },
      })
    fc.assert(
      fc.property(content, content, (one, two) => {
        const equal =
          one.kind === two.kind &&
          one.amountMinor === two.amountMinor &&
          one.currency === two.currency &&
          one.originalId === two.originalId
        expect(of(one) === of(two)).toBe(equal)
      }),
    )
    expect(moneyFingerprint({ ...fact, amount: 'open_rest' })).not.toBe(moneyFingerprint(fact))
  })
})
