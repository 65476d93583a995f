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

interface Booked {
  readonly outcome: string
  readonly eventId: string
  readonly applied: Money | null
  readonly target: { readonly type: string; readonly id: string } | null
  readonly reason: string | null
}

function toAnswer({ outcome, eventId, applied, target, reason }: Booked) {
  return {
    duplicate: outcome === 'duplicate',
    ...(applied === null ? {} : { applied: amountOf(applied.amountMinor, applied.currency) }),
    ...(outcome === 'kept' ? { kept: true as const } : {}),
    ...(reason === null ? {} : { reason }),
    eventId,
    ...(target === null ? {} : { target }),
  }
}

/** What was booked, or had been. A rest of nothing needs no reason. */
export function toMoneyAnswer(eventId: string, result: FactResult) {
  return toAnswer({ ...result, eventId, reason: result.outcome === 'nothing' ? null : result.reason })
}

/** How a further attempt of an event ended. One that fails through a fault of ours again has thrown before. */
export function toRetryAnswer(outcome: EventOutcome) {
  switch (outcome.outcome) {
    case 'done':
    case 'duplicate':
    case 'kept': {
      const [moved = null] = outcome.applied
      // What a copy tells of had moved before; through this attempt nothing did.
      const applied = moved !== null && outcome.wasCopy ? { ...moved, amountMinor: 0n } : moved
      return toAnswer({ ...outcome, applied })
    }
    case 'in_progress':
      throw new AppError('in_progress', 'Somebody is at work on this event; look again in a moment.')
    case 'unknown':
      throw new AppError('outcome_unknown', 'Nobody knows yet how this event ended.')
    case 'failed':
      throw new AppError('failed_for_good', outcome.reason ?? 'Nobody tries this event again.')
  }
}
