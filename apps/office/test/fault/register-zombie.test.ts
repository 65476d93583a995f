/**
 * Trap 1 on the register over HTTP: automation A reserves, is stopped past its lease, B takes over; then A goes on. Real
 * processes, SIGSTOP and SIGCONT. Judge is the target: what was done there, and then the register.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type OutsideTarget, startTarget } from '../../../../packages/einmal/test/support/target.ts'
import { type Automation, type AutomationOrder, runAutomation, startAutomation, workOf } from '../support/automation.ts'
import { createTestOffice, type TestOffice, type TestOrganization } from '../support/office.ts'
import { askedOnce, endLease, readAsked, readNotes, readWork, tell, until } from '../support/outside-work.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'

let office: TestOffice
let organization: TestOrganization
let pair: ServerPair
let targets: Record<AutomationOrder['target'], OutsideTarget>
let ids = 0
let sleepers: Automation[] = []

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Zombies')
  pair = await startServerPair(office)
  targets = {
    accepts_key: await startTarget('accepts_key'),
    searchable: await startTarget('searchable'),
    neither: await startTarget('neither'),
  }
})

// One that a failed test has left asleep would never end.
afterEach(() => {
  for (const automation of sleepers) automation.kill()
  sleepers = []
})

afterAll(async () => {
  await Promise.all(Object.values(targets).map((target) => target.close()))
  await pair.stop()
  await office.close()
})

/** A is stopped where it stands, and its lease is over. */
async function stopPastLease(capability: AutomationOrder['target'], more: Partial<AutomationOrder>) {
  ids += 1
  const id = `evt_${ids}`
  const target = targets[capability]
  const order = {
    ...{ serverUrl: pair.url(0), apiKey: organization.apiKey, targetUrl: target.url, target: capability, ids: [id] },
    fault: { point: 'done', signal: 'SIGSTOP' },
    ...more,
  } as const
  const a = await startAutomation(order)
  sleepers.push(a)
  a.go()
  await a.untilStopped()
  const row = () => readWork(office, organization, id)
  if (order.leaseSeconds === undefined) await endLease(office, organization, id)
  else await until(async () => (await row())?.state !== 'in_progress')
  const { serverUrl, fault, ending, ...asA } = order as AutomationOrder
  return {
    ...{ id, a, target, row },
    asB: async () => (await runAutomation({ ...asA, serverUrl: pair.url(1) }))[0],
    notes: async () => readNotes(pair.url(1), organization, (await row())?.id ?? ''),
  }
}

const lost = (state: string | null) => ({ status: 409, body: { code: 'lease_lost', state } })
const done = { reserved: { status: 201 }, words: [{ status: 200, body: { state: 'completed' } }] }

const endings = [
  { title: 'success', more: {}, late: 'late_completed' },
  { title: 'error', more: { ending: 'error' }, late: 'late_failed' },
  { title: 'heartbeat', more: { ending: 'heartbeat' }, late: 'late_completed' },
] as const

describe.each(endings)('trap 1: an automation that wakes up with a late $title', ({ title, more, late }) => {
  /** A heartbeat is told nothing but that it lost; whatever is said after it is kept. */
  const told = (state: string) => (title === 'heartbeat' ? [lost(null), lost(state)] : [lost(state)])

  test('after B took over with the same key: all is B’s, it is told it lost, and there is one effect', async () => {
    const { id, a, target, asB, row, notes } = await stopPastLease('accepts_key', more)
    expect(await asB()).toMatchObject({ ...done, reserved: { body: { attempt: 2, mustLookUp: false } } })
    const before = await row()
    a.resume()
    expect(await a.reports).toMatchObject([{ reserved: { body: { attempt: 1 } }, words: told('completed') }])
    expect(await row()).toEqual(before)
    expect(before).toMatchObject({ state: 'completed', attempt: 2, copies: 2 })
    expect(await notes()).toMatchObject([{ type: late, attempt: 1, data: { state: 'completed' } }])
    expect([target.effects(id), target.requests(id)]).toEqual([1, 2])
  })

  test('while B is at it: all stays B’s, it is told it lost, and there is one effect', async () => {
    const { id, a, target, row, notes } = await stopPastLease('accepts_key', more)
    const again = { ...workOf(id), target: 'accepts_key' }
    const reserved = await tell(pair.url(1), organization, 'reserve', again)
    expect(reserved).toMatchObject({ status: 201, body: { attempt: 2 } })
    const before = await row()
    a.resume()
    expect(await a.reports).toMatchObject([{ words: told('in_progress') }])
    expect(await row()).toEqual(before)
    expect(await notes()).toMatchObject([{ type: late, attempt: 1, data: { state: 'in_progress' } }])
    const completion = { token: reserved.body['token'], target: { type: 'label', id: 'B' } }
    expect(await tell(pair.url(0), organization, 'complete', completion)).toMatchObject({ status: 200 })
    expect(await row()).toMatchObject({ state: 'completed', attempt: 2, target_id: 'B' })
    expect(target.effects(id)).toBe(1)
  })

  test('after B took over and looked: all is B’s, it is told it lost, and there is one effect', async () => {
    const { id, a, target, asB, row, notes } = await stopPastLease('searchable', more)
    expect(await asB()).toMatchObject({ ...done, reserved: { body: { attempt: 2, mustLookUp: true } } })
    const before = await row()
    a.resume()
    expect(await a.reports).toMatchObject([{ words: told('completed') }])
    expect(await row()).toEqual(before)
    expect(await notes()).toMatchObject([{ type: late, attempt: 1 }])
    expect([target.effects(id), target.requests(id)]).toEqual([1, 1])
  })

  test('after B found out nothing: it stays unknown with one effect, its word is kept, and a person decides', async () => {
    const { id, a, target, asB, row, notes } = await stopPastLease('neither', more)
    expect(await asB()).toMatchObject({ reserved: { status: 409, body: { code: 'outcome_unknown' } }, words: [] })
    const before = await row()
    expect(before).toMatchObject({ state: 'unknown', attempt: 1, error_code: 'no_word' })
    a.resume()
    expect(await a.reports).toMatchObject([{ words: told('unknown') }])
    expect(await row()).toEqual(before)
    const kept = title === 'error' ? {} : { data: { state: 'unknown', targetType: 'effect' } }
    expect(await notes()).toMatchObject([{ type: late, attempt: 1, ...kept }])
    expect(await readAsked(office, organization, id)).toEqual([askedOnce('unknown')])
    const decision = { key: workOf(id), outcome: 'completed', note: 'the word of the late one says so' }
    expect(await tell(pair.url(1), organization, 'resolve', decision)).toMatchObject({ status: 200 })
    expect(await asB()).toMatchObject({ reserved: { status: 200, body: { duplicate: true } }, words: [] })
    expect([target.effects(id), target.requests(id)]).toEqual([1, 1])
  })
})

test('trap 1: a lease that lapses by itself is found by the servers’ own workers; the zombie has lost all the same', async () => {
  const { id, a, target, row, notes } = await stopPastLease('neither', { leaseSeconds: 1 })
  expect(await row()).toMatchObject({ state: 'unknown', error_code: 'no_word' })
  a.resume()
  expect(await a.reports).toMatchObject([{ words: [lost('unknown')] }])
  expect(await notes()).toMatchObject([{ type: 'late_completed', attempt: 1 }])
  expect(await readAsked(office, organization, id)).toEqual([askedOnce('unknown')])
  expect(target.effects(id)).toBe(1)
})

test('trap 1: a lease that has ended and that nobody took is still its holder’s: its late success counts', async () => {
  const { id, a, target, row, notes } = await stopPastLease('accepts_key', {})
  a.resume()
  expect(await a.reports).toMatchObject([done])
  expect(await row()).toMatchObject({ state: 'completed', attempt: 1 })
  expect(await notes()).toEqual([])
  expect(target.effects(id)).toBe(1)
})
