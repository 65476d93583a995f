import type { Db } from './database.ts'
import { uuidv7 } from './ids.ts'
import { type EventName, eventKey, eventName, type KeyParts } from './keys.ts'
import { inShortTransaction, queryFound } from './leases.ts'
import { type EventState, withoutNul } from './register.ts'

export interface Repetition {
  /** Who wants it done again. */
  readonly author: string
  readonly reason: string
  /** Names this wish, a UUID: the same one again is the same generation. A second click takes the same, a second wish not. */
  readonly holder?: string
}

/** `refused`: only what is done can be done again; for the other states there is `resolve`. Nothing changed. */
export type Repeated =
  | { readonly outcome: 'opened'; readonly key: EventName; readonly generation: number }
  | { readonly outcome: 'refused'; readonly state: EventState }
  | { readonly outcome: 'not_found' }

/**
 * Does a thing again on purpose: opens a new generation of an event that is completed, and nothing more.
 *
 * `key` of the answer is that of a new event, for `once`, `attempt` or `reserveLeased`; its idempotency key is another one
 * too. The first one stays as it is, and its copies stay duplicates of it. Author and reason stand in the notes of the
 * first. Two people at once open two generations, each with a number of its own. The event may be named by any of its
 * generations. Throws `TypeError` without author or reason.
 */
export async function repeat<NativeTx>(db: Db<NativeTx>, parts: KeyParts, wish: Repetition): Promise<Repeated> {
  if (wish.author.trim() === '' || wish.reason.trim() === '')
    throw new TypeError('a repetition needs author and reason')
  const { generation: _given, ...original } = eventName(eventKey(parts))
  const { scope, id, kind, source } = original
  const holder = wish.holder ?? uuidv7(db.now().getTime())
  return inShortTransaction(db, scope, async (_tx, query): Promise<Repeated> => {
    const { lockOriginal, openGeneration } = db.register.leases
    const [found] = await queryFound<{ id: string; state: EventState }>(query, lockOriginal, [scope, id, kind, source])
    if (found === undefined) return { outcome: 'not_found' }
    if (found.state !== 'completed') return { outcome: 'refused', state: found.state }
    const values = [scope, found.id, holder, withoutNul(wish.author), withoutNul(wish.reason)]
    const [opened] = await query<{ generation: number }>(openGeneration.text, values, openGeneration.name)
    if (opened === undefined) throw new Error('no generation was opened')
    const { generation } = opened
    return { outcome: 'opened', key: { ...original, generation }, generation }
  })
}
