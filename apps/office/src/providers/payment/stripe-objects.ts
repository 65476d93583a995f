import { parseMinorUnits, type WireUnits } from '../../platform/money.ts'
import type { Field, ParseAmount } from '../events.ts'
import { isObject, type JsonObject } from '../fields.ts'

/** What Stripe's objects have in common: how they write amounts, and how they name each other. */

export const SOURCE = 'stripe'

/**
 * Where Stripe's integers are not ISO minor units (https://docs.stripe.com/currencies).
 *
 * ISK and UGX have no decimals and are sent with two for compatibility ("to charge 5 UGX, provide 500"). MGA has two in
 * ISO 4217 and is one of Stripe's zero-decimal currencies. Three-decimal amounts must be multiples of ten.
 */
const wire: WireUnits = { exponents: { ISK: 2, UGX: 2, MGA: 0 }, threeDecimalsEndInZero: true }

export const parseAmount: ParseAmount = (value, currency) => parseMinorUnits(value, currency, wire)

/** Reads how much a signed amount moves; which way is for its kind to say. */
export const parseMovedAmount: ParseAmount = (value, currency) => {
  const parsed = parseMinorUnits(value, currency, wire, 'signed')
  if ('problem' in parsed || parsed.amountMinor > 0n) return parsed
  return { amountMinor: -parsed.amountMinor }
}

/** A related object: its id, or the object itself where it is expanded (https://docs.stripe.com/expand). */
export function idOf(value: unknown): unknown {
  return isObject(value) ? value['id'] : value
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

/**
 * What names the payment that an object is or belongs to: its payment intent, and its charge only where there is none.
 *
 * Charge, refund and dispute all follow it, so that they meet in one money key whatever arrives first.
 */
export function paymentOf(object: JsonObject, chargeField: 'id' | 'charge'): Field {
  const name = isAbsent(object['payment_intent']) ? chargeField : 'payment_intent'
  return { name, value: idOf(object[name]) }
}
