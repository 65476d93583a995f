import type { PaymentFact, ReturnFact } from '../../facts/index.ts'
import {
  type Consequences,
  type Decision,
  type DecisionContext,
  type FactKind,
  type FactResult,
  recordConsequences,
  type ToldFact,
} from '../../pipeline/index.ts'
import type { Tx } from '../../platform/database.ts'
import { faultPoint } from '../../platform/fault-points.ts'
import { Book } from './book.ts'
import type { LedgerRows, LedgerState } from './ledger.ts'
import { writeLedger } from './ledger-queries.ts'
import { loadForMoves, loadForPayments } from './load-ledger.ts'

export type MoneyFact = PaymentFact | ReturnFact

/**
 * The money kind: the only way in which money is booked, for webhook, button, API, bank and assistant alike.
 *
 * Locks are taken in the order that all share: number series, money subjects, invoices, each sorted; payments are read behind
 * the lock of their subject.
 */
export const registerPayments: FactKind<MoneyFact, LedgerState, LedgerRows> = {
  types: ['payment', 'return'],

  load(tx, organizationId, told) {
    const facts = told.map(({ fact }) => fact)
    return facts.every(isPayment)
      ? loadForPayments(tx, organizationId, facts)
      : loadForMoves(tx, organizationId, { facts })
  },

  decide: decideMoney,

  write: (tx, organizationId, rows, { now }) => writeLedger(tx, organizationId, rows, now),
}

/** Decides a group of money facts, one after the other, as if each were alone. */
export function decideMoney(
  facts: readonly ToldFact<MoneyFact>[],
  state: LedgerState,
  context: DecisionContext,
): Decision<LedgerRows> {
  const book = new Book(state, context)
  const results = facts.map(({ fact, ...told }) =>
    fact.type === 'payment' ? book.enterPayment({ ...told, fact }) : book.enterReturn({ ...told, fact }),
  )
  return { results, rows: book.rows(), consequences: book.consequences() }
}

function isPayment(fact: MoneyFact): fact is PaymentFact {
  return fact.type === 'payment'
}

/** What every act of the money desk needs beside its transaction. */
export interface MoneyContext extends DecisionContext {
  readonly organizationId: string
  /** The event that stands for the request, to which all rows point. */
  readonly eventId: string
}

/** Writes what an act has put into its book, with what follows from it. Sent, not awaited. */
export function writeBook(tx: Tx, { organizationId, now }: MoneyContext, book: Book): void {
  writeAll(tx, organizationId, book.rows(), book.consequences(), now)
}

/**
 * Books facts that a person or a program enters, inside the caller's transaction, exactly as a webhook's are booked.
 *
 * `check` may refuse, with everything locked and before anything is decided.
 */
export async function enterFacts(
  tx: Tx,
  context: MoneyContext,
  facts: readonly MoneyFact[],
  check: (state: LedgerState) => void = () => undefined,
): Promise<FactResult[]> {
  const { organizationId, eventId } = context
  const told = facts.map((fact) => ({ fact, id: context.newId(), eventId, deliveryId: null }))
  const state = await registerPayments.load(tx, organizationId, told)
  check(state)
  const { results, rows, consequences } = decideMoney(told, state, context)
  writeAll(tx, organizationId, rows, consequences, context.now)
  return [...results]
}

function writeAll(tx: Tx, organizationId: string, rows: LedgerRows, consequences: Consequences, now: Date): void {
  faultPoint('pipeline.afterLoad')
  writeLedger(tx, organizationId, rows, now)
  faultPoint('pipeline.afterWrite')
  recordConsequences(tx, organizationId, [consequences], now)
  faultPoint('pipeline.afterConsequences')
}
