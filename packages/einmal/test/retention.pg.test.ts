import { createHash, randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  attempt,
  commitEvents,
  createGroup,
  type EventKey,
  eventKey,
  failLeased,
  keyText,
  markUnknown,
  once,
  purge,
  repeat,
  reserveLeased,
  retentionFor,
  uuidv7,
} from '../src/index.ts'
import { onCrashPoint } from '../src/testing/index.ts'
import { arrival, type Booking, bookAll } from './support/events.ts'
import { findLeasedRow, findRows, makeOld } from './support/leased.ts'
import { createRegisterFixture } from './support/register-fixture.ts'

const fixture = createRegisterFixture({ memory: true })
let ids = 0

beforeEach(() => {
  ids += 1
})

afterEach(() => onCrashPoint(null))

const hour = 3_600_000
const retention = retentionFor({ providerRetryMs: 72 * hour, manualResendMs: 0, longestOutageMs: 4 * hour })
const key = (id: string): EventKey => ({ scope: 'acme', source: 'shop', kind: 'mail.send', id })
const freshId = () => `evt_${ids}`
const row = (id: string) => findLeasedRow(fixture.database.pool, id)
const purgeAll = (more: object = {}) => purge(fixture.here.db, 'acme', { olderThanMs: 76 * hour, retention, ...more })

/** Every way in, and what it does with one more arrival of the key. */
const entrances: [string, (id: string) => Promise<{ outcome: string; remembered?: boolean }>][] = [
  ['once', (id) => once(fixture.there.db, key(id), (tx) => record(tx, id))],
  [
    'a group',
    async (id) => {
      const group = createGroup<pg.PoolClient, Booking>(fixture.there.db, bookAll(fixture.there))
      const [first] = await Promise.all([
        group.submit({ ...arrival(id), key: key(id) }),
        group.submit({ ...arrival(id), key: key(id) }),
      ])
      return first
    },
  ],
  [
    'attempt',
    (id) =>
      attempt(fixture.there.db, key(id), {
        perform: () => fixture.there.db.transaction('acme', (tx) => record(tx, id)),
      }),
  ],
  [
    'reserveLeased',
    async (id) => {
      const { verdict, ...rest } = await reserveLeased(fixture.there.db, key(id), {
        holder: randomUUID(),
        leaseMs: 60_000,
      })
      if (verdict === 'reserved') await fixture.there.db.transaction('acme', (tx) => record(tx, id))
      return { outcome: verdict, ...rest }
    },
  ],
]

async function record(tx: pg.PoolClient, id: string) {
  await tx.query('insert into effects (id) values ($1)', [id])
  return { target: { type: 'x', id } }
}

const effects = async (id: string) =>
  (await fixture.database.pool.query('select count(*)::int as count from effects where id = $1', [id])).rows[0]?.count

/** Done, and last heard of long ago. */
async function doneLongAgo(id: string, age = '77 hours'): Promise<void> {
  await once(fixture.here.db, key(id), (tx) => record(tx, id))
  await makeOld(fixture.database.pool, id, age)
}

describe('how long an event is kept', () => {
  test('is at least what the provider repeats, what people send again, and the longest outage together', () => {
    const parts = { providerRetryMs: 259_200_000, manualResendMs: 2_592_000_000, longestOutageMs: 86_400_000 }
    expect(retentionFor(parts)).toEqual({ ...parts, totalMs: 2_937_600_000 })
    for (const broken of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => retentionFor({ ...parts, manualResendMs: broken })).toThrow('manualResendMs')
    }
  })

  test('cannot be made shorter: five minutes beside three days are refused with all the numbers', async () => {
    const refused = purgeAll({ olderThanMs: 300_000 })
    await expect(refused).rejects.toThrow(RangeError)
    await expect(refused).rejects.toThrow(/300000.*259200000.*14400000.*273600000/)
    await expect(purgeAll({ olderThanMs: Number.NaN })).rejects.toThrow(RangeError)
  })

  test('does not end for a register without memory, which would do every purged event again', async () => {
    const forgetful = fixture.here.another({})
    await expect(purge(forgetful, 'acme', { olderThanMs: 76 * hour, retention })).rejects.toThrow(TypeError)
  })
})

describe('a purge', () => {
  test.each(entrances)(
    'trap 10: leaves a memory by which a copy three years later, through %s, is a duplicate',
    async (_title, arrive) => {
      const id = freshId()
      await doneLongAgo(id, '3 years')
      expect((await purgeAll()).purged).toBeGreaterThan(0)
      expect(await row(id)).toBeUndefined()
      for (const _copy of [1, 2]) expect(await arrive(id)).toMatchObject({ outcome: 'duplicate', remembered: true })
      expect(await effects(id)).toBe(1)
      expect(await row(id)).toBeUndefined()
      expect(await arrive(`${id}_other`)).toMatchObject({ outcome: expect.stringMatching(/done|reserved/) })
    },
  )

  test('keeps 32 bytes of each: the SHA-256 of its key text, whatever is in the key', async () => {
    const keys = ['a:b=c&d%e', 'Grüße \u{1f4b6}', ' ', '%3A', '\\x00', "'; --", 'x'.repeat(1024)].flatMap((text) => [
      eventKey({
        scope: 'acme',
        source: `s${text.slice(0, 20)}`,
        kind: `k${text.slice(0, 20)}`,
        id: `${text}1`.slice(0, 1024),
      }),
    ])
    keys.push(eventKey({ ...key('gen'), generation: 2 }))
    for (const each of keys) await once(fixture.here.db, { ...each, ...partsOf(each) }, async () => ({}))
    for (const each of keys) await makeOld(fixture.database.pool, each.id, '3 years')
    await purgeAll()
    const { rows } = await fixture.database.pool.query<{ digest: string }>(
      `select encode(digest, 'hex') as digest from einmal_events_memory`,
    )
    const digests = rows.map(({ digest }) => digest)
    for (const each of keys) {
      expect(digests).toContain(createHash('sha256').update(keyText(each)).digest('hex'))
      expect(await once(fixture.here.db, { ...each, ...partsOf(each) }, async () => ({}))).toMatchObject({
        remembered: true,
      })
    }
  })

  test('keeps apart the scopes: what one has done is new to another', async () => {
    const id = freshId()
    await doneLongAgo(id)
    await purgeAll()
    expect(await once(fixture.here.db, { ...key(id), scope: 'other' }, async () => ({}))).toMatchObject({
      outcome: 'done',
    })
    expect(await once(fixture.here.db, key(id), async () => ({}))).toMatchObject({ outcome: 'duplicate' })
  })

  test('trap 10: takes nothing that is in flight, failed or unknown, however old it is', async () => {
    const states = ['in_progress', 'failed', 'final', 'unknown'].map((state) => `${freshId()}_${state}`)
    for (const id of states) {
      const reserved = await reserveLeased(fixture.here.db, key(id), { holder: randomUUID(), leaseMs: 60_000 })
      if (reserved.verdict !== 'reserved') throw new Error(reserved.verdict)
      const error = { code: 'x', message: '' }
      if (id.endsWith('failed')) await failLeased(fixture.here.db, reserved.held, error, { retryAfterMs: 60_000 })
      if (id.endsWith('final')) await failLeased(fixture.here.db, reserved.held, error, { final: true })
      if (id.endsWith('unknown')) await markUnknown(fixture.here.db, reserved.held)
      await makeOld(fixture.database.pool, id, '3 years')
    }
    const before = await Promise.all(states.map(row))
    await purgeAll()
    expect(await Promise.all(states.map(row))).toEqual(before)
    expect(before.map((each) => each?.state)).toEqual(['in_progress', 'failed', 'failed', 'unknown'])
  })

  test.each(['6 minutes', '25 hours', '75 hours 59 minutes'])('leaves what is only %s old', async (age) => {
    const id = freshId()
    await doneLongAgo(id, age)
    await purgeAll()
    expect(await once(fixture.here.db, key(id), async () => ({}))).toMatchObject({
      outcome: 'duplicate',
      target: { id },
    })
  })

  test('counts from the last arrival: a sender who still repeats keeps the event', async () => {
    const id = freshId()
    await doneLongAgo(id, '1 year')
    await once(fixture.here.db, key(id), async () => ({}))
    await purgeAll()
    expect(await row(id)).toMatchObject({ copies: 2 })
  })

  test('goes through all in batches, takes the notes along, and does nothing the second time', async () => {
    const all = Array.from({ length: 25 }, (_, index) => `${freshId()}_${index}`)
    for (const id of all) await doneLongAgo(id)
    const { rows } = await fixture.database.pool.query<{ id: string }>(
      'select id from einmal_events where external_id = $1',
      [all[3]],
    )
    await fixture.database.pool.query(
      `insert into einmal_events_notes (event_id, scope, type, recorded_at) values ($1, 'acme', 'late_failed', now())`,
      [rows[0]?.id],
    )
    expect(await purgeAll({ batchSize: 10 })).toEqual({ purged: 25 })
    const left = await fixture.database.pool.query('select from einmal_events_notes where event_id = $1', [rows[0]?.id])
    expect(left.rowCount).toBe(0)
    expect(await purgeAll({ batchSize: 10 })).toEqual({ purged: 0 })
  })

  test('keeps an event that was repeated on purpose, so that its generations count on', async () => {
    const id = freshId()
    await doneLongAgo(id)
    const second = await repeat(fixture.here.db, key(id), { author: 'anna', reason: 'again' })
    if (second.outcome !== 'opened') throw new Error(second.outcome)
    await once(fixture.here.db, second.key, async () => ({}))
    await makeOld(fixture.database.pool, id, '1 year')
    await purgeAll()
    expect(await findRows(fixture.database.pool, id)).toMatchObject([{ kind: 'mail.send' }])
    expect(await once(fixture.here.db, second.key, async () => ({}))).toMatchObject({ remembered: true })
    expect(await repeat(fixture.here.db, key(id), { author: 'anna', reason: 'and again' })).toMatchObject({
      generation: 3,
    })
  })

  test('that dies before its commit has taken nothing', async () => {
    const id = freshId()
    await doneLongAgo(id)
    onCrashPoint((point) => {
      if (point === 'purge.beforeCommit') throw new Error('dies')
    })
    await expect(purgeAll()).rejects.toThrow('dies')
    onCrashPoint(null)
    expect(await once(fixture.there.db, key(id), async () => ({}))).toMatchObject({
      outcome: 'duplicate',
      target: { id },
    })
  })
})

describe('a purge and an arrival of the same event at the same moment', () => {
  test.each(entrances)(
    'trap 10: who waits for a row that is going, through %s, finds the memory and does nothing',
    async (_title, arrive) => {
      const id = freshId()
      await doneLongAgo(id)
      const gate = holdAt('purge.beforeCommit')
      const purging = purgeAll()
      await gate.reached
      const copy = arrive(id)
      await untilSomebodyWaits()
      gate.open()
      expect((await purging).purged).toBe(1)
      expect(await copy).toMatchObject({ outcome: 'duplicate', remembered: true })
      expect(await effects(id)).toBe(1)
    },
  )

  test('the purge passes over a row that an arrival holds', async () => {
    const id = freshId()
    await doneLongAgo(id)
    const held = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    const incoming = {
      id: uuidv7(Date.now()),
      key: key(id),
      fingerprint: '',
      holder: randomUUID(),
      arrivedAt: new Date(),
      input: null,
    }
    const copy = commitEvents(fixture.there.db, 'acme', [incoming], {
      effect: async () => [],
      async settle() {
        held.resolve()
        await mayEnd.promise
      },
    })
    await held.promise
    expect(await purgeAll()).toEqual({ purged: 0 })
    mayEnd.resolve()
    expect(await copy).toMatchObject([{ outcome: 'duplicate', target: { id } }])
    expect(await row(id)).toMatchObject({ copies: 2 })
  })

  test('a row that is being repeated on purpose stays, and one that is going is not found', async () => {
    const [staying, going] = [`${freshId()}_staying`, `${freshId()}_going`]
    const wish = { author: 'anna', reason: 'again' }
    await doneLongAgo(staying)
    const reached = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    const slow: typeof fixture.there.db = {
      ...fixture.there.db,
      transaction: (scope, work) =>
        fixture.there.db.transaction(scope, async (tx, query) => {
          const value = await work(tx, query)
          reached.resolve()
          await mayEnd.promise
          return value
        }),
    }
    const early = repeat(slow, key(staying), wish)
    await reached.promise
    expect(await purgeAll()).toEqual({ purged: 0 })
    mayEnd.resolve()
    expect(await early).toMatchObject({ outcome: 'opened', generation: 2 })
    expect(await purgeAll()).toEqual({ purged: 0 })

    await doneLongAgo(going)
    const gate = holdAt('purge.beforeCommit')
    const purging = purgeAll()
    await gate.reached
    const late = repeat(fixture.there.db, key(going), wish)
    await untilSomebodyWaits()
    gate.open()
    expect([await purging, await late]).toEqual([{ purged: 1 }, { outcome: 'not_found' }])
  })

  test('60 rounds of purging and arriving at once: every event has one effect', async () => {
    const all = Array.from({ length: 60 }, (_, index) => `${freshId()}_${index}`)
    for (const id of all) await doneLongAgo(id)
    const arrive = async (id: string, index: number) => (entrances[index % entrances.length] ?? entrances[0])?.[1](id)
    await Promise.all([
      purgeAll({ batchSize: 5 }),
      ...all.map(arrive),
      purge(fixture.there.db, 'acme', { olderThanMs: 76 * hour, retention, batchSize: 7 }),
      ...all.map((id, index) => arrive(id, index + 1)),
    ])
    const { rows } = await fixture.database.pool.query(
      'select id, count(*)::int as effects from effects where id = any($1) group by id having count(*) <> 1',
      [all],
    )
    expect(rows).toEqual([])
  })
})

test('a register without memory sends no statement for it, in no mode', async () => {
  const sent: string[] = []
  const listening = (memory: boolean) => {
    const db = fixture.here.another({ memory })
    return {
      ...db,
      transaction: ((scope, work) =>
        db.transaction(scope, (tx, query) =>
          work(tx, (text, values, name) => {
            sent.push(text)
            return query(text, values, name)
          }),
        )) as typeof db.transaction,
    }
  }
  for (const memory of [false, true]) {
    sent.length = 0
    const db = listening(memory)
    await once(db, key(`${freshId()}_${memory}`), async () => ({}))
    await attempt(db, key(`${freshId()}_${memory}_attempt`), { perform: async () => ({}) })
    expect(sent.filter((text) => text.includes('_memory')).length).toBe(memory ? 2 : 0)
    expect(sent.length).toBe(memory ? 5 : 3)
  }
})

function partsOf(each: EventKey): { kind: string; generation?: number } {
  const [kind = '', generation] = each.kind.split(/#(?=\d+$)/)
  return generation === undefined ? { kind } : { kind, generation: Number(generation) }
}

/** Holds up whoever passes the point first. */
function holdAt(held: string): { reached: Promise<void>; open(): void } {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  onCrashPoint((point) => {
    if (point !== held) return
    onCrashPoint(null)
    reached.resolve()
    return opened.promise
  })
  return { reached: reached.promise, open: opened.resolve }
}

/** A lock gives no signal to others, so this asks, at most 5,000 times. */
async function untilSomebodyWaits(): Promise<void> {
  for (let asked = 0; asked < 5_000; asked += 1) {
    const { rows } = await fixture.database.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
  }
  throw new Error('nobody waits for a lock')
}
