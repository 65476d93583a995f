/**
 * Trap 1: A reserves, is stopped past its lease, B takes over; then A goes on. Real processes, SIGSTOP and SIGCONT. Judge is
 * the target: what was done there, and then the register.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attempt, resolve } from '../../src/index.ts'
import { type ChildOrder, keyOfChild, startChild } from '../support/attempt-child.ts'
import { findLeasedRow, findNotes, untilLeaseEnded } from '../support/leased.ts'
import { createRegisterFixture } from '../support/register-fixture.ts'
import { performAt, startTargets, type Targets } from '../support/target.ts'

const fixture = createRegisterFixture()
let targets: Targets
let ids = 0

beforeAll(async () => {
  targets = await startTargets()
})

afterAll(() => targets.close())

type Capability = ChildOrder['capability']

/** A is stopped and its lease has ended by the database's clock. */
async function stopPastLease(capability: Capability, more: Partial<ChildOrder>) {
  ids += 1
  const id = `evt_${ids}`
  const target = targets[capability]
  const child = await startChild({
    ...{ databaseUrl: fixture.database.url, targetUrl: target.url, capability, id, leaseMs: 1_000 },
    fault: { point: 'request.sent', signal: 'SIGSTOP' },
    ...more,
  })
  child.go()
  await child.untilStopped()
  await untilLeaseEnded(fixture.database.pool, id)
  const asB = () => attempt(fixture.here.db, keyOfChild(id), performAt(target.url, capability))
  return {
    id,
    child,
    target,
    asB,
    row: () => findLeasedRow(fixture.database.pool, id),
    notes: () => findNotes(fixture.database.pool, id),
  }
}

const endings: [string, Partial<ChildOrder>, string][] = [
  ['success', {}, 'late_completed'],
  ['error', { ending: 'error' }, 'late_failed'],
  ['heartbeat', { ending: 'wait for the signal' }, 'late_completed'],
]

describe.each(endings)('trap 1: a stopped process that wakes up with a late %s', (ending, more, late) => {
  test('after B took over with the same key: all is B’s, it is told it lost, and there is one effect', async () => {
    const { id, child, target, asB, row, notes } = await stopPastLease('accepts_key', more)
    const b = await asB()
    expect(b).toMatchObject({ outcome: 'done', isFound: false, attempt: 2 })
    const before = await row()
    child.resume()
    expect(await child.outcomes).toMatchObject([{ outcome: 'lost', attempt: 1 }])
    expect(await row()).toEqual(before)
    expect(before).toMatchObject({ state: 'completed', attempt: 2, answer: b.answer })
    expect(await notes()).toMatchObject([{ type: late, attempt: 1, data: { state: 'completed' } }])
    expect([target.effects(id), target.requests(id)]).toEqual([1, 2])
  })

  test('after B took over and looked: all is B’s, it is told it lost, and there is one effect', async () => {
    const { id, child, target, asB, row, notes } = await stopPastLease('searchable', more)
    expect(await asB()).toMatchObject({ outcome: 'done', isFound: true, attempt: 2 })
    const before = await row()
    child.resume()
    expect(await child.outcomes).toMatchObject([{ outcome: 'lost' }])
    expect(await row()).toEqual(before)
    expect(await notes()).toMatchObject([{ type: late, attempt: 1 }])
    expect([target.effects(id), target.requests(id)]).toEqual([1, 1])
  })

  test('after B found out nothing: it stays unknown with one effect, and a person decides', async () => {
    const { id, child, target, asB, row, notes } = await stopPastLease('neither', more)
    expect(await asB()).toMatchObject({ outcome: 'unknown' })
    const before = await row()
    expect(before).toMatchObject({ state: 'unknown', error_code: 'no_word' })
    child.resume()
    expect(await child.outcomes).toMatchObject([{ outcome: 'lost' }])
    expect(await row()).toEqual(before)
    const kept =
      ending === 'error' ? { type: 'late_unknown' } : { type: 'late_completed', data: { targetType: 'effect' } }
    expect(await notes()).toMatchObject([kept])
    expect(await asB()).toMatchObject({ outcome: 'unknown' })
    expect(target.effects(id)).toBe(1)
    const decision = { outcome: 'completed', author: 'anna', note: 'the note of the late one says so' } as const
    expect(await resolve(fixture.here.db, keyOfChild(id), decision)).toMatchObject({ outcome: 'resolved' })
    expect(await asB()).toMatchObject({ outcome: 'duplicate' })
  })
})

describe('trap 1: a process that was stopped before it sent anything', () => {
  test.each(['accepts_key', 'searchable'] as const)(
    'sends nothing when it wakes up, whatever the target is: %s',
    async (capability) => {
      const fault = { point: 'attempt.beforePerform', signal: 'SIGSTOP' } as const
      const { id, child, target, asB, row } = await stopPastLease(capability, { fault })
      expect(await asB()).toMatchObject({ outcome: 'done', isFound: false, attempt: 2 })
      const before = await row()
      child.resume()
      expect(await child.outcomes).toMatchObject([{ outcome: 'lost', attempt: 1 }])
      expect(await row()).toEqual(before)
      expect([target.effects(id), target.requests(id)]).toEqual([1, 1])
    },
  )

  test('sends nothing either where nobody took over: its own count says that the lease is over', async () => {
    const fault = { point: 'attempt.beforePerform', signal: 'SIGSTOP' } as const
    const { id, child, target, row } = await stopPastLease('neither', { fault })
    child.resume()
    expect(await child.outcomes).toMatchObject([{ outcome: 'failed', error: { code: 'NotSentError' } }])
    expect(await row()).toMatchObject({ state: 'failed', attempt: 1 })
    expect(target.requests(id)).toBe(0)
  })
})
