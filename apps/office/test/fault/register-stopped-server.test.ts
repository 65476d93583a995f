/**
 * Traps 1 and 2 with a server as the zombie: a request lies in a server that is stopped, its sender has gone to another one
 * meanwhile, and when all is over the server goes on and does what it was asked.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { workOf } from '../support/automation.ts'
import {
  createTestOffice,
  startServer,
  type TestOffice,
  type TestOrganization,
  type TestServer,
} from '../support/office.ts'
import { endLease, readNotes, readWork, tell } from '../support/outside-work.ts'

let office: TestOffice
let organization: TestOrganization
let stopped: TestServer
let other: TestServer

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Stopped')
  stopped = await startServer(office)
  other = await startServer(office)
})

afterAll(async () => {
  stopped.process.kill('SIGCONT')
  await stopped.stop()
  await other.stop()
  await office.close()
})

const row = (id: string) => readWork(office, organization, id)
const say = (word: string, body: object, key?: string) => tell(other.url, organization, word, body, key)

/** Stops the server and leaves a request with it. The answer comes when it goes on. */
function leaveWithStopped(word: string, body: object, key?: string) {
  stopped.process.kill('SIGSTOP')
  const answer = tell(stopped.url, organization, word, body, key)
  return () => {
    stopped.process.kill('SIGCONT')
    return answer
  }
}

test('a reservation that a stopped server makes late is the one that its sender has meanwhile, and no copy', async () => {
  const id = 'late-reservation'
  const goOn = leaveWithStopped('reserve', workOf(id), 'run')
  const mine = await say('reserve', workOf(id), 'run')
  expect(mine).toMatchObject({ status: 201, body: { attempt: 1, copies: 1 } })
  expect(await say('complete', { token: mine.body['token'], answer: 'done' })).toMatchObject({ status: 200 })
  const before = await row(id)
  expect(await goOn()).toMatchObject({ status: 200, body: { duplicate: true, answer: 'done', copies: 1 } })
  expect(await row(id)).toEqual(before)
})

test('a completion that a stopped server writes late changes nothing that another one did meanwhile, and is kept', async () => {
  const id = 'late-completion'
  const work = { ...workOf(id), target: 'accepts_key' }
  const first = await say('reserve', work)
  const { token, eventId } = first.body
  const goOn = leaveWithStopped('complete', { token, target: { type: 'label', id: 'A' } })
  await endLease(office, organization, id)
  const second = await say('reserve', work)
  expect(second).toMatchObject({ status: 201, body: { attempt: 2 } })
  const completion = { token: second.body['token'], target: { type: 'label', id: 'B' } }
  expect(await say('complete', completion)).toMatchObject({ status: 200 })
  const before = await row(id)
  expect(await goOn()).toMatchObject({ status: 409, body: { code: 'lease_lost', state: 'completed' } })
  expect(await row(id)).toEqual(before)
  expect(before).toMatchObject({ state: 'completed', attempt: 2, target_id: 'B' })
  const late = { type: 'late_completed', attempt: 1, data: { targetId: 'A', state: 'completed' } }
  expect(await readNotes(other.url, organization, String(eventId))).toMatchObject([late])
})

test('a completion that its sender has said again elsewhere is the same word, and nothing is kept as late', async () => {
  const id = 'said-elsewhere'
  const { token, eventId } = (await say('reserve', workOf(id))).body
  const completion = { token, target: { type: 'label', id: 'A' } }
  const goOn = leaveWithStopped('complete', completion)
  const said = await say('complete', completion)
  expect(said.status).toBe(200)
  const before = await row(id)
  expect(await goOn()).toMatchObject({ status: 200, body: said.body })
  expect(await row(id)).toEqual(before)
  expect(await readNotes(other.url, organization, String(eventId))).toEqual([])
})
