import { commitEvents, type Incoming, type Outcome, type Work } from './commit-events.ts'
import { classifyError, type Db, describeError } from './database.ts'
import { commitOne, recordFailure } from './once.ts'

export interface GroupOptions {
  /** Events in one transaction at most. */
  readonly maxSize?: number
  /** Arrivals that may wait, over all scopes; one more is refused with `GroupFullError`, and nothing of it happens. */
  readonly maxWaiting?: number
}

/** More arrivals wait than were allowed to. Nothing happened to this one; its sender shall come again. */
export class GroupFullError extends Error {
  override readonly name = 'GroupFullError'
}

export interface Group<Input> {
  /**
   * Commits the event together with others of its scope that are waiting. The promise settles after the commit.
   *
   * An effect that fails does so alone: the group is rolled back, split, and run again without it; its outcome is
   * `failed`, on record with the number of attempts. Rejects only where the database is away or too busy, and then
   * nothing happened, or where a later arrival of the event will find what did.
   */
  submit(incoming: Incoming<Input>): Promise<Outcome>
  /** Resolves when nothing is waiting or running. */
  drain(): Promise<void>
}

interface Waiting<Input> {
  readonly incoming: Incoming<Input>
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

const DEFAULT_MAX_SIZE = 500
const DEFAULT_MAX_WAITING = 20_000

/**
 * Commits events in groups: what arrives while a group is under way forms the next group of its scope.
 *
 * An idle scope commits at once, so nobody waits for a timer; under load a group pays for one round of statements and
 * one flush to disk, whatever its size. The next group begins when the last statement of the one before is sent, so
 * that the database works on one while the other is prepared. The guarantees are those of `once`, event by event.
 */
export function createGroup<NativeTx, Input>(
  db: Db<NativeTx>,
  work: Work<NativeTx, Input>,
  options: GroupOptions = {},
): Group<Input> {
  const maxSize = options.maxSize ?? DEFAULT_MAX_SIZE
  const maxWaiting = options.maxWaiting ?? DEFAULT_MAX_WAITING
  const queues = new Map<string, Waiting<Input>[]>()
  let waitingCount = 0
  let running = 0
  let drained: PromiseWithResolvers<void> | null = null

  async function runScope(scope: string, queue: Waiting<Input>[]): Promise<void> {
    // After the requests that are readable at this moment, so that a burst into an idle office is one group already.
    await new Promise<void>((resolve) => setImmediate(resolve))
    let before: Promise<void> = Promise.resolve()
    while (queue.length > 0) {
      const group = queue.splice(0, maxSize)
      waitingCount -= group.length
      const sent = Promise.withResolvers<void>()
      const ended = runGroup(scope, group, sent.resolve)
      await Promise.race([sent.promise, ended])
      // Never more than two: the database would only divide itself among smaller groups.
      await before
      before = ended
    }
    // Whoever comes from here on need not wait for the last group to end.
    queues.delete(scope)
    await before
  }

  async function runGroup(scope: string, group: readonly Waiting<Input>[], onSent: () => void): Promise<void> {
    try {
      const outcomes = await commitEvents(
        db,
        scope,
        group.map((waiting) => waiting.incoming),
        work,
        { onSent },
      )
      for (const [index, waiting] of group.entries()) waiting.resolve(outcomes[index] as Outcome)
    } catch (error) {
      if (classifyError(error) !== 'other') {
        for (const waiting of group) waiting.reject(error)
      } else if (group.length > 1) {
        const middle = Math.ceil(group.length / 2)
        await runGroup(scope, group.slice(0, middle), onSent)
        await runGroup(scope, group.slice(middle), onSent)
      } else {
        for (const waiting of group) await settleFailure(waiting, error)
      }
    }
  }

  async function settleFailure(waiting: Waiting<Input>, error: unknown): Promise<void> {
    try {
      const failure = await recordFailure(db, waiting.incoming, error)
      if (failure === null) {
        // Another process finished the event while we failed: this arrival is its copy.
        waiting.resolve(await commitOne(db, waiting.incoming, work))
        return
      }
      waiting.resolve({
        outcome: 'failed',
        eventId: failure.eventId,
        attempt: failure.attempt,
        copies: failure.copies,
        target: undefined,
        answer: undefined,
        error: describeError(error),
        cause: error,
      })
    } catch (recordError) {
      waiting.reject(recordError)
    }
  }

  return {
    submit(incoming) {
      if (waitingCount >= maxWaiting) return Promise.reject(new GroupFullError('too many events are waiting'))
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
      const { scope } = incoming.key
      const waiting = { incoming, resolve, reject }
      waitingCount += 1
      const queue = queues.get(scope)
      if (queue === undefined) {
        const started = [waiting]
        queues.set(scope, started)
        running += 1
        void runScope(scope, started).then(() => {
          running -= 1
          if (running > 0) return
          drained?.resolve()
          drained = null
        })
      } else {
        queue.push(waiting)
      }
      return promise
    },
    async drain() {
      if (running === 0) return
      drained ??= Promise.withResolvers<void>()
      await drained.promise
    },
  }
}
