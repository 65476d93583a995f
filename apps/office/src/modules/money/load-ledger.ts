import type { MoneyName, PaymentFact, ReturnFact } from '../../facts/index.ts'
import type { Tx } from '../../platform/database.ts'
import { type KnownPayment, type LedgerState, type LockedInvoice, subjectKey } from './ledger.ts'
import {
  listPaymentsOn,
  listWaitingPayments,
  lockInvoiceSeriesShared,
  lockInvoices,
  lockMoneySubjects,
  queueForPayments,
  type ResolvedReference,
  readInvoiceNumbers,
  readLiveAllocations,
  readPayments,
  readReturns,
  readReturnsByKey,
  resolveReferences,
} from './ledger-queries.ts'

/**
 * Something that the transaction needs came up only after it had taken its locks. Taking more now could deadlock, so it is
 * run again from the start, which the pipeline does for this code as it does for PostgreSQL's own.
 */
export class MovedMeanwhileError extends Error {
  override readonly name = 'MovedMeanwhileError'
  /** `serialization_failure` in PostgreSQL's words. */
  readonly code = '40001'
}

/**
 * Locks and reads what new payments need: the series where an invoice may just be getting its number, the money subjects,
 * the invoices. Three statements travel together, whatever the number of payments; nothing can be taken off an invoice by
 * them, so neither allocations nor waiting money are read.
 */
export async function loadForPayments(
  tx: Tx,
  organizationId: string,
  facts: readonly PaymentFact[],
): Promise<LedgerState> {
  const resolved = await resolveIssued(
    tx,
    organizationId,
    facts.map((fact) => fact.invoiceReference),
  )
  // Two facts may be about one payment; what is on record of it is read once.
  const names = [...new Map(facts.map((fact) => [subjectKey(fact), fact])).values()]
  const [knownSubjects, payments, invoices] = await Promise.all([
    lockMoneySubjects(tx, organizationId, names),
    readPayments(tx, organizationId, names),
    lockInvoices(tx, organizationId, [...new Set(resolved.map(({ id }) => id))]),
  ])
  // Only of money that somebody has named before, and that is no payment yet, can a refund be on record.
  const returns = knownSubjects > payments.length ? await readReturns(tx, organizationId, names) : []
  return { payments, returns, allocations: [], invoices: byId(invoices), invoiceIds: idsByReference(resolved) }
}

export interface Wanted {
  readonly facts?: readonly (PaymentFact | ReturnFact)[]
  /** Payments that something is taken from or given to. */
  readonly payments?: readonly MoneyName[]
  /** Invoices that something is taken off or put on. */
  readonly invoiceIds?: readonly string[]
  /** Also the payments that lie on these invoices. */
  readonly withPaymentsOn?: readonly string[]
}

/**
 * Locks and reads all that an act may touch which takes money off invoices: the payments, what lies on invoices, and the
 * money that waits for one of these invoices, since an invoice that opens takes it.
 *
 * In the order of locks that all share: queues of payments, number series, money subjects, invoices, each sorted. What waits and
 * what lies where is looked up before, to know the locks, and again behind them; throws `MovedMeanwhileError` where that brought
 * up more.
 */
export async function loadForMoves(tx: Tx, organizationId: string, wanted: Wanted): Promise<LedgerState> {
  const { facts = [], payments: named = [], invoiceIds = [], withPaymentsOn = [] } = wanted
  const returnFacts = facts.filter((fact): fact is ReturnFact => fact.type === 'return')
  const paymentFacts = facts.filter((fact): fact is PaymentFact => fact.type === 'payment')
  queueForPayments(tx, organizationId, [...named, ...returnFacts.map((fact) => fact.original)])
  const names = [
    ...named,
    ...paymentFacts,
    ...returnFacts.map((fact) => fact.original),
    ...(await listPaymentsOn(tx, organizationId, withPaymentsOn)),
  ]
  const before = await readPayments(tx, organizationId, names)
  const resolved = await resolveIssued(tx, organizationId, [
    ...paymentFacts.map((fact) => fact.invoiceReference),
    ...before.map(standingReference),
  ])
  const candidates = new Set([...resolved.map(({ id }) => id), ...invoiceIds])
  for (const { invoiceId } of await readLiveAllocations(tx, organizationId, idsOf(before))) candidates.add(invoiceId)
  const waiting = await listWaitingFor(tx, organizationId, [...candidates])

  const all = [...new Map([...names, ...waiting].map((name) => [subjectKey(name), name])).values()]
  await lockMoneySubjects(tx, organizationId, all)
  const [payments, returns, returnsByKey] = await Promise.all([
    readPayments(tx, organizationId, all),
    readReturns(tx, organizationId, all),
    readReturnsByKey(tx, organizationId, returnFacts),
  ])
  const isResolved = new Set(resolved.map(({ reference }) => reference))
  const isNamed = new Set(names.map(subjectKey))
  if (payments.some((payment) => isNamed.has(subjectKey(payment)) && isUnresolved(payment, before, isResolved))) {
    throw new MovedMeanwhileError('a payment was given its invoice meanwhile')
  }
  const invoiceIdsByReference = new Map(idsByReference(resolved))
  const allocations = await readLiveAllocations(tx, organizationId, idsOf(payments))
  for (const { invoiceId } of allocations) candidates.add(invoiceId)
  const invoices = await lockInvoices(tx, organizationId, [...candidates])
  for (const { id, number } of invoices) {
    invoiceIdsByReference.set(id, id)
    if (number !== null) invoiceIdsByReference.set(number, id)
  }
  const waitingNow = await listWaitingFor(
    tx,
    organizationId,
    invoices.map(({ id }) => id),
  )
  const lyingNow = await listPaymentsOn(tx, organizationId, withPaymentsOn)
  const read = new Set(payments.map(subjectKey))
  if ([...waitingNow, ...lyingNow].some((name) => !read.has(subjectKey(name)))) {
    throw new MovedMeanwhileError('other money came to an invoice of these, or began to wait for it, meanwhile')
  }
  return {
    payments,
    returns: [...new Map([...returns, ...returnsByKey].map((row) => [row.id, row])).values()],
    allocations,
    invoices: byId(invoices),
    invoiceIds: invoiceIdsByReference,
  }
}

/** Locks and reads what an invoice finds waiting that is about to get its number. To be called with the series locked. */
export async function loadForIssue(
  tx: Tx,
  organizationId: string,
  invoiceId: string,
  number: string,
): Promise<LedgerState> {
  const waiting = await listWaitingPayments(tx, organizationId, [number, invoiceId])
  const [, payments, [invoice]] = await Promise.all([
    lockMoneySubjects(tx, organizationId, waiting),
    readPayments(tx, organizationId, waiting),
    lockInvoices(tx, organizationId, [invoiceId]),
  ])
  const allocations = await readLiveAllocations(tx, organizationId, idsOf(payments))
  // Partly placed money lies on other invoices, which this act does not touch.
  return {
    payments,
    returns: [],
    allocations,
    invoices: invoice === undefined ? new Map() : new Map([[invoiceId, invoice]]),
    invoiceIds: new Map([
      [number, invoiceId],
      [invoiceId, invoiceId],
    ]),
  }
}

/**
 * The invoices that references name. Where one is not issued yet, it may be getting its number at this very moment: whoever
 * issues one holds the series until the commit. Wait for that and look again, or be seen by the next one as money that waits.
 */
async function resolveIssued(
  tx: Tx,
  organizationId: string,
  all: readonly (string | null)[],
): Promise<ResolvedReference[]> {
  const references = [...new Set(all.flatMap((reference) => (reference === null ? [] : [reference])))]
  const resolved = await resolveReferences(tx, organizationId, references)
  const issued = new Set(resolved.flatMap((row) => (row.lifecycle === 'draft' ? [] : [row.reference])))
  if (references.every((reference) => issued.has(reference))) return resolved
  await lockInvoiceSeriesShared(tx, organizationId)
  return resolveReferences(tx, organizationId, references)
}

/** Money that waits for these invoices, by number or by id. */
async function listWaitingFor(tx: Tx, organizationId: string, invoiceIds: readonly string[]): Promise<MoneyName[]> {
  const numbered = await readInvoiceNumbers(tx, organizationId, invoiceIds)
  return listWaitingPayments(tx, organizationId, [...invoiceIds, ...numbered.map(({ number }) => number)])
}

/** What still says where a payment belongs. */
function standingReference(payment: KnownPayment): string | null {
  return payment.isPlacedByHand ? null : payment.invoiceReference
}

function isUnresolved(payment: KnownPayment, before: readonly KnownPayment[], resolved: ReadonlySet<string>): boolean {
  const reference = standingReference(payment)
  if (reference === null || resolved.has(reference)) return false
  return before.find(({ id }) => id === payment.id)?.invoiceReference !== reference
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id)
}

function byId(invoices: readonly LockedInvoice[]): ReadonlyMap<string, LockedInvoice> {
  return new Map(invoices.map((invoice) => [invoice.id, invoice]))
}

function idsByReference(resolved: readonly ResolvedReference[]): ReadonlyMap<string, string> {
  return new Map(resolved.map(({ reference, id }) => [reference, id]))
}
