import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { attempt, failLeased, once, repeat, reserveLeased } from '../src/index.ts'
import { findNotes, findRows } from './support/leased.ts'
import { createRegisterFixture } from './support/register-fixture.ts'

const fixture = createRegisterFixture()
let ids = 0

const freshId = () => {
  ids += 1
  return `evt_${ids}`
}
const key = (id: string) => ({ scope: 'acme', source: 'shop', kind: 'label.print', id })
const wish = { author: 'anna', reason: 'the printer ate it' }

/** Every key that went out, as the target saw it. */
const sent: string[] = []
const print = {
  target: 'accepts_key',
  perform: async ({ idempotencyKey: text }: { idempotencyKey: string }) => {
    sent.push(text)
    return { answer: text }
  },
} as const

describe('doing a thing again on purpose', () => {
  test('is a new event with a key of its own; the copies of the first stay duplicates of the first', async () => {
    const id = freshId()
    const first = await attempt(fixture.here.db, key(id), print)
    const repeated = await repeat(fixture.here.db, key(id), wish)
    if (repeated.outcome !== 'opened') throw new Error(repeated.outcome)
    expect(repeated).toEqual({ outcome: 'opened', key: { ...key(id), generation: 2 }, generation: 2 })
    const second = await attempt(fixture.here.db, repeated.key, print)
    expect(second).toMatchObject({ outcome: 'done', attempt: 1, copies: 1 })
    expect(second.answer).not.toBe(first.answer)
    expect(await attempt(fixture.here.db, key(id), print)).toMatchObject({
      outcome: 'duplicate',
      answer: first.answer,
      copies: 2,
    })
    expect(await attempt(fixture.here.db, repeated.key, print)).toMatchObject({
      outcome: 'duplicate',
      answer: second.answer,
    })
    expect(sent.filter((text) => text.endsWith(id))).toEqual([first.answer, second.answer])
    expect(await findRows(fixture.database.pool, id)).toMatchObject([
      { kind: 'label.print', copies: 2 },
      { kind: 'label.print#2', copies: 2 },
    ])
  })

  test('is on record with author and reason, beside the first, which is not touched', async () => {
    const id = freshId()
    await attempt(fixture.here.db, key(id), print)
    const [before] = await findRows(fixture.database.pool, id)
    await repeat(fixture.here.db, key(id), wish)
    expect(await findRows(fixture.database.pool, id)).toEqual([before])
    expect(await findNotes(fixture.database.pool, id)).toMatchObject([
      { type: 'repeated', author: 'anna', note: 'the printer ate it', data: { generation: 2 } },
    ])
  })

  test('by ten people at once opens ten generations, and no two get one number', async () => {
    const id = freshId()
    await attempt(fixture.here.db, key(id), print)
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        repeat(fixture.here.db, key(id), { ...wish, author: `person ${index}` }),
      ),
    )
    const generations = all.map((each) => (each.outcome === 'opened' ? each.generation : 0))
    expect(generations.toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    const outcomes = await Promise.all(
      all.map((each) => attempt(fixture.here.db, each.outcome === 'opened' ? each.key : key(id), print)),
    )
    expect(outcomes.every(({ outcome }) => outcome === 'done')).toBe(true)
    expect(new Set(outcomes.map(({ answer }) => answer)).size).toBe(10)
  })

  test('with the same wish sent again is the same generation', async () => {
    const id = freshId()
    await attempt(fixture.here.db, key(id), print)
    const holder = randomUUID()
    const both = await Promise.all([1, 2].map(() => repeat(fixture.here.db, key(id), { ...wish, holder })))
    expect(both[1]).toEqual(both[0])
    expect(await repeat(fixture.here.db, key(id), { ...wish, holder })).toEqual(both[0])
    expect(await repeat(fixture.here.db, key(id), wish)).toMatchObject({ generation: 3 })
  })

  test('counts on from the first, whichever generation is named', async () => {
    const id = freshId()
    await attempt(fixture.here.db, key(id), print)
    const second = await repeat(fixture.here.db, key(id), wish)
    if (second.outcome !== 'opened') throw new Error(second.outcome)
    expect(await repeat(fixture.here.db, second.key, wish)).toMatchObject({
      key: { kind: 'label.print', generation: 3 },
    })
  })

  test('is refused for what is not done: there it is a retry or a decision, and nothing is opened', async () => {
    const id = freshId()
    expect(await repeat(fixture.here.db, key(id), wish)).toEqual({ outcome: 'not_found' })
    const reserved = await reserveLeased(fixture.here.db, key(id), { holder: randomUUID(), leaseMs: 60_000 })
    expect(await repeat(fixture.here.db, key(id), wish)).toEqual({ outcome: 'refused', state: 'in_progress' })
    if (reserved.verdict !== 'reserved') throw new Error(reserved.verdict)
    await failLeased(fixture.here.db, reserved.held, { code: 'x', message: '' }, { final: true })
    expect(await repeat(fixture.here.db, key(id), wish)).toEqual({ outcome: 'refused', state: 'failed' })
    expect(await findNotes(fixture.database.pool, id)).toEqual([])
  })

  test('is refused without an author or a reason', async () => {
    await expect(repeat(fixture.here.db, key('x'), { author: '', reason: 'y' })).rejects.toThrow(TypeError)
    await expect(repeat(fixture.here.db, key('x'), { author: 'x', reason: ' ' })).rejects.toThrow(TypeError)
  })

  test('works in one transaction, too', async () => {
    const id = freshId()
    const book = (note: string) => async (tx: pg.PoolClient) => {
      await tx.query('insert into effects (id, note) values ($1, $2)', [id, note])
      return { answer: note }
    }
    await once(fixture.here.db, key(id), book('first'))
    const repeated = await repeat(fixture.here.db, key(id), wish)
    if (repeated.outcome !== 'opened') throw new Error(repeated.outcome)
    expect(await once(fixture.here.db, repeated.key, book('second'))).toMatchObject({
      outcome: 'done',
      answer: 'second',
    })
    expect(await once(fixture.here.db, key(id), book('third'))).toMatchObject({ outcome: 'duplicate', answer: 'first' })
    const { rows } = await fixture.database.pool.query('select note from effects where id = $1 order by note', [id])
    expect(rows).toEqual([{ note: 'first' }, { note: 'second' }])
  })
})
