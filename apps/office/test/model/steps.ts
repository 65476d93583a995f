import { keyOf, movementKey } from './sum-of-facts.ts'
import type { ToldFact } from './tellings.ts'
import {
  appliedOf,
  enterPayment,
  enterReturn,
  existing,
  lay,
  lift,
  type Movement,
  newestFirst,
  openOf,
  type Payment,
  settle,
  takes,
  unappliedOf,
  type World,
} from './world.ts'

/** A step with all that it is about, as it was sent. Payments are named by `source id`, all else by the office's id. */
export type Step =
  | { readonly do: 'tell'; readonly event: string; readonly facts: readonly ToldFact[] }
  | { readonly do: 'record'; readonly fact: ToldFact }
  | { readonly do: 'issue' | 'void'; readonly invoice: string }
  | { readonly do: 'pay' | 'credit' | 'adjust'; readonly invoice: string; readonly amount: number | null }
  | { readonly do: 'unadjust'; readonly adjustment: string }
  | { readonly do: 'apply'; readonly payment: string; readonly invoice: string; readonly amount: number | null }
  | { readonly do: 'move'; readonly payment: string; readonly from: string | null; readonly to: string }
  | {
      readonly do: 'return'
      readonly kind: 'refund' | 'chargeback'
      readonly payment: string
      readonly amount: number | null
      readonly name: { readonly source: string; readonly id: string } | null
    }
  | { readonly do: 'reverse'; readonly movement: string }
  | { readonly do: 'dismiss' | 'book_difference'; readonly question: string }
  | { readonly do: 'decide_apply'; readonly question: string; readonly payment: string; readonly invoice: string }

/** Names that the office gave in its answer, and rows that it wrote: nobody can foresee them. */
export interface Given {
  readonly eventId: string
  /** Id of the credit note. */
  readonly documentId: string
  rowIdOf(payment: { source: string; id: string }): string
}

/** What a step must lead to: how much it applied, where it says so; or a refusal, which changes nothing. */
export type Expected = { readonly applied?: number } | 'refused'

/** Does one step by the rules in words. */
export function doStep(world: World, step: Step, given: Given): Expected {
  switch (step.do) {
    case 'tell':
      return tell(world, step.event, step.facts, given)
    case 'record':
      return enterFact(world, step.fact, given)
    case 'issue':
      return issue(world, step.invoice)
    case 'void':
      return makeVoid(world, step.invoice)
    case 'pay':
      return pay(world, step.invoice, step.amount, given)
    case 'credit':
      return credit(world, step.invoice, step.amount, given)
    case 'adjust':
      return adjust(world, step.invoice, step.amount)
    case 'unadjust':
      return unadjust(world, step.adjustment)
    case 'apply':
      return apply(world, step.payment, step.invoice, step.amount)
    case 'move':
      return move(world, step)
    case 'return':
      return goBack(world, step, given)
    case 'reverse':
      return comeBack(world, step.movement, given)
    case 'dismiss':
    case 'book_difference':
    case 'decide_apply':
      return decide(world, step, given)
  }
}

/** The first arrival of an event counts. A copy changes nothing, and other content under its name neither. */
function tell(world: World, event: string, facts: readonly ToldFact[], given: Given): Expected {
  if (world.events.has(event)) return {}
  world.events.set(event, contentOf(facts))
  for (const fact of facts) enterFact(world, fact, given)
  return {}
}

function contentOf(facts: readonly ToldFact[]): string {
  return JSON.stringify(facts.map(({ id, amount, currency }) => [id, amount, currency]))
}

function enterFact(world: World, fact: ToldFact, given: Given): Expected {
  if (fact.what === 'return') enterReturn(world, fact)
  else enterPayment(world, newPayment(fact, 'payment', given))
  return {}
}

function newPayment(
  { source, id, amount, currency, reference }: Pick<Payment, 'source' | 'id' | 'amount' | 'currency' | 'reference'>,
  kind: string,
  given: Given,
): Payment {
  const rowId = given.rowIdOf({ source, id })
  return { source, id, amount, currency, reference, kind, rowId, returned: 0, byHand: false, lies: [] }
}

function issue(world: World, id: string): Expected {
  const invoice = existing(world.invoices.get(id))
  if (invoice.lifecycle !== 'draft') return 'refused'
  const issued = [...world.invoices.values()].filter(({ type, number }) => type === 'invoice' && number !== null)
  invoice.number = `RE-${String(issued.length + 1).padStart(5, '0')}`
  invoice.lifecycle = 'issued'
  settle(world)
  return {}
}

/** A draft, or an invoice on which nothing lies. */
function makeVoid(world: World, id: string): Expected {
  const invoice = existing(world.invoices.get(id))
  if (invoice.type !== 'invoice' || invoice.lifecycle === 'void' || openOf(invoice) !== invoice.total) return 'refused'
  invoice.lifecycle = 'void'
  return {}
}

/** Without an amount what is open; of a settled invoice that is nothing, and no payment. */
function pay(world: World, id: string, amount: number | null, given: Given): Expected {
  const invoice = existing(world.invoices.get(id))
  if (!takes(invoice, invoice.currency)) return 'refused'
  const wanted = amount ?? openOf(invoice)
  if (wanted === 0) return { applied: 0 }
  const { currency } = invoice
  const name = { source: 'manual', id: given.eventId }
  enterPayment(world, newPayment({ ...name, amount: wanted, currency, reference: id }, 'payment', given))
  return { applied: appliedOf(existing(world.payments.get(keyOf(name)))) }
}

/** Without an amount all of it, where nothing was credited or adjusted yet. From what is open first, then from payments. */
function credit(world: World, id: string, amount: number | null, given: Given): Expected {
  const invoice = existing(world.invoices.get(id))
  if (!takes(invoice, invoice.currency)) return 'refused'
  const before = invoice.credited + invoice.adjusted
  const wanted = amount ?? invoice.total
  if ((amount === null && before > 0) || wanted > invoice.total - before) return 'refused'
  let missing = wanted - openOf(invoice)
  const lying = [...world.payments.values()]
  for (const { payment, part } of newestFirst(lying).filter(({ part }) => part.invoice === id)) {
    if (missing <= 0) break
    const lifted = Math.min(missing, part.amount)
    lift(world, payment, invoice, lifted)
    missing -= lifted
  }
  invoice.credited += wanted
  const notes = [...world.invoices.values()].filter(({ type }) => type === 'credit_note')
  world.invoices.set(given.documentId, {
    id: given.documentId,
    type: 'credit_note',
    currency: invoice.currency,
    total: wanted,
    lifecycle: 'issued',
    number: `GS-${String(notes.length + 1).padStart(5, '0')}`,
    paid: 0,
    credited: wanted,
    adjusted: 0,
  })
  return {}
}

/** At most what is open. */
function adjust(world: World, id: string, amount: number | null): Expected {
  const invoice = existing(world.invoices.get(id))
  if (!takes(invoice, invoice.currency)) return 'refused'
  const wanted = amount ?? openOf(invoice)
  if (wanted === 0 || wanted > openOf(invoice)) return 'refused'
  invoice.adjusted += wanted
  return {}
}

function unadjust(world: World, id: string): Expected {
  const adjustment = existing(world.adjustments.get(id))
  if (!adjustment.live) return 'refused'
  adjustment.live = false
  existing(world.invoices.get(adjustment.invoice)).adjusted -= adjustment.amount
  settle(world)
  return {}
}

/** At most what is open; more than is unapplied is refused. From then on, its own reference no longer says where it belongs. */
function apply(world: World, key: string, id: string, amount: number | null): Expected {
  const payment = existing(world.payments.get(key))
  const invoice = existing(world.invoices.get(id))
  const unapplied = unappliedOf(payment)
  if (!takes(invoice, payment.currency) || unapplied === 0 || (amount ?? 0) > unapplied) return 'refused'
  const applied = Math.min(amount ?? unapplied, openOf(invoice))
  if (applied === 0) return 'refused'
  payment.byHand = true
  lay(world, payment, invoice, applied)
  return { applied }
}

/** What lies elsewhere, or on one invoice, goes to another as far as it fits. */
function move(world: World, { payment: key, from, to }: Extract<Step, { do: 'move' }>): Expected {
  const payment = existing(world.payments.get(key))
  const target = existing(world.invoices.get(to))
  const lying = payment.lies.filter(({ invoice }) => from === null || invoice === from)
  if (!takes(target, payment.currency) || lying.length === 0) return 'refused'
  payment.byHand = true
  const taken = lying.filter(({ invoice }) => invoice !== to)
  for (const { invoice, amount } of taken) lift(world, payment, existing(world.invoices.get(invoice)), amount)
  const applied = Math.min(
    taken.reduce((sum, { amount }) => sum + amount, 0),
    openOf(target),
  )
  if (applied > 0) lay(world, payment, target, applied)
  settle(world)
  return { applied }
}

/** A person says that money went back: at most what is left. Under a name that is known, it is the same again. */
function goBack(world: World, step: Extract<Step, { do: 'return' }>, given: Given): Expected {
  const payment = existing(world.payments.get(step.payment))
  const name = step.name ?? { source: 'manual', id: given.eventId }
  const known = world.returns.get(movementKey({ ...name, kind: step.kind }))
  const left = payment.amount - payment.returned
  const amount = step.amount ?? left
  if (known !== undefined) return { applied: 0 }
  if (amount === 0 || amount > left) return 'refused'
  return book(world, payment, {
    ...name,
    kind: step.kind,
    belongsTo: name.id,
    paymentSource: payment.source,
    paymentId: payment.id,
    amount,
    currency: payment.currency,
  })
}

function book(world: World, payment: Payment, movement: Movement): Expected {
  const before = appliedOf(payment)
  enterReturn(world, movement)
  return { applied: appliedOf(payment) - before }
}

/** It came back, as far as its refund or dispute still holds anything. */
function comeBack(world: World, key: string, given: Given): Expected {
  const movement = existing(world.returns.get(key))
  const { kind, belongsTo, paymentSource, paymentId, amount } = movement
  const siblings = [...world.returns.values()].filter(
    (each) =>
      each.paymentSource === paymentSource &&
      each.paymentId === paymentId &&
      each.belongsTo === belongsTo &&
      each.kind.replace('_reversal', '') === kind.replace('_reversal', ''),
  )
  const held = siblings.reduce((sum, each) => sum + (each.kind.endsWith('_reversal') ? -each.amount : each.amount), 0)
  if ((kind !== 'refund' && kind !== 'chargeback') || held <= 0) return 'refused'
  const payment = existing(world.payments.get(keyOf({ source: paymentSource, id: paymentId })))
  return book(world, payment, {
    ...movement,
    source: 'manual',
    id: given.eventId,
    kind: `${kind}_reversal`,
    amount: Math.min(held, amount),
  })
}

type Decision = Extract<Step, { do: 'dismiss' | 'book_difference' | 'decide_apply' }>

/** A question is decided once, and what its decision says is booked. */
function decide(world: World, step: Decision, given: Given): Expected {
  const question = existing(world.questions.get(step.question))
  if (!question.isOpen) return 'refused'
  const expected = carryOut(world, step, question.data, given)
  if (expected !== 'refused') question.isOpen = false
  return expected
}

function carryOut(world: World, step: Decision, data: Readonly<Record<string, unknown>>, given: Given): Expected {
  if (step.do === 'dismiss') return {}
  if (step.do === 'decide_apply') return apply(world, step.payment, step.invoice, null)
  const { target, told } = data as { target?: { id: string }; told?: { amountMinor: number; currency: string } | null }
  const payment = [...world.payments.values()].find(({ rowId }) => rowId === target?.id)
  if (payment === undefined || !told || told.currency !== payment.currency) return 'refused'
  const difference = told.amountMinor - payment.amount
  if (difference === 0) return 'refused'
  const name = { source: 'correction', id: `conflict:${step.question}` }
  const { currency, reference } = payment
  if (difference > 0) {
    enterPayment(world, newPayment({ ...name, amount: difference, currency, reference }, 'correction', given))
    return { applied: appliedOf(existing(world.payments.get(keyOf(name)))) }
  }
  return book(world, payment, {
    ...name,
    kind: 'correction',
    belongsTo: name.id,
    paymentSource: payment.source,
    paymentId: payment.id,
    amount: -difference,
    currency,
  })
}
