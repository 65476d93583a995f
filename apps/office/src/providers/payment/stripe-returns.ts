import {
  type Envelope,
  type EventName,
  ignored,
  type MovementClaim,
  movementsEvent,
  readCurrency,
  totalEvent,
  unclear,
  unusable,
} from '../events.ts'
import { isObject, type JsonObject, readUnixSeconds, show } from '../fields.ts'
import { readId } from '../ids.ts'
import type { Received } from '../provider.ts'
import { isAbsent, parseAmount, parseMovedAmount, paymentOf, SOURCE } from './stripe-objects.ts'

/**
 * Money of a Stripe payment that went back to its payer: refunds, their running total, and disputes.
 *
 * Objects: https://docs.stripe.com/api/refunds/object, https://docs.stripe.com/api/disputes/object and
 * https://docs.stripe.com/api/charges/object. Types: https://docs.stripe.com/api/events/types
 */

/** Every step of a refund or a dispute moves money or may do so. */
const returnType = /^(charge\.refunded|(refund|charge\.refund|charge\.dispute)\.[a-z_.]{1,60})$/

export function isReturnType(type: string): boolean {
  return returnType.test(type)
}

/** An event whose object was found, and its name should it have to be kept. */
export interface ReturnEvent {
  readonly type: string
  readonly event: JsonObject
  readonly object: JsonObject
  readonly named: EventName
}

/** @param told an event whose type is a return's. */
export function readReturn(told: ReturnEvent): Received {
  if (told.type === 'charge.refunded') return readRefundTotal(told)
  if (refundTypes.has(told.type)) return readRefund(told)
  const steps = disputeTypes.get(told.type)
  return steps === undefined ? keepForLater(told) : readDispute(told, steps)
}

/** A step that Stripe added after this version was written: genuine, and maybe money. */
function keepForLater({ type, event, object, named }: ReturnEvent): Received {
  // A refund's own id is the key of the later booking. Of a dispute, only each movement's id names money.
  const subject = type.startsWith('charge.dispute.') ? null : readId(object['id'])
  const kept = { ...named, kind: `${SOURCE}.${type}` }
  if (readId(event['id']) === null) {
    return unclear(kept, 'id_unusable', unusable({ name: 'id', value: event['id'] }), subject)
  }
  return unclear(kept, 'type_not_supported', `Money moved (${show(type)}), but this version cannot book it.`, subject)
}

/**
 * Types that carry a refund. `refund.*` are sent for every refund since API version 2024-10-28; before it,
 * `charge.refund.updated` was what told of one refund
 * (https://docs.stripe.com/changelog/acacia/2024-10-28/refund-webhook-update).
 */
const refundTypes: ReadonlySet<string> = new Set([
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.refund.updated',
])

/**
 * Reads a refund by its status, which is final only as `succeeded`, `failed` or `canceled`.
 *
 * Created and updated may both say `succeeded`: two events, one money key, the refund's id. A refund that failed may have
 * succeeded before (the bank sent the money back) or never have moved any. Its reversal is right in both cases, because a
 * reversal brings back at most what the refund of its name took.
 *
 * Webhooks of API versions before 2025-03-31 also send what a capture in part sets free as a refund that looks like any
 * other, so that addresses of accounts which capture in part need a newer version
 * (https://docs.stripe.com/changelog/basil/2025-03-31/remove-refund-from-partial-capture-and-payment-cancellation-flow).
 */
function readRefund(told: ReturnEvent): Received {
  const { type, object, named } = told
  const { status } = object
  const hasFailed = status === 'failed' || status === 'canceled'
  if (type === 'refund.failed' ? hasFailed : hasFailed || status === 'succeeded') {
    // The same versions call it a refund that an authorisation ended without capture.
    if (object['reason'] === 'expired_uncaptured_charge') {
      return ignored('An authorisation ended without capture; no money had arrived.')
    }
    const claim = refundMovement(told, hasFailed ? 'refund_reversal' : 'refund')
    return movementsEvent(envelopeOf(told, hasFailed ? 'payment.refund_failed' : 'payment.refunded'), [claim])
  }
  if (type !== 'refund.failed' && (status === 'pending' || status === 'requires_action')) {
    return ignored(`The refund is not final (${status}).`)
  }
  return unclear(named, 'shape_unknown', `The status of the refund is ${show(status)}.`, readId(object['id']))
}

function refundMovement({ event, object }: ReturnEvent, kind: MovementClaim['kind']): MovementClaim {
  const refund = { name: 'id', value: object['id'] }
  return {
    kind,
    movement: refund,
    belongsTo: refund,
    payment: paymentOf(object, 'charge'),
    amount: { name: 'amount', value: object['amount'] },
    currency: { name: 'currency', value: object['currency'] },
    parseAmount,
    occurredAt: readUnixSeconds(event['created']) ?? readUnixSeconds(object['created']),
  }
}

function envelopeOf({ event, named }: ReturnEvent, kind: string): Envelope {
  return { source: SOURCE, kind, id: { name: 'id', value: event['id'] }, fallbackId: named.id }
}

/** From this API version on, `amount_refunded` counts nothing but refunds. */
const RELEASES_LEFT_OUT_SINCE = '2025-03-31'

/**
 * Reads `charge.refunded`, which says only how much of a charge went back so far.
 *
 * Until API version 2025-03-31 the total also holds what an authorisation set free when less than all of it was captured,
 * which is money that never arrived. Such a total is kept, because how much of it is refunds cannot be told.
 */
function readRefundTotal(told: ReturnEvent): Received {
  const { event, object: charge, named } = told
  const { amount, amount_captured: captured, amount_refunded: refunded } = charge
  if (charge['captured'] === false) return ignored('An authorisation ended without capture; no money had arrived.')
  if (refunded === 0) return ignored('Nothing of the charge went back.')
  const version = event['api_version']
  const isOld =
    typeof version !== 'string' || version.slice(0, RELEASES_LEFT_OUT_SINCE.length) < RELEASES_LEFT_OUT_SINCE
  if (!isAbsent(captured) && captured !== amount && isOld) {
    const detail = `amount_refunded is ${show(refunded)} of a charge captured in part, and may count what was never captured.`
    return unclear(named, 'shape_unknown', detail)
  }
  return totalEvent(envelopeOf(told, 'payment.refund_total'), {
    payment: paymentOf(charge, 'id'),
    amount: { name: 'amount_refunded', value: refunded },
    currency: { name: 'currency', value: charge['currency'] },
    parseAmount,
    occurredAt: readUnixSeconds(event['created']),
  })
}

/** Types that carry a dispute, and whether its money must have moved with them. */
const disputeTypes: ReadonlyMap<string, 'moved' | 'maybe'> = new Map([
  ['charge.dispute.funds_withdrawn', 'moved'],
  ['charge.dispute.funds_reinstated', 'moved'],
  ['charge.dispute.created', 'maybe'],
  ['charge.dispute.updated', 'maybe'],
  ['charge.dispute.closed', 'maybe'],
])

/**
 * Reads the movements of a dispute's money, which its object lists as `balance_transactions`.
 *
 * A dispute can take money more than once (won, then lost), so that each movement is money of its own, named by its balance
 * transaction: below zero it went, above zero it came again. Every event of a dispute lists all of them so far; the money
 * keys make that harmless. An inquiry (`warning_…`) lists none.
 */
function readDispute(told: ReturnEvent, funds: 'moved' | 'maybe'): Received {
  const { object: dispute, named } = told
  const list = dispute['balance_transactions']
  if (!isAbsent(list) && !Array.isArray(list)) {
    return unclear(named, 'shape_unknown', `balance_transactions is ${show(list)}, which is no list.`)
  }
  const transactions: readonly unknown[] = Array.isArray(list) ? list : []
  const claims: MovementClaim[] = []
  for (const transaction of transactions) {
    if (!isObject(transaction)) {
      const detail = `A balance transaction of the dispute is ${show(transaction)}, which states no amount.`
      return unclear(named, 'shape_unknown', detail, readId(transaction))
    }
    // A fee alone: it stands in `fee`, and nothing of the payment moved.
    if (transaction['amount'] !== 0) claims.push(disputeMovement(told, transaction))
  }
  if (claims.length > 0) return movementsEvent(envelopeOf(told, 'payment.disputed'), claims)
  if (funds === 'maybe') return ignored('The dispute has moved no money.')
  return unclear(named, 'shape_unknown', 'The dispute lists no balance transaction, although its money moved.')
}

/** `amount` and not `net`: the fee of a dispute is no money of the payment. */
function disputeMovement({ event, object: dispute }: ReturnEvent, transaction: JsonObject): MovementClaim {
  const { amount } = transaction
  const own = readCurrency(transaction['currency'])
  // Where the account is held in another currency, only the dispute itself states the payment's money. A transaction that
  // cannot be read as one is not replaced by it.
  const isConverted = isWhole(amount) && own !== undefined && own !== readCurrency(dispute['currency'])
  const prefix = isConverted ? '' : 'balance_transactions.'
  const stated = isConverted ? dispute : transaction
  return {
    kind: isWhole(amount) && amount > 0 ? 'chargeback_reversal' : 'chargeback',
    movement: { name: 'balance_transactions.id', value: transaction['id'] },
    belongsTo: { name: 'id', value: dispute['id'] },
    payment: paymentOf(dispute, 'charge'),
    amount: { name: `${prefix}amount`, value: stated['amount'] },
    currency: { name: `${prefix}currency`, value: stated['currency'] },
    parseAmount: isConverted ? parseAmount : parseMovedAmount,
    occurredAt: readUnixSeconds(transaction['created']) ?? readUnixSeconds(event['created']),
  }
}

function isWhole(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}
