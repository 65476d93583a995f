import type { Fact, Money } from '../facts/index.ts'
import type { Activity } from '../modules/activities/index.ts'
import type { DomainEvent } from '../modules/domain-events/index.ts'
import type { Notification } from '../modules/notifications/index.ts'
import type { AnsweredItem, ReviewItem } from '../modules/review-items/index.ts'
import type { Tx } from '../platform/database.ts'
import type { NewId } from '../platform/ids.ts'

/** A fact together with the event that told it. */
export interface ToldFact<F extends Fact = Fact> {
  readonly fact: F
  /** Id of the row, should the fact be new. */
  readonly id: string
  readonly eventId: string
  readonly deliveryId: string | null
}

/**
 * What became of one fact.
 *
 * `booked`: it is new and on record. `duplicate`: it was on record. `kept`: nothing was booked, a person decides.
 * `nothing`: there was nothing to do, such as a rest of zero. `applied` is what moved on documents through this fact; below
 * nothing where money was taken off them.
 */
export interface FactResult {
  readonly outcome: 'booked' | 'duplicate' | 'kept' | 'nothing'
  readonly applied: Money | null
  readonly target: { readonly type: string; readonly id: string } | null
  readonly reason: string | null
}

/** What people and rules see of the facts; the pipeline writes it, so that no module knows those tables. */
export interface Consequences {
  readonly activities: readonly Activity[]
  readonly notifications: readonly Notification[]
  readonly domainEvents: readonly DomainEvent[]
  readonly reviewItems: readonly ReviewItem[]
  readonly answeredItems: readonly AnsweredItem[]
}

export interface Decision<Rows> {
  /** One for each fact, in order. */
  readonly results: readonly FactResult[]
  readonly rows: Rows
  readonly consequences: Consequences
}

export interface DecisionContext {
  readonly now: Date
  readonly newId: NewId
}

/**
 * How one kind of fact is booked. Three functions and nothing else; `commitGroup` does the rest for all kinds.
 *
 * `load` locks and reads what deciding needs, in the order of locks that all share. `decide` is pure. `write` sends
 * the rows, set by set; it need not wait for the answers, because the commit does.
 */
export interface FactKind<F extends Fact, State, Rows> {
  readonly types: readonly F['type'][]
  load(tx: Tx, organizationId: string, facts: readonly ToldFact<F>[]): Promise<State>
  decide(facts: readonly ToldFact<F>[], state: State, context: DecisionContext): Decision<Rows>
  write(tx: Tx, organizationId: string, rows: Rows, context: DecisionContext): void
}

/** The same with its types forgotten, for a list of kinds. */
export type AnyFactKind = FactKind<Fact, unknown, unknown>

/** Packs a kind for the list; the cast is sound because state and rows only travel between its own functions. */
export function factKind<F extends Fact, State, Rows>(kind: FactKind<F, State, Rows>): AnyFactKind {
  return kind as unknown as AnyFactKind
}
