/**
 * The four tests that cover the typical faults, on the register over HTTP and on three kinds of target. Automations are
 * processes of their own, the register is two servers. Judge is the target: one effect, or one at most and `unknown` with a
 * person to ask.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OutsideTarget, startTarget } from '../../../../packages/einmal/test/support/target.ts'
import {
  type AutomationOrder,
  type AutomationReport,
  runAutomation,
  startAutomation,
  workOf,
} from '../support/automation.ts'
import { createTestOffice, type TestOffice, type TestOrganization } from '../support/office.ts'
import { askedOnce, endLease, readAsked, readWork, tell } from '../support/outside-work.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'

let office: TestOffice
let organization: TestOrganization
let pair: ServerPair
let runs = 0

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Labels')
  pair = await startServerPair(office)
})

afterAll(async () => {
  await pair.stop()
  await office.close()
})

const done = { reserved: { status: 201 }, words: [{ status: 200, body: { state: 'completed' } }] }
const copy = { reserved: { status: 200, body: { state: 'completed', duplicate: true } }, words: [] }
const notAgain = { reserved: { status: 409, body: { code: 'outcome_unknown' } }, words: [] }

describe.each(['accepts_key', 'searchable', 'neither'] as const)('an automation whose target is %s', (capability) => {
  let target: OutsideTarget

  beforeAll(async () => {
    target = await startTarget(capability)
  })

  afterAll(() => target.close())

  const row = (id: string) => readWork(office, organization, id)

  /** Each run goes to the other server than the one before it. */
  function order(id: string, more: Partial<AutomationOrder> = {}): AutomationOrder {
    runs += 1
    const { apiKey } = organization
    return { serverUrl: pair.url(runs), apiKey, targetUrl: target.url, target: capability, ids: [id], ...more }
  }

  async function run(id: string, more: Partial<AutomationOrder> = {}): Promise<AutomationReport | undefined> {
    const [report] = await runAutomation(order(id, more))
    return report
  }

  /** Nobody knows: it is not done again, whatever comes; a person is asked once, and says how it ended. */
  async function expectPerson(id: string, outcome: 'completed' | 'retry'): Promise<void> {
    const effects = target.effects(id)
    expect(await run(id)).toMatchObject(notAgain)
    expect(await run(id)).toMatchObject(notAgain)
    expect(target.effects(id)).toBe(effects)
    expect(await row(id)).toMatchObject({ state: 'unknown', attempt: 1 })
    expect(await readAsked(office, organization, id)).toEqual([askedOnce('unknown')])
    const decision = { key: workOf(id), outcome, note: 'asked them on the phone' }
    expect(await tell(pair.url(runs), organization, 'resolve', decision)).toMatchObject({ status: 200 })
    const decided = { state: 'decided', decision: `resolved_as_${outcome}` }
    expect(await readAsked(office, organization, id)).toEqual([{ ...askedOnce('unknown'), ...decided }])
  }

  test('direct repetition: the same event twice is one effect, and the second is told the first’s', async () => {
    const id = `twice-${capability}`
    expect(await run(id)).toMatchObject(done)
    const first = await row(id)
    const again = await run(id)
    expect(again).toMatchObject(copy)
    expect(again?.reserved.body).toMatchObject({
      target: { type: 'effect', id: '1' },
      answer: { number: 1 },
      copies: 2,
    })
    expect([target.effects(id), target.requests(id)]).toEqual([1, 1])
    expect(await row(id)).toEqual({ ...first, copies: 2 })
  })

  test('parallel start: of two runs at once one reserves, the other is told so and does nothing', async () => {
    const id = `parallel-${capability}`
    const both = [await startAutomation(order(id)), await startAutomation(order(id))]
    const held = target.holdNext()
    for (const automation of both) automation.go()
    const { answer } = await held
    const loser = await Promise.race(both.map(({ reports }) => reports))
    const busy = { status: 409, body: { code: 'in_progress', state: 'in_progress', attempt: 1 } }
    expect(loser).toMatchObject([{ reserved: busy, words: [] }])
    answer()
    const all = (await Promise.all(both.map(({ reports }) => reports))).flat()
    expect(all.filter(({ words }) => words.length > 0)).toMatchObject([done])
    expect([target.effects(id), target.requests(id)]).toEqual([1, 1])
    expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1, copies: 2 })
  })

  test('failure before the target action: nobody else gets it while the lease lives, and then it may be repeated', async () => {
    const id = `before-${capability}`
    expect(await run(id, { fault: { point: 'reserved', signal: 'SIGKILL' } })).toBeUndefined()
    expect(await run(id)).toMatchObject({ reserved: { status: 409, body: { code: 'in_progress' } } })
    expect(target.requests(id)).toBe(0)
    await endLease(office, organization, id)
    if (capability === 'neither') await expectPerson(id, 'retry')
    expect(await run(id)).toMatchObject(done)
    expect(await run(id)).toMatchObject(copy)
    expect([target.effects(id), target.requests(id)]).toEqual([1, 1])
    expect(await row(id)).toMatchObject({ state: 'completed', attempt: 2 })
  })

  test('failure after the target action: its answer is lost, and there is no second one', async () => {
    const id = `after-${capability}`
    target.loseAnswers(1)
    const word = { accepts_key: 'failed', searchable: 'completed', neither: 'unknown' }[capability]
    expect(await run(id)).toMatchObject({ reserved: { status: 201 }, words: [{ status: 200, body: { state: word } }] })
    if (capability === 'neither') await expectPerson(id, 'completed')
    if (capability === 'accepts_key') expect(await run(id)).toMatchObject(done)
    expect(await run(id)).toMatchObject(copy)
    expect(target.effects(id)).toBe(1)
    expect(await row(id)).toMatchObject({ state: 'completed' })
  })

  test('failure after the target action: the automation is killed, and there is no second one', async () => {
    const id = `killed-${capability}`
    expect(await run(id, { fault: { point: 'done', signal: 'SIGKILL' } })).toBeUndefined()
    expect(target.effects(id)).toBe(1)
    await endLease(office, organization, id)
    if (capability === 'neither') await expectPerson(id, 'completed')
    else expect(await run(id)).toMatchObject(done)
    expect(await run(id)).toMatchObject(copy)
    expect([target.effects(id), target.requests(id)]).toEqual([1, capability === 'accepts_key' ? 2 : 1])
    expect(await row(id)).toMatchObject({ state: 'completed' })
  })
})
