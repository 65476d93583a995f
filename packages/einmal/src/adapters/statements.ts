import type { Query } from '../database.ts'
import { PROBE } from '../register-names.ts'

/** For drivers that begin in the isolation that the server was given as its default. */
export const READ_COMMITTED = 'set transaction isolation level read committed'

/** Waits for all that was sent and throws the first error among it, which names the cause better than the commit can. */
export async function settle(sent: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(sent)) {
    if (result.status === 'rejected') throw result.reason
  }
}

/** A list as PostgreSQL writes it: drivers differ in how they send one, and none differs about text. */
export function toParameter(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const items = value.map((item) => (item === null ? 'null' : `"${String(item).replace(/[\\"]/g, '\\$&')}"`))
  return `{${items.join(',')}}`
}

/**
 * Runs `work` for a driver that commits by itself once the work has ended.
 *
 * Before that, one statement more is sent: it fails where an earlier one failed, whoever swallowed that, or where the
 * effect rolled back by itself, so that the driver never commits what is no transaction any more.
 */
export async function runWork<Tx, T>(
  tx: Tx,
  work: (tx: Tx, query: Query) => Promise<T>,
  send: (text: string, values: readonly unknown[], name?: string) => PromiseLike<readonly unknown[]>,
): Promise<T> {
  const sent: Promise<unknown>[] = []
  const query: Query = <Row>(text: string, values: readonly unknown[], name?: string) => {
    const result = Promise.resolve(send(text, values.map(toParameter), name)) as Promise<Row[]>
    sent.push(result)
    result.catch(() => undefined)
    return result
  }
  try {
    const value = await work(tx, query)
    await query(PROBE, []).catch(() => undefined)
    await settle(sent)
    return value
  } catch (error) {
    // The driver rolls back next, and wants no statement on its way.
    await Promise.allSettled(sent)
    throw error
  }
}

/**
 * Begins a transaction of a driver that may give it up while its work still goes on, when the connection is lost.
 *
 * The connection is somebody else's by then. What the work still asks of its transaction is refused, and the driver never
 * hears how the work ended, or it would commit or roll back theirs.
 */
export async function beginGuarded<Tx extends object, T>(
  begin: (run: (tx: Tx) => Promise<T>) => Promise<unknown>,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  let hasEnded = false
  try {
    const value = await begin(async (tx) => {
      try {
        return await work(refusing(tx, () => hasEnded))
      } catch (error) {
        // A lost connection fails its statement first; that it is closed is told some turns of the event loop later. A
        // rollback that is sent between the two waits there for whoever gets the connection next.
        for (let turn = 0; turn < CLOSING_TURNS && !hasEnded; turn += 1) {
          await new Promise<void>((resolve) => setImmediate(resolve))
        }
        throw error
      } finally {
        if (hasEnded) await new Promise<never>(() => undefined)
      }
    })
    return value as T
  } finally {
    hasEnded = true
  }
}

const CLOSING_TURNS = 10

/** The transaction itself, until it has ended. */
function refusing<Tx extends object>(tx: Tx, hasEnded: () => boolean): Tx {
  const check = () => {
    if (hasEnded()) throw new Error('the transaction of this statement has ended')
  }
  return new Proxy(tx, {
    get(target, name) {
      check()
      return Reflect.get(target, name)
    },
    apply(target, self, values) {
      check()
      return Reflect.apply(target as (...values: unknown[]) => unknown, self, values)
    },
  })
}
