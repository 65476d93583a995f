/**
 * Traps 8 and 10 on the register, and its worker: what falls silent is asked about once, whoever finds it and whoever dies over
 * it, and never left behind. Judge are the desk and what each member was told.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { goOnWithDueWork, type WorkParts } from '../../src/modules/register/index.ts'
import type { Db } from '../../src/platform/database.ts'
import { workOnce } from '../../src/worker/index.ts'
import { workOf } from '../support/automation.ts'
import { createInProcessApp, type InProcessApp } from '../support/in-process-app.ts'
import { createTestOffice, type TestOffice, type TestOrganization } from '../support/office.ts'
import {
  askedOnce,
  endLease,
  makeDue,
  readAsked,
  readNotes,
  readOpenItemId,
  readWork,
  tell,
  until,
  untilWaiting,
} from '../support/outside-work.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'
import { callApi, times } from '../support/storm.ts'

let office: TestOffice
let organization: TestOrganization

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Desks')
})

afterAll(() => office.close())

const row = (id: string) => readWork(office, organization, id)
const asked = (id: string) => readAsked(office, organization, id)

describe('with two servers and their workers', () => {
  let pair: ServerPair

  beforeAll(async () => {
    pair = await startServerPair(office)
  })

  afterAll(() => pair.stop())

  const reserve = (id: string, more: object = {}, index = 0) =>
    tell(pair.url(index), organization, 'reserve', { ...workOf(id), ...more })

  test('trap 8: 40 things that fell silent, found at once by workers of four processes and by arrivals: each asked once', async () => {
    const ids = times(40, (index) => `silent-${index}`)
    for (const id of ids) expect(await reserve(id)).toMatchObject({ status: 201 })
    for (const id of ids) await endLease(office, organization, id)
    await makeDue(office, organization)
    const { organizationId } = organization
    const found = await Promise.all([
      ...ids.map((id, index) => reserve(id, {}, index)),
      goOnWithDueWork(office, organizationId),
      goOnWithDueWork(office, organizationId),
      ...ids.toReversed().map((id, index) => reserve(id, {}, index)),
    ])
    expect(found.flatMap((answer) => (answer ? [answer.body['code']] : []))).toEqual(times(80, () => 'outcome_unknown'))
    for (const id of ids) {
      expect(await row(id)).toMatchObject({ state: 'unknown', attempt: 1, copies: 3 })
      expect(await asked(id)).toEqual([askedOnce('unknown')])
    }
  })

  test('what is stuck is seen with its start and its end, asked about by the server’s worker, and ended by a person with a reason', async () => {
    const id = 'stuck'
    const { body } = await reserve(id, { target: 'accepts_key', leaseSeconds: 1 })
    await until(async () => (await asked(id)).length > 0)
    expect(await asked(id)).toEqual([askedOnce('stuck')])
    const list = await callApi(pair.url(1), organization, { method: 'GET', path: '/events?state=in_progress&q=stuck' })
    const seen = { id: body['eventId'], isStuck: true, leaseUntil: body['leaseUntil'], attempt: 1 }
    expect(list.body['items']).toMatchObject([{ ...seen, startedAt: expect.any(String) }])

    const decided = await callApi(pair.url(1), organization, {
      path: `/review-items/${await readOpenItemId(office, organization, id)}/decide`,
      body: { decision: 'resolve', outcome: 'failed', note: 'The printer was given away' },
      key: 'decide',
    })

    expect(decided).toMatchObject({ status: 200 })
    expect(await asked(id)).toEqual([{ ...askedOnce('stuck'), state: 'decided', decision: 'resolve' }])
    const notes = await readNotes(pair.url(0), organization, String(body['eventId']))
    expect(notes).toMatchObject([
      { type: 'resolved_as_failed', note: 'The printer was given away', author: expect.stringMatching(/^api_key\//) },
    ])
    expect(await reserve(id)).toMatchObject({ status: 409, body: { code: 'failed_for_good' } })
  })

  test('what is stuck and taken over has its question answered, and a second silence is asked about anew', async () => {
    const id = 'stuck-twice'
    await reserve(id, { target: 'accepts_key', leaseSeconds: 1 })
    await until(async () => (await asked(id)).length === 1)
    expect(await reserve(id, { target: 'accepts_key', leaseSeconds: 1 }, 1)).toMatchObject({
      status: 201,
      body: { attempt: 2 },
    })
    const answered = { ...askedOnce('stuck'), state: 'decided', decision: 'taken_over' }
    expect((await asked(id))[0]).toEqual(answered)
    await until(async () => (await asked(id)).length === 2)
    expect(await asked(id)).toEqual([answered, askedOnce('stuck', 2)])
  })
})

describe('step by step, without a worker of its own', () => {
  let app: InProcessApp

  beforeAll(async () => {
    app = await createInProcessApp(office)
  })

  afterAll(() => app.close())

  const say = (word: string, body: object) => app.post(organization, `/register/${word}`, body)
  const reserve = (id: string, more: object = {}) => say('reserve', { ...workOf(id), ...more })

  test.each([
    ['that nobody knows', 'unknown', {}, 'unknown', 'unknown'],
    ['that it failed for good', 'fail', { error: { code: 'x' }, final: true }, 'given_up', 'failed'],
  ])(
    'what is stuck and then says %s is another question, also where a person had dismissed the first',
    async (_title, word, said, kind, state) => {
      for (const isDismissed of [false, true]) {
        const id = `stuck-then-${kind}-${isDismissed}`
        const { body } = await reserve(id, { target: 'accepts_key' })
        await endLease(office, organization, id, { isDue: true })
        await workOnce(office)
        expect(await asked(id)).toEqual([askedOnce('stuck')])
        if (isDismissed) {
          const path = `/review-items/${await readOpenItemId(office, organization, id)}/decide`
          const dismissed = await app.post(organization, path, { decision: 'dismiss' }, { 'idempotency-key': id })
          expect(dismissed.status).toBe(200)
        }
        expect(await say(word, { token: body['token'], ...said })).toMatchObject({ status: 200, body: { state } })
        const first = { ...askedOnce('stuck'), state: 'decided', decision: isDismissed ? 'dismiss' : kind }
        expect(await asked(id)).toEqual([first, askedOnce(kind)])
      }
    },
  )

  test('what nobody can find out is never asked about as if its program could go on, whenever its lease ends', async () => {
    const id = 'ends-in-between'
    await reserve(id)
    let transactions = 0
    // The lease ends behind the first step of the worker, which has looked for such things, and before the next one.
    const db: Db = {
      ...office.db,
      async transaction(organizationId, work) {
        transactions += 1
        if (transactions === 2) await endLease(office, organization, id)
        return office.db.transaction(organizationId, work)
      },
    }
    const parts: WorkParts = { ...office, db }
    await goOnWithDueWork(parts, organization.organizationId)
    expect(await asked(id)).toEqual([])
    await workOnce(office)
    expect(await row(id)).toMatchObject({ state: 'unknown' })
    expect(await asked(id)).toEqual([askedOnce('unknown')])
  })

  test('a reservation that is under way while the worker makes its plan is in it: nothing is left behind', async () => {
    const id = 'planned'
    await reserve(id, { target: 'accepts_key' })
    await endLease(office, organization, id, { isDue: true })
    await workOnce(office)
    expect(await asked(id)).toEqual([askedOnce('stuck')])

    // Holds the reservation up behind its own note of when it is due: it has to answer the question about the attempt before.
    const holding = await office.owner.connect()
    await holding.query('begin')
    await holding.query(
      `select from review_items as r join events as e on e.id = r.event_id where e.external_id = $1 for update of r`,
      [id],
    )
    const reserving = reserve(id, { target: 'accepts_key' })
    await untilWaiting(office, 1)
    const planning = goOnWithDueWork(office, organization.organizationId)
    await Promise.race([planning, untilWaiting(office, 2)])
    await holding.query('rollback')
    holding.release()
    expect(await reserving).toMatchObject({ status: 201, body: { attempt: 2 } })
    await planning

    const { rows } = await office.owner.query<{ planned: boolean }>(
      `select d.due_at <= e.lease_until as planned from due_work as d join events as e using (organization_id)
        where d.organization_id = $1 and e.external_id = $2`,
      [organization.organizationId, id],
    )
    expect(rows).toEqual([{ planned: true }])
  })

  test('trap 8: an arrival that waits for a worker at the same event finds the question asked, and a worker looks past an arrival', async () => {
    const id = 'one-of-two'
    await reserve(id)
    await endLease(office, organization, id)
    // Stands for a worker that has just taken the event, and for an arrival that has: the row is held, and nothing is said yet.
    const holding = await office.owner.connect()
    await holding.query('begin')
    await holding.query('select from events where external_id = $1 for update', [id])
    const arriving = times(4, () => reserve(id))
    await untilWaiting(office, 4)
    await goOnWithDueWork(office, organization.organizationId)
    expect(await asked(id)).toEqual([])
    await holding.query('rollback')
    holding.release()
    for (const answer of await Promise.all(arriving))
      expect(answer).toMatchObject({ body: { code: 'outcome_unknown' } })
    expect(await asked(id)).toEqual([askedOnce('unknown')])
  })

  test.each(['6 minutes', '25 hours', '76 hours', '31 days', '3 years'])(
    'trap 10: after %s what is done is done, what failed says so, and what nobody knew is still not done again',
    async (age) => {
      const [done, unknown, failed] = [`done ${age}`, `unknown ${age}`, `failed ${age}`]
      const token = async (id: string) => (await reserve(id)).body['token']
      await say('complete', { token: await token(done), target: { type: 'label', id: 'L-1' }, answer: 'first' })
      await say('unknown', { token: await token(unknown) })
      await say('fail', { token: await token(failed), error: { code: 'x' }, final: true })
      await office.owner.query(
        `update events set first_arrived_at = first_arrived_at - $2::interval, last_arrived_at = last_arrived_at - $2::interval,
          started_at = started_at - $2::interval, finished_at = finished_at - $2::interval
          where organization_id = $1`,
        [organization.organizationId, age],
      )
      await workOnce(office)
      const copy = {
        status: 200,
        body: { duplicate: true, copies: 2, target: { type: 'label', id: 'L-1' }, answer: 'first' },
      }
      expect(await reserve(done)).toMatchObject(copy)
      expect(await reserve(unknown)).toMatchObject({ status: 409, body: { code: 'outcome_unknown' } })
      expect(await reserve(failed)).toMatchObject({ status: 409, body: { code: 'failed_for_good' } })
      expect([await asked(unknown), await asked(failed)]).toEqual([[askedOnce('unknown')], [askedOnce('given_up')]])
    },
  )
})
