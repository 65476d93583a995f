/**
 * The pipeline: the one way in which an event becomes rows, for every kind of fact.
 * Tables: none of its own; it reserves in `events` (library `einmal`) and calls the modules that own the others.
 * Invariant: reservation, facts, effects, consequences and the delivery's record are one transaction.
 * A webhook, a button and a program all call `submit`; what they hand in differs, what happens does not.
 */
export { createPipeline, type EventOutcome, type Pipeline, type ToldEvent } from './commit-group.ts'
export {
  type AnyFactKind,
  type Consequences,
  type Decision,
  type DecisionContext,
  type FactKind,
  type FactResult,
  factKind,
  type ToldFact,
} from './fact-kind.ts'
export { onlyReviewItems, recordConsequences } from './record-consequences.ts'
export { inTransaction, registerDatabase } from './register-database.ts'
export { type ApiWrite, type WriteAnswer, writeOnce } from './write-once.ts'
