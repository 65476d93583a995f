/** A line as a person writes it. Decimals are text with at most four places; prices are net, in minor units. */
export interface InvoiceLineDraft {
  readonly description: string
  readonly quantity: string
  readonly unitPriceMinor: string
  readonly taxPercent: string
}

export interface InvoiceDraft {
  readonly contactId: string | null
  readonly currency: string
  readonly dueOn: string | null
  readonly lines: readonly InvoiceLineDraft[]
}

export interface InvoiceTotals {
  /** Rounded net of each line, in order. */
  readonly netMinor: readonly bigint[]
  readonly taxes: readonly { readonly percent: string; readonly netMinor: bigint; readonly taxMinor: bigint }[]
  readonly totalMinor: bigint
}

const PLACES = 4
const SCALE = 10n ** BigInt(PLACES)

/**
 * Each line's net is rounded to the minor unit; the tax of a rate is computed once, on the sum of its lines' nets. Both
 * round half away from zero, as German tax offices expect of an invoice.
 */
export function invoiceTotals(lines: readonly InvoiceLineDraft[]): InvoiceTotals {
  const netMinor = lines.map((line) =>
    divideRounded(scaled(line.quantity) * scaled(line.unitPriceMinor), SCALE * SCALE),
  )
  const netByRate = new Map<bigint, bigint>()
  for (const [index, line] of lines.entries()) {
    const rate = scaled(line.taxPercent)
    netByRate.set(rate, (netByRate.get(rate) ?? 0n) + (netMinor[index] ?? 0n))
  }
  const taxes = [...netByRate].map(([rate, net]) => ({
    percent: unscaled(rate),
    netMinor: net,
    taxMinor: divideRounded(net * rate, 100n * SCALE),
  }))
  const totalMinor = taxes.reduce((sum, tax) => sum + tax.netMinor + tax.taxMinor, 0n)
  return { netMinor, taxes, totalMinor }
}

/** `12.5` as 125000: the text times ten to the fourth, exactly. The shape was checked at the door. */
function scaled(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(PLACES, '0'))
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
