/**
 * Trap 2 on the register over HTTP: the gap between the effect and the word of it. The automation is killed at every point of
 * its way, a server at every point of its own, and every answer is lost once. Judge is the target, and then the register.
 */
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type OutsideTarget, startTarget } from '../../../../packages/einmal/test/support/target.ts'
import { faultPoints } from '../../src/platform/fault-points.ts'
import {
  type AutomationOrder,
  automationPoints,
  runAutomation,
  startAutomation,
  workOf,
} from '../support/automation.ts'
import type { Answer } from '../support/entrances.ts'
import {
  createTestOffice,
  makeApiKey,
  startServer,
  type TestOffice,
  type TestOrganization,
  type TestServer,
} from '../support/office.ts'
import { askedOnce, endLease, readAsked, readNotes, readWork, tell } from '../support/outside-work.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'

let office: TestOffice
let organization: TestOrganization
let pair: ServerPair
const armed: TestServer[] = []

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Gaps')
  pair = await startServerPair(office)
})

afterEach(async () => {
  for (const server of armed.splice(0)) await server.stop()
})

afterAll(async () => {
  await pair.stop()
  await office.close()
})

const row = (id: string) => readWork(office, organization, id)
const asked = (id: string) => readAsked(office, organization, id)
const say = (word: string, body: unknown, key?: string) => tell(pair.url(1), organization, word, body, key)

describe.each(['accepts_key', 'searchable', 'neither'] as const)('on a target that is %s', (capability) => {
  let target: OutsideTarget

  beforeAll(async () => {
    target = await startTarget(capability)
  })

  afterAll(() => target.close())

  const order = (id: string, more: Partial<AutomationOrder> = {}): AutomationOrder => ({
    ...{ serverUrl: pair.url(0), apiKey: organization.apiKey, targetUrl: target.url, target: capability, ids: [id] },
    ...more,
  })

  /** What has to be there after everything: the effect once, or nobody knows and a person is asked. */
  async function expectOnce(id: string): Promise<void> {
    if ((await row(id))?.state === 'in_progress') await endLease(office, organization, id)
    await runAutomation(order(id, { serverUrl: pair.url(1) }))
    expect(target.effects(id)).toBeLessThanOrEqual(1)
    if ((await row(id))?.state === 'unknown') {
      expect(capability).toBe('neither')
      expect(await asked(id)).toEqual([askedOnce('unknown')])
    } else {
      expect(await row(id)).toMatchObject({ state: 'completed' })
      expect(target.effects(id)).toBe(1)
    }
  }

  test.each(automationPoints)(
    'trap 2: killed when it is %s, the next run brings it to an end: once, or unknown',
    async (point) => {
      const id = `killed-${point}-${capability}`
      const reports = await runAutomation(order(id, { fault: { point, signal: 'SIGKILL' } }))
      expect(reports).toEqual([])
      await expectOnce(id)
      const isUnknown = capability === 'neither' && point !== 'said'
      expect((await row(id))?.state).toBe(isUnknown ? 'unknown' : 'completed')
    },
  )

  test('trap 2: killed while the target is at it, the next run brings it to an end: once, or unknown', async () => {
    const id = `killed-at-it-${capability}`
    const held = target.holdNext()
    const automation = await startAutomation(order(id))
    automation.go()
    const { answer } = await held
    automation.kill()
    expect(await automation.reports).toEqual([])
    answer()
    await expectOnce(id)
    expect((await row(id))?.state).toBe(capability === 'neither' ? 'unknown' : 'completed')
  })
})

async function start(fault: string): Promise<TestServer> {
  const server = await startServer(office, { fault })
  armed.push(server)
  return server
}

/** Says it to a server that dies of it, or answers that it failed. */
async function sayInVain(fault: string, word: string, body: unknown, key?: string): Promise<void> {
  const server = await start(fault)
  if (fault.endsWith('throw')) {
    expect(await tell(server.url, organization, word, body, key)).toMatchObject({
      status: 500,
      body: { code: 'internal' },
    })
    return
  }
  const ended = once(server.process, 'exit')
  await expect(tell(server.url, organization, word, body, key)).rejects.toThrow()
  expect(await ended).toEqual([null, 'SIGKILL'])
}

const registerPoints = faultPoints.filter((point) => point.startsWith('register.'))
const reservingPoints = registerPoints.filter((point) => point.endsWith('Reserved'))
const wordPoints = registerPoints.filter((point) => !reservingPoints.includes(point))

describe.each(reservingPoints)('trap 2: a reservation, and its server at %s', (point) => {
  const isReserved = point === 'register.afterReserved'

  test.each(['kill', 'throw'])(
    '%s: asked again under its Idempotency-Key, it is the same one and no copy',
    async (action) => {
      const id = `${point}-${action}`
      await sayInVain(`${point}:${action}`, 'reserve', workOf(id), `run of ${id}`)
      const before = await row(id)
      expect(before?.state).toBe(isReserved ? 'in_progress' : undefined)
      // Another run is not the holder.
      if (isReserved)
        expect(await say('reserve', workOf(id))).toMatchObject({ status: 409, body: { code: 'in_progress' } })

      const again = await say('reserve', workOf(id), `run of ${id}`)

      expect(again).toMatchObject({ status: 201, body: { attempt: 1, copies: isReserved ? 2 : 1 } })
      if (isReserved) expect(again.body['eventId']).toBe(before?.id)
      const { token } = again.body
      expect(await say('complete', { token })).toMatchObject({ status: 200 })
      expect(await say('reserve', workOf(id), `run of ${id}`)).toMatchObject({ status: 200, body: { duplicate: true } })
    },
  )

  test('kill: what nobody can know is unknown with its question, or neither is there', async () => {
    const id = `${point}-unknown`
    expect(await say('reserve', workOf(id))).toMatchObject({ status: 201 })
    await endLease(office, organization, id)
    await sayInVain(`${point}:kill`, 'reserve', workOf(id))
    expect(await row(id)).toMatchObject({ state: isReserved ? 'unknown' : 'in_progress', attempt: 1 })
    expect(await asked(id)).toEqual(isReserved ? [askedOnce('unknown')] : [])
    expect(await say('reserve', workOf(id))).toMatchObject({ status: 409, body: { code: 'outcome_unknown' } })
    expect(await asked(id)).toEqual([askedOnce('unknown')])
  })

  test('kill: without an Idempotency-Key nobody is the holder, and the lease brings it to an end', async () => {
    const id = `${point}-nameless`
    const work = { ...workOf(id), target: 'accepts_key' }
    await sayInVain(`${point}:kill`, 'reserve', work)
    if (isReserved) {
      expect(await say('reserve', work)).toMatchObject({ status: 409, body: { code: 'in_progress' } })
      await endLease(office, organization, id)
    }
    expect(await say('reserve', work)).toMatchObject({ status: 201, body: { attempt: isReserved ? 2 : 1 } })
  })
})

const words: { word: string; said: Record<string, unknown>; ended: Record<string, unknown>; asked: string | null }[] = [
  {
    word: 'complete',
    said: { target: { type: 'label', id: 'L-1' } },
    ended: { state: 'completed', target_id: 'L-1' },
    asked: null,
  },
  { word: 'fail', said: { error: { code: 'jam' } }, ended: { state: 'failed', error_code: 'jam' }, asked: null },
  {
    word: 'fail',
    said: { error: { code: 'jam' }, final: true },
    ended: { state: 'failed', error_code: 'jam' },
    asked: 'given_up',
  },
  {
    word: 'unknown',
    said: { note: 'timed out' },
    ended: { state: 'unknown', error_code: 'outcome_unknown' },
    asked: 'unknown',
  },
]

describe.each(words)('trap 2: the word $word $said', ({ word, said, ended, asked: kind }) => {
  test.each(
    wordPoints.flatMap((point) => (word === 'complete' ? [`${point}:kill`, `${point}:throw`] : [`${point}:kill`])),
  )(
    'and its server at %s: said again it is the same word, with its question once, and nothing is kept as late',
    async (fault) => {
      const id = `${word}-${kind}-${fault}`
      const isWritten = fault.startsWith('register.afterWord')
      const reserved = await say('reserve', workOf(id))
      const { token, eventId } = reserved.body
      await sayInVain(fault, word, { token, ...said })
      expect(await row(id)).toMatchObject(isWritten ? ended : { state: 'in_progress', error_code: null })
      const items = kind === null ? [] : [askedOnce(kind)]
      expect(await asked(id)).toEqual(isWritten ? items : [])

      const first = await say(word, { token, ...said })
      const second = await say(word, { token, ...said })

      expect(first).toMatchObject({ status: 200, body: { eventId } })
      expect(second.body).toEqual(first.body)
      expect(await row(id)).toMatchObject({ ...ended, attempt: 1 })
      expect(await asked(id)).toEqual(items)
      const late = (await readNotes(pair.url(0), organization, String(eventId))).filter(({ type }) =>
        String(type).startsWith('late'),
      )
      expect(late).toEqual([])
    },
  )
})

test('trap 2: of the same Idempotency-Key another program, another thing and another content are no holder', async () => {
  const id = 'whose-run'
  const apiKey = await makeApiKey(office, organization.organizationId, 'other')
  const first = await say('reserve', { ...workOf(id), content: { amount: 10 } }, 'run-1')
  expect(first).toMatchObject({ status: 201, body: { attempt: 1 } })
  const asOther = (body: unknown): Promise<Answer> =>
    tell(pair.url(0), { ...organization, apiKey }, 'reserve', body, 'run-1')
  const busy = { status: 409, body: { code: 'in_progress' } }
  expect(await asOther({ ...workOf(id), content: { amount: 10 } })).toMatchObject(busy)
  expect(await say('reserve', { ...workOf(id), content: { amount: 10 } }, 'run-2')).toMatchObject(busy)
  expect(await say('reserve', { ...workOf(id), content: { amount: 11 } }, 'run-1')).toMatchObject({ status: 422 })
  expect(await say('reserve', workOf('whose-other-run'), 'run-1')).toMatchObject({ status: 201, body: { attempt: 1 } })
  // The order of members is no other request.
  const mixed = { content: { amount: 10 }, ...workOf(id) }
  expect(await say('reserve', mixed, 'run-1')).toMatchObject({
    status: 201,
    body: { eventId: first.body['eventId'], copies: 4 },
  })
})
