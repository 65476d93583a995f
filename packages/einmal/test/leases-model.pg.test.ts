/**
 * Random calls of several holders on a few events, against a model of thirty lines: after each call the answer and the row
 * must be those of the model. Leases end and failures come due when the plan says so.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  completeLeased,
  type EventState,
  failLeased,
  type Held,
  heartbeat,
  markUnknown,
  reserveLeased,
  resolve,
  sweep,
  type TargetCapability,
} from '../src/index.ts'
import { createRandom } from '../src/testing/random.ts'
import { endLease, findLeasedRow, makeDue } from './support/leased.ts'
import { chooseSeed } from './support/random.ts'
import { createRegisterFixture } from './support/register-fixture.ts'

const fixture = createRegisterFixture()

interface Model {
  state: EventState | 'absent'
  attempt: number
  holder: string
  capability: TargetCapability
  isEnded: boolean
  isDue: boolean
  isFinal: boolean
}

const capabilities = ['accepts_key', 'searchable', 'neither'] as const

function mayFollow(earlier: TargetCapability, state: Model['state'], next: TargetCapability): boolean {
  if (earlier === 'neither') return state === 'failed'
  return next === 'searchable' || (next === 'accepts_key' && earlier === 'accepts_key')
}

function modelReserve(model: Model, holder: string, next: TargetCapability): string {
  const isOpen = (model.state === 'in_progress' && model.isEnded) || (model.state === 'failed' && model.isDue)
  if (model.state === 'absent' || (isOpen && mayFollow(model.capability, model.state, next))) {
    const attempt = model.state === 'absent' ? 1 : model.attempt + 1
    Object.assign(model, { state: 'in_progress', attempt, holder, capability: next, isEnded: false })
    return 'reserved'
  }
  if (isOpen) model.state = 'unknown'
  return model.state === 'completed' ? 'duplicate' : model.state
}

function modelFinish(model: Model, held: Held, state: EventState, more: Partial<Model> = {}): boolean {
  if (model.state !== 'in_progress' || model.holder !== held.holder || model.attempt !== held.attempt) return false
  Object.assign(model, { state, isDue: false, isFinal: false, ...more })
  return true
}

const error = { code: 'x', message: '' }

test('any order of calls by any holders leaves the register as the model says, and answers so', async () => {
  const random = createRandom(chooseSeed())
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  for (let round = 0; round < 120; round += 1) {
    const id = `evt_${round}`
    const key = { scope: `scope-${round}`, source: 'shop', kind: 'mail.send', id }
    const model: Model = {
      ...{ state: 'absent', attempt: 0, holder: '', capability: 'neither' },
      ...{ isEnded: false, isDue: false, isFinal: false },
    }
    const tokens: Held[] = []
    const said: string[] = []

    const steps: Record<string, () => Promise<void>> = {
      async reserve() {
        const [holder, target] = [randomUUID(), pick(capabilities)]
        const found = await reserveLeased(fixture.here.db, key, { holder, target, leaseMs: 60_000 })
        expect(found.verdict).toBe(modelReserve(model, holder, target))
        if (found.verdict !== 'reserved') return
        expect(found.mustLookUp).toBe(target === 'searchable' && model.attempt > 1)
        tokens.push(found.held)
      },
      async heartbeat() {
        const held = pick(tokens)
        const isMine = model.holder === held.holder && model.attempt === held.attempt
        const isAlive = model.state === 'in_progress' && !model.isEnded
        expect((await heartbeat(fixture.here.db, held, { leaseMs: 60_000 })).outcome).toBe(
          isMine && isAlive ? 'held' : 'lost',
        )
      },
      async complete() {
        const held = pick(tokens)
        const before = { ...model }
        const counts = modelFinish(model, held, 'completed')
        const isSame = before.state === 'completed' && before.holder === held.holder && before.attempt === held.attempt
        expect((await completeLeased(fixture.here.db, held)).outcome).toBe(counts || isSame ? 'done' : 'lost')
      },
      async fail() {
        const [held, isFinal, isDue] = [pick(tokens), random() < 0.2, random() < 0.5]
        const before = { ...model }
        const counts = modelFinish(model, held, 'failed', { isFinal, isDue: isDue && !isFinal })
        const isOwn = before.state === 'failed' && before.holder === held.holder && before.attempt === held.attempt
        const isSame = isOwn && before.isFinal === isFinal
        const failed = await failLeased(fixture.here.db, held, error, {
          final: isFinal,
          retryAfterMs: isDue ? 0 : 60_000,
        })
        expect(failed.outcome).toBe(counts || isSame ? 'failed' : 'lost')
      },
      async unknown() {
        const held = pick(tokens)
        const before = { ...model }
        const counts = modelFinish(model, held, 'unknown')
        const found = await markUnknown(fixture.here.db, held)
        if (before.state !== 'unknown') expect(found.outcome).toBe(counts ? 'unknown' : 'lost')
      },
      async resolve() {
        const outcome = pick(['completed', 'failed', 'retry'] as const)
        const isOpen = ['unknown', 'failed'].includes(model.state) || (model.state === 'in_progress' && model.isEnded)
        const resolved = await resolve(fixture.here.db, key, { outcome, author: 'anna', note: 'looked' })
        expect(resolved.outcome).toBe(model.state === 'absent' ? 'not_found' : isOpen ? 'resolved' : 'refused')
        if (!isOpen) return
        const state = outcome === 'completed' ? 'completed' : 'failed'
        Object.assign(model, { state, holder: '', isDue: outcome === 'retry', isFinal: outcome === 'failed' })
      },
      async end() {
        if (model.state !== 'in_progress') return
        await endLease(fixture.database.pool, id)
        model.isEnded = true
      },
      async due() {
        if (model.state !== 'failed' || model.isFinal) return
        await makeDue(fixture.database.pool, id)
        model.isDue = true
      },
      async sweep() {
        const surrenders = model.state === 'in_progress' && model.isEnded && model.capability === 'neither'
        if (surrenders) model.state = 'unknown'
        const isOpen = (model.state === 'in_progress' && model.isEnded) || (model.state === 'failed' && model.isDue)
        const report = await sweep(fixture.here.db, key.scope)
        expect([report.unknown.length, report.due]).toEqual([surrenders ? 1 : 0, isOpen ? 1 : 0])
      },
    }
    for (let count = 0; count < 30; count += 1) {
      const name = tokens.length === 0 ? 'reserve' : pick([...Object.keys(steps), 'reserve', 'end', 'due'])
      said.push(name)
      await steps[name]?.()
      const row = await findLeasedRow(fixture.database.pool, id)
      const { state, attempt, isFinal } = model
      expect({ said, state: row?.state, attempt: row?.attempt, isFinal: row?.is_final }).toEqual({
        ...{ said, state, attempt, isFinal: state === 'failed' && isFinal },
      })
    }
  }
})
