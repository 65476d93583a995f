import type { Money, MoneyName, PaymentFact, ReturnFact } from '../../facts/index.ts'
import type { Consequences, DecisionContext, FactResult, ToldFact } from '../../pipeline/index.ts'
import { categoryOf, countReturns } from './count-returns.ts'
import {
  type KnownReturn,
  type LedgerRows,
  type LedgerState,
  type NewAllocation,
  type NewReturn,
  type PaymentMention,
  type Reversal,
  type ReversalReason,
  subjectKey,
  type UnappliedReason,
} from './ledger.ts'
import { type Cause, MoneyNews } from './money-news.ts'
import {
  changeOf,
  changeOfInvoice,
  type OpenAllocation,
  type OpenInvoice,
  type OpenPayment,
  obstacleOf,
  openPayment,
  unappliedOf,
} from './open-ledger.ts'

/**
 * The book of one transaction: the state as it was read under the locks, and every change to it, step by step.
 *
 * Pure: it holds rows and consequences until they are asked for. A step is one fact or one act of a person; what follows from
 * it (an invoice settled or reopened, money that lies on no invoice) is told once per step, by what it was before and is after.
 *
 * After each step, no money waits that named an issued invoice with something open: where a step opens an invoice, what waited
 * for it moves up. Together with returns that are counted as a set, this makes the balances independent of the order of facts.
 */
export class Book {
  readonly #context: DecisionContext
  readonly #invoiceIds: ReadonlyMap<string, string>
  readonly #invoices = new Map<string, OpenInvoice>()
  readonly #payments = new Map<string, OpenPayment>()
  readonly #returns = new Map<string, KnownReturn[]>()
  readonly #knownReturns = new Map<string, KnownReturn>()

  readonly #newPayments: OpenPayment[] = []
  readonly #newReturns: NewReturn[] = []
  readonly #mentions: PaymentMention[] = []
  readonly #reversals: Reversal[] = []
  readonly #allocations: NewAllocation[] = []

  readonly #touchedInvoices: OpenInvoice[] = []
  readonly #touchedPayments: OpenPayment[] = []

  readonly #news: MoneyNews

  constructor(state: LedgerState, context: DecisionContext) {
    this.#context = context
    this.#news = new MoneyNews(context)
    this.#invoiceIds = state.invoiceIds
    for (const row of state.invoices.values()) {
      const { openMinor } = row
      this.#invoices.set(row.id, { row, openMinor, openBefore: openMinor, change: null, isTouched: false })
    }
    const byId = new Map<string, OpenPayment>()
    for (const known of state.payments) {
      const payment = openPayment(known)
      byId.set(payment.id, payment)
      this.#payments.set(subjectKey(known), payment)
    }
    for (const allocation of state.allocations) {
      byId.get(allocation.paymentId)?.allocations.push({ ...allocation, row: null })
    }
    for (const known of state.returns) this.#keepReturn(known)
  }

  rows(): LedgerRows {
    return {
      payments: this.#newPayments.map((payment) => {
        if (!('fact' in payment.origin)) throw new Error('a payment on record is written again')
        return {
          id: payment.id,
          // A later event of the same transaction may have named its invoice.
          fact: { ...payment.origin.fact, invoiceReference: payment.invoiceReference },
          amount: { amountMinor: payment.amountMinor, currency: payment.currency },
          eventId: payment.origin.eventId,
          appliedMinor: payment.appliedMinor,
          returnedMinor: payment.returnedMinor,
          contactId: unappliedOf(payment) > 0n ? payment.contactId : null,
        }
      }),
      returns: this.#newReturns,
      mentions: this.#mentions,
      paymentChanges: [...this.#payments.values()].flatMap(changeOf),
      reversals: this.#reversals,
      allocations: this.#allocations,
      invoiceChanges: [...this.#invoices.values()].flatMap(({ change }) => change ?? []),
    }
  }

  consequences(): Consequences {
    return this.#news.all()
  }

  /** Throws where the payment was not read: whoever asks has named it to the reader. */
  payment(name: MoneyName): Readonly<OpenPayment> {
    const payment = this.#payments.get(subjectKey(name))
    if (payment === undefined) throw new Error(`the payment ${name.source} ${name.externalId} was not read`)
    return payment
  }

  /** What a refund or dispute still holds of its payment, and which refund or dispute a movement belongs to. */
  heldBy(movement: KnownReturn): bigint {
    const siblings = (this.#returns.get(originalKey(movement)) ?? []).filter(
      (each) => each.returnId === movement.returnId && categoryOf(each.kind) === categoryOf(movement.kind),
    )
    return countReturns(siblings, movement.originalSource)
  }

  // Facts

  /**
   * Books a payment with its whole amount. What fits the named invoice (issued, same currency) is applied, at most its open
   * rest; all else stays unapplied, and a person is told. One on record with the same content is a duplicate; it still
   * takes the first invoice reference that a later event brings. Other content is kept, not booked.
   */
  enterPayment(told: ToldFact<PaymentFact>): FactResult {
    const known = this.#payments.get(subjectKey(told.fact))
    return known === undefined ? this.#enterNewPayment(told) : this.#enterKnownPayment(told, known)
  }

  /**
   * Books a movement of returned money. It counts as far as the set of movements says: unapplied money goes first, then
   * allocations, newest first. Before its payment it waits; other content under its key is kept, not booked.
   */
  enterReturn(told: ToldFact<ReturnFact>): FactResult {
    const { fact } = told
    const known = this.#knownReturns.get(returnKey(fact))
    if (known !== undefined) return this.#enterKnownReturn(told, known)
    const row = toKnownReturn(fact, told.id)
    this.#newReturns.push({ id: told.id, fact, eventId: told.eventId })
    this.#keepReturn(row)
    const payment = this.#payments.get(subjectKey(fact.original))
    const target = { type: 'payment_return', id: told.id }
    const movedMinor = payment === undefined ? 0n : this.#countAgain(payment, told)
    this.#news.tellOfReturn(told, payment, this.#invoiceNamedBy(payment?.invoiceReference ?? null))
    if (payment === undefined) this.#news.askAboutMissingPayment(fact, told)
    else this.#askAboutCurrency(payment, row, told)
    this.#endStep(told, 'came_back')
    return {
      outcome: 'booked',
      applied: { amountMinor: movedMinor, currency: fact.amount.currency },
      target,
      reason: payment === undefined ? 'payment_unknown' : null,
    }
  }

  // Acts of people

  /** Applies unapplied money, at most `limitMinor` and what is open. From then on the payment's reference says nothing. */
  apply(payment: MoneyName, invoiceId: string, limitMinor: bigint | null, cause: Cause): bigint {
    const open = this.#open(payment)
    const invoice = this.#openInvoice(invoiceId)
    const wanted = limitMinor === null ? unappliedOf(open) : minOf(limitMinor, unappliedOf(open))
    const appliedMinor = minOf(wanted, invoice.openMinor)
    open.isPlacedByHand = true
    this.#touchPayment(open)
    if (appliedMinor > 0n) {
      this.#allocate(open, invoice, appliedMinor, cause)
      this.#news.tellOfApplication(open, appliedMinor, invoice, cause)
    }
    this.#endStep(cause, 'overpaid')
    return appliedMinor
  }

  /**
   * Takes all that lies elsewhere (or on `fromId` alone) back and applies it to another invoice, at most what is open there; the
   * rest is unapplied. Returns what came to lie there. Money that lies there already stays.
   */
  move(payment: MoneyName, fromId: string | null, toId: string, cause: Cause): bigint {
    const open = this.#open(payment)
    const target = this.#openInvoice(toId)
    const taken = open.allocations.filter(
      ({ invoiceId }) => invoiceId !== toId && (fromId === null || invoiceId === fromId),
    )
    open.isPlacedByHand = true
    this.#touchPayment(open)
    for (const allocation of taken) this.#reverse(open, allocation, 'moved')
    const takenMinor = taken.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
    const appliedMinor = minOf(takenMinor, target.openMinor)
    if (appliedMinor > 0n) this.#allocate(open, target, appliedMinor, cause)
    if (takenMinor > 0n) {
      const from = taken.map((allocation) => ({ allocation, invoice: this.#openInvoice(allocation.invoiceId) }))
      this.#news.tellOfMove(open, from, target, appliedMinor, cause)
    }
    this.#applyWaiting(cause)
    this.#endStep(cause, 'overpaid')
    return appliedMinor
  }

  /** Takes a credit note's total off an invoice: from what is open first, then from allocations, newest first. */
  credit(invoiceId: string, creditNoteId: string, amountMinor: bigint, cause: Cause): void {
    const invoice = this.#openInvoice(invoiceId)
    const creditNote = this.#openInvoice(creditNoteId)
    this.#releaseFromInvoice(invoice, amountMinor - minOf(amountMinor, invoice.openMinor), cause)
    this.#touchInvoice(invoice)
    invoice.openMinor -= amountMinor
    changeOfInvoice(invoice).creditedMinor += amountMinor
    creditNote.openMinor -= amountMinor
    changeOfInvoice(creditNote).creditedMinor += amountMinor
    this.#news.tellOfCredit(invoice.row, creditNote.row, amountMinor, cause)
    this.#endStep(cause, 'released')
  }

  /** Takes off what is no longer owed although nobody paid it; a negative amount puts it back. */
  adjust(invoiceId: string, amountMinor: bigint, cause: Cause): void {
    const invoice = this.#openInvoice(invoiceId)
    this.#touchInvoice(invoice)
    invoice.openMinor -= amountMinor
    changeOfInvoice(invoice).adjustedMinor += amountMinor
    if (amountMinor < 0n) this.#applyWaiting(cause)
    this.#endStep(cause, 'released')
  }

  /** Lets an invoice that was just issued take what waited for it, oldest first. */
  takeWaiting(cause: Cause): void {
    this.#applyWaiting(cause)
    this.#endStep(cause, 'overpaid')
  }

  // Payments

  #enterNewPayment(told: ToldFact<PaymentFact>): FactResult {
    const { fact, eventId } = told
    const invoice = this.#invoiceNamedBy(fact.invoiceReference)
    const amount = fact.amount === 'open_rest' ? openRestOf(invoice) : fact.amount
    // A rest of nothing is no payment: the button on a settled invoice succeeds and leaves no trace.
    if (amount.amountMinor === 0n) {
      const target = invoice === undefined ? null : { type: 'invoice', id: invoice.row.id }
      return { outcome: 'nothing', applied: amount, target, reason: 'invoice_settled' }
    }
    const payment: OpenPayment = {
      id: told.id,
      name: fact,
      kind: fact.kind,
      amountMinor: amount.amountMinor,
      currency: amount.currency,
      appliedMinor: 0n,
      returnedMinor: 0n,
      invoiceReference: fact.invoiceReference,
      isPlacedByHand: false,
      contactId: invoice?.row.contactId ?? null,
      allocations: [],
      origin: { fact, eventId },
      unappliedBefore: 0n,
      isTouched: false,
    }
    const key = subjectKey(fact)
    this.#payments.set(key, payment)
    this.#newPayments.push(payment)
    const earlier = this.#returns.get(key)
    if (earlier !== undefined) this.#meetEarlierReturns(payment, earlier, told)
    const reason = this.#place(payment, invoice, told)
    this.#news.tellOfPayment(payment, invoice, told)
    const restMinor = unappliedOf(payment)
    if (restMinor > 0n) this.#news.askAboutRest(payment, reason ?? 'overpaid', told)
    this.#endInvoices(told)
    return {
      outcome: 'booked',
      applied: { amountMinor: payment.appliedMinor, currency: payment.currency },
      target: { type: 'payment', id: payment.id },
      reason: restMinor > 0n ? reason : null,
    }
  }

  #enterKnownPayment(told: ToldFact<PaymentFact>, known: OpenPayment): FactResult {
    const { fact, eventId } = told
    const target = { type: 'payment', id: known.id }
    this.#mentions.push({ paymentId: known.id, currency: known.currency, eventId })
    if (isOtherPayment(fact, known)) {
      this.#news.askAboutPayment(fact, known, told)
      return { outcome: 'kept', applied: null, target, reason: 'content_differs' }
    }
    const before = known.appliedMinor
    const duplicate = (reason: UnappliedReason | null): FactResult => ({
      outcome: 'duplicate',
      applied: { amountMinor: known.appliedMinor - before, currency: known.currency },
      target,
      reason,
    })
    if (known.invoiceReference !== null || fact.invoiceReference === null) return duplicate(null)
    known.invoiceReference = fact.invoiceReference
    this.#touchPayment(known)
    if (known.isPlacedByHand || unappliedOf(known) === 0n) return duplicate(null)
    const invoice = this.#invoiceNamedBy(fact.invoiceReference)
    known.contactId ??= invoice?.row.contactId ?? null
    const reason = this.#place(known, invoice, told)
    const appliedMinor = known.appliedMinor - before
    if (invoice !== undefined && appliedMinor > 0n) this.#news.tellOfApplication(known, appliedMinor, invoice, told)
    this.#endStep(told, 'overpaid')
    return duplicate(unappliedOf(known) > 0n ? reason : null)
  }

  #invoiceNamedBy(reference: string | null): OpenInvoice | undefined {
    if (reference === null) return undefined
    return this.#invoices.get(this.#invoiceIds.get(reference) ?? '')
  }

  /** Applies what fits of the unapplied money, and says why the rest does not. */
  #place(payment: OpenPayment, invoice: OpenInvoice | undefined, cause: Cause): UnappliedReason | null {
    if (payment.invoiceReference === null) return 'no_reference'
    if (invoice === undefined) return 'invoice_unknown'
    const obstacle = obstacleOf(invoice.row, payment.currency)
    if (obstacle !== null) return obstacle
    const restMinor = unappliedOf(payment)
    if (restMinor === 0n) return null
    if (invoice.openMinor === 0n) return 'invoice_settled'
    const appliedMinor = minOf(restMinor, invoice.openMinor)
    this.#allocate(payment, invoice, appliedMinor, cause)
    return appliedMinor < restMinor ? 'overpaid' : null
  }

  /** Money that waits moves up, oldest first, wherever its invoice now takes it. */
  #applyWaiting(cause: Cause): void {
    const waiting = [...this.#payments.values()].filter(
      (payment) => !payment.isPlacedByHand && payment.invoiceReference !== null && unappliedOf(payment) > 0n,
    )
    for (const payment of waiting.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const invoice = this.#invoiceNamedBy(payment.invoiceReference)
      if (invoice === undefined) continue
      const before = payment.appliedMinor
      this.#touchPayment(payment)
      this.#place(payment, invoice, cause)
      const appliedMinor = payment.appliedMinor - before
      if (appliedMinor > 0n) this.#news.tellOfApplication(payment, appliedMinor, invoice, cause)
    }
  }

  // Returns

  #enterKnownReturn(told: ToldFact<ReturnFact>, known: KnownReturn): FactResult {
    const { fact } = told
    const target = { type: 'payment_return', id: known.id }
    if (!isOtherReturn(fact, known)) {
      return { outcome: 'duplicate', applied: { amountMinor: 0n, currency: known.currency }, target, reason: null }
    }
    this.#news.askAboutReturn(fact, known, told)
    return { outcome: 'kept', applied: null, target, reason: 'content_differs' }
  }

  #keepReturn(row: KnownReturn): void {
    const key = originalKey(row)
    const list = this.#returns.get(key)
    if (list === undefined) this.#returns.set(key, [row])
    else list.push(row)
    this.#knownReturns.set(returnKey(row), row)
  }

  #countedReturns(payment: OpenPayment): bigint {
    const all = this.#returns.get(subjectKey(payment.name)) ?? []
    return countReturns(
      all.filter(({ currency }) => currency === payment.currency),
      payment.name.source,
    )
  }

  /** Brings a payment in line with its movements. Returns by how much what lies on invoices changed. */
  #countAgain(payment: OpenPayment, cause: Cause): bigint {
    const counted = this.#countedReturns(payment)
    const returnedMinor = minOf(counted, payment.amountMinor)
    const appliedBefore = payment.appliedMinor
    this.#touchPayment(payment)
    const further = returnedMinor - payment.returnedMinor
    if (further > unappliedOf(payment)) this.#release(payment, further - unappliedOf(payment), cause)
    payment.returnedMinor = returnedMinor
    this.#news.askAboutExcess(payment, counted, cause)
    this.#applyWaiting(cause)
    return payment.appliedMinor - appliedBefore
  }

  #meetEarlierReturns(payment: OpenPayment, earlier: readonly KnownReturn[], cause: Cause): void {
    const counted = this.#countedReturns(payment)
    payment.returnedMinor = minOf(counted, payment.amountMinor)
    this.#news.askAboutExcess(payment, counted, cause)
    this.#news.answerMissingPayment(payment.name)
    for (const row of earlier) this.#askAboutCurrency(payment, row, cause)
  }

  #askAboutCurrency(payment: OpenPayment, row: KnownReturn, cause: Cause): void {
    if (row.currency !== payment.currency) this.#news.askAboutCurrency(payment, row, cause)
  }

  // Allocations

  #allocate(payment: OpenPayment, invoice: OpenInvoice, amountMinor: bigint, cause: Cause): void {
    this.#touchInvoice(invoice)
    // One allocation per payment and invoice: what lies there already is joined with what comes.
    const there = payment.allocations.find(({ invoiceId }) => invoiceId === invoice.row.id)
    if (there !== undefined) this.#reverse(payment, there, 'joined')
    const joinedMinor = amountMinor + (there?.amountMinor ?? 0n)
    const row: NewAllocation = {
      id: this.#context.newId(),
      paymentId: payment.id,
      invoiceId: invoice.row.id,
      currency: invoice.row.currency,
      amountMinor: joinedMinor,
      eventId: cause.eventId,
      reversalReason: null,
    }
    this.#allocations.push(row)
    payment.allocations.push({ ...row, row })
    payment.appliedMinor += joinedMinor
    invoice.openMinor -= joinedMinor
    changeOfInvoice(invoice).paidMinor += joinedMinor
  }

  #reverse(payment: OpenPayment, allocation: OpenAllocation, reason: ReversalReason): void {
    const invoice = this.#openInvoice(allocation.invoiceId)
    this.#touchInvoice(invoice)
    if (allocation.row === null) this.#reversals.push({ ...allocation, reason })
    else allocation.row.reversalReason = reason
    payment.allocations = payment.allocations.filter((each) => each !== allocation)
    payment.appliedMinor -= allocation.amountMinor
    payment.contactId ??= invoice.row.contactId
    invoice.openMinor += allocation.amountMinor
    changeOfInvoice(invoice).paidMinor -= allocation.amountMinor
  }

  /** Takes `amountMinor` off the payment's invoices, newest allocation first; what is left of the last one stays there. */
  #release(payment: OpenPayment, amountMinor: bigint, cause: Cause): void {
    let rest = amountMinor
    for (const allocation of payment.allocations.toReversed()) {
      if (rest === 0n) return
      rest -= this.#reduce(payment, allocation, rest, 'returned', cause)
    }
    if (rest > 0n) throw new Error(`the payment ${payment.id} has applied more than its allocations say`)
  }

  #releaseFromInvoice(invoice: OpenInvoice, amountMinor: bigint, cause: Cause): void {
    const there = [...this.#payments.values()]
      .flatMap((payment) => payment.allocations.map((allocation) => ({ payment, allocation })))
      .filter(({ allocation }) => allocation.invoiceId === invoice.row.id)
      .toSorted((a, b) => (a.allocation.id < b.allocation.id ? 1 : -1))
    let rest = amountMinor
    for (const { payment, allocation } of there) {
      if (rest === 0n) return
      this.#touchPayment(payment)
      rest -= this.#reduce(payment, allocation, rest, 'credited', cause)
    }
    if (rest > 0n) throw new Error(`the invoice ${invoice.row.id} is paid more than its allocations say`)
  }

  /** Takes at most `wantedMinor` of one allocation back. */
  #reduce(
    payment: OpenPayment,
    allocation: OpenAllocation,
    wantedMinor: bigint,
    reason: ReversalReason,
    cause: Cause,
  ): bigint {
    const takenMinor = minOf(wantedMinor, allocation.amountMinor)
    this.#reverse(payment, allocation, reason)
    const restMinor = allocation.amountMinor - takenMinor
    if (restMinor > 0n) this.#allocate(payment, this.#openInvoice(allocation.invoiceId), restMinor, cause)
    return takenMinor
  }

  #open(name: MoneyName): OpenPayment {
    return this.payment(name) as OpenPayment
  }

  #openInvoice(id: string): OpenInvoice {
    const invoice = this.#invoices.get(id)
    if (invoice === undefined) throw new Error(`the invoice ${id} was not locked`)
    return invoice
  }

  // Steps

  #touchInvoice(invoice: OpenInvoice): void {
    if (invoice.isTouched) return
    invoice.isTouched = true
    invoice.openBefore = invoice.openMinor
    this.#touchedInvoices.push(invoice)
  }

  #touchPayment(payment: OpenPayment): void {
    if (payment.isTouched) return
    payment.isTouched = true
    payment.unappliedBefore = unappliedOf(payment)
    this.#touchedPayments.push(payment)
  }

  #endStep(cause: Cause, reason: UnappliedReason): void {
    this.#endInvoices(cause)
    for (const payment of this.#touchedPayments) {
      const restMinor = unappliedOf(payment)
      payment.isTouched = false
      if (restMinor > payment.unappliedBefore) this.#news.askAboutRest(payment, reason, cause)
      if (restMinor === 0n && payment.unappliedBefore > 0n) this.#news.answerRest(payment)
    }
    this.#touchedPayments.length = 0
  }

  /** An invoice is told of as paid when nothing is open any more, and as reopened when something is again. */
  #endInvoices(cause: Cause): void {
    for (const invoice of this.#touchedInvoices) {
      const { row, openBefore, openMinor } = invoice
      invoice.isTouched = false
      if (row.type !== 'invoice' || (openBefore === 0n) === (openMinor === 0n)) continue
      const change = changeOfInvoice(invoice)
      if (openMinor === 0n) change.settled += 1
      this.#news.tellOfSettlement(openMinor === 0n, row, row.settleCount + change.settled, cause)
    }
    this.#touchedInvoices.length = 0
  }
}

function openRestOf(invoice: OpenInvoice | undefined): Money {
  // Only a person's button names no amount, and it always names an invoice that its route has found.
  if (invoice === undefined) throw new Error('the open rest of no invoice')
  return { amountMinor: invoice.openMinor, currency: invoice.row.currency }
}

function minOf(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function returnKey({ source, kind, externalId }: { source: string; kind: string; externalId: string }): string {
  return `${source}\0${kind}\0${externalId}`
}

function originalKey({ originalSource, originalId }: KnownReturn): string {
  return subjectKey({ source: originalSource, externalId: originalId })
}

function toKnownReturn(fact: ReturnFact, id: string): KnownReturn {
  return {
    id,
    source: fact.source,
    externalId: fact.externalId,
    kind: fact.kind,
    returnId: fact.returnId,
    originalSource: fact.original.source,
    originalId: fact.original.externalId,
    amountMinor: fact.amount.amountMinor,
    currency: fact.amount.currency,
  }
}

/** Only kind, amount, currency and original are content. */
function isOtherPayment({ kind, amount }: PaymentFact, known: OpenPayment): boolean {
  if (kind !== known.kind) return true
  return amount !== 'open_rest' && (amount.amountMinor !== known.amountMinor || amount.currency !== known.currency)
}

function isOtherReturn({ amount, original }: ReturnFact, known: KnownReturn): boolean {
  return (
    amount.amountMinor !== known.amountMinor ||
    amount.currency !== known.currency ||
    original.externalId !== known.originalId ||
    original.source !== known.originalSource
  )
}
