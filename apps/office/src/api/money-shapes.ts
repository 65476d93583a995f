import type { Money } from '../facts/index.ts'
import type { EventOutcome, FactResult } from '../pipeline/index.ts'
import { AppError } from '../platform/errors.ts'
import { amountOf } from './api-parts.ts'

/** An amount that a person gives: more than nothing. Left out, it is for the money desk to say. */
export function moneyOf(amount: { amountMinor: number; currency: string } | undefined): Money | null {
  if (amount === undefined) return null
  if (amount.amountMinor < 1) throw new AppError('invalid', 'amount: must be more than nothing')
  return { amountMinor: BigInt(amount.amountMinor), currency: amount.currency }
}

/** What was booked, or had been. */
export function toMoneyAnswer(eventId: string, result: FactResult) {
  const { outcome, applied, target, reason } = result
  return {
    duplicate: outcome === 'duplicate',
    ...(applied === null ? {} : { applied: amountOf(applied.amountMinor, applied.currency) }),
    ...(outcome === 'kept' ? { kept: true as const } : {}),
    ...(reason === null || outcome === 'nothing' ? {} : { reason }),
    eventId,
    ...(target === null ? {} : { target }),
  }
}

/** How a further attempt of an event ended. Throws where it failed again: it is on record as it was, with one attempt more. */
export function toRetryAnswer(outcome: EventOutcome) {
  switch (outcome.outcome) {
    case 'done':
    case 'duplicate':
    case 'kept': {
      if (outcome.cause !== undefined) break
      const [moved] = outcome.applied
      return {
        duplicate: outcome.outcome === 'duplicate',
        ...(moved === undefined ? {} : { applied: amountOf(moved.amountMinor, moved.currency) }),
        ...(outcome.outcome === 'kept' ? { kept: true as const } : {}),
        ...(outcome.reason === null ? {} : { reason: outcome.reason }),
        eventId: outcome.eventId,
        ...(outcome.target === null ? {} : { target: outcome.target }),
      }
    }
    case 'in_progress':
      throw new AppError('in_progress', 'Somebody is at work on this event; look again in a moment.')
    case 'unknown':
      throw new AppError('outcome_unknown', 'Nobody knows yet how this event ended.')
    case 'failed':
  }
  throw new AppError('internal', 'It failed again. The cause is in the log under this requestId.', {
    cause: outcome.cause,
  })
}
