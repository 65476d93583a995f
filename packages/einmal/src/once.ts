import { commitEvents, type Incoming, type Outcome, type Work } from './commit-events.ts'
import { classifyError, type Db, describeError } from './database.ts'
import { uuidv7 } from './ids.ts'
import { eventKey, type KeyParts } from './keys.ts'
import { type Completion, type Failure, fail } from './register.ts'

export interface OnceOptions {
  /** `version:text` of the content that matters. Another one under the same key and version is a `conflict`. */
  readonly fingerprint?: string
  /** Names this call, so that the same call made again after a lost answer finds its own commit. A UUID. */
  readonly holder?: string
}

/** An error whose failure is final: no later arrival of the event tries again. */
export class FinalError extends Error {
  override readonly name = 'FinalError'
}

/**
 * Runs `effect` at most once for this key, in one transaction with the reservation: both are committed, or neither.
 *
 * `effect` gets the driver's own transaction and must do nothing outside it, since a deadlock or a lost connection runs
 * it again. What it returns is kept and told to every later copy. If it throws, all is rolled back, the failure is put
 * on record (the next arrival is the next attempt) and the error is thrown on; only where another arrival finished the
 * event in that moment, this one is its copy.
 *
 * A call that meets a running one waits for its commit. Throws `KeyError` for a key that cannot name one event.
 */
export async function once<NativeTx>(
  db: Db<NativeTx>,
  key: KeyParts,
  effect: (tx: NativeTx) => Promise<Completion | undefined>,
  options: OnceOptions = {},
): Promise<Outcome> {
  const arrivedAt = db.now()
  const incoming: Incoming<null> = {
    id: uuidv7(arrivedAt.getTime()),
    key: eventKey(key),
    fingerprint: options.fingerprint ?? '',
    holder: options.holder ?? uuidv7(arrivedAt.getTime()),
    arrivedAt,
    input: null,
  }
  const work: Work<NativeTx, null> = { effect: async (tx) => [(await effect(tx)) ?? {}] }
  try {
    return await commitOne(db, incoming, work)
  } catch (error) {
    // What the database could not do just now is no failure of the event: nothing is on record, the sender comes again.
    if (classifyError(error) !== 'other') throw error
    if ((await recordFailure(db, incoming, error)) !== null) throw error
    return commitOne(db, incoming, work)
  }
}

/** As `commitEvents`, of one event. */
export async function commitOne<NativeTx, Input>(
  db: Db<NativeTx>,
  incoming: Incoming<Input>,
  work: Work<NativeTx, Input>,
): Promise<Outcome> {
  const [outcome] = await commitEvents(db, incoming.key.scope, [incoming], work)
  if (outcome === undefined) throw new Error('one event came in and none went out')
  return outcome
}

/** Puts a failed effect on record, in a transaction of its own; `null` where another arrival won meanwhile. */
export async function recordFailure<NativeTx>(
  db: Db<NativeTx>,
  incoming: Incoming<unknown>,
  error: unknown,
): Promise<Failure | null> {
  const failure = { ...describeError(error), isFinal: error instanceof FinalError }
  return db.transaction(incoming.key.scope, (_tx, query) =>
    fail(query, db.register, { ...incoming, copies: 1 }, failure, db.now()),
  )
}
