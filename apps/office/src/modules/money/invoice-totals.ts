/**
 * A line as a person writes it. Decimals are text with at most four places; prices are net, in minor units, and may be
 * below a cent or below nothing.
 */
export interface InvoiceLineDraft {
  readonly description: string
  readonly quantity: string
  readonly unitPriceMinor: string
  readonly discountPercent: string
  readonly taxPercent: string
}

export interface InvoiceDraft {
  readonly contactId: string | null
  readonly currency: string
  readonly dueOn: string | null
  /** Off the whole document, rate by rate. */
  readonly discountPercent: string
  readonly notes: string | null
  readonly lines: readonly InvoiceLineDraft[]
}

export interface TaxTotal {
  readonly percent: string
  /** After all discounts. */
  readonly netMinor: bigint
  readonly taxMinor: bigint
}

export interface InvoiceTotals {
  /** Rounded net of each line after its own discount, in order. */
  readonly lineNetMinor: readonly bigint[]
  readonly taxes: readonly TaxTotal[]
  readonly netMinor: bigint
  readonly totalMinor: bigint
}

const PLACES = 4
const SCALE = 10n ** BigInt(PLACES)
const HUNDRED_PERCENT = 100n * SCALE

/**
 * Each line's net is rounded to the minor unit, its discount taken off before. The document's discount is taken off the sum of
 * a rate's nets, and the tax of the rate is computed once, on what is left. All round half away from zero, as German tax
 * offices expect of an invoice.
 */
export function invoiceTotals(lines: readonly InvoiceLineDraft[], discountPercent: string): InvoiceTotals {
  const lineNetMinor = lines.map((line) => {
    const gross = scaled(line.quantity) * scaled(line.unitPriceMinor)
    const kept = HUNDRED_PERCENT - scaled(line.discountPercent)
    return divideRounded(gross * kept, SCALE * SCALE * HUNDRED_PERCENT)
  })
  const netByRate = new Map<bigint, bigint>()
  for (const [index, line] of lines.entries()) {
    const rate = scaled(line.taxPercent)
    netByRate.set(rate, (netByRate.get(rate) ?? 0n) + (lineNetMinor[index] ?? 0n))
  }
  const discount = scaled(discountPercent)
  const taxes = [...netByRate].map(([rate, sum]) => {
    const netMinor = sum - divideRounded(sum * discount, HUNDRED_PERCENT)
    return { percent: unscaled(rate), netMinor, taxMinor: divideRounded(netMinor * rate, HUNDRED_PERCENT) }
  })
  const netMinor = taxes.reduce((sum, tax) => sum + tax.netMinor, 0n)
  const totalMinor = taxes.reduce((sum, tax) => sum + tax.taxMinor, netMinor)
  return { lineNetMinor, taxes, netMinor, totalMinor }
}

/** `12.5` as 125000: the text times ten to the fourth, exactly. The shape was checked at the door. */
function scaled(decimal: string): bigint {
  const isNegative = decimal.startsWith('-')
  const [whole = '0', fraction = ''] = (isNegative ? decimal.slice(1) : decimal).split('.')
  const value = BigInt(whole + fraction.padEnd(PLACES, '0'))
  return isNegative ? -value : value
}

function unscaled(value: bigint): string {
  const digits = value.toString().padStart(PLACES + 1, '0')
  return `${digits.slice(0, -PLACES)}.${digits.slice(-PLACES)}`.replace(/\.?0+$/, '')
}

/** Half away from zero. */
function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const half = divisor / 2n
  return dividend >= 0n ? (dividend + half) / divisor : -((-dividend + half) / divisor)
}
