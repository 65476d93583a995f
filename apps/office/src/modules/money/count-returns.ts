import type { ReturnKind } from '../../facts/index.ts'

/** A movement of returned money, as far as counting needs it. All of one payment and one currency. */
export interface CountedReturn {
  readonly source: string
  readonly kind: ReturnKind
  readonly returnId: string
  readonly amountMinor: bigint
}

/** What a movement, its reversal or a total of them is about. A refund and a dispute may have one name and are two things. */
export function categoryOf(kind: ReturnKind): string {
  return kind.split('_', 1)[0] ?? kind
}

/**
 * What of a payment went back, by its movements: for each refund and dispute what went minus what came back, never below
 * nothing; a running total only while the payment's own source has told of no single refund.
 *
 * A sum over a set, so the order of arrival cannot change it. It may exceed the payment; whoever books takes at most that.
 * The database's `returned_of` counts the same and is what the policy on payments holds every writer to.
 */
export function countReturns(returns: readonly CountedReturn[], paymentSource: string): bigint {
  const perReturn = new Map<string, bigint>()
  let runningTotal = 0n
  let hasSingleRefund = false
  for (const { source, kind, returnId, amountMinor } of returns) {
    if (kind === 'refund_total') {
      if (amountMinor > runningTotal) runningTotal = amountMinor
      continue
    }
    const category = categoryOf(kind)
    if (category === 'refund' && source === paymentSource) hasSingleRefund = true
    const key = `${category}\0${returnId}`
    perReturn.set(key, (perReturn.get(key) ?? 0n) + (kind.endsWith('_reversal') ? -amountMinor : amountMinor))
  }
  const single = [...perReturn.values()].reduce((sum, net) => (net > 0n ? sum + net : sum), 0n)
  return hasSingleRefund ? single : single + runningTotal
}
