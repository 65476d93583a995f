import {
  type Completion,
  commitEvents,
  createGroup,
  eventKey,
  type Incoming,
  type Outcome,
  type ReservedEvent,
  recordFailure,
  type Settled,
  type Work,
} from 'einmal'
import type { Money, ReceivedEvent } from '../facts/index.ts'
import { type ArrivedDelivery, type DeliveryOutcome, recordDeliveries } from '../modules/deliveries/index.ts'
import type { AnsweredItem, ReviewItem } from '../modules/review-items/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database.ts'
import { faultPoint } from '../platform/fault-points.ts'
import type { NewId } from '../platform/ids.ts'
import { toJsonAmount } from '../platform/money.ts'
import type { AnyFactKind, Consequences, DecisionContext, FactResult, ToldFact } from './fact-kind.ts'
import { onlyReviewItems, recordConsequences } from './record-consequences.ts'
import { inTransaction, registerDatabase } from './register-database.ts'

/** An event on its way in, with the delivery that brought it if one did. */
export interface ToldEvent {
  readonly organizationId: string
  readonly event: ReceivedEvent
  readonly delivery: ArrivedDelivery | null
  /** Names the arrival. The same arrival submitted again is the same work: a delivery's id, a request's id. */
  readonly holder: string
  readonly arrivedAt: Date
}

/**
 * How an event ended, for the answer to its sender.
 *
 * `done`: booked through this arrival. `duplicate`: it had been booked before. `kept`: safely stored, a person decides.
 * `failed`: our fault, nothing happened, on record with the number of attempts. `applied` is what the event moved when
 * it was booked, also where this arrival is a copy.
 */
export interface EventOutcome {
  readonly outcome: 'done' | 'duplicate' | 'kept' | 'in_progress' | 'unknown' | 'failed'
  readonly eventId: string
  readonly attempt: number
  readonly copies: number
  readonly applied: readonly Money[]
  readonly target: { readonly type: string; readonly id: string } | null
  readonly reason: string | null
  /** This arrival was a copy: whatever `applied` says had moved before. */
  readonly wasCopy: boolean
  readonly cause?: unknown
}

export interface Pipeline {
  /**
   * Commits the event, alone or together with others of its organisation that arrive at the same time.
   *
   * Resolves after the commit. Rejects where the database is away or too busy; then nothing happened, or the sender's
   * repetition will find what did. A `KeyError` means that the event's parts cannot name one event.
   */
  submit(told: ToldEvent): Promise<EventOutcome>
  /**
   * Books the event inside the caller's transaction, which does it or undoes it together with everything else. Throws what booking
   * throws; `recordFailedAttempt` then puts it on record, when the transaction has ended.
   */
  submitIn(tx: Tx, told: ToldEvent): Promise<EventOutcome>
  recordFailedAttempt(told: ToldEvent, error: unknown): Promise<void>
  drain(): Promise<void>
}

export interface PipelineParts {
  readonly db: Db
  readonly clock: Clock
  readonly newId: NewId
  readonly kinds: readonly AnyFactKind[]
}

/** After so many attempts of ours, the sender is told to stop and a person looks at the event. */
export const MAX_ATTEMPTS = 5

export function createPipeline(parts: PipelineParts): Pipeline {
  const { db, clock, newId, kinds } = parts
  const work: Work<Tx, NamedEvent> = {
    effect: (tx, events) => book(tx, events, kinds, { now: clock.now(), newId }),
    settle: (tx, settled) => settle(tx, settled, { now: clock.now(), newId }),
  }
  const register = registerDatabase(db, clock)
  const group = createGroup<Tx, NamedEvent>(register, work)
  return {
    async submit(told) {
      const outcome = await group.submit(toIncoming(told, newId))
      faultPoint('pipeline.afterCommit')
      const result = toEventOutcome(outcome)
      if (result.outcome === 'failed') return await keepFailed(parts, told, result)
      return result
    },
    async submitIn(tx, told) {
      const [outcome] = await inTransaction(tx, clock, (joined) =>
        commitEvents(joined, told.organizationId, [toIncoming(told, newId)], work),
      )
      if (outcome === undefined) throw new Error('one event came in and none went out')
      return toEventOutcome(outcome)
    },
    async recordFailedAttempt(told, error) {
      await recordFailure(register, toIncoming(told, newId), error)
    },
    drain: () => group.drain(),
  }
}

/** An event whose facts have the ids that their rows get, should they be new. */
interface NamedEvent extends ToldEvent {
  readonly factIds: readonly string[]
}

function toIncoming(submitted: ToldEvent, newId: NewId): Incoming<NamedEvent> {
  const { source, kind, id, fingerprint, content } = submitted.event
  const factIds = 'facts' in content ? content.facts.map(() => newId()) : []
  const told = { ...submitted, factIds }
  return {
    id: newId(),
    key: eventKey({ scope: told.organizationId, source, kind, id }, { numericIds: true }),
    fingerprint,
    holder: told.holder,
    arrivedAt: told.arrivedAt,
    input: told,
    expected: expectedOf(told, factIds),
  }
}

/** One payment, booked with its whole amount on its invoice: what nearly every delivery leads to. */
function expectedOf({ event }: ToldEvent, factIds: readonly string[]): Completion | undefined {
  const [id] = factIds
  if (!('facts' in event.content) || id === undefined) return undefined
  const [fact] = event.content.facts
  if (fact?.type !== 'payment' || factIds.length > 1 || fact.amount === 'open_rest') return undefined
  return { target: { type: fact.type, id }, answer: toStoredAnswer([fact.amount]) }
}

/** What the register keeps of an event beside its target. */
interface StoredAnswer {
  readonly applied: readonly { readonly amountMinor: number; readonly currency: string }[]
  readonly kept?: string
  readonly duplicate?: true
}

/** Books the facts of all events of the group and what follows from them, kind by kind. */
async function book(
  tx: Tx,
  events: readonly ReservedEvent<NamedEvent>[],
  kinds: readonly AnyFactKind[],
  context: DecisionContext,
): Promise<Completion[]> {
  faultPoint('pipeline.afterReserve')
  const organizationId = organizationOf(events.map((event) => event.incoming))
  const resultsOf = new Map<string, FactResult[]>(events.map((event) => [event.eventId, []]))
  const items = onlyReviewItems(unclearItems(events, context))
  const all: Consequences[] = [{ ...items, answeredItems: answeredFailures(events) }]
  for (const kind of kinds) {
    const facts = factsOf(events, kind.types, context.newId)
    if (facts.length === 0) continue
    const state = await kind.load(tx, organizationId, facts)
    faultPoint('pipeline.afterLoad')
    const decision = kind.decide(facts, state, context)
    kind.write(tx, organizationId, decision.rows, context)
    for (const [index, told] of facts.entries()) {
      const result = decision.results[index]
      if (result === undefined) throw new Error(`the kind of ${kind.types.join(', ')} left a fact undecided`)
      resultsOf.get(told.eventId)?.push(result)
    }
    all.push(decision.consequences)
  }
  faultPoint('pipeline.afterWrite')
  recordConsequences(tx, organizationId, all, context.now)
  faultPoint('pipeline.afterConsequences')
  return events.map((event) => toCompletion(event, resultsOf.get(event.eventId) ?? []))
}

function factsOf(events: readonly ReservedEvent<NamedEvent>[], types: readonly string[], newId: NewId): ToldFact[] {
  return events.flatMap(({ eventId, incoming }) => {
    const { event, delivery, factIds } = incoming.input
    if (!('facts' in event.content)) return []
    return event.content.facts.flatMap((fact, index) =>
      types.includes(fact.type)
        ? [{ fact, id: factIds[index] ?? newId(), eventId, deliveryId: delivery?.id ?? null }]
        : [],
    )
  })
}

function unclearItems(events: readonly ReservedEvent<NamedEvent>[], context: DecisionContext): ReviewItem[] {
  return events.flatMap(({ eventId, incoming }) => {
    const { event, delivery } = incoming.input
    if (!('unclear' in event.content)) return []
    const { code, detail, subject } = event.content.unclear
    // Two events about the same unreadable money are one question, so the money names it where it is known.
    const key = subject === null ? `unclear:event:${eventId}` : `unclear:money:${subject.source}:${subject.externalId}`
    return [
      {
        id: context.newId(),
        key,
        kind: 'unclear' as const,
        eventId,
        deliveryId: delivery?.id ?? null,
        data: { code, detail, subject, source: event.source, kind: event.kind, externalId: event.id },
      },
    ]
  })
}

/** A failure that was laid before a person, and that this attempt makes good. */
function answeredFailures(events: readonly ReservedEvent<NamedEvent>[]): AnsweredItem[] {
  return events
    .filter(({ attempt }) => attempt > MAX_ATTEMPTS)
    .map(({ eventId }) => ({ key: failureKey(eventId), decision: 'succeeded' }))
}

function failureKey(eventId: string): string {
  return `failed:${eventId}`
}

function toCompletion(event: ReservedEvent<NamedEvent>, results: readonly FactResult[]): Completion {
  const { content } = event.incoming.input.event
  const kept = 'unclear' in content ? content.unclear.code : results.find((result) => result.outcome === 'kept')?.reason
  const isDuplicate = results.length > 0 && results.every((result) => result.outcome === 'duplicate')
  const target = results.find((result) => result.target !== null)?.target ?? undefined
  const answer: StoredAnswer = {
    ...toStoredAnswer(sumByCurrency(results)),
    ...(kept ? { kept } : {}),
    ...(isDuplicate ? { duplicate: true } : {}),
  }
  return { target, answer }
}

function toStoredAnswer(applied: readonly Money[]): StoredAnswer {
  return { applied: applied.map(({ amountMinor, currency }) => ({ amountMinor: toJsonAmount(amountMinor), currency })) }
}

function sumByCurrency(results: readonly FactResult[]): Money[] {
  const sums = new Map<string, bigint>()
  for (const { applied } of results) {
    if (applied !== null) sums.set(applied.currency, (sums.get(applied.currency) ?? 0n) + applied.amountMinor)
  }
  return [...sums].map(([currency, amountMinor]) => ({ amountMinor, currency }))
}

/** Puts every arrival on record with its outcome, and contradictions on the desk. */
async function settle(tx: Tx, settled: readonly Settled<NamedEvent>[], context: DecisionContext): Promise<void> {
  const organizationId = organizationOf(settled.map((item) => item.incoming))
  const outcomes = new Map<string, DeliveryOutcome>()
  for (const { incoming, outcome } of settled) {
    const { delivery } = incoming.input
    // Where somebody else is at work, the sender is told to come again, and that arrival will be on record.
    if (delivery === null || outcome.outcome === 'in_progress' || outcome.outcome === 'unknown') continue
    const link = { eventId: outcome.eventId, outcome: deliveryOutcomeOf(outcome) }
    const known = outcomes.get(delivery.id)
    outcomes.set(delivery.id, {
      delivery,
      verdict: 'accepted',
      reason: null,
      answerStatus: 200,
      events: [...(known?.events ?? []), link],
    })
  }
  recordDeliveries(tx, organizationId, [...outcomes.values()])
  const conflicts = settled.filter(({ outcome }) => outcome.outcome === 'conflict')
  if (conflicts.length > 0) {
    const items = conflicts.map((conflict) => conflictItem(conflict, context))
    recordConsequences(tx, organizationId, [onlyReviewItems(items)], context.now)
  }
  faultPoint('pipeline.beforeCommit')
}

function deliveryOutcomeOf(outcome: Outcome): 'done' | 'duplicate' | 'kept' | 'failed' {
  switch (outcome.outcome) {
    case 'done':
      return storedAnswer(outcome).kept === undefined ? 'done' : 'kept'
    case 'conflict':
      return 'kept'
    case 'failed':
      return 'failed'
    case 'duplicate':
    case 'in_progress':
    case 'unknown':
      return 'duplicate'
  }
}

function conflictItem({ incoming, outcome }: Settled<NamedEvent>, context: DecisionContext): ReviewItem {
  const { event, delivery } = incoming.input
  return {
    id: context.newId(),
    // By content, so that the same contradiction arriving again is the same question.
    key: `conflict:event:${outcome.eventId}:${event.fingerprint}`,
    kind: 'conflict',
    eventId: outcome.eventId,
    deliveryId: delivery?.id ?? null,
    data: {
      source: event.source,
      kind: event.kind,
      externalId: event.id,
      target: outcome.target ?? null,
      told: toldAmount(event),
    },
  }
}

/** What the contradiction says, where it says one amount. */
function toldAmount({ content }: ReceivedEvent) {
  const [fact] = 'facts' in content && content.facts.length === 1 ? content.facts : []
  if (fact === undefined || fact.amount === 'open_rest') return null
  return { amountMinor: toJsonAmount(fact.amount.amountMinor), currency: fact.amount.currency }
}

/** From the fifth attempt on, the event waits for a person and the sender is answered with success. */
async function keepFailed(parts: PipelineParts, told: ToldEvent, result: EventOutcome): Promise<EventOutcome> {
  const { db, clock, newId } = parts
  const { delivery, event, organizationId } = told
  const isKept = result.attempt >= MAX_ATTEMPTS
  const context = { now: clock.now(), newId }
  await db.transaction(organizationId, async (tx) => {
    if (delivery !== null) {
      const events = [{ eventId: result.eventId, outcome: 'failed' as const }]
      const status = isKept ? 200 : 500
      recordDeliveries(tx, organizationId, [
        { delivery, verdict: 'failed', reason: result.reason, answerStatus: status, events },
      ])
    }
    if (!isKept) return
    const item: ReviewItem = {
      id: newId(),
      key: failureKey(result.eventId),
      kind: 'failed',
      eventId: result.eventId,
      deliveryId: delivery?.id ?? null,
      data: {
        source: event.source,
        kind: event.kind,
        externalId: event.id,
        attempt: result.attempt,
        reason: result.reason,
      },
    }
    recordConsequences(tx, organizationId, [onlyReviewItems([item])], context.now)
  })
  return isKept ? { ...result, outcome: 'kept', reason: 'failed' } : result
}

function toEventOutcome(outcome: Outcome): EventOutcome {
  const stored = storedAnswer(outcome)
  const base = {
    wasCopy: outcome.outcome !== 'done',
    eventId: outcome.eventId,
    attempt: outcome.attempt,
    copies: outcome.copies,
    target: outcome.target ?? null,
    applied: stored.applied.map(({ amountMinor, currency }) => ({ amountMinor: BigInt(amountMinor), currency })),
  }
  switch (outcome.outcome) {
    case 'done':
      if (stored.kept !== undefined) return { ...base, outcome: 'kept', reason: stored.kept }
      return { ...base, outcome: stored.duplicate === true ? 'duplicate' : 'done', reason: null }
    case 'duplicate':
      return { ...base, outcome: 'duplicate', reason: stored.kept ?? null }
    case 'conflict':
      return { ...base, outcome: 'kept', reason: 'content_differs' }
    case 'in_progress':
    case 'unknown':
      return { ...base, outcome: outcome.outcome, reason: null }
    case 'failed':
      return { ...base, outcome: 'failed', reason: outcome.error.message, cause: outcome.cause }
  }
}

function storedAnswer(outcome: Outcome): StoredAnswer {
  return (outcome.answer as StoredAnswer | undefined) ?? { applied: [] }
}

function organizationOf(incoming: readonly Incoming<NamedEvent>[]): string {
  const scope = incoming[0]?.key.scope
  if (scope === undefined) throw new Error('a group has at least one event')
  return scope
}
