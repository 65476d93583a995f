import { randomUUID } from 'node:crypto'
import type { PooledOrganization } from '../support/organization-pool.ts'
import type { EverythingPlan, PlannedMoney, PlannedStep } from './everything-plan.ts'
import { numberOf } from './fact-plan.ts'
import type { Ledger, LedgerPayment } from './ledger.ts'
import type { Step } from './steps.ts'
import { keyOf, movementKey } from './sum-of-facts.ts'
import {
  type Request,
  requestOf,
  shown,
  sources,
  type Telling,
  type ToldPayment,
  tellDispute,
  tellPayment,
  tellRefund,
  tellTotal,
} from './tellings.ts'

/** A step that is ready to be sent: as often as one likes, it is the same request. */
export interface Prepared {
  readonly words: string
  readonly request: Request
  readonly step: Step
  /** Of a person's act, which may be refused; a source's word may not. */
  readonly isAct: boolean
}

/** What there is when a round begins, and what has been sent so far with success. */
export interface Scene {
  readonly organization: PooledOrganization
  readonly plan: EverythingPlan
  readonly invoiceIds: readonly string[]
  readonly ledger: Ledger
  readonly accepted: readonly Prepared[]
}

/** Turns a planned step into a request; `null` where there is nothing that it could be about. */
export function prepare(scene: Scene, planned: PlannedStep): Prepared | null {
  switch (planned.do) {
    case 'tell payment':
    case 'tell refund':
    case 'tell total':
    case 'tell dispute':
      return prepareTelling(scene, planned)
    case 'record payment':
      return recordPayment(scene, planned.payment)
    case 'issue':
    case 'void':
    case 'pay':
    case 'credit':
    case 'adjust':
      return actOnInvoice(scene, planned)
    case 'unadjust':
      return unadjust(scene, planned.pick)
    case 'apply':
    case 'move':
    case 'return':
      return actOnPayment(scene, planned)
    case 'reverse':
      return reverse(scene, planned.pick)
    case 'decide':
      return decide(scene, planned)
    case 'again':
      return picked(scene.accepted, planned.pick)
  }
}

function picked<T>(list: readonly T[], pick: number): T | null {
  return list[pick % list.length] ?? null
}

function pickedId(ids: readonly string[], pick: number): string {
  const id = picked(ids, pick)
  if (id === null) throw new Error('a plan has at least one invoice')
  return id
}

// Sources

type TellingStep = Extract<PlannedStep, { do: `tell ${string}` }>

function prepareTelling({ organization, plan, invoiceIds }: Scene, planned: TellingStep): Prepared | null {
  const index = planned.payment % plan.payments.length
  const money = plan.payments[index]
  if (money === undefined) return null
  const telling = toTelling(money, `pay${index}`, invoiceIds, planned)
  const { source, eventId, words, facts } = telling
  return {
    words: `${source} tells: ${words}`,
    request: requestOf(organization, telling),
    step: { do: 'tell', event: `${source} ${eventId}`, facts },
    isAct: false,
  }
}

function toTelling(money: PlannedMoney, id: string, invoiceIds: readonly string[], planned: TellingStep): Telling {
  const { source, currency, movements } = money
  switch (planned.do) {
    case 'tell payment': {
      const { nth, isContradiction } = planned
      const amount = money.amount + (isContradiction ? 7 : 0)
      const reference = nth === 0 && money.isNamedLater ? null : referenceOf(money, invoiceIds)
      return tellPayment({ source, id, amount, currency, reference }, nth)
    }
    case 'tell refund': {
      const refund = { source, id: `${id}/refund${planned.refund}`, paymentId: id, amount: planned.amount, currency }
      return tellRefund(planned.hasFailed ? 'refund_reversal' : 'refund', refund, planned.nth)
    }
    case 'tell total':
      return tellTotal({ source, paymentId: id, amount: planned.amount, currency })
    case 'tell dispute': {
      const dispute = { source, id: `${id}/dispute`, paymentId: id, currency, movements }
      return tellDispute(dispute, planned.upTo % movements.length)
    }
  }
}

/** Stripe's payments name their invoice by its number, whichever gets it; the others by its id. */
function referenceOf({ source, invoice }: PlannedMoney, invoiceIds: readonly string[]): string | null {
  if (invoice === null) return null
  const index = invoice % invoiceIds.length
  return source === 'stripe' ? numberOf(index) : pickedId(invoiceIds, index)
}

// People

function act(
  { apiKey }: PooledOrganization,
  { path, body = {}, words, step }: { path: string; body?: object; words: string; step: Step },
): Prepared {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  }
  return { words, request: { path: `/api/v1${path}`, headers, body: JSON.stringify(body) }, step, isAct: true }
}

function recordPayment({ organization, plan, invoiceIds }: Scene, pick: number): Prepared | null {
  const index = pick % plan.payments.length
  const money = plan.payments[index]
  if (money === undefined) return null
  const { source, amount, currency } = money
  const reference = referenceOf(money, invoiceIds)
  const fact: ToldPayment = { what: 'payment', source, id: `pay${index}`, amount, currency, reference }
  return act(organization, {
    path: '/payments',
    body: { source, externalId: fact.id, amount: minor(amount, currency), invoice: reference },
    words: `a program records ${source} ${fact.id}: ${shown(fact)} for ${reference ?? 'no invoice'}`,
    step: { do: 'record', fact },
  })
}

type InvoiceStep = Extract<PlannedStep, { do: 'issue' | 'void' | 'pay' | 'credit' | 'adjust' }>

function actOnInvoice({ organization, plan, invoiceIds, ledger }: Scene, planned: InvoiceStep): Prepared {
  const invoice = pickedId(invoiceIds, planned.invoice)
  const title = titleOf(ledger, invoice)
  if (!('amount' in planned)) {
    const words = planned.do === 'issue' ? `issue ${title}` : `make ${title} void`
    return act(organization, { path: `/invoices/${invoice}/${planned.do}`, words, step: { do: planned.do, invoice } })
  }
  const { amount } = planned
  const currency = picked(plan.invoices, planned.invoice)?.currency ?? 'EUR'
  const what = amount === null ? 'all that is open' : shown({ amount, currency })
  const given = amount === null ? {} : { amount: minor(amount, currency) }
  const step: Step = { do: planned.do, invoice, amount }
  switch (planned.do) {
    case 'pay':
      return act(organization, {
        path: `/invoices/${invoice}/pay`,
        body: given,
        words: `pay ${what} of ${title}`,
        step,
      })
    case 'adjust':
      return act(organization, {
        path: `/invoices/${invoice}/adjustments`,
        body: { kind: 'cash_discount', ...given },
        words: `take ${what} off ${title}`,
        step,
      })
    case 'credit':
      return act(organization, {
        path: `/invoices/${invoice}/credit-note`,
        body: amount === null ? {} : { lines: [{ description: 'Less', unitPriceMinor: amount }] },
        words: `credit ${amount === null ? 'the whole' : what} of ${title}`,
        step,
      })
  }
}

function unadjust({ organization, ledger }: Scene, pick: number): Prepared | null {
  const adjustment = picked(ledger.adjustments, pick)
  if (adjustment === null) return null
  const { rowId, invoice, amount } = adjustment
  return act(organization, {
    path: `/invoices/${invoice}/adjustments/${rowId}/reverse`,
    body: { reason: 'A mistake' },
    words: `put the ${amount} back that were taken off ${titleOf(ledger, invoice)}`,
    step: { do: 'unadjust', adjustment: rowId },
  })
}

type PaymentStep = Extract<PlannedStep, { do: 'apply' | 'move' | 'return' }>

function actOnPayment({ organization, invoiceIds, ledger }: Scene, planned: PaymentStep): Prepared | null {
  const payment = picked(ledger.payments, planned.pick)
  if (payment === null) return null
  const path = `/payments/${payment.rowId}`
  const key = keyOf(payment)
  if (planned.do === 'move') {
    const from = planned.from === null ? null : pickedId(invoiceIds, planned.from)
    const to = pickedId(invoiceIds, planned.to)
    const where = from === null ? 'wherever it lies' : titleOf(ledger, from)
    return act(organization, {
      path: `${path}/move`,
      body: { toInvoiceId: to, ...(from === null ? {} : { fromInvoiceId: from }) },
      words: `move ${key} from ${where} to ${titleOf(ledger, to)}`,
      step: { do: 'move', payment: key, from, to },
    })
  }
  const { amount } = planned
  const { currency } = payment
  const given = amount === null ? {} : { amount: minor(amount, currency) }
  if (planned.do === 'apply') {
    const invoice = pickedId(invoiceIds, planned.invoice)
    return act(organization, {
      path: `${path}/apply`,
      body: { invoiceId: invoice, ...given },
      words: `apply ${amount ?? 'all'} of ${key} to ${titleOf(ledger, invoice)}`,
      step: { do: 'apply', payment: key, invoice, amount },
    })
  }
  const { kind } = planned
  const name = nameOf(payment, planned)
  const named = name === null ? {} : { source: name.source, externalId: name.id }
  return act(organization, {
    path: `${path}/${kind}`,
    body: { ...given, ...named },
    words: `${kind} by hand of ${amount ?? 'all'} of ${key}${name === null ? '' : `, known as ${keyOf(name)}`}`,
    step: { do: 'return', kind, payment: key, amount, name },
  })
}

/** The name under which the payment's source tells of the refund as well. */
function nameOf(
  { source, id }: LedgerPayment,
  { kind, refund }: Extract<PlannedStep, { do: 'return' }>,
): { source: string; id: string } | null {
  if (refund === null || kind !== 'refund' || !sources.some((each) => each === source)) return null
  return { source, id: `${id}/refund${refund}` }
}

function reverse({ organization, ledger }: Scene, pick: number): Prepared | null {
  const movement = picked(ledger.returns, pick)
  const payment = ledger.payments.find(
    ({ source, id }) => source === movement?.paymentSource && id === movement.paymentId,
  )
  if (movement === null || payment === undefined) return null
  const key = movementKey(movement)
  return act(organization, {
    path: `/payments/${payment.rowId}/returns/${movement.rowId}/reverse`,
    words: `the ${movement.kind} ${key} of ${keyOf(payment)} came back`,
    step: { do: 'reverse', movement: key },
  })
}

function decide(
  { organization, invoiceIds, ledger }: Scene,
  planned: Extract<PlannedStep, { do: 'decide' }>,
): Prepared | null {
  const open = ledger.questions.filter(({ state }) => state === 'open')
  const question = picked(open, planned.pick)
  if (question === null) return null
  const { rowId, kind, key, data } = question
  const decision = (body: { decision: string; invoiceId?: string }, step: Step) =>
    act(organization, {
      path: `/review-items/${rowId}/decide`,
      body,
      words: `decide ${key}: ${body.decision} ${body.invoiceId === undefined ? '' : titleOf(ledger, body.invoiceId)}`,
      step,
    })
  const payment = ledger.payments.find((each) => each.rowId === data['paymentId'])
  if (kind === 'unapplied' && payment !== undefined && !planned.isDismissed) {
    const invoice = pickedId(invoiceIds, planned.invoice)
    const step: Step = { do: 'decide_apply', question: rowId, payment: keyOf(payment), invoice }
    return decision({ decision: 'apply', invoiceId: invoice }, step)
  }
  const isBooked = kind === 'conflict' && !planned.isDismissed
  const step: Step = { do: isBooked ? 'book_difference' : 'dismiss', question: rowId }
  return decision({ decision: isBooked ? 'book_difference' : 'dismiss' }, step)
}

function titleOf({ invoices }: Ledger, id: string): string {
  const invoice = invoices.find((each) => each.id === id)
  return invoice?.number ?? `the ${invoice?.lifecycle ?? 'unknown'} invoice ${id}`
}

function minor(amount: number, currency: string) {
  return { amountMinor: amount, currency }
}
