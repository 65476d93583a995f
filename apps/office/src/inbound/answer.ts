import type { Money } from '../facts/index.ts'
import type { EventOutcome } from '../pipeline/index.ts'
import { toJsonAmount } from '../platform/money.ts'

/** What the sender of a delivery is told. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly retryAfterSeconds?: number
  /** For the metrics. */
  readonly outcome: 'done' | 'duplicate' | 'kept' | 'ignored' | 'busy' | 'failed'
}

export function ignoredAnswer(reason: string): Answer {
  return { status: 200, body: { duplicate: false, ignored: true, reason }, outcome: 'ignored' }
}

/**
 * One answer for a delivery, whatever the number of its events: it is a success only if all of them are safe here.
 *
 * Our failure is a 500, which invites the repetition that is the next attempt. Somebody else at work is a 503.
 */
export function answerOf(outcomes: readonly EventOutcome[]): Answer {
  const [first] = outcomes
  if (first === undefined) return ignoredAnswer('no_events')
  const failed = outcomes.find((outcome) => outcome.outcome === 'failed')
  if (failed !== undefined) {
    const body = { code: 'internal', detail: 'Nothing was booked. Send the same again.', eventId: failed.eventId }
    return { status: 500, body, outcome: 'failed' }
  }
  if (outcomes.some((outcome) => outcome.outcome === 'in_progress' || outcome.outcome === 'unknown')) {
    return { status: 503, body: { code: 'in_progress' }, retryAfterSeconds: 2, outcome: 'busy' }
  }
  const duplicate = outcomes.every((outcome) => outcome.outcome === 'duplicate')
  const kept = outcomes.find((outcome) => outcome.outcome === 'kept')
  const body = {
    duplicate,
    ...appliedOf(outcomes),
    ...(kept === undefined ? {} : { kept: true, reason: kept.reason }),
    eventId: first.eventId,
    ...(first.target === null ? {} : { target: first.target }),
  }
  return { status: 200, body, outcome: kept === undefined ? (duplicate ? 'duplicate' : 'done') : 'kept' }
}

/** An amount, or a list where several currencies moved. */
function appliedOf(outcomes: readonly EventOutcome[]): { applied?: unknown } {
  const sums = new Map<string, bigint>()
  for (const { applied, wasCopy } of outcomes) {
    for (const { amountMinor, currency } of applied) {
      // What a copy tells of had moved before; through this arrival nothing did.
      sums.set(currency, (sums.get(currency) ?? 0n) + (wasCopy ? 0n : amountMinor))
    }
  }
  const amounts = [...sums].map(([currency, amountMinor]) => toAmount({ amountMinor, currency }))
  if (amounts.length === 0) return {}
  return { applied: amounts.length === 1 ? amounts[0] : amounts }
}

/** Never beyond 2^53: that is the largest amount that is taken in. */
function toAmount(money: Money): { amountMinor: number; currency: string } {
  return { amountMinor: toJsonAmount(money.amountMinor), currency: money.currency }
}
