import type { Ledger } from './ledger.ts'
import { countReturned, keyOf, movementKey, names, type Parts } from './sum-of-facts.ts'

/**
 * The auditor: adds up the rows of a ledger by the rules in words, and says where the office's counters differ. It has read
 * none of the office's code, and none of the doctor's.
 */
export function audit(ledger: Ledger): string[] {
  return [
    ...auditPayments(ledger),
    ...auditInvoices(ledger),
    ...auditAllocations(ledger),
    ...auditCurrencies(ledger),
    ...auditDesk(ledger),
  ]
}

function auditPayments(ledger: Ledger): string[] {
  const { payments, returns, allocations } = ledger
  const problems = [...repeatedOf(payments.map(keyOf), 'payment'), ...repeatedOf(returns.map(movementKey), 'return')]
  for (const payment of payments) {
    const { rowId, id, currency, amount } = payment
    const applied = sum(allocations.filter((each) => each.live && each.payment === rowId))
    const returned = Math.min(amount, countedOf(payment, returns))
    const expected = { applied, returned, unapplied: amount - applied - returned }
    problems.push(...differences(`payment ${id}`, expected, payment))
    problems.push(...negatives(`payment ${id}`, expected))
    const taker = ledger.invoices.find((invoice) => names(payment.reference, invoice) && takes(invoice, currency))
    if (expected.unapplied > 0 && !payment.byHand && taker !== undefined) {
      problems.push(`payment ${id}: ${expected.unapplied} wait for ${taker.number}, which has ${taker.open} open`)
    }
  }
  return problems
}

function takes({ type, lifecycle, open, ...invoice }: Ledger['invoices'][number], currency: string): boolean {
  return type === 'invoice' && lifecycle === 'issued' && open > 0 && invoice.currency === currency
}

function auditInvoices({ invoices, allocations, credits, adjustments }: Ledger): string[] {
  const numbers = invoices.flatMap(({ number }) => (number === null ? [] : [number]))
  return [
    ...repeatedOf(numbers, 'number'),
    ...invoices.flatMap((invoice) => {
      const { id, type, lifecycle, total } = invoice
      const isNote = type === 'credit_note'
      const paid = sum(allocations.filter((each) => each.live && each.invoice === id))
      const credited = sum(credits.filter((each) => (isNote ? each.note : each.invoice) === id))
      const adjusted = sum(adjustments.filter((each) => each.live && each.invoice === id))
      const open = total - paid - credited - adjusted
      const state = open === 0 ? 'settled' : open === total ? 'open' : 'partial'
      const title = `invoice ${invoice.number ?? id}`
      return [
        ...differences(title, { paid, credited, adjusted, open, state }, invoice),
        ...negatives(title, { open }),
        ...(lifecycle !== 'issued' && open !== total ? [`${title}: something lies on it, and it is ${lifecycle}`] : []),
        ...(isNote && paid + adjusted > 0 ? [`${title}: a credit note is paid`] : []),
      ]
    }),
  ]
}

function auditAllocations({ invoices, payments, allocations }: Ledger): string[] {
  const live = allocations.filter((each) => each.live)
  return [
    ...repeatedOf(
      live.map(({ payment, invoice }) => `${payment} on ${invoice}`),
      'live allocation',
    ),
    ...live.flatMap(({ rowId, payment, invoice, currency }) => {
      const ends = [payments.find((each) => each.rowId === payment), invoices.find((each) => each.id === invoice)]
      const isSound = ends.every((end) => end?.currency === currency)
      return isSound ? [] : [`allocation ${rowId}: its ends are not in ${currency}`]
    }),
  ]
}

/** In each currency: received = applied + unapplied + returned. */
function auditCurrencies(ledger: Ledger): string[] {
  return [...partsOf(ledger)].flatMap(([currency, { received, applied, unapplied, returned }]) =>
    received === applied + unapplied + returned
      ? []
      : [`${currency}: ${received} received, but ${applied} applied, ${unapplied} unapplied, ${returned} returned`],
  )
}

/** What was received of each currency, and where it is: applied by what lies on invoices, the rest as the office says. */
export function partsOf({ payments, allocations }: Ledger): Map<string, Parts> {
  const currencies = new Set([...payments, ...allocations].map(({ currency }) => currency))
  return new Map(
    [...currencies].map((currency) => {
      const own = payments.filter((payment) => payment.currency === currency)
      const applied = sum(allocations.filter((each) => each.live && each.currency === currency))
      const [received, unapplied, returned] = (['amount', 'unapplied', 'returned'] as const).map((part) =>
        own.reduce((total, payment) => total + payment[part], 0),
      ) as [number, number, number]
      return [currency, { received, applied, unapplied, returned }]
    }),
  )
}

function sum(rows: readonly { readonly amount: number }[]): number {
  return rows.reduce((total, { amount }) => total + amount, 0)
}

function repeatedOf(keys: readonly string[], what: string): string[] {
  return [...Map.groupBy(keys, (key) => key)]
    .filter(([, group]) => group.length > 1)
    .map(([key, group]) => `${what} ${key}: there ${group.length} times`)
}

function differences<T extends object>(
  title: string,
  expected: T,
  found: { readonly [K in keyof T]: unknown },
): string[] {
  return (Object.keys(expected) as (keyof T & string)[])
    .filter((name) => expected[name] !== found[name])
    .map((name) => `${title}: ${name} is ${found[name]}, and its rows add up to ${expected[name]}`)
}

function negatives(title: string, sums: Readonly<Record<string, number>>): string[] {
  return Object.entries(sums)
    .filter(([, value]) => value < 0)
    .map(([name, value]) => `${title}: ${name} is ${value}, which is less than nothing`)
}

/** Questions that must lie on the desk unless a person has decided them, and no others of their kinds. */
function auditDesk({ payments, returns, questions }: Ledger): string[] {
  const known = new Set(payments.map(keyOf))
  const expected = new Set([
    ...payments.filter(({ unapplied }) => unapplied > 0).map(({ rowId }) => `unapplied:${rowId}`),
    ...payments.filter((payment) => countedOf(payment, returns) > payment.amount).map(({ rowId }) => `excess:${rowId}`),
    ...returns
      .filter(({ paymentSource, paymentId }) => !known.has(keyOf({ source: paymentSource, id: paymentId })))
      .map(({ paymentSource, paymentId }) => `waiting:${paymentSource}:${paymentId}`),
  ])
  const own = questions.filter(({ kind }) => judged.has(kind))
  const open = own.filter(({ state }) => state === 'open').map(({ key }) => key)
  const byPeople = own.filter(({ decidedBy }) => decidedBy !== null && decidedBy !== 'system').map(({ key }) => key)
  const asked = new Set([...open, ...byPeople])
  return [
    ...[...expected].filter((key) => !asked.has(key)).map((key) => `no question is open: ${key}`),
    ...open.filter((key) => !expected.has(key)).map((key) => `a question is open without a reason: ${key}`),
  ]
}

/** Kinds of questions that depend on nothing but what is on record. */
const judged: ReadonlySet<string> = new Set(['unapplied', 'excess', 'waiting'])

/** What went back of a payment, as its movements say; it may be more than the payment. */
function countedOf(payment: Ledger['payments'][number], returns: Ledger['returns']): number {
  const { source, id, currency } = payment
  const movements = returns.filter(
    (each) => each.paymentSource === source && each.paymentId === id && each.currency === currency,
  )
  return countReturned(movements, source)
}
