import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type PaymentFact, paymentFingerprint } from './index.ts'

const fact: PaymentFact = {
  type: 'payment',
  kind: 'payment',
  source: 'sandbox',
  externalId: 'pay_1',
  originalId: 'pay_1',
  amount: { amountMinor: 10000n, currency: 'EUR' },
  invoiceReference: 'INV-1',
  payer: { name: 'Kim', email: 'kim@example.test' },
  occurredAt: new Date(0),
}

describe('paymentFingerprint', () => {
  test('is the same on every machine and in every release of version 1', () => {
    expect(paymentFingerprint(fact)).toBe('v1:Sn8NIzAaMKCaXgwqmXDMsoRMLcjK_m8pWAocC7XH0Xs')
  })

  test('ignores payer, reference, time and the event that brought it', () => {
    const other: PaymentFact = {
      ...fact,
      externalId: 'pay_1_again',
      invoiceReference: null,
      payer: { name: null, email: null },
      occurredAt: null,
    }
    expect(paymentFingerprint(other)).toBe(paymentFingerprint(fact))
  })

  test('differs for every other amount, currency and original', () => {
    const content = fc.record({
      amountMinor: fc.bigInt({ min: 1n, max: 30n }),
      currency: fc.constantFrom('EUR', 'USD', 'JPY'),
      originalId: fc.oneof(fc.constantFrom('a', 'b', '1', '","'), fc.string()),
    })
    const of = (c: { amountMinor: bigint; currency: string; originalId: string }) =>
      paymentFingerprint({ ...fact, originalId: c.originalId, amount: c })
    fc.assert(
      fc.property(content, content, (one, two) => {
        const equal =
          one.amountMinor === two.amountMinor && one.currency === two.currency && one.originalId === two.originalId
        expect(of(one) === of(two)).toBe(equal)
      }),
    )
    expect(paymentFingerprint({ ...fact, amount: 'open_rest' })).not.toBe(paymentFingerprint(fact))
  })
})
