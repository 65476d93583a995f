import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  attempt,
  completeLeased,
  type EventKey,
  failLeased,
  once,
  reserveLeased,
  type SweepHandler,
  sweep,
  type TargetCapability,
} from '../src/index.ts'
import { endLease, findLeasedRow, findNotes, makeDue } from './support/leased.ts'
import { createRegisterFixture } from './support/register-fixture.ts'

type Tx = pg.PoolClient

const fixture = createRegisterFixture()
let ids = 0
let scope = ''
let performed: string[] = []

beforeEach(() => {
  scope = `scope-${randomUUID()}`
  performed = []
})

const keyOf = (id: string, kind = 'mail.send'): EventKey => ({ scope, source: 'shop', kind, id })
const row = (id: string) => findLeasedRow(fixture.database.pool, id)

function handler(target: TargetCapability, more: Partial<SweepHandler<Tx>> = {}): SweepHandler<Tx> {
  return {
    ...{ source: 'shop', kind: 'mail.send', target },
    async perform({ key, attempt: number }) {
      performed.push(`${key.id} ${number}`)
      return { answer: key.id }
    },
    lookUp: async () => null,
    ...more,
  }
}

/** An event whose holder fell silent. */
async function abandoned(target: TargetCapability, kind?: string): Promise<string> {
  ids += 1
  const id = `evt_${ids}`
  await reserveLeased(fixture.here.db, keyOf(id, kind), { holder: randomUUID(), target, leaseMs: 60_000 })
  await endLease(fixture.database.pool, id)
  return id
}

async function failed(target: TargetCapability, how: { isDue: boolean }): Promise<string> {
  ids += 1
  const id = `evt_${ids}`
  const reserved = await reserveLeased(fixture.here.db, keyOf(id), { holder: randomUUID(), target, leaseMs: 60_000 })
  if (reserved.verdict !== 'reserved') throw new Error(reserved.verdict)
  await failLeased(fixture.here.db, reserved.held, { code: 'x', message: '' }, { retryAfterMs: 60_000 })
  if (how.isDue) await makeDue(fixture.database.pool, id)
  return id
}

describe('a sweep', () => {
  test('makes an ended lease on a target that is neither unknown, with no handler needed, and asks nobody', async () => {
    const id = await abandoned('neither')
    const report = await sweep(fixture.here.db, scope, { handlers: [handler('neither')] })
    expect(report).toEqual({ unknown: [{ ...keyOf(id), generation: 1 }], attempts: [], due: 0 })
    expect(await row(id)).toMatchObject({ state: 'unknown', error_code: 'no_word', attempt: 1 })
    expect(await sweep(fixture.here.db, scope)).toEqual({ unknown: [], attempts: [], due: 0 })
    expect(performed).toEqual([])
  })

  test('hands an ended lease on a target that takes the key to its handler, as the next attempt', async () => {
    const id = await abandoned('accepts_key')
    const report = await sweep(fixture.here.db, scope, { handlers: [handler('accepts_key')] })
    expect(report.attempts).toMatchObject([{ key: { id }, outcome: { outcome: 'done', attempt: 2, copies: 1 } }])
    expect(performed).toEqual([`${id} 2`])
    expect(await row(id)).toMatchObject({ state: 'completed', answer: id, copies: 1, lease_until: null })
  })

  test('looks first on a searchable target, and does not do again what is found', async () => {
    const [there, missing] = [await abandoned('searchable'), await abandoned('searchable')]
    const lookUp: SweepHandler<Tx>['lookUp'] = async ({ key }) => (key.id === there ? { answer: 'found' } : null)
    const report = await sweep(fixture.here.db, scope, { handlers: [handler('searchable', { lookUp })] })
    expect(report.attempts.map(({ outcome }) => outcome)).toMatchObject([
      { outcome: 'done', isFound: true, answer: 'found' },
      { outcome: 'done', isFound: false },
    ])
    expect(performed).toEqual([`${missing} 2`])
  })

  test('goes on with a failure when it is due and not before, the longest due first', async () => {
    const [later, second, first] = [
      await failed('accepts_key', { isDue: false }),
      await failed('neither', { isDue: true }),
      await abandoned('accepts_key'),
    ]
    await fixture.database.pool.query(
      `update einmal_events set lease_until = lease_until - interval '1 hour' where external_id = $1`,
      [first],
    )
    await sweep(fixture.here.db, scope, { handlers: [handler('accepts_key')] })
    expect(performed).toEqual([`${first} 2`, `${second} 2`])
    expect(await row(later)).toMatchObject({ state: 'failed', attempt: 1 })
  })

  test('leaves due what has no handler, or is beyond its limit, and says how much that is', async () => {
    for (let count = 0; count < 3; count += 1) await abandoned('accepts_key')
    const other = await abandoned('accepts_key', 'label.print')
    expect((await sweep(fixture.here.db, scope)).due).toBe(4)
    const report = await sweep(fixture.here.db, scope, { limit: 2, handlers: [handler('accepts_key')] })
    expect([report.attempts.length, report.due]).toEqual([2, 2])
    expect((await sweep(fixture.here.db, scope, { handlers: [handler('accepts_key')] })).due).toBe(1)
    expect(await row(other)).toMatchObject({ state: 'in_progress', attempt: 1 })
  })

  test('claims nothing more once its signal fires', async () => {
    for (let count = 0; count < 3; count += 1) await abandoned('accepts_key')
    const controller = new AbortController()
    const perform: SweepHandler<Tx>['perform'] = async () => {
      controller.abort()
      return undefined
    }
    const { signal } = controller
    const report = await sweep(fixture.here.db, scope, { handlers: [handler('accepts_key', { perform })], signal })
    expect([report.attempts.length, report.due]).toEqual([1, 2])
  })

  test('does nothing to what lives, is completed, failed for good or unknown', async () => {
    const live = await abandoned('neither')
    await fixture.database.pool.query(
      `update einmal_events set lease_until = clock_timestamp() + interval '1 minute' where external_id = $1`,
      [live],
    )
    await once(fixture.here.db, keyOf('evt_once'), async () => ({}))
    const failing = once(fixture.here.db, keyOf('evt_failed_once'), async () => Promise.reject(new Error('x')))
    await failing.catch(() => undefined)
    await attempt(fixture.here.db, keyOf('evt_unknown'), { perform: () => Promise.reject(new Error('lost')) })
    const before = await all()
    expect(await sweep(fixture.here.db, scope, { handlers: [handler('accepts_key')] })).toEqual({
      unknown: [],
      attempts: [],
      due: 0,
    })
    expect(await all()).toEqual(before)
  })

  test('makes unknown what its handler’s target cannot follow on', async () => {
    const id = await abandoned('searchable')
    const report = await sweep(fixture.here.db, scope, { handlers: [handler('accepts_key')] })
    expect(report).toMatchObject({ unknown: [{ id }], attempts: [], due: 0 })
    expect(await row(id)).toMatchObject({ state: 'unknown', attempt: 1 })
    expect(performed).toEqual([])
  })

  test('goes on with every generation of a kind, under its own key', async () => {
    ids += 1
    const id = `evt_${ids}`
    const second = { ...keyOf(id), generation: 2 }
    await reserveLeased(fixture.here.db, second, { holder: randomUUID(), target: 'accepts_key', leaseMs: 60_000 })
    await endLease(fixture.database.pool, id)
    const keys: string[] = []
    const perform: SweepHandler<Tx>['perform'] = async ({ idempotencyKey }) => {
      keys.push(idempotencyKey)
      return undefined
    }
    const report = await sweep(fixture.here.db, scope, { handlers: [handler('accepts_key', { perform })] })
    expect(report.attempts).toMatchObject([{ key: second, outcome: { outcome: 'done' } }])
    expect(keys).toEqual([`${scope}:shop:mail.send%232:${id}`])
  })

  test('keeps to its scopes', async () => {
    const mine = scope
    const first = await abandoned('neither')
    scope = `scope-${randomUUID()}`
    const second = await abandoned('neither')
    expect((await sweep(fixture.here.db, scope)).unknown).toMatchObject([{ id: second }])
    expect(await row(first)).toMatchObject({ state: 'in_progress' })
    expect((await sweep(fixture.here.db, [scope, mine])).unknown).toMatchObject([{ id: first }])
  })

  test('by eight processes at once takes each event once', async () => {
    const wanted = []
    for (let count = 0; count < 40; count += 1) wanted.push(await abandoned('accepts_key'))
    const reports = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        sweep((index % 2 ? fixture.here : fixture.there).db, scope, { handlers: [handler('accepts_key')] }),
      ),
    )
    const done = reports.flatMap(({ attempts }) => attempts.map(({ key }) => key.id))
    expect(done.toSorted()).toEqual(wanted.toSorted())
    expect(performed.toSorted()).toEqual(wanted.map((id) => `${id} 2`).toSorted())
  })

  test('against the late word of the one it took over from: his is kept beside', async () => {
    ids += 1
    const id = `evt_${ids}`
    const a = await reserveLeased(fixture.here.db, keyOf(id), {
      holder: randomUUID(),
      target: 'accepts_key',
      leaseMs: 60_000,
    })
    if (a.verdict !== 'reserved') throw new Error(a.verdict)
    await endLease(fixture.database.pool, id)
    await sweep(fixture.there.db, scope, { handlers: [handler('accepts_key')] })
    expect(await completeLeased(fixture.here.db, a.held, { answer: 'A' })).toEqual({
      outcome: 'lost',
      state: 'completed',
    })
    expect(await row(id)).toMatchObject({ answer: id })
    expect(await findNotes(fixture.database.pool, id)).toMatchObject([
      { type: 'late_completed', data: { answer: 'A' } },
    ])
  })

  test('reads the index of what is unfinished, which holds no completed event', async () => {
    await fixture.database.pool.query(
      `insert into einmal_events (id, scope, source, kind, external_id, state, holder, first_arrived_at, last_arrived_at,
          started_at, finished_at)
        select gen_random_uuid(), $1, 'shop', 'bulk', 'bulk_' || n, 'completed', gen_random_uuid(), now(), now(), now(), now()
        from generate_series(1, 5000) as n`,
      [scope],
    )
    await abandoned('neither')
    await fixture.database.pool.query('vacuum analyze einmal_events')
    for (const { text, values } of [
      { text: fixture.here.db.register.leases.surrender.text, values: [scope, 10] },
      { text: fixture.here.db.register.leases.countDue.text, values: [scope, 10] },
      {
        text: fixture.here.db.register.leases.claim.text,
        values: [scope, randomUUID(), ['shop'], ['mail.send'], ['neither'], [1000]],
      },
    ]) {
      const { rows } = await fixture.database.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
      const plan = rows.map((line) => line['QUERY PLAN']).join('\n')
      expect(plan).toContain('einmal_events_due_idx')
      expect(plan).not.toContain('Seq Scan on einmal_events')
    }
    const { rows } = await fixture.database.pool.query<{ tuples: number }>(
      `select reltuples::int as tuples from pg_class where relname = 'einmal_events_due_idx'`,
    )
    expect(rows[0]?.tuples).toBeLessThan(100)
  })
})

async function all() {
  const { rows } = await fixture.database.pool.query('select * from einmal_events where scope = $1 order by id', [
    scope,
  ])
  return rows
}
