import type { Currency, ToldFact, ToldPayment, ToldReturn } from './tellings.ts'

/**
 * What must be on record of facts alone: a function of their set, written from the rules in words. No order, no time, no
 * repetition comes into it.
 */

/** An invoice that can take money. */
export interface IssuedInvoice {
  readonly id: string
  readonly number: string
  readonly total: number
  readonly currency: Currency
}

/** What a set of facts adds up to. */
export interface Sums {
  /** By `source id`. */
  readonly payments: ReadonlyMap<
    string,
    { readonly amount: number; readonly currency: string; readonly returned: number }
  >
  /** By `source kind id`: movements of returned money. */
  readonly returns: ReadonlySet<string>
  /** What is paid of each invoice, by its id. */
  readonly paid: ReadonlyMap<string, number>
  readonly byCurrency: ReadonlyMap<string, Parts>
}

/** Where money is that was received. */
export interface Parts {
  readonly received: number
  readonly applied: number
  readonly unapplied: number
  readonly returned: number
}

/** Adds facts up, given the invoices that are issued by now. */
export function sumFacts(facts: readonly ToldFact[], invoices: readonly IssuedInvoice[]): Sums {
  const payments = new Map<string, ToldPayment>()
  for (const fact of facts) {
    if (fact.what !== 'payment') continue
    const key = keyOf(fact)
    const known = payments.get(key)
    // Several events may tell of one payment, and not all of them name its invoice.
    payments.set(key, known === undefined ? fact : { ...known, reference: known.reference ?? fact.reference })
  }
  const returns = new Map(facts.flatMap((fact) => (fact.what === 'return' ? [[movementKey(fact), fact] as const] : [])))

  const result = new Map<string, { amount: number; currency: string; returned: number }>()
  const wanted = new Map<string, number>()
  for (const [key, { amount, currency, reference, source, id }] of payments) {
    const movements = [...returns.values()].filter(
      (each) => each.paymentSource === source && each.paymentId === id && each.currency === currency,
    )
    const returned = Math.min(amount, countReturned(movements, source))
    result.set(key, { amount, currency, returned })
    const named = invoices.find((invoice) => names(reference, invoice) && invoice.currency === currency)
    if (named !== undefined) wanted.set(named.id, (wanted.get(named.id) ?? 0) + amount - returned)
  }
  const paid = new Map(invoices.map(({ id, total }) => [id, Math.min(total, wanted.get(id) ?? 0)]))
  return {
    payments: result,
    returns: new Set(returns.keys()),
    paid,
    byCurrency: sumByCurrency([...result.values()], invoices, paid),
  }
}

/**
 * Each refund and each dispute by itself: what went less what came back, never below nothing. A running total counts only
 * while the payment's own source has told of no single refund.
 */
export function countReturned(
  movements: readonly Pick<ToldReturn, 'kind' | 'source' | 'belongsTo' | 'amount'>[],
  paymentSource: string,
): number {
  const net = new Map<string, number>()
  for (const { kind, belongsTo, amount } of movements) {
    if (kind === 'refund_total') continue
    const isBack = kind.endsWith('_reversal')
    const key = `${kind.replace('_reversal', '')} ${belongsTo}`
    net.set(key, (net.get(key) ?? 0) + (isBack ? -amount : amount))
  }
  const single = [...net.values()].reduce((sum, each) => sum + Math.max(0, each), 0)
  const hasSingleRefund = movements.some(
    ({ kind, source }) => source === paymentSource && (kind === 'refund' || kind === 'refund_reversal'),
  )
  const totals = movements.flatMap(({ kind, amount }) => (kind === 'refund_total' ? [amount] : []))
  return single + (hasSingleRefund ? 0 : Math.max(0, ...totals))
}

function sumByCurrency(
  payments: readonly { readonly amount: number; readonly currency: string; readonly returned: number }[],
  invoices: readonly IssuedInvoice[],
  paid: ReadonlyMap<string, number>,
): Map<string, Parts> {
  const sums = new Map<string, Parts>()
  for (const [currency, group] of Map.groupBy(payments, (payment) => payment.currency)) {
    const received = group.reduce((sum, { amount }) => sum + amount, 0)
    const returned = group.reduce((sum, payment) => sum + payment.returned, 0)
    const applied = invoices
      .filter((invoice) => invoice.currency === currency)
      .reduce((sum, { id }) => sum + (paid.get(id) ?? 0), 0)
    sums.set(currency, { received, applied, unapplied: received - returned - applied, returned })
  }
  return sums
}

/** An invoice is named by its number, or by its id in letters of any size. */
export function names(
  reference: string | null,
  invoice: { readonly id: string; readonly number: string | null },
): boolean {
  return reference !== null && (reference === invoice.number || reference.toLowerCase() === invoice.id)
}

/** Names a payment. */
export function keyOf({ source, id }: { readonly source: string; readonly id: string }): string {
  return `${source} ${id}`
}

/** Names a movement of returned money. */
export function movementKey({ source, kind, id }: { source: string; kind: string; id: string }): string {
  return `${source} ${kind} ${id}`
}
