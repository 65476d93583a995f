import { type AttemptOutcome, carryOut, checkEffect, DEFAULT_LEASE_MS, type OutsideEffect } from './attempt.ts'
import { passPoint } from './crash-points.ts'
import type { Db } from './database.ts'
import { uuidv7 } from './ids.ts'
import { type EventKey, type EventName, eventName } from './keys.ts'
import {
  type Alongside,
  type EventError,
  type FoundRow,
  inShortTransaction,
  queryFound,
  toReservation,
} from './leases.ts'

/** Who goes on with the events of one source and kind; every generation of them. */
export interface SweepHandler<NativeTx> extends OutsideEffect<NativeTx> {
  readonly source: string
  readonly kind: string
}

export interface SweepOptions<NativeTx> {
  /** How many events of each scope one sweep deals with at most. Default 100. */
  readonly limit?: number
  readonly handlers?: readonly SweepHandler<NativeTx>[]
  /** Rows of one's own in the transaction in which events become `unknown`: both are committed, or neither. */
  readonly alongside?: Alongside<NativeTx, readonly Surrendered[]>
  /** Nothing more is claimed once it fires. To end what a handler is at, hand it to the handler, too. */
  readonly signal?: AbortSignal
}

/** An event of which nobody knows how its attempt ended. */
export interface Surrendered {
  readonly key: EventName
  readonly eventId: string
  readonly attempt: number
  /** As the event has it on record. */
  readonly error: EventError
}

export interface SweepReport {
  /** Ended without a word, on a target on which nobody can find out: a person has to say. */
  readonly unknown: readonly EventName[]
  /** What the handlers did. */
  readonly attempts: readonly { readonly key: EventName; readonly outcome: AttemptOutcome }[]
  /** Events that are still due: there is no handler for them, or the limit was reached. Counted up to 10,000. */
  readonly due: number
}

const DEFAULT_LIMIT = 100
const MAX_COUNTED = 10_000

/**
 * Goes on with what was left: ended leases, and failures whose next attempt is due. By any number of processes at once.
 *
 * An ended lease on a target that can neither take the key nor be searched becomes `unknown`. Any other due event goes to
 * the handler of its source and kind, as the next attempt, with a lease of its own and all guarantees of `attempt`; without
 * a handler it stays due. Events are claimed one by one, the longest due first. Costs nothing for completed events.
 *
 * Throws what the database says when it is away; what was claimed then has a lease that ends.
 */
export async function sweep<NativeTx>(
  db: Db<NativeTx>,
  scopes: string | readonly string[],
  options: SweepOptions<NativeTx> = {},
): Promise<SweepReport> {
  const { handlers = [], limit = DEFAULT_LIMIT, alongside, signal } = options
  for (const handler of handlers) checkEffect(handler)
  const unknown: EventName[] = []
  const attempts: { key: EventName; outcome: AttemptOutcome }[] = []
  let due = 0
  for (const scope of typeof scopes === 'string' ? [scopes] : scopes) {
    const surrendered = await inShortTransaction(db, scope, async (tx, query) => {
      const rows = await queryFound<FoundRow>(query, db.register.leases.surrender, [scope, limit])
      const events = rows.map((row) => toSurrendered(scope, row))
      if (events.length > 0) await alongside?.(tx, events)
      return events
    })
    unknown.push(...surrendered.map(({ key }) => key))
    for (let left = limit; left > 0 && handlers.length > 0 && !signal?.aborted; left -= 1) {
      const done = await sweepOne(db, scope, handlers, alongside)
      if (done === null) break
      if (done.isSurrendered) unknown.push(done.key)
      else attempts.push({ key: done.key, outcome: done.outcome })
    }
    due += await countDue(db, scope)
  }
  return { unknown, attempts, due }
}

interface Swept {
  readonly key: EventName
  readonly outcome: AttemptOutcome
  /** Its handler's target cannot follow on the attempt before: nothing was done. */
  readonly isSurrendered: boolean
}

async function sweepOne<NativeTx>(
  db: Db<NativeTx>,
  scope: string,
  handlers: readonly SweepHandler<NativeTx>[],
  alongside: SweepOptions<NativeTx>['alongside'],
): Promise<Swept | null> {
  const holder = uuidv7(db.now().getTime())
  const values = [
    ...[scope, holder, handlers.map(({ source }) => source), handlers.map(({ kind }) => kind)],
    ...[handlers.map(({ target }) => target ?? 'neither'), handlers.map(({ leaseMs }) => leaseMs ?? DEFAULT_LEASE_MS)],
  ]
  const sentAt = performance.now()
  // Not again after a lost connection: what may have been claimed has a lease, and the next sweep finds it.
  const row = await db.transaction(scope, async (tx, query) => {
    const [claimed] = await queryFound<FoundRow>(query, db.register.leases.claim, values)
    if (claimed?.state === 'unknown') await alongside?.(tx, [toSurrendered(scope, claimed)])
    return claimed
  })
  if (row === undefined) return null
  const key = keyOf(scope, row)
  const name = eventName(key)
  const handler = handlers.find(({ source, kind }) => source === name.source && kind === name.kind)
  if (handler === undefined) throw new Error('no handler for what was claimed')
  await passPoint('sweep.afterClaim')
  const reservation = toReservation(key, row, { holder, fingerprint: '', digests: null })
  const outcome = await carryOut(db, key, reservation, sentAt, handler)
  return { key: name, outcome, isSurrendered: reservation.verdict === 'unknown' }
}

function toSurrendered(scope: string, row: FoundRow): Surrendered {
  const error = { code: row.error_code ?? '', message: row.error_message ?? '' }
  return { key: eventName(keyOf(scope, row)), eventId: row.id, attempt: row.attempt, error }
}

function keyOf(scope: string, row: FoundRow): EventKey {
  return { scope, source: row.source, kind: row.kind, id: row.external_id }
}

async function countDue<NativeTx>(db: Db<NativeTx>, scope: string): Promise<number> {
  const { text, name } = db.register.leases.countDue
  return inShortTransaction(db, scope, async (_tx, query) => {
    const [row] = await query<{ count: number }>(text, [scope, MAX_COUNTED], name)
    return row?.count ?? 0
  })
}
