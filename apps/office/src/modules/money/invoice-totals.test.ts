import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type InvoiceLineDraft, invoiceTotals } from './invoice-totals.ts'

function line(unitPriceMinor: string, further: Partial<InvoiceLineDraft> = {}): InvoiceLineDraft {
  return { description: 'Work', quantity: '1', unitPriceMinor, discountPercent: '0', taxPercent: '0', ...further }
}

describe('totals', () => {
  test('of prices below a cent are rounded once, by line and not by piece', () => {
    expect(invoiceTotals([line('0.4', { quantity: '1000' })], '0')).toMatchObject({ lineNetMinor: [400n] })
    expect(invoiceTotals([line('0.0001', { quantity: '4999' })], '0')).toMatchObject({ lineNetMinor: [0n] })
    expect(invoiceTotals([line('0.0001', { quantity: '5000' })], '0')).toMatchObject({ lineNetMinor: [1n] })
  })

  test('round half away from zero, also below nothing', () => {
    const lines = [line('0.5'), line('-0.5'), line('1.4999'), line('-1.4999')]
    expect(invoiceTotals(lines, '0').lineNetMinor).toEqual([1n, -1n, 1n, -1n])
  })

  test('tax each rate once, on what all discounts leave of it', () => {
    const lines = [
      line('1000', { taxPercent: '19', discountPercent: '10' }),
      line('1000', { taxPercent: '19.0' }),
      line('500', { taxPercent: '7' }),
    ]
    expect(invoiceTotals(lines, '10')).toEqual({
      lineNetMinor: [900n, 1_000n, 500n],
      taxes: [
        { percent: '19', netMinor: 1_710n, taxMinor: 325n },
        { percent: '7', netMinor: 450n, taxMinor: 32n },
      ],
      netMinor: 2_160n,
      totalMinor: 2_517n,
    })
  })

  test('tax a rate of several lines once, where line by line would be a cent more', () => {
    const lines = [line('3', { taxPercent: '19' }), line('3', { taxPercent: '19' }), line('3', { taxPercent: '19' })]
    // 0.57 of each would be 1 and 1 and 1; of the nine it is 1.71.
    expect(invoiceTotals(lines, '0').taxes).toEqual([{ percent: '19', netMinor: 9n, taxMinor: 2n }])
  })

  test('of everything off are nothing', () => {
    expect(invoiceTotals([line('1234.5', { taxPercent: '19' })], '100')).toMatchObject({ netMinor: 0n, totalMinor: 0n })
  })

  test('show a rate as it is written, without the places that it does not need', () => {
    const rates = ['19', '7.50', '10.70', '0.0001', '100']
    const { taxes } = invoiceTotals(
      rates.map((taxPercent) => line('1', { taxPercent })),
      '0',
    )
    expect(taxes.map(({ percent }) => percent)).toEqual(['19', '7.5', '10.7', '0.0001', '100'])
  })
})

const decimal = (max: number) =>
  fc
    .tuple(fc.integer({ min: 0, max }), fc.integer({ min: 0, max: 9_999 }))
    .map(([whole, places]) => `${whole}.${String(places).padStart(4, '0')}`)

const lines = fc.array(
  fc.record({
    description: fc.constant('Work'),
    quantity: decimal(1_000),
    unitPriceMinor: fc.tuple(fc.constantFrom('', '-'), decimal(100_000)).map(([sign, value]) => sign + value),
    discountPercent: decimal(99),
    taxPercent: fc.constantFrom('0', '7', '19', '19.5'),
  }),
  { minLength: 1, maxLength: 6 },
)

test('add up: the parts of each invoice are its whole, in whatever order its lines are written', () => {
  fc.assert(
    fc.property(lines, decimal(99), fc.nat(), (all, discount, turn) => {
      const totals = invoiceTotals(all, discount)
      expect(totals.netMinor).toBe(totals.taxes.reduce((sum, { netMinor }) => sum + netMinor, 0n))
      expect(totals.totalMinor).toBe(totals.taxes.reduce((sum, { taxMinor }) => sum + taxMinor, totals.netMinor))
      const at = turn % all.length
      const turned = invoiceTotals([...all.slice(at), ...all.slice(0, at)], discount)
      expect(turned.totalMinor).toBe(totals.totalMinor)
    }),
  )
})

test('differ from the exact amounts by no more than half a unit for each rounding', () => {
  fc.assert(
    fc.property(lines, (all) => {
      const { lineNetMinor } = invoiceTotals(all, '0')
      for (const [index, { quantity, unitPriceMinor, discountPercent }] of all.entries()) {
        // Ten to the fourth three times, in whole numbers.
        const scaled = (text: string) => BigInt(text.replace('.', ''))
        const exact = scaled(quantity) * scaled(unitPriceMinor) * (1_000_000n - scaled(discountPercent))
        const difference = (lineNetMinor[index] ?? 0n) * 10n ** 14n - exact
        expect(difference <= 5n * 10n ** 13n && difference >= -5n * 10n ** 13n).toBe(true)
      }
    }),
  )
})
