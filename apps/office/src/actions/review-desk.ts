import type { Money, MoneyName, PaymentFact, ReturnFact } from '../facts/index.ts'
import type { Actor } from '../modules/audit/index.ts'
import {
  applyPayment,
  bookDifference,
  enterFacts,
  findPayment,
  type MoneyContext,
  type MoneyFact,
} from '../modules/money/index.ts'
import { resolveWork, type WorkDecision } from '../modules/register/index.ts'
import { decideReviewItem, findReviewItem, type ReviewItemRow } from '../modules/review-items/index.ts'
import type { EventOutcome, FactResult } from '../pipeline/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import type { ReadAgain } from './read-again.ts'

/** How a person ends a question. */
export type ItemDecision =
  | { readonly decision: 'dismiss' }
  | { readonly decision: 'retry'; readonly received: ReadAgain }
  /** Of an event that failed. */
  | { readonly decision: 'retry'; readonly again: (tx: Tx) => Promise<EventOutcome> }
  | { readonly decision: 'enter'; readonly entry: Entry }
  | { readonly decision: 'book_difference' }
  | { readonly decision: 'apply'; readonly invoiceId: string; readonly amount: Money | null }
  | { readonly decision: 'resolve'; readonly said: WorkDecision }

/** What could not be read, as a person reads it. */
export interface Entry {
  readonly kind: 'payment' | 'refund' | 'chargeback'
  readonly amount: Money
  /** The source's id of the money, where the item does not know it. */
  readonly externalId: string | null
  readonly invoiceReference: string | null
  /** The source's id of the payment that a refund or chargeback belongs to. */
  readonly paymentId: string | null
  /** The source's id of the dispute that a chargeback belongs to. */
  readonly disputeId: string | null
}

/** The endings that a kind of item has. */
const endings: Readonly<Record<ReviewItemRow['kind'], readonly ItemDecision['decision'][]>> = {
  unclear: ['retry', 'enter', 'dismiss'],
  conflict: ['book_difference', 'dismiss'],
  unapplied: ['apply', 'dismiss'],
  failed: ['retry', 'dismiss'],
  waiting: ['dismiss'],
  excess: ['dismiss'],
  unknown: ['resolve'],
  stuck: ['resolve', 'dismiss'],
  given_up: ['resolve', 'dismiss'],
}

export function decisionsFor(item: ReviewItemRow): readonly ItemDecision['decision'][] {
  if (item.state === 'decided') return []
  const isBookable = readContradiction(item) !== null
  return endings[item.kind].filter((decision) => {
    if (decision === 'retry') return item.delivery_id !== null
    return decision !== 'book_difference' || isBookable
  })
}

/**
 * Ends a question and does what the decision says, in the caller's transaction: both or neither.
 *
 * Two people who decide at once: one does, the other gets `decided_already` and nothing happens through it. Throws `not_found`,
 * `decision_unsuitable` where the item has no such ending, `still_unclear` where reading again brought nothing, and what the
 * booking itself refuses.
 */
export async function decideItem(
  tx: Tx,
  context: MoneyContext & { readonly actor: Actor },
  itemId: string,
  decided: ItemDecision,
  note: string | null,
): Promise<{ item: ReviewItemRow; results: readonly (FactResult | EventOutcome)[] }> {
  const { organizationId, actor, now } = context
  const item = await findReviewItem(tx, organizationId, itemId)
  if (item === undefined) throw new AppError('not_found', `There is no review item ${itemId}.`)
  if (item.state === 'decided') throw decidedAlready(item)
  if (!decisionsFor(item).includes(decided.decision)) {
    throw new AppError('decision_unsuitable', `This item can be decided by: ${decisionsFor(item).join(', ')}.`)
  }
  const results = await carryOut(tx, context, item, decided).catch(async (error: unknown) => {
    // Somebody who decides at the same moment may have used up what this one is about, and that is what there is to say.
    const current = error instanceof AppError ? await findReviewItem(tx, organizationId, itemId) : undefined
    throw current?.state === 'decided' ? decidedAlready(current) : error
  })
  const by = `${actor.type}/${actor.id}`
  // Written last: what was just booked may have answered the item, and it waits for no lock before the money's own.
  const row = await decideReviewItem(tx, organizationId, itemId, { by, decision: decided.decision, note }, now)
  if (row === undefined) throw decidedAlready((await findReviewItem(tx, organizationId, itemId)) ?? item)
  return { item: row, results }
}

async function carryOut(
  tx: Tx,
  context: MoneyContext & { readonly actor: Actor },
  item: ReviewItemRow,
  decided: ItemDecision,
): Promise<readonly (FactResult | EventOutcome)[]> {
  switch (decided.decision) {
    case 'dismiss':
      return []
    case 'retry':
      return 'again' in decided ? [await decided.again(tx)] : enterFacts(tx, context, factsOf(decided.received))
    case 'enter':
      return enterFacts(tx, context, [toFact(item, decided.entry)])
    case 'book_difference': {
      const contradiction = readContradiction(item)
      if (contradiction === null) throw new Error('an item without a difference got past its endings')
      return [await bookDifference(tx, context, { itemId: item.id, ...contradiction })]
    }
    case 'apply': {
      const { paymentId } = item.data as { paymentId: string }
      const { currency } = (await findPayment(tx, context.organizationId, paymentId)) ?? {}
      if (decided.amount !== null && decided.amount.currency !== currency) {
        throw new AppError('invalid', `amount.currency: the payment is in ${currency}`)
      }
      const input = { invoiceId: decided.invoiceId, amountMinor: decided.amount?.amountMinor ?? null }
      const applied = await applyPayment(tx, context, paymentId, input, null)
      return [{ outcome: 'booked', applied, target: { type: 'payment', id: paymentId }, reason: null }]
    }
    case 'resolve':
      await resolveWork(tx, { clock: { now: () => context.now } }, context, item.event_id, decided.said)
      return []
  }
}

/** What can be booked now; nothing where the adapter of now knows that nothing has to be. */
function factsOf(received: ReadAgain): readonly MoneyFact[] {
  if (received.outcome !== 'events') return []
  return received.events.flatMap(({ content }) => {
    if ('unclear' in content) throw new AppError('still_unclear', content.unclear.detail)
    return content.facts
  })
}

/** The entry under the key of the money itself, so that the source's own message later is a repetition. */
function toFact(item: ReviewItemRow, entry: Entry): PaymentFact | ReturnFact {
  const { subject, source } = item.data as { subject?: MoneyName | null; source: string }
  const name = {
    source: subject?.source ?? source,
    externalId: subject?.externalId ?? entry.externalId ?? `entered:${item.id}`,
  }
  const { kind, amount, invoiceReference, paymentId, disputeId } = entry
  if (kind === 'payment') {
    const payer = { name: null, email: null }
    return { type: 'payment', kind, ...name, amount, invoiceReference, payer, occurredAt: null }
  }
  if (paymentId === null) throw new AppError('invalid', `payment: name the payment that this ${kind} belongs to`)
  if (kind === 'chargeback' && disputeId === null) {
    throw new AppError('invalid', 'dispute: name the dispute that this chargeback belongs to')
  }
  const original = { source: name.source, externalId: paymentId }
  return { type: 'return', kind, ...name, returnId: disputeId ?? name.externalId, original, amount, occurredAt: null }
}

/** Which payment was told of twice, and what the second time; `null` where no difference can be booked. */
function readContradiction(item: ReviewItemRow): { paymentId: string; told: Money } | null {
  const { target, told } = item.data as {
    target?: { type: string; id: string } | null
    told?: { amountMinor: number; currency: string } | null
  }
  if (item.kind !== 'conflict' || target?.type !== 'payment' || !told) return null
  return {
    paymentId: target.id,
    told: { amountMinor: BigInt(told.amountMinor), currency: told.currency },
  }
}

function decidedAlready(item: ReviewItemRow): AppError {
  const detail = item.decided_by === null ? 'Somebody else decided it meanwhile.' : `Decided by ${item.decided_by}.`
  return new AppError('decided_already', detail, { extra: { decision: item.decision, decidedBy: item.decided_by } })
}
