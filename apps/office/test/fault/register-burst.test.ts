/**
 * Traps 6 and 7 on the register over HTTP: many calls at one moment over two servers, whose clocks may differ by days, and
 * lists that overlap. Judge are the answers all together, the target, and the database's count of deadlocks.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTarget } from '../../../../packages/einmal/test/support/target.ts'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import { idsOf } from '../../src/platform/ids.ts'
import { workOnce } from '../../src/worker/index.ts'
import { runAutomation, workOf } from '../support/automation.ts'
import { createInProcessApp } from '../support/in-process-app.ts'
import { createKeepAliveClient, type KeepAliveClient, type PostedAnswer } from '../support/keep-alive-client.ts'
import { createTestOffice, type TestOffice, type TestOrganization } from '../support/office.ts'
import { askedOnce, endLease, readAsked, readWork, untilWaiting } from '../support/outside-work.ts'
import { countDeadlocks, type ServerPair, startServerPair } from '../support/server-pair.ts'
import { times } from '../support/storm.ts'

let office: TestOffice
let organization: TestOrganization

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Bursts')
})

afterAll(() => office.close())

const row = (id: string) => readWork(office, organization, id)

/** How often each answer was given. */
function count(answers: readonly PostedAnswer[]): Record<string, number> {
  const found: Record<string, number> = {}
  for (const { status, body } of answers) {
    const name = `${status} ${body['code'] ?? body['state']}`
    found[name] = (found[name] ?? 0) + 1
  }
  return found
}

describe('with two servers', () => {
  let pair: ServerPair
  let client: KeepAliveClient

  beforeAll(async () => {
    pair = await startServerPair(office)
    client = createKeepAliveClient()
  })

  afterAll(async () => {
    client.close()
    await pair.stop()
    expect(await countDeadlocks(office)).toBe(0)
  })

  const post = (word: string, body: object, index: number) =>
    client.post(
      `${pair.url(index)}/api/v1/register/${word}`,
      { authorization: `Bearer ${organization.apiKey}`, 'content-type': 'application/json' },
      JSON.stringify(body),
    )

  /** Asks again while it is told so, as a program does: here, where the database is too busy. */
  async function reserve(
    id: string,
    more: object,
    index: number,
    toldToWait: readonly string[] = [],
  ): Promise<PostedAnswer> {
    for (;;) {
      const answer = await post('reserve', { ...workOf(id), ...more }, index)
      if (!['unavailable', ...toldToWait].includes(String(answer.body['code']))) return answer
    }
  }

  /** Asks until it knows how it ends, and does it where it is the one. */
  async function bringToItsEnd(id: string, more: object, index: number): Promise<PostedAnswer> {
    const answer = await reserve(id, more, index, ['in_progress', 'not_due'])
    if (answer.status === 201) await post('complete', { token: answer.body['token'] }, index)
    return answer
  }

  test.each([2, 16, 100, 500])(
    'trap 6: %i calls of a new key at once: one has it, and everybody else is told so',
    async (calls) => {
      const id = `burst-${calls}`
      const answers = await Promise.all(times(calls, (index) => reserve(id, {}, index)))
      expect(count(answers)).toEqual({ '201 in_progress': 1, '409 in_progress': calls - 1 })
      expect(await row(id)).toMatchObject({ state: 'in_progress', attempt: 1, copies: calls })
      const winner = answers.find(({ status }) => status === 201)
      expect(await post('complete', { token: winner?.body['token'] }, 1)).toMatchObject({ status: 200 })
      const after = await Promise.all(times(calls, (index) => reserve(id, {}, index)))
      expect(count(after)).toEqual({ '200 completed': calls })
      expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1, copies: 2 * calls })
    },
  )

  test('trap 6: 60 calls that wait for whoever is at it: one has it, and all others are told what came of it', async () => {
    const id = 'waited-for'
    const target = { type: 'label', id: 'L-1' }
    const answers = await Promise.all(
      times(60, async (index) => {
        const answer = await reserve(id, { waitSeconds: 30 }, index)
        if (answer.status === 201) await post('complete', { token: answer.body['token'], target }, index)
        return answer
      }),
    )
    expect(count(answers)).toEqual({ '201 in_progress': 1, '200 completed': 59 })
    for (const { status, body } of answers) if (status === 200) expect(body).toMatchObject({ duplicate: true, target })
    expect(await row(id)).toMatchObject({ attempt: 1, copies: 60 })
  })

  test('trap 6: 200 calls while the lease of one who is gone comes to its end: one goes on, once', async () => {
    const id = 'lease-end'
    const more = { target: 'accepts_key' }
    await reserve(id, more, 0)
    await office.owner.query(
      `update events set lease_until = clock_timestamp() + interval '300 ms' where external_id = $1`,
      [id],
    )
    const answers = await Promise.all(times(200, (index) => bringToItsEnd(id, more, index)))
    expect(count(answers)).toEqual({ '201 in_progress': 1, '200 completed': 199 })
    expect(await row(id)).toMatchObject({ state: 'completed', attempt: 2 })
  })

  test('trap 6: 200 calls while such a lease ends on a target that is neither: nobody goes on, all are told, one question', async () => {
    const id = 'lease-end-neither'
    await reserve(id, {}, 0)
    await office.owner.query(
      `update events set lease_until = clock_timestamp() + interval '300 ms' where external_id = $1`,
      [id],
    )
    const answers = await Promise.all(times(200, (index) => bringToItsEnd(id, {}, index)))
    expect(count(answers)).toEqual({ '409 outcome_unknown': 200 })
    expect(await row(id)).toMatchObject({ state: 'unknown', attempt: 1 })
    expect(await readAsked(office, organization, id)).toEqual([askedOnce('unknown')])
  })

  test('trap 6: 200 calls while the next attempt of a failure comes due: one makes it, once', async () => {
    const id = 'comes-due'
    const { body } = await reserve(id, {}, 0)
    await post('fail', { token: body['token'], error: { code: 'x' }, retryAfterSeconds: 0.3 }, 1)
    const answers = await Promise.all(times(200, (index) => bringToItsEnd(id, {}, index)))
    expect(count(answers)).toEqual({ '201 in_progress': 1, '200 completed': 199 })
    expect(await row(id)).toMatchObject({ state: 'completed', attempt: 2 })
  })

  test('trap 6: 60 calls while the one that came first is rolled back: one of them takes its place, once', async () => {
    const id = 'rolled-back'
    // Stands for a reservation that is sent, and whose server dies before it commits.
    const holding = await office.owner.connect()
    await holding.query('begin')
    await holding.query(
      `insert into events (id, organization_id, source, kind, external_id, state, holder, lease_until, first_arrived_at,
          last_arrived_at, started_at)
        values ($1, $2, 'external/shop', 'label.print', $3, 'in_progress', $1, now() + interval '1 hour', now(), now(), now())`,
      [office.newId(), organization.organizationId, id],
    )
    const burst = times(60, (index) => bringToItsEnd(id, {}, index))
    await untilWaiting(office, 4)
    await holding.query('rollback')
    holding.release()
    expect(count(await Promise.all(burst))).toEqual({ '201 in_progress': 1, '200 completed': 59 })
    expect(await row(id)).toMatchObject({ state: 'completed', attempt: 1 })
  })

  test('trap 7: two lists that overlap, in opposite order, by two automations at once: each thing is done once, and nothing deadlocks', async () => {
    const target = await startTarget('neither')
    const names = times(45, (index) => `list-${index}`)
    const order = (serverUrl: string, ids: string[]) => ({
      ...{ serverUrl, ids, apiKey: organization.apiKey, targetUrl: target.url, target: 'neither' as const },
    })
    await Promise.all([
      runAutomation(order(pair.url(0), names.slice(0, 30))),
      runAutomation(order(pair.url(1), names.slice(15).toReversed())),
      runAutomation(order(pair.url(1), names.slice(0, 30).toReversed())),
    ])
    expect(names.map((id) => [id, target.effects(id), target.requests(id)])).toEqual(names.map((id) => [id, 1, 1]))
    const before = await Promise.all(names.map((id) => row(id)))
    expect(before.map((found) => found?.state)).toEqual(names.map(() => 'completed'))
    // The whole once more changes nothing.
    const again = await runAutomation(order(pair.url(0), names))
    expect(again.map(({ reserved, words }) => [reserved.status, words])).toEqual(names.map(() => [200, []]))
    const after = await Promise.all(names.map((id) => row(id)))
    expect(after).toEqual(before.map((found) => ({ ...found, copies: (found?.copies ?? 0) + 1 })))
    await target.close()
  })
})

describe('trap 6: two servers whose clocks are two days apart', () => {
  const day = 86_400_000
  const clockOf = (offsetMs: number): Clock => ({ now: () => new Date(systemClock.now().getTime() + offsetMs) })

  test('have one clock for a lease, the database’s: nobody takes what is held, and everybody what is over', async () => {
    const clocks = [clockOf(-day), clockOf(day)]
    const apps = await Promise.all(clocks.map((clock) => createInProcessApp({ ...office, clock, newId: idsOf(clock) })))
    const reserve = (index: number, id: string, more: object = {}) =>
      apps[index]?.post(organization, '/register/reserve', { ...workOf(id), target: 'accepts_key', ...more })
    for (const [first, second] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const id = `skewed-${first}`
      const held = await reserve(first, id)
      expect(held).toMatchObject({ status: 201, body: { attempt: 1 } })
      expect(await reserve(second, id)).toMatchObject({
        status: 409,
        body: { code: 'in_progress', leaseUntil: held?.body['leaseUntil'] },
      })
      const { rows } = await office.owner.query<{ isShort: boolean }>(
        `select lease_until between clock_timestamp() and clock_timestamp() + interval '60 s' as "isShort"
          from events where external_id = $1`,
        [id],
      )
      expect(rows).toEqual([{ isShort: true }])
      const beat = await apps[second]?.post(organization, '/register/heartbeat', { token: held?.body['token'] })
      expect(beat).toMatchObject({ status: 200 })
      expect(await reserve(second, id)).toMatchObject({ status: 409 })
      await endLease(office, organization, id)
      const burst = await Promise.all(times(20, (index) => reserve(index % 2, id)))
      expect(burst.filter((answer) => answer?.status === 201)).toMatchObject([{ body: { attempt: 2 } }])
      expect(burst.filter((answer) => answer?.body['code'] === 'in_progress')).toHaveLength(19)
    }
    for (const app of apps) await app.close()
  })

  test('have workers that find what is over, and nothing that is not', async () => {
    for (const clock of [clockOf(-day), clockOf(day)]) {
      const parts = { ...office, clock, newId: idsOf(clock) }
      const app = await createInProcessApp(parts)
      const id = `skewed-worker-${clock.now().getTime()}`
      await app.post(organization, '/register/reserve', workOf(id))
      await workOnce(parts)
      expect(await row(id)).toMatchObject({ state: 'in_progress' })
      await endLease(office, organization, id, { isDue: true })
      await workOnce(parts)
      expect(await row(id)).toMatchObject({ state: 'unknown' })
      expect(await readAsked(office, organization, id)).toEqual([askedOnce('unknown')])
      await app.close()
    }
  })
})
