import { randomUUID } from 'node:crypto'
import { type Completion, eventKey, type Incoming, type Work } from '../../src/index.ts'
import type { Opened } from './adapters.ts'

export const noon = new Date('2026-11-30T12:00:00.000Z')

export interface Booking {
  readonly id: string
  readonly note?: string
}

/** An arrival of the event `id`, with a holder of its own. */
export function arrival(
  id: string,
  more: { scope?: string; fingerprint?: string; note?: string } = {},
): Incoming<Booking> {
  return {
    id: randomUUID(),
    key: eventKey({ scope: more.scope ?? 'acme', source: 'stripe', kind: 'payment.paid', id }),
    fingerprint: more.fingerprint ?? '',
    holder: randomUUID(),
    arrivedAt: noon,
    input: more.note === undefined ? { id } : { id, note: more.note },
  }
}

/** One row in `effects` per event, in one statement; the note `poison` breaks a constraint there. */
export function bookAll<Tx>(opened: Opened<Tx>): Work<Tx, Booking> {
  return {
    async effect(tx, events) {
      await opened.run(tx, 'insert into effects (id, note) select * from unnest($1::text[], $2::text[])', [
        events.map(({ incoming }) => incoming.input.id),
        events.map(({ incoming }) => incoming.input.note ?? ''),
      ])
      return events.map(({ incoming }): Completion => completionOf(incoming.input.id))
    },
  }
}

export function completionOf(id: string): Completion {
  return { target: { type: 'payment', id: `p-${id}` }, answer: { booked: id } }
}
