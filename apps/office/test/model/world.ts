import type { Ledger, LedgerReturn } from './ledger.ts'
import { countReturned, keyOf, movementKey, names } from './sum-of-facts.ts'

/**
 * A ledger as a person would keep it, with the moves that the rules in words allow. Everything here is one step after the
 * other; that the office does several at once and must still end in one of their orders is what it is compared for.
 */

/** A document, with what was done about it so far. */
export interface Invoice {
  readonly id: string
  readonly type: 'invoice' | 'credit_note'
  readonly currency: string
  readonly total: number
  lifecycle: 'draft' | 'issued' | 'void'
  number: string | null
  paid: number
  credited: number
  adjusted: number
}

/** Money that came in, with where it is now. */
export interface Payment {
  readonly source: string
  readonly id: string
  readonly rowId: string
  readonly kind: string
  readonly currency: string
  readonly amount: number
  returned: number
  reference: string | null
  byHand: boolean
  /** On which invoices it lies. */
  lies: Part[]
}

interface Part {
  readonly invoice: string
  readonly amount: number
  /** Later texts are newer. */
  readonly age: string
}

/** Money that left a payment again, or came back to it. */
export type Movement = Omit<LedgerReturn, 'rowId'>

/** The books of one organisation. */
export interface World {
  readonly invoices: Map<string, Invoice>
  readonly payments: Map<string, Payment>
  readonly returns: Map<string, Movement>
  readonly adjustments: Map<string, { readonly invoice: string; readonly amount: number; live: boolean }>
  readonly questions: Map<
    string,
    { readonly kind: string; isOpen: boolean; readonly data: Ledger['questions'][number]['data'] }
  >
  /** What each known event said. */
  readonly events: Map<string, string>
  /** How old what is laid now will look: the office names its rows, and the later name is the newer one. */
  readonly ageOf: (payment: Payment, invoice: string, amount: number) => string
}

/** The world as a ledger shows it. */
export function worldOf(ledger: Ledger, events: ReadonlyMap<string, string>, ageOf: World['ageOf']): World {
  return {
    invoices: new Map(ledger.invoices.map((invoice) => [invoice.id, { ...invoice }])),
    payments: new Map(
      ledger.payments.map((payment) => {
        const own = ledger.allocations.filter((each) => each.live && each.payment === payment.rowId)
        const lies = own.map(({ invoice, amount, rowId }) => ({ invoice, amount, age: rowId }))
        return [keyOf(payment), { ...payment, lies }]
      }),
    ),
    returns: new Map(ledger.returns.map((each) => [movementKey(each), each])),
    adjustments: new Map(ledger.adjustments.map((each) => [each.rowId, { ...each }])),
    questions: new Map(
      ledger.questions.map(({ rowId, kind, state, data }) => [rowId, { kind, isOpen: state === 'open', data }]),
    ),
    events: new Map(events),
    ageOf,
  }
}

/** What is still owed. */
export function openOf({ total, paid, credited, adjusted }: Invoice): number {
  return total - paid - credited - adjusted
}

/** What of a payment lies on invoices. */
export function appliedOf({ lies }: Payment): number {
  return lies.reduce((sum, { amount }) => sum + amount, 0)
}

/** What of a payment lies nowhere. */
export function unappliedOf(payment: Payment): number {
  return payment.amount - payment.returned - appliedOf(payment)
}

/** An issued invoice of the currency; whether anything is open on it is another question. */
export function takes(invoice: Invoice | undefined, currency: string): invoice is Invoice {
  return invoice?.type === 'invoice' && invoice.lifecycle === 'issued' && invoice.currency === currency
}

/** Lays money of a payment on an invoice. What lies there already becomes one with it, and as new as it. */
export function lay(world: World, payment: Payment, invoice: Invoice, amount: number): void {
  const before = payment.lies.find((part) => part.invoice === invoice.id)?.amount ?? 0
  const together = before + amount
  payment.lies = payment.lies.filter((part) => part.invoice !== invoice.id)
  payment.lies.push({ invoice: invoice.id, amount: together, age: world.ageOf(payment, invoice.id, together) })
  invoice.paid += amount
}

/** Takes money of a payment off an invoice; what is left there is as new as what was laid last. */
export function lift(world: World, payment: Payment, invoice: Invoice, amount: number): void {
  const before = payment.lies.find((part) => part.invoice === invoice.id)?.amount ?? 0
  const rest = before - amount
  payment.lies = payment.lies.filter((part) => part.invoice !== invoice.id)
  if (rest > 0) payment.lies.push({ invoice: invoice.id, amount: rest, age: world.ageOf(payment, invoice.id, rest) })
  invoice.paid -= amount
}

/** Parts of payments, the newest first. */
export function newestFirst(payments: readonly Payment[]): { payment: Payment; part: Part }[] {
  return payments
    .flatMap((payment) => payment.lies.map((part) => ({ payment, part })))
    .toSorted((a, b) => (a.part.age < b.part.age ? 1 : -1))
}

/** No money waits: what named an invoice that can take it is laid there, the oldest payment first. */
export function settle(world: World): void {
  const waiting = [...world.payments.values()].filter((payment) => !payment.byHand && unappliedOf(payment) > 0)
  for (const payment of waiting.toSorted((a, b) => (a.rowId < b.rowId ? -1 : 1))) {
    const named = [...world.invoices.values()].find((invoice) => names(payment.reference, invoice))
    if (!takes(named, payment.currency)) continue
    const amount = Math.min(unappliedOf(payment), openOf(named))
    if (amount > 0) lay(world, payment, named, amount)
  }
}

/** Books a payment once. A later event about it may still name its invoice; another amount is for a person. */
export function enterPayment(world: World, payment: Payment): void {
  const key = keyOf(payment)
  const known = world.payments.get(key)
  if (known === undefined) {
    const returned = returnedOf(world, payment)
    world.payments.set(key, { ...payment, returned, lies: [] })
  } else {
    const isOther =
      known.kind !== payment.kind || known.amount !== payment.amount || known.currency !== payment.currency
    if (isOther) return
    known.reference ??= payment.reference
  }
  settle(world)
}

/**
 * Books a movement once. What then counts as returned leaves the unapplied money first, then what lies on invoices, newest first;
 * what counts no longer comes back.
 */
export function enterReturn(world: World, movement: Movement): void {
  const key = movementKey(movement)
  if (world.returns.has(key)) return
  world.returns.set(key, movement)
  const payment = world.payments.get(keyOf({ source: movement.paymentSource, id: movement.paymentId }))
  if (payment === undefined) return
  const returned = returnedOf(world, payment)
  let missing = returned - payment.returned - unappliedOf(payment)
  for (const { part } of newestFirst([payment])) {
    if (missing <= 0) break
    const invoice = existing(world.invoices.get(part.invoice))
    const amount = Math.min(missing, part.amount)
    lift(world, payment, invoice, amount)
    missing -= amount
  }
  payment.returned = returned
  settle(world)
}

function returnedOf(world: World, { source, id, currency, amount }: Payment): number {
  const movements = [...world.returns.values()].filter(
    (each) => each.paymentSource === source && each.paymentId === id && each.currency === currency,
  )
  return Math.min(amount, countReturned(movements, source))
}

/** Throws where a step is about nothing. */
export function existing<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a step is about something that is not in the world')
  return value
}

/** What must be the same in the office: every balance, and where each payment lies. */
export function balancesOf(world: Pick<World, 'invoices' | 'payments' | 'returns'>): Map<string, string> {
  const balances = new Map<string, string>()
  for (const { id, lifecycle, number, paid, credited, adjusted } of world.invoices.values()) {
    const sums = `${lifecycle}, paid ${paid}, credited ${credited}, adjusted ${adjusted}`
    balances.set(`invoice ${id}`, `${number}, ${sums}`)
  }
  for (const [key, payment] of world.payments) {
    const { amount, currency, returned, reference, byHand, lies } = payment
    const where = lies.map((part) => `${part.amount} on ${part.invoice}`).toSorted()
    const placed = byHand ? 'by hand' : (reference?.toLowerCase() ?? 'unnamed')
    balances.set(
      `payment ${key}`,
      `${amount} ${currency}, ${placed}, returned ${returned}, lies ${where.join(' and ')}`,
    )
  }
  for (const [key, { amount, currency, belongsTo }] of world.returns) {
    balances.set(`return ${key}`, `${amount} ${currency} of ${belongsTo}`)
  }
  return balances
}
