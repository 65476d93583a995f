import type { Books } from './books.ts'
import type { Sums } from './entrances.ts'

/** Books without the names that differ from one organisation to the next: equal where the same happened as often. */
export interface Shape {
  readonly payments: readonly string[]
  readonly returns: readonly string[]
  readonly invoices: readonly string[]
  readonly reviewItems: readonly string[]
  readonly told: Readonly<Record<string, number>>
}

export function shapeOf({ payments, returns, invoices, reviewItems, told }: Books): Shape {
  return {
    payments: sorted(payments.map(({ externalId: _, ...payment }) => payment)),
    returns: sorted(returns.map(({ externalId: _, ...movement }) => movement)),
    invoices: sorted(invoices.map(({ id: _, ...invoice }) => invoice)),
    reviewItems: sorted(reviewItems.map(({ kind, state, decision, reason }) => ({ kind, state, decision, reason }))),
    told,
  }
}

function sorted(rows: readonly object[]): string[] {
  return rows.map((row) => JSON.stringify(row)).toSorted()
}

/** Adds up what the books hold; the first invoice by its number is the one that a scenario is about. */
export function addUp({ payments, invoices }: Books): Sums {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
  const [own, ...others] = invoices.filter(({ type }) => type === 'invoice')
  return {
    received: sum(payments.map((payment) => payment.amountMinor)),
    applied: sum(payments.map((payment) => payment.appliedMinor)),
    unapplied: sum(payments.map((payment) => payment.unappliedMinor)),
    returned: sum(payments.map((payment) => payment.returnedMinor)),
    open: own?.openMinor ?? 0,
    paid: own?.paidMinor ?? 0,
    credited: own?.creditedMinor ?? 0,
    adjusted: own?.adjustedMinor ?? 0,
    elsewhere: sum(others.map((invoice) => invoice.paidMinor)),
  }
}

/** What differs between the two, and by how much. */
export function changesOf(before: Sums, after: Sums): Partial<Sums> {
  const names = Object.keys(before) as (keyof Sums)[]
  return Object.fromEntries(
    names.map((name) => [name, after[name] - before[name]]).filter(([, change]) => change !== 0),
  )
}
