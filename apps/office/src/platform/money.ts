import type { Currency } from './currencies.ts'

/**
 * Money is an integer of minor units as `bigint`, read exactly and without a float. What cannot be read is a value that
 * says why, never an exception and never a guess: whoever calls keeps the event for a person.
 */

/**
 * The largest amount we take: 2^53 - 1 minor units, ninety trillion euros.
 *
 * The database and `bigint` hold more, but the contract sends amounts as JSON numbers, and beyond this one a reader in
 * JavaScript, Java or Go with doubles would see another amount than we booked.
 */
export const MAX_AMOUNT_MINOR = BigInt(Number.MAX_SAFE_INTEGER)

/** An amount for JSON, where it is a number: exact, because no amount of ours is beyond `MAX_AMOUNT_MINOR`. */
export function toJsonAmount(amountMinor: bigint): number {
  return Number(amountMinor)
}

export type AmountProblem =
  | 'missing'
  | 'not_an_integer'
  | 'not_a_decimal'
  | 'too_many_decimals'
  | 'zero'
  | 'negative'
  | 'too_large'

/** Ends of a sentence that begins with the name of the field. */
export const amountProblemText: Readonly<Record<AmountProblem, string>> = {
  missing: 'is missing',
  not_an_integer: 'is not an integer of minor units',
  not_a_decimal: 'is not a decimal number',
  too_many_decimals: 'is finer than the smallest unit of the currency',
  zero: 'is zero',
  negative: 'is negative',
  too_large: 'is larger than any amount that can be shown exactly',
}

export type ParsedAmount = { readonly amountMinor: bigint } | { readonly problem: AmountProblem }

/**
 * How a provider's integers differ from ISO 4217. Data of the adapter, because the same currency differs from one
 * provider to the next.
 */
export interface WireUnits {
  /** Decimals of the provider's integers, by currency code, where they are not the currency's own. */
  readonly exponents: Readonly<Record<string, number>>
  /** The provider promises that integers of three-decimal currencies end in 0; another digit is a misreading. */
  readonly threeDecimalsEndInZero: boolean
}

const isoUnits: WireUnits = { exponents: {}, threeDecimalsEndInZero: false }

/** `positive` is what a payment may be; `signed` is for bank lines. Zero moves nothing and is refused in both. */
export type AllowedSign = 'positive' | 'signed'

/**
 * Reads an integer of the provider's minor units: a JSON integer as `number`, or as `bigint` beyond 2^53.
 *
 * Text is refused even when it holds digits. A sender who writes text where an integer belongs may as well mean
 * euros by it, and the two readings differ by a factor of one hundred.
 */
export function parseMinorUnits(
  value: unknown,
  currency: Currency,
  wire: WireUnits = isoUnits,
  allowed: AllowedSign = 'positive',
): ParsedAmount {
  if (value === undefined || value === null) return { problem: 'missing' }
  let units: bigint
  if (typeof value === 'bigint') units = value
  else if (typeof value !== 'number') return { problem: 'not_an_integer' }
  else if (Number.isSafeInteger(value)) units = BigInt(value)
  // A float beyond 2^53 has lost its last digits, so no digit of it can be believed.
  else return { problem: Number.isInteger(value) ? 'too_large' : 'not_an_integer' }

  if (wire.threeDecimalsEndInZero && currency.exponent === 3 && units % 10n !== 0n) {
    return { problem: 'too_many_decimals' }
  }
  const wireExponent = wire.exponents[currency.code] ?? currency.exponent
  if (wireExponent > currency.exponent) {
    const divisor = 10n ** BigInt(wireExponent - currency.exponent)
    if (units % divisor !== 0n) return { problem: 'too_many_decimals' }
    units /= divisor
  } else if (wireExponent < currency.exponent) {
    units *= 10n ** BigInt(currency.exponent - wireExponent)
  }
  return checked(units, allowed)
}

const decimal = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?$/
const groupedDecimal = /^(-?)([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d+))?$/

/** Longer than any amount we take; spares the work on a megabyte of digits. */
const MAX_DECIMAL_LENGTH = 40

/**
 * Reads decimal text with a point ("1190.00") into minor units, digit by digit.
 *
 * Refused are decimal commas, exponents, blanks, a plus sign, zeros in front, and more decimals than the currency has:
 * "1.190" is one euro nineteen to one sender and a thousand to another.
 *
 * @param options.groupedByComma for a source that is known to write "1,234.50"; never a guess from the text.
 */
export function parseDecimal(
  value: unknown,
  currency: Currency,
  options: { readonly allowed?: AllowedSign; readonly groupedByComma?: boolean } = {},
): ParsedAmount {
  if (value === undefined || value === null) return { problem: 'missing' }
  if (typeof value !== 'string' || value.length > MAX_DECIMAL_LENGTH) return { problem: 'not_a_decimal' }
  const match = decimal.exec(value) ?? (options.groupedByComma === true ? groupedDecimal.exec(value) : null)
  if (match === null) return { problem: 'not_a_decimal' }
  const [, minus = '', whole = '', fraction = ''] = match
  if (fraction.length > currency.exponent) return { problem: 'too_many_decimals' }
  const digits = whole.replaceAll(',', '') + fraction.padEnd(currency.exponent, '0')
  return checked(minus === '-' ? -BigInt(digits) : BigInt(digits), options.allowed ?? 'positive')
}

function checked(amountMinor: bigint, allowed: AllowedSign): ParsedAmount {
  if (amountMinor === 0n) return { problem: 'zero' }
  if (amountMinor < 0n && allowed === 'positive') return { problem: 'negative' }
  if (amountMinor > MAX_AMOUNT_MINOR || amountMinor < -MAX_AMOUNT_MINOR) return { problem: 'too_large' }
  return { amountMinor }
}
