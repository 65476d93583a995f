/** The reservation of an event whose effect is outside of the database, with or without a wait for whoever is at it. */
import type { Db } from './database.ts'
import { type EventKey, eventKey, type KeyParts } from './keys.ts'
import {
  type Alongside,
  inShortTransaction,
  type LeasedArrival,
  type LeasedReservation,
  queryFound,
  reserveKey,
} from './leases.ts'
import { FIRST_PAUSE_MS, realPause } from './pause.ts'

/**
 * Reserves the event in a transaction of its own: committed before any effect, so that a crash leaves a lease that ends.
 *
 * A failed event that is due, and one whose lease has ended, is taken over as the next attempt, where the target allows
 * it; on a target that can neither take the key nor be searched, an ended lease becomes `unknown`. Waits for a
 * transaction that holds the same key, and for an effect only with `wait`. `alongside` runs in the same transaction, whatever
 * was found.
 * Throws `KeyError` for a key that names nothing, and what the database says when it is away; then nothing is reserved, or the
 * same holder finds it.
 */
export async function reserveLeased<NativeTx>(
  db: Db<NativeTx>,
  key: KeyParts,
  arrival: LeasedArrival,
  alongside?: Alongside<NativeTx, LeasedReservation>,
): Promise<LeasedReservation> {
  const { reservation } = await reserveOrWait(db, eventKey(key), arrival, alongside)
  return reservation
}

const LONGEST_PAUSE_MS = 2_000

/** As `reserveLeased`; `sentAt` is `performance.now()` from before the reservation was sent. */
export async function reserveOrWait<NativeTx>(
  db: Db<NativeTx>,
  key: EventKey,
  arrival: LeasedArrival,
  alongside?: Alongside<NativeTx, LeasedReservation>,
): Promise<{ reservation: LeasedReservation; sentAt: number }> {
  const { maxMs = 0, signal, pause = realPause } = arrival.wait ?? {}
  let sentAt = performance.now()
  let reservation = await reserveKey(db, key, arrival, alongside)
  let left = maxMs
  for (let pauseMs = FIRST_PAUSE_MS; reservation.verdict === 'in_progress' && left > 0; ) {
    const ms = Math.min(pauseMs, left)
    await pause(ms, signal)
    left -= ms
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    if (await isRunning(db, key)) continue
    // Nobody may be there any more who would do it.
    signal?.throwIfAborted()
    sentAt = performance.now()
    // This arrival is counted already.
    reservation = await reserveKey(db, key, { ...arrival, copies: 0 }, alongside)
  }
  return { reservation, sentAt }
}

async function isRunning<NativeTx>(db: Db<NativeTx>, key: EventKey): Promise<boolean> {
  const values = [key.scope, key.id, key.kind, key.source]
  return inShortTransaction(db, key.scope, async (_tx, query) => {
    const [found] = await queryFound<{ is_running: boolean }>(query, db.register.leases.peek, values)
    return found?.is_running ?? false
  })
}
