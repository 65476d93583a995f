import { hash } from 'node:crypto'
import type { PaymentFact, ReturnFact } from './index.ts'

/**
 * The content of a money fact that matters, and nothing else: kind, amount, currency, original.
 *
 * Two arrivals of one key with different fingerprints are a conflict for a person. Payer, time, text and counters such
 * as Stripe's `pending_webhooks` differ between honest repetitions, so they are no part of it. `v1` names this
 * choice of fields: a fingerprint of another version is not comparable, then the stored columns decide.
 */
export function moneyFingerprint(fact: PaymentFact | ReturnFact): string {
  // JSON quotes every part, so that no two different contents can give one text.
  const amount = fact.amount === 'open_rest' ? null : [String(fact.amount.amountMinor), fact.amount.currency]
  const originalId = fact.type === 'payment' ? fact.externalId : fact.original.externalId
  return `v1:${hash('sha256', JSON.stringify([fact.kind, amount, originalId]), 'base64url')}`
}

/**
 * An event that could not be understood has no content to compare: its repetition is a repetition by its key alone, also where a
 * later version or other settings read it. Hence a version of its own, which is compared with none.
 */
export const UNCLEAR_FINGERPRINT = 'unclear:'
