/** One request that is reserved: what its handler is told, and what its answer leaves behind. */
import { type Performing, writeDespite } from '../attempt.ts'
import { passPoint } from '../crash-points.ts'
import type { Db } from '../database.ts'
import { keepLease, LeaseLostError } from '../keep-lease.ts'
import { type EventKey, eventName } from '../keys.ts'
import {
  completeLeased,
  type Ended,
  failLeased,
  type Held,
  heartbeat,
  inShortTransaction,
  type LeasedReserved,
  type Lost,
  markUnknown,
  queryFound,
  reserveKey,
  type TargetCapability,
  toEndValues,
  toValues,
} from '../leases.ts'
import { realPause } from '../pause.ts'
import type { EventState } from '../register.ts'
import { type Answer, type FinalAnswer, fromStored, type KeptHeaders, toFinalAnswer, toStored } from './answer.ts'

/** What the handler of a protected request may use. From `attempt` 2 on it ran before, and left no result. */
export interface ProtectedRequest<NativeTx, Sent> extends Performing {
  /**
   * Does the effect and keeps the answer in one transaction: both are committed, or neither. Then the answer is sent.
   *
   * `effect` gets the driver's own transaction and must do nothing outside it, since a deadlock or a lost connection runs
   * it again. If it throws, all is rolled back and the error is thrown on; the status that it becomes decides about the
   * key. Throws `LeaseLostError` where another process took over: nothing of this call remains then.
   */
  complete(effect: (tx: NativeTx) => Promise<Answer>): Promise<Sent>
}

/** What becomes of the key: the answer is `kept` for every copy, the next request runs `again`, or nobody knows. */
export type AfterAnswer = 'kept' | 'again' | 'unknown'

export interface Settings<NativeTx> {
  readonly db: Db<NativeTx>
  readonly target: TargetCapability
  readonly leaseMs: number
  readonly maxAnswerBytes: number
  readonly headers: KeptHeaders
  readonly decide: (status: number) => AfterAnswer
  readonly onUnrecorded: (error: unknown) => void
}

/** How the handler ended. `broken_off`: its answer has no end, and it may still be at work. `not_started`: it never ran. */
export type HandlerEnd =
  | { readonly verdict: 'answer'; readonly answer: FinalAnswer }
  | { readonly verdict: 'threw' | 'broken_off' | 'not_started' }

export interface ProtectedWork<NativeTx> extends ProtectedRequest<NativeTx, FinalAnswer> {
  isLate(): boolean
  /**
   * Puts the end on record, once, and never throws. Returns what the client has to be told instead of the handler's answer, or
   * `null` where that is right.
   */
  end(end: HandlerEnd): Promise<FinalAnswer | null>
  /** The client has gone: whoever has not answered after ten more leases is waited for no longer, and `giveUp` is called. */
  clientLeft(giveUp?: () => void): void
}

const LEASES_WITHOUT_CLIENT = 10

export function startWork<NativeTx>(
  settings: Settings<NativeTx>,
  key: EventKey,
  reserved: LeasedReserved,
  sentAt: number,
  answerIfLost: (state: EventState | null) => Promise<FinalAnswer>,
): ProtectedWork<NativeTx> {
  const { db, leaseMs } = settings
  const { held, eventId, idempotencyKey, attempt } = reserved
  const lease = keepLease(db, held, leaseMs, sentAt)
  let committed: FinalAnswer | null = null
  let isCommitting = false
  let isEnded = false
  return {
    ...{ key: eventName(key), eventId, idempotencyKey, attempt, signal: lease.signal },
    stillHeld: () => lease.confirm(),
    isLate: () => lease.isOver(),
    async complete(effect) {
      if (isCommitting || isEnded) throw new TypeError('the request has its answer already')
      isCommitting = true
      try {
        committed = await commitWith(settings, key, reserved, effect)
        isEnded = true
        lease.stop()
        return committed
      } finally {
        isCommitting = false
      }
    },
    async end(end) {
      if (isEnded) return committed === null || isSameAnswer(end, committed) ? null : committed
      isEnded = true
      try {
        await passPoint(end.verdict === 'answer' ? 'attempt.afterPerform' : 'attempt.afterError')
        const written = await writeDespite(() => writeDown(settings, reserved, end), realPause)
        return written.outcome === 'lost' ? await answerIfLost(written.state) : null
      } catch (error) {
        settings.onUnrecorded(error)
        return null
      } finally {
        lease.stop()
      }
    },
    clientLeft(giveUp) {
      setTimeout(() => {
        lease.stop()
        giveUp?.()
      }, leaseMs * LEASES_WITHOUT_CLIENT).unref()
    },
  }
}

/** Headers for this one client, such as a cookie, are the handler's own affair. */
function isSameAnswer(end: HandlerEnd, { status, body }: FinalAnswer): boolean {
  if (end.verdict !== 'answer' || end.answer.status !== status) return false
  return end.answer.body === null || body === null || Buffer.compare(end.answer.body, body) === 0
}

type Written = { readonly outcome: 'done' | 'failed' | 'unknown' } | Lost

function writeDown<NativeTx>(
  { db, target, decide, headers, maxAnswerBytes }: Settings<NativeTx>,
  { held }: LeasedReserved,
  end: HandlerEnd,
): Promise<Written> {
  if (end.verdict === 'answer') {
    const { status } = end.answer
    const error = { code: `http_${status}`, message: `the handler answered ${status}` }
    switch (decide(status)) {
      case 'kept':
        return completeLeased(db, held, { answer: toStored(end.answer, headers, maxAnswerBytes) })
      case 'again':
        return failLeased(db, held, error, { retryAfterMs: null })
      case 'unknown':
        return markUnknown(db, held, { code: error.code, note: error.message })
    }
  }
  // A break is often the client's leaving, told on by the framework: no word of the handler that nothing happened.
  const isRepeatable = end.verdict === 'threw' || target === 'accepts_key'
  const isAgain = end.verdict === 'not_started' || (isRepeatable && decide(500) === 'again')
  const error = { code: end.verdict, message: end.verdict.replaceAll('_', ' ') }
  return isAgain
    ? failLeased(db, held, error, { retryAfterMs: null })
    : markUnknown(db, held, { code: error.code, note: error.message })
}

async function commitWith<NativeTx>(
  settings: Settings<NativeTx>,
  key: EventKey,
  { held }: LeasedReserved,
  effect: (tx: NativeTx) => Promise<Answer>,
): Promise<FinalAnswer> {
  const { db, maxAnswerBytes } = settings
  try {
    const answer = await inShortTransaction(db, held.scope, async (tx, query) => {
      const final = toFinalAnswer(await effect(tx))
      const names = new Set(final.headers.map(([name]) => name))
      const completion = { answer: toStored(final, names, maxAnswerBytes) }
      const values = [...toValues(held), ...toEndValues({ state: 'completed', completion })]
      const [found] = await queryFound<Ended>(query, db.register.leases.finish, values)
      if (!found?.is_written) throw new LeaseLostError('somebody else holds the request: nothing of this remains')
      await passPoint('finish.beforeCommit')
      return final
    })
    await passPoint('finish.afterCommit')
    return answer
  } catch (error) {
    const own = await findOwnCommit(settings, key, held)
    if (own === null) throw error
    return own
  }
}

/** The answer of an earlier try whose commit counts although its acknowledgement was lost. */
async function findOwnCommit<NativeTx>(
  { db, target, leaseMs }: Settings<NativeTx>,
  key: EventKey,
  held: Held,
): Promise<FinalAnswer | null> {
  try {
    if ((await heartbeat(db, held, { leaseMs })).outcome === 'held') return null
    const found = await reserveKey(db, key, { holder: held.holder, target, leaseMs, copies: 0 })
    if (found.verdict === 'finished_before') return fromStored(found.answer)
    // The question itself took the event over from whoever was silent: nothing is done here.
    if (found.verdict === 'reserved') {
      await failLeased(db, found.held, { code: 'not_started', message: 'not started' }, { retryAfterMs: null })
    }
    return null
  } catch {
    return null
  }
}
