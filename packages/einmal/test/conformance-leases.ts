/**
 * The guarantees of leases, the single calls, run for every adapter. Judge is the row of the register and its notes.
 *
 * Leases are ended by moving them into the past in the database, whose clock alone counts: no test waits for time.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  attempt,
  completeLeased,
  type Db,
  failLeased,
  type Held,
  heartbeat,
  keylessKey,
  type LeasedArrival,
  type LeasedReservation,
  type LeasedReserved,
  markUnknown,
  purge,
  repeat,
  reserveLeased,
  resolve,
  retentionFor,
  sweep,
} from '../src/index.ts'
import { type Open, type Opened, type Place, server } from './support/adapters.ts'
import type { OwnDatabase } from './support/database.ts'
import { createTables, endLease, findLeasedRow, findNotes, makeDue } from './support/leased.ts'

type Say = <Tx>(db: Db<Tx>, held: Held) => Promise<unknown>

/** Two words of one holder that are not the same. */
const contradictions: [string, Say, Say][] = [
  [
    'another target',
    (db, held) => completeLeased(db, held, { target: { type: 'mail', id: 'A' }, answer: 1 }),
    (db, held) => completeLeased(db, held, { target: { type: 'mail', id: 'B' }, answer: 1 }),
  ],
  [
    'a target after none',
    (db, held) => completeLeased(db, held),
    (db, held) => completeLeased(db, held, { target: { type: 'mail', id: 'B' } }),
  ],
  [
    'an end for good after one for now',
    (db, held) => failLeased(db, held, { code: 'x', message: '' }, { retryAfterMs: 9_000 }),
    (db, held) => failLeased(db, held, { code: 'x', message: '' }, { final: true }),
  ],
]

export function leaseConformance<Tx>(name: string, open: Open<Tx>, place: Place = server): void {
  describe(`leases with ${name}`, () => {
    let database: OwnDatabase
    let opened: Opened<Tx>
    let ids = 0
    /** The application's clock is a year behind the database's, and nothing of a lease may notice. */
    const now = () => new Date('2020-01-01T00:00:00.000Z')

    beforeAll(async () => {
      database = await place.createDatabase()
      opened = open(database.url, { now })
      await createTables(database.pool, opened.db.register)
    })

    afterAll(async () => {
      await opened.close()
      await database.drop()
    })

    const freshId = () => {
      ids += 1
      return `evt_${ids}`
    }
    const key = (id: string) => ({ scope: 'acme', source: 'shop', kind: 'mail.send', id })
    const row = (id: string) => findLeasedRow(database.pool, id)
    const notes = (id: string) => findNotes(database.pool, id)
    const reserve = (id: string, arrival: Partial<LeasedArrival> = {}) =>
      reserveLeased(opened.db, key(id), { holder: randomUUID(), leaseMs: 60_000, ...arrival })
    const reserved = async (id: string, arrival: Partial<LeasedArrival> = {}) =>
      expectReserved(await reserve(id, arrival))

    test('a new event is reserved and committed before anything is done, with a lease of the database’s clock', async () => {
      const id = freshId()
      const before = await databaseNow(database)
      const reservation = await reserved(id, { target: 'accepts_key' })
      expect(reservation).toMatchObject({
        attempt: 1,
        copies: 1,
        isNew: true,
        mustLookUp: false,
        target: 'accepts_key',
      })
      expect(reservation.idempotencyKey).toBe(`acme:shop:mail.send:${id}`)
      const left = reservation.leaseUntil.getTime() - before
      expect(left).toBeGreaterThan(59_000)
      expect(left).toBeLessThan(90_000)
      expect(await row(id)).toMatchObject({ state: 'in_progress', attempt: 1, holder: reservation.held.holder })
    })

    test('while the lease lives nobody else gets the event, and is told until when', async () => {
      const id = freshId()
      const first = await reserved(id)
      const second = await reserve(id)
      expect(second).toMatchObject({ verdict: 'in_progress', attempt: 1, copies: 2, leaseUntil: first.leaseUntil })
      expect(await row(id)).toMatchObject({ holder: first.held.holder, copies: 2 })
    })

    test('what is completed is told to every copy, with target and answer', async () => {
      const id = freshId()
      const { held } = await reserved(id)
      const completion = { target: { type: 'mail', id: 'm-1' }, answer: { sent: [1, { to: 'ä' }] } }
      expect(await completeLeased(opened.db, held, completion)).toEqual({ outcome: 'done' })
      expect(await reserve(id)).toMatchObject({ verdict: 'duplicate', copies: 2, ...completion })
      expect(await row(id)).toMatchObject({ state: 'completed', lease_until: null, next_attempt_at: null })
      expect(await notes(id)).toEqual([])
    })

    test('the same holder finds its own reservation again, is no copy, and keeps the attempt', async () => {
      const id = freshId()
      const holder = randomUUID()
      const first = await reserved(id, { holder })
      const again = await reserved(id, { holder })
      expect(again).toMatchObject({ held: first.held, attempt: 1, copies: 1, isNew: false })
      await completeLeased(opened.db, first.held, { answer: 1 })
      expect(await reserve(id, { holder })).toMatchObject({ verdict: 'finished_before', copies: 1, answer: 1 })
    })

    test('an ended lease on a target that takes the key is taken over as the next attempt, with the same key', async () => {
      const id = freshId()
      const first = await reserved(id, { target: 'accepts_key' })
      await endLease(database.pool, id)
      const second = await reserved(id, { target: 'accepts_key' })
      expect(second).toMatchObject({ attempt: 2, copies: 2, isNew: false, mustLookUp: false })
      expect(second.idempotencyKey).toBe(first.idempotencyKey)
    })

    test('an ended lease on a searchable target is taken over by one who has to look first', async () => {
      const id = freshId()
      expect(await reserved(id, { target: 'searchable' })).toMatchObject({ mustLookUp: false })
      await endLease(database.pool, id)
      expect(await reserved(id, { target: 'searchable' })).toMatchObject({ attempt: 2, mustLookUp: true })
    })

    test('an ended lease on any other target is unknown, and is never taken over, however often it comes', async () => {
      const id = freshId()
      const { held } = await reserved(id)
      await endLease(database.pool, id)
      for (const copies of [2, 3, 4]) {
        const target = copies === 2 ? 'neither' : copies === 3 ? 'accepts_key' : 'searchable'
        expect(await reserve(id, { target })).toMatchObject({ verdict: 'unknown', copies, error: { code: 'no_word' } })
      }
      expect(await row(id)).toMatchObject({ state: 'unknown', attempt: 1, holder: held.holder, lease_until: null })
    })

    test.each([
      ['accepts_key', 'neither', 'unknown'],
      ['searchable', 'neither', 'unknown'],
      ['searchable', 'accepts_key', 'unknown'],
      ['accepts_key', 'searchable', 'reserved'],
    ] as const)(
      'of two capabilities the weaker decides: after %s comes %s, and it is %s',
      async (first, then, verdict) => {
        const id = freshId()
        await reserved(id, { target: first })
        await endLease(database.pool, id)
        const second = await reserve(id, { target: then })
        expect(second.verdict).toBe(verdict)
        if (second.verdict === 'reserved') expect(second.mustLookUp).toBe(true)
      },
    )

    test('a heartbeat makes the lease longer and never shorter; a stranger’s changes nothing', async () => {
      const id = freshId()
      const { held, leaseUntil } = await reserved(id)
      const longer = await heartbeat(opened.db, held, { leaseMs: 120_000 })
      if (longer.outcome !== 'held') throw new Error('the lease was lost')
      expect(longer.leaseUntil.getTime()).toBeGreaterThan(leaseUntil.getTime() + 50_000)
      expect(await heartbeat(opened.db, held, { leaseMs: 1 })).toEqual(longer)
      const stranger = { ...held, holder: randomUUID() }
      expect(await heartbeat(opened.db, stranger, { leaseMs: 600_000 })).toMatchObject({ outcome: 'lost' })
      expect((await row(id))?.lease_until).toEqual(longer.leaseUntil)
    })

    test('an ended lease that nobody took is no longer made longer, and the word of its holder still counts', async () => {
      const id = freshId()
      const { held } = await reserved(id)
      await endLease(database.pool, id)
      const before = await row(id)
      expect(await heartbeat(opened.db, held, { leaseMs: 60_000 })).toMatchObject({ outcome: 'lost' })
      expect(await row(id)).toEqual(before)
      expect(await completeLeased(opened.db, held)).toEqual({ outcome: 'done' })
    })

    test('a failure is told to every copy until it is due, with the time; then the next arrival is the next attempt', async () => {
      const id = freshId()
      const { held } = await reserved(id)
      const failed = await failLeased(opened.db, held, { code: 'smtp', message: 'busy' }, { retryAfterMs: 60_000 })
      if (failed.outcome !== 'failed') throw new Error('the failure does not count')
      expect(failed.willRetryAt?.getTime()).toBeGreaterThan((await databaseNow(database)) + 30_000)
      for (const copies of [2, 3]) {
        const copy = await reserve(id)
        expect(copy).toMatchObject({
          verdict: 'failed',
          isFinal: false,
          copies,
          error: { code: 'smtp', message: 'busy' },
        })
        expect(copy).toMatchObject({ willRetryAt: failed.willRetryAt })
      }
      await makeDue(database.pool, id)
      expect(await reserved(id)).toMatchObject({ attempt: 2, copies: 4 })
      expect(await row(id)).toMatchObject({ state: 'in_progress', error_code: null, next_attempt_at: null })
    })

    test('a failure without a delay is due at once, and a final one never', async () => {
      const id = freshId()
      await failLeased(opened.db, (await reserved(id)).held, { code: 'x', message: '' })
      const { held } = await reserved(id)
      expect(held.attempt).toBe(2)
      const final = await failLeased(opened.db, held, { code: 'gone', message: 'no such box' }, { final: true })
      expect(final).toEqual({ outcome: 'failed', isFinal: true, willRetryAt: null })
      expect(await reserve(id)).toMatchObject({ verdict: 'failed', isFinal: true, willRetryAt: null, attempt: 2 })
    })

    test('unknown stays unknown, and says why', async () => {
      const id = freshId()
      const { held } = await reserved(id, { target: 'accepts_key' })
      const completion = { target: { type: 'mail', id: 'perhaps' } }
      await markUnknown(opened.db, held, { code: 'timeout', note: 'no answer', completion })
      expect(await reserve(id)).toMatchObject({ verdict: 'unknown', error: { code: 'timeout', message: 'no answer' } })
      expect(await notes(id)).toMatchObject([{ type: 'unknown', attempt: 1, data: { targetId: 'perhaps' } }])
    })

    test('the same word twice is the same word: a lost answer may be asked for again', async () => {
      const again = async (say: (held: Held) => Promise<{ outcome: string }>) => {
        const id = freshId()
        const { held } = await reserved(id)
        const [first, second] = [await say(held), await say(held)]
        expect(second).toEqual(first)
        expect((await notes(id)).filter(({ type }) => type.startsWith('late'))).toEqual([])
        return first.outcome
      }
      expect(await again((held) => completeLeased(opened.db, held, { answer: 1 }))).toBe('done')
      expect(
        await again((held) => failLeased(opened.db, held, { code: 'x', message: 'y' }, { retryAfterMs: 9_000 })),
      ).toBe('failed')
      expect(await again((held) => failLeased(opened.db, held, { code: 'x', message: 'y' }, { final: true }))).toBe(
        'failed',
      )
      expect(await again((held) => markUnknown(opened.db, held))).toBe('unknown')
    })

    const lateWords: [string, string, (held: Held) => Promise<unknown>][] = [
      ['success', 'late_completed', (held) => completeLeased(opened.db, held, { target: { type: 'mail', id: 'A' } })],
      ['error', 'late_failed', (held) => failLeased(opened.db, held, { code: 'late', message: 'A' }, { final: true })],
      ['doubt', 'late_unknown', (held) => markUnknown(opened.db, held, { note: 'A does not know' })],
    ]

    test.each(lateWords)(
      'a late %s of a former holder changes nothing, is told it lost, and is kept beside',
      async (_title, type, say) => {
        const id = freshId()
        const { held: a } = await reserved(id, { target: 'accepts_key' })
        await endLease(database.pool, id)
        const { held: b } = await reserved(id, { target: 'accepts_key' })
        const during = await row(id)
        expect(await say(a)).toEqual({ outcome: 'lost', state: 'in_progress' })
        expect(await row(id)).toEqual(during)
        await completeLeased(opened.db, b, { target: { type: 'mail', id: 'B' }, answer: 'B' })
        const after = await row(id)
        expect(await say(a)).toEqual({ outcome: 'lost', state: 'completed' })
        expect(await heartbeat(opened.db, a, { leaseMs: 60_000 })).toMatchObject({ outcome: 'lost' })
        expect(await row(id)).toEqual(after)
        const kept = { type, holder: a.holder, attempt: 1 }
        expect(await notes(id)).toMatchObject([
          { ...kept, data: { state: 'in_progress' } },
          { ...kept, data: { state: 'completed' } },
        ])
        expect(await reserve(id)).toMatchObject({ verdict: 'duplicate', target: { id: 'B' }, answer: 'B' })
      },
    )

    test('the attempt is compared, not only the holder: of two attempts of one holder the first has lost', async () => {
      const id = freshId()
      const holder = randomUUID()
      const first = await reserved(id, { holder, target: 'accepts_key' })
      await endLease(database.pool, id)
      const second = await reserved(id, { holder, target: 'accepts_key' })
      expect(second.attempt).toBe(2)
      expect(await completeLeased(opened.db, first.held, { answer: 'old' })).toMatchObject({ outcome: 'lost' })
      expect(await heartbeat(opened.db, first.held, { leaseMs: 1 })).toMatchObject({ outcome: 'lost' })
      expect(await completeLeased(opened.db, second.held, { answer: 'new' })).toEqual({ outcome: 'done' })
      expect(await row(id)).toMatchObject({ answer: 'new', attempt: 2 })
    })

    test('a word that contradicts one’s own earlier word has lost against it', async () => {
      const id = freshId()
      const { held } = await reserved(id)
      await completeLeased(opened.db, held, { answer: 'done' })
      const failed = await failLeased(opened.db, held, { code: 'x', message: 'after all' })
      expect(failed).toEqual({ outcome: 'lost', state: 'completed' })
      expect(await row(id)).toMatchObject({ state: 'completed', answer: 'done' })
    })

    test.each(contradictions)(
      'of two words of one holder that differ in %s the first counts, and the second is kept beside it',
      async (_title, first, second) => {
        const id = freshId()
        const { held } = await reserved(id)
        await first(opened.db, held)
        const before = await row(id)
        expect(await second(opened.db, held)).toEqual({ outcome: 'lost', state: before?.state })
        expect(await row(id)).toEqual(before)
        expect(await notes(id)).toMatchObject([{ type: `late_${before?.state}`, attempt: 1 }])
      },
    )

    test('an event that is not there is lost to everybody', async () => {
      const held = { scope: 'acme', eventId: randomUUID(), holder: randomUUID(), attempt: 1 }
      expect(await completeLeased(opened.db, held)).toEqual({ outcome: 'lost', state: null })
      expect(await heartbeat(opened.db, held, { leaseMs: 1 })).toEqual({ outcome: 'lost', state: null })
    })

    test('what is recorded alongside the completion is there with it, or not at all, and only for the owner', async () => {
      const id = freshId()
      const { held } = await reserved(id, { target: 'accepts_key' })
      const insert = (note: string) => (tx: Tx) =>
        opened.run(tx, 'insert into effects (id, note) values ($1, $2)', [id, note]).then(() => undefined)
      await expect(completeLeased(opened.db, held, {}, insert('poison'))).rejects.toThrow()
      expect(await row(id)).toMatchObject({ state: 'in_progress' })
      await completeLeased(opened.db, { ...held, holder: randomUUID() }, {}, insert('stranger'))
      await completeLeased(opened.db, held, {}, insert('mine'))
      await completeLeased(opened.db, held, {}, insert('mine again'))
      const { rows } = await database.pool.query('select note from effects where id = $1', [id])
      expect(rows).toEqual([{ note: 'mine' }])
    })

    describe('a decision about an event whose end nobody knows', () => {
      const unknown = async (id: string, target: LeasedArrival['target'] = 'neither') => {
        const { held } = await reserved(id, { target })
        await markUnknown(opened.db, held)
        return held
      }
      const decision = { author: 'anna', note: 'looked into the mailbox' }

      test('that it did happen is what every copy is told, and the former holder has lost', async () => {
        const id = freshId()
        const held = await unknown(id)
        const target = { type: 'mail', id: 'found' }
        const resolved = await resolve(opened.db, key(id), { ...decision, outcome: 'completed', target, answer: 7 })
        expect(resolved).toEqual({ outcome: 'resolved', eventId: held.eventId })
        expect(await completeLeased(opened.db, held, { answer: 'late' })).toEqual({
          outcome: 'lost',
          state: 'completed',
        })
        expect(await reserve(id)).toMatchObject({ verdict: 'duplicate', target, answer: 7 })
        expect((await notes(id)).find(({ type }) => type === 'resolved_as_completed')).toMatchObject({
          ...{ author: 'anna', note: decision.note, attempt: 1 },
          data: { targetId: 'found', answer: 7, state: 'unknown' },
        })
      })

      test('that it did not makes the next attempt due at once, or none ever', async () => {
        const again = freshId()
        await unknown(again)
        await resolve(opened.db, key(again), { ...decision, outcome: 'retry' })
        expect(await reserved(again)).toMatchObject({ attempt: 2 })
        const never = freshId()
        await unknown(never)
        await resolve(opened.db, key(never), { ...decision, outcome: 'failed' })
        expect(await reserve(never)).toMatchObject({
          ...{ verdict: 'failed', isFinal: true },
          error: { code: 'resolved_as_failed', message: decision.note },
        })
      })

      test('after a retry a searchable target is looked into first all the same', async () => {
        const id = freshId()
        await unknown(id, 'searchable')
        await resolve(opened.db, key(id), { ...decision, outcome: 'retry' })
        expect(await reserved(id, { target: 'searchable' })).toMatchObject({ mustLookUp: true })
      })

      test('counts once: of two at the same moment the second is told what is there, and a repetition is the same', async () => {
        const id = freshId()
        await unknown(id)
        const holder = randomUUID()
        const decide = (more: object) => resolve(opened.db, key(id), { ...decision, outcome: 'completed', ...more })
        const outcomes = await Promise.all([decide({ answer: 'a', holder }), decide({ answer: 'b' })])
        expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['refused', 'resolved'])
        if (outcomes[0].outcome === 'resolved') expect((await decide({ answer: 'a', holder })).outcome).toBe('resolved')
        expect((await notes(id)).filter(({ type }) => type.startsWith('resolved'))).toHaveLength(1)
      })

      test('is refused where there is nothing to decide: in progress, completed, not there', async () => {
        const id = freshId()
        const decide = () => resolve(opened.db, key(id), { ...decision, outcome: 'retry' })
        expect(await decide()).toEqual({ outcome: 'not_found' })
        const { held } = await reserved(id)
        expect(await decide()).toMatchObject({ outcome: 'refused', state: 'in_progress' })
        await completeLeased(opened.db, held)
        expect(await decide()).toMatchObject({ outcome: 'refused', state: 'completed' })
        expect(await row(id)).toMatchObject({ state: 'completed', holder: held.holder })
      })

      test('may be made about a failure and about an ended lease, too; without author or note it is none', async () => {
        const failed = freshId()
        await failLeased(opened.db, (await reserved(failed)).held, { code: 'x', message: '' }, { final: true })
        expect(await resolve(opened.db, key(failed), { ...decision, outcome: 'retry' })).toMatchObject({
          outcome: 'resolved',
        })
        const ended = freshId()
        await reserved(ended)
        await endLease(database.pool, ended)
        expect(await resolve(opened.db, key(ended), { ...decision, outcome: 'completed' })).toMatchObject({
          outcome: 'resolved',
        })
        const blank = resolve(opened.db, key(ended), { ...decision, author: ' ', outcome: 'retry' })
        await expect(blank).rejects.toThrow(TypeError)
      })
    })

    test('other content under one key is a conflict in every state, changes nothing, and names the fields', async () => {
      const id = freshId()
      const content = (amount: number, currency = 'EUR') =>
        ({ fields: { amount, currency }, target: 'accepts_key' }) as const
      const conflict = { verdict: 'conflict', differing: ['amount'] }
      const { held } = await reserved(id, content(10))
      expect(await reserve(id, content(11))).toMatchObject(conflict)
      await endLease(database.pool, id)
      expect(await reserve(id, content(11))).toMatchObject(conflict)
      expect(await row(id)).toMatchObject({ state: 'in_progress', attempt: 1, holder: held.holder })
      await failLeased(opened.db, held, { code: 'x', message: '' })
      expect(await reserve(id, content(11))).toMatchObject(conflict)
      expect(await row(id)).toMatchObject({ state: 'failed' })
      const { held: second } = await reserved(id, content(10))
      await completeLeased(opened.db, second)
      expect(await reserve(id, content(11, 'USD'))).toMatchObject({ ...conflict, differing: ['amount', 'currency'] })
      expect((await reserve(id, content(10))).verdict).toBe('duplicate')
      expect((await reserve(id, { fingerprint: 'v9:other' })).verdict).toBe('duplicate')
    })

    test('the tables may be in a schema of their own, under another scope, and all calls find them', async () => {
      await database.pool.query('create schema billing')
      const names = {
        table: 'billing.processed',
        scopeColumn: 'organization_id',
        scopeType: 'uuid',
        memory: true,
      } as const
      const db = opened.another(names)
      await createTables(database.pool, db.register)
      const scope = randomUUID()
      const policy = {
        ...{ fields: ['text'], windowMs: 60_000, version: 'v1', businessReason: 'a double click' },
        reviewDate: new Date('2030-01-01T00:00:00Z'),
      }
      const keyless = await keylessKey(db, {
        scope,
        source: 'form',
        kind: 'inquiry',
        fields: { text: 'hello' },
        policy,
      })
      const effect = { target: 'accepts_key', perform: async () => ({ answer: 1 }) } as const
      expect(await attempt(db, keyless, effect)).toMatchObject({ outcome: 'done' })
      const repeated = await repeat(db, keyless, { author: 'anna', reason: 'again' })
      if (repeated.outcome !== 'opened') throw new Error(repeated.outcome)
      const left = await reserveLeased(db, repeated.key, {
        holder: randomUUID(),
        target: 'accepts_key',
        leaseMs: 60_000,
      })
      expect(left).toMatchObject({ verdict: 'reserved' })
      await database.pool.query(
        `update billing.processed set lease_until = clock_timestamp() where state = 'in_progress'`,
      )
      const report = await sweep(db, scope, { handlers: [{ source: 'form', kind: 'inquiry', ...effect }] })
      expect(report.attempts).toMatchObject([{ key: { generation: 2 }, outcome: { outcome: 'done', attempt: 2 } }])
      const retention = retentionFor({ providerRetryMs: 0, manualResendMs: 0, longestOutageMs: 0 })
      expect(await purge(db, scope, { olderThanMs: 0, retention })).toEqual({ purged: 1 })
      expect(await attempt(db, repeated.key, effect)).toMatchObject({ outcome: 'duplicate', remembered: true })
      expect(await attempt(db, keyless, effect)).toMatchObject({ outcome: 'duplicate', answer: 1 })
    })

    test('a lease is more than nothing and at most a day', async () => {
      for (const leaseMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 86_400_001]) {
        await expect(reserve(freshId(), { leaseMs })).rejects.toThrow(RangeError)
      }
    })
  })
}

function expectReserved(reservation: LeasedReservation): LeasedReserved {
  if (reservation.verdict !== 'reserved') throw new Error(`not reserved but ${JSON.stringify(reservation)}`)
  return reservation
}

async function databaseNow(database: OwnDatabase): Promise<number> {
  const { rows } = await database.pool.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]?.now.getTime() ?? Number.NaN
}
