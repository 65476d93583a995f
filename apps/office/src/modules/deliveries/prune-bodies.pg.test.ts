import { createHash } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.ts'
import { type WrittenBooks, writeBooks } from '../../../test/support/written-books.ts'
import { createDatabase, type Db } from '../../platform/database.ts'
import { type PrunedBodies, pruneBodies, recordDeliveries } from './index.ts'

/** After everything in the written books. */
const LATER = new Date('2026-06-10T09:00:00Z')
const EARLIER = new Date('2026-03-10T08:59:59Z')
/** Of an event that has its bytes to itself, with no question about it. */
const BOOKED = 'evt_pi_part'

let database: TestDatabase
let owner: pg.Pool
let db: Db
let books: WrittenBooks

let count = 0

beforeAll(async () => {
  database = await createTestDatabase()
  owner = new pg.Pool({ connectionString: database.ownerUrl, max: 4 })
  owner.on('error', () => undefined)
  db = createDatabase({ url: database.ownerUrl, role: 'einmal_office' })
})

beforeEach(async () => {
  count += 1
  books = await writeBooks(owner, `Books ${count}`)
})

afterAll(async () => {
  await db?.close()
  await owner?.end()
  await database?.drop()
})

async function prune(before: Date, { limit = 1_000, organizationId = books.organizationId } = {}) {
  let after: Buffer | null = null
  let calls = 0
  const sum = { removed: 0, keptForQuestion: 0, keptForEvent: 0 }
  do {
    const start: Buffer | null = after
    const batch: PrunedBodies = await db.transaction(organizationId, (tx) =>
      pruneBodies(tx, organizationId, { before, after: start, limit }),
    )
    sum.removed += batch.removed
    sum.keptForQuestion += batch.keptForQuestion
    sum.keptForEvent += batch.keptForEvent
    after = batch.next
    calls += 1
  } while (after !== null)
  return { ...sum, calls }
}

/** Whether the bytes of an event's deliveries are there, delivery by delivery. */
async function bytesOf(event: string): Promise<boolean[]> {
  const { rows } = await owner.query<{ there: boolean }>(
    `select b.body is not null as there from delivery_events as l
      join deliveries as d using (organization_id) join delivery_bodies as b using (organization_id)
      where l.event_id = $1 and d.id = l.delivery_id and b.hash = d.body_hash order by d.id`,
    [books.events[event]],
  )
  return rows.map(({ there }) => there)
}

async function countBytes(organizationId: string): Promise<number> {
  const { rows } = await owner.query<{ count: number }>(
    'select count(body)::int as count from delivery_bodies where organization_id = $1',
    [organizationId],
  )
  return rows[0]?.count ?? 0
}

/** The delivery of `BOOKED` as if it came again, byte for byte. */
async function arriveAgain() {
  const { rows } = await owner.query<{ id: string; hash: Buffer }>(
    `select d.id, d.body_hash as hash from delivery_events as l join deliveries as d on d.id = l.delivery_id
      where l.event_id = $1`,
    [books.events[BOOKED]],
  )
  const [first] = rows
  if (first === undefined) throw new Error('the event has no delivery')
  const body = Buffer.from(`{"delivery":"${first.id}"}`)
  expect(createHash('sha256').update(body).digest()).toEqual(first.hash)
  return {
    delivery: {
      id: '00000000-0000-7000-8000-00000000000a',
      endpointId: books.endpointId,
      source: 'stripe',
      receivedAt: LATER,
      headers: {},
      body,
      bodyHash: first.hash,
    },
    verdict: 'accepted' as const,
    reason: null,
    answerStatus: 200,
    events: [{ eventId: books.events[BOOKED] ?? '', outcome: 'duplicate' as const }],
  }
}

describe('pruning', () => {
  test('removes what is older than the day given, and keeps its hash', async () => {
    const { organizationId } = books
    const there = await countBytes(organizationId)
    expect(await prune(EARLIER)).toMatchObject({ removed: 0, keptForQuestion: 0, keptForEvent: 0 })
    const { removed, keptForQuestion } = await prune(LATER)
    expect(removed).toBeGreaterThan(0)
    expect(removed + keptForQuestion).toBe(there)
    expect(await countBytes(organizationId)).toBe(keptForQuestion)
    expect(await bytesOf(BOOKED)).toEqual([false])
    const { rowCount } = await owner.query('select 1 from delivery_bodies where organization_id = $1', [organizationId])
    expect(rowCount).toBe(there)
    expect(await prune(LATER)).toMatchObject({ removed: 0, keptForQuestion })
  })

  test('never removes what an open question is about, neither its delivery nor its event’s, and does when it is decided', async () => {
    await prune(LATER)
    expect(await bytesOf('evt_unclear')).toEqual([true])
    expect(await bytesOf('evt_pi_overpaid')).toEqual([true])
    expect(await bytesOf('evt_re_alone')).toEqual([true])
    // Decided long ago.
    expect(await bytesOf('evt_pi_dollar')).toEqual([false])
    await owner.query(
      `update review_items set state = 'decided', decided_at = now(), decided_by = 'somebody', decision = 'done'
        where event_id = $1`,
      [books.events['evt_unclear']],
    )
    expect(await prune(LATER)).toMatchObject({ removed: 1 })
    expect(await bytesOf('evt_unclear')).toEqual([false])
  })

  test('never removes a delivery that a question names, whatever event the question is about', async () => {
    await owner.query(
      `update review_items set delivery_id = (select delivery_id from delivery_events where event_id = $1)
        where event_id = $2`,
      [books.events[BOOKED], books.events['evt_re_alone']],
    )
    await prune(LATER)
    expect(await bytesOf(BOOKED)).toEqual([true])
  })

  test.each([
    ['failed', `state = 'failed', error_code = 'fault'`],
    ['unknown', `state = 'unknown', finished_at = null`],
    ['in progress', `state = 'in_progress', finished_at = null, lease_until = now()`],
  ])('never removes what an event brought that is %s', async (_state, change) => {
    await owner.query(`update events set ${change} where id = $1`, [books.events[BOOKED]])
    expect(await prune(LATER)).toMatchObject({ keptForEvent: 1 })
    expect(await bytesOf(BOOKED)).toEqual([true])
  })

  test('goes through an organisation in batches, sees each body once, and touches no other organisation', async () => {
    const others = await writeBooks(owner, 'Theirs')
    const there = await countBytes(others.organizationId)
    const { calls, removed, keptForQuestion } = await prune(LATER, { limit: 2 })
    expect(removed + keptForQuestion).toBe(there)
    expect(calls).toBe(Math.floor(there / 2) + 1)
    expect(await countBytes(books.organizationId)).toBe(keptForQuestion)
    expect(await countBytes(others.organizationId)).toBe(there)
  })
})

describe('bytes that come again', () => {
  test('are stored again when they had been pruned', async () => {
    await prune(LATER)
    const { organizationId } = books
    const again = await arriveAgain()
    await db.transaction(organizationId, async (tx) => recordDeliveries(tx, organizationId, [again]))
    expect(await bytesOf(BOOKED)).toEqual([true, true])
  })

  test('with a question of their own, while they are being pruned: the question finds them', async () => {
    const { organizationId } = books
    const again = await arriveAgain()
    let pruning: Promise<unknown> = Promise.resolve()
    await db.transaction(organizationId, async (tx) => {
      recordDeliveries(tx, organizationId, [again])
      await tx
        .insertInto('review_items')
        .values({
          id: '00000000-0000-7000-8000-00000000000b',
          organization_id: organizationId,
          key: 'unclear:again',
          kind: 'unclear',
          event_id: books.events[BOOKED] ?? '',
          delivery_id: again.delivery.id,
          data: '{}',
          created_at: LATER,
        })
        .execute()
      pruning = prune(LATER)
      await waitForLock()
    })
    await pruning
    expect(await bytesOf(BOOKED)).toEqual([true, true])
  })
})

/** Until somebody waits for a row. */
async function waitForLock(): Promise<void> {
  const startedAtMs = performance.now()
  for (;;) {
    const { rows } = await owner.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
    if (performance.now() - startedAtMs > 10_000) throw new Error('nobody came to wait')
  }
}
