/** Rows of one's own beside the words of a lease: both are committed, or neither. Judge is the table of effects. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import {
  completeLeased,
  failLeased,
  type Held,
  type LeasedReserved,
  markUnknown,
  reserveLeased,
  resolve,
  sweep,
} from '../src/index.ts'
import { countEffects } from './support/database.ts'
import { endLease, findLeasedRow } from './support/leased.ts'
import { createRegisterFixture } from './support/register-fixture.ts'

const fixture = createRegisterFixture()
let ids = 0

function freshId(): string {
  ids += 1
  return `evt_${ids}`
}

const key = (id: string, scope = 'acme') => ({ scope, source: 'shop', kind: 'mail.send', id })

async function reserve(id: string, holder: string = randomUUID()): Promise<Held> {
  const reservation = await reserveLeased(fixture.here.db, key(id), { holder, leaseMs: 60_000 })
  if (reservation.verdict !== 'reserved') throw new Error(`found ${reservation.verdict}`)
  return reservation.held
}

/** Writes a row, and throws where it shall not stay. */
function writes(id: string, how: { thenThrows?: true } = {}) {
  return async (tx: pg.PoolClient) => {
    await tx.query('insert into effects (id) values ($1)', [id])
    if (how.thenThrows) throw new Error('not this one')
  }
}

type Write = (tx: pg.PoolClient) => Promise<void>

/** Every word of a lease, said of an event that this call reserves. */
const words: [string, (id: string, write: Write) => Promise<unknown>, string][] = [
  [
    'completes',
    async (id, write) => completeLeased(fixture.here.db, await reserve(id), {}, (tx) => write(tx)),
    'completed',
  ],
  [
    'fails',
    async (id, write) => failLeased(fixture.here.db, await reserve(id), { code: 'no', message: '' }, {}, write),
    'failed',
  ],
  ['is unknown', async (id, write) => markUnknown(fixture.here.db, await reserve(id), {}, write), 'unknown'],
]

describe.each(words)('an event that %s', (_title, say, state) => {
  test('brings its rows along, in one transaction', async () => {
    const id = freshId()
    await say(id, writes(id))
    expect([
      await countEffects(fixture.database.pool, id),
      (await findLeasedRow(fixture.database.pool, id))?.state,
    ]).toEqual([1, state])
  })

  test('stays as it was where they cannot be written', async () => {
    const id = freshId()
    await expect(say(id, writes(id, { thenThrows: true }))).rejects.toThrow('not this one')
    expect(await countEffects(fixture.database.pool, id)).toBe(0)
    expect(await findLeasedRow(fixture.database.pool, id)).toMatchObject({ state: 'in_progress' })
  })
})

test('a late word brings nothing along', async () => {
  const id = freshId()
  const held = await reserve(id)
  await completeLeased(fixture.here.db, held)
  expect(await failLeased(fixture.here.db, held, { code: 'late', message: '' }, {}, writes(id))).toMatchObject({
    outcome: 'lost',
  })
  expect(await markUnknown(fixture.here.db, held, {}, writes(id))).toMatchObject({ outcome: 'lost' })
  expect(await countEffects(fixture.database.pool, id)).toBe(0)
})

describe('a reservation', () => {
  test('brings its rows along, and tells them what was found', async () => {
    const id = freshId()
    const found: string[] = []
    const arrive = () =>
      reserveLeased(fixture.here.db, key(id), { holder: randomUUID(), leaseMs: 60_000 }, async (tx, { verdict }) => {
        found.push(verdict)
        await writes(id)(tx)
      })
    await arrive()
    await arrive()
    expect([found, await countEffects(fixture.database.pool, id)]).toEqual([['reserved', 'in_progress'], 2])
  })

  test('is not there where they cannot be written', async () => {
    const id = freshId()
    const arrival = { holder: randomUUID(), leaseMs: 60_000 }
    await expect(reserveLeased(fixture.here.db, key(id), arrival, writes(id, { thenThrows: true }))).rejects.toThrow(
      'not this one',
    )
    expect([await findLeasedRow(fixture.database.pool, id), await countEffects(fixture.database.pool, id)]).toEqual([
      undefined,
      0,
    ])
  })

  test('waits for whoever is at it, and is counted as one arrival', async () => {
    const id = freshId()
    const held = await reserve(id)
    const pauses: number[] = []
    const pause = async (ms: number) => {
      pauses.push(ms)
      if (pauses.length === 3) await completeLeased(fixture.here.db, held, { answer: 'sent' })
    }
    const wait = { maxMs: 10_000, pause }
    expect(
      await reserveLeased(fixture.here.db, key(id), { holder: randomUUID(), leaseMs: 60_000, wait }),
    ).toMatchObject({
      ...{ verdict: 'duplicate', answer: 'sent', copies: 2 },
    })
    expect(pauses).toEqual([50, 100, 200])
  })

  test('stops waiting when its time is over, and says who is at it', async () => {
    const id = freshId()
    await reserve(id)
    let waited = 0
    const pause = async (ms: number) => {
      waited += ms
    }
    const wait = { maxMs: 300, pause }
    expect(
      await reserveLeased(fixture.here.db, key(id), { holder: randomUUID(), leaseMs: 60_000, wait }),
    ).toMatchObject({
      verdict: 'in_progress',
    })
    expect(waited).toBe(300)
  })
})

test('a decision brings its rows along and says of which attempt, once however often it is made', async () => {
  const id = freshId()
  const held = await reserve(id)
  await markUnknown(fixture.here.db, held)
  const settled: unknown[] = []
  const decision = { outcome: 'completed', note: 'asked', author: 'anna', holder: randomUUID() } as const
  for (let count = 0; count < 2; count += 1) {
    const resolved = await resolve(fixture.here.db, key(id), decision, async (tx, event) => {
      settled.push(event)
      await writes(id)(tx)
    })
    expect(resolved).toMatchObject({ outcome: 'resolved' })
  }
  expect(settled).toEqual([{ eventId: held.eventId, attempt: 1 }])
  expect(await countEffects(fixture.database.pool, id)).toBe(1)
})

describe('a sweep', () => {
  async function abandoned(scope: string, target: 'neither' | 'accepts_key') {
    const id = freshId()
    const arrival = { holder: randomUUID(), leaseMs: 60_000, target }
    const { held } = (await reserveLeased(fixture.here.db, key(id, scope), arrival)) as LeasedReserved
    await endLease(fixture.database.pool, id)
    return { id, held }
  }

  test('brings rows along for each event that becomes unknown, also where its handler cannot follow on', async () => {
    const scope = randomUUID()
    const swept = [await abandoned(scope, 'neither'), await abandoned(scope, 'accepts_key')]
    const told: unknown[] = []
    const handler = { source: 'shop', kind: 'mail.send', perform: async () => undefined }
    await sweep(fixture.here.db, scope, {
      handlers: [handler],
      async alongside(tx, events) {
        told.push(...events)
        for (const event of events) await writes(event.key.id)(tx)
      },
    })
    expect(told).toEqual(
      swept.map(({ id, held }) => ({
        ...{ key: { ...key(id, scope), generation: 1 }, eventId: held.eventId, attempt: 1 },
        error: { code: 'no_word', message: 'an earlier attempt may have reached the target, and nobody can find out' },
      })),
    )
    for (const { id } of swept) expect(await countEffects(fixture.database.pool, id)).toBe(1)
  })

  test('leaves the events as they were where those rows cannot be written', async () => {
    const scope = randomUUID()
    const { id } = await abandoned(scope, 'neither')
    const alongside = (tx: pg.PoolClient) => writes(id, { thenThrows: true })(tx)
    await expect(sweep(fixture.here.db, scope, { alongside })).rejects.toThrow('not this one')
    expect(await findLeasedRow(fixture.database.pool, id)).toMatchObject({ state: 'in_progress' })
    expect(await countEffects(fixture.database.pool, id)).toBe(0)
  })
})
