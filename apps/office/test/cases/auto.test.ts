/** What goes wrong with automations, on the register for programs outside. The judge is how often the work was done. */
import { expect, test } from 'vitest'
import { type Case, createCaseFixture } from '../support/case-fixture.ts'
import { letTimePass, programOf } from '../support/program.ts'

const fixture = createCaseFixture()

/** Two workers of an automation platform, each behind another server; and what they did. */
function workersOf(opened: Case) {
  const done: string[] = []
  const workers = [fixture.app, fixture.otherApp].map((app) => programOf(app, opened))
  const run = (worker: number, work: { source: string; kind: string; id: unknown }, more: object = {}) =>
    workers[worker % 2]?.run({ ...work, ...more }, () => {
      done.push(String(work.id))
      return { target: { type: 'ticket', id: `T-${done.length}` } }
    })
  return { done, run, workers }
}

const event = (id: string, kind = 'message.answer') => ({ source: 'forum', kind, id })

test('AUTO-01: one event reaches two workers at the same moment, 200 times: 200 runs, and no loser hears of a fault', async () => {
  const { done, run } = workersOf(await fixture.openCase())
  for (let round = 1; round <= 200; round += 1) {
    const answers = await Promise.all([run(0, event(`ev_${round}`)), run(1, event(`ev_${round}`))])
    const statuses = answers.map((answer) => answer?.status)
    expect(statuses).toContain(201)
    // The other came while the first was at it, or after.
    expect([200, 409]).toContain(statuses.find((status) => status !== 201))
  }
  expect(done).toHaveLength(200)
  expect(new Set(done).size).toBe(200)
})

test('AUTO-03: the id of the event decides, whatever its text looks like', async () => {
  const { done, run } = workersOf(await fixture.openCase())
  const texts = { ev_3: ['Bitte  zurückrufen', 'Bitte\nzurückrufen'], ev_4: ['Bitte  zurückrufen'] }
  for (const [id, each] of Object.entries(texts)) {
    for (const [worker, _text] of each.entries()) await run(worker, event(id))
  }
  expect(done).toEqual(['ev_3', 'ev_4'])
})

test('AUTO-04: one event that comes through three registrations is one, and the register shows that it came three times', async () => {
  const opened = await fixture.openCase()
  const { done, run } = workersOf(opened)
  for (const worker of [0, 1, 2]) await run(worker, event('ev_5'))
  expect(done).toEqual(['ev_5'])
  const { body } = await fixture.app.get(opened.organization, '/events?q=ev_5')
  expect(body['items']).toMatchObject([{ copies: 3, source: 'external/forum' }])
})

test('AUTO-05: a job that its queue gives out four times, all due in the same second, is run once', async () => {
  const { done, run } = workersOf(await fixture.openCase())
  const answers = await Promise.all([0, 1, 2, 3].map((worker) => run(worker, event('j-1', 'job.run'))))
  expect(done).toEqual(['j-1'])
  expect(answers.filter((answer) => answer?.status === 201)).toHaveLength(1)
})

test('AUTO-09: polls that overlap lose nothing and do nothing twice, whatever the order in which records appear', async () => {
  const { done, run } = workersOf(await fixture.openCase())
  const polls = [
    ['r1', 'r3'],
    ['r2', 'r3', 'r4'],
    ['r1', 'r2', 'r3', 'r4'],
  ]
  for (const [worker, records] of polls.entries()) for (const id of records) await run(worker, event(id, 'record.sync'))
  expect(done.toSorted()).toEqual(['r1', 'r2', 'r3', 'r4'])
})

test('AUTO-10: a new change of the same thing is a new run, and a late copy of an old one never is', async () => {
  const opened = await fixture.openCase()
  const { done, run } = workersOf(opened)
  await run(0, event('ev_a', 'contact.sync'))
  await run(1, event('ev_b', 'contact.sync'))
  expect(await run(1, event('ev_a', 'contact.sync'))).toMatchObject({ status: 200 })
  await letTimePass(fixture.office, opened, '2 days')
  expect(await run(0, event('ev_a', 'contact.sync'))).toMatchObject({ status: 200, body: { duplicate: true } })
  expect(done).toEqual(['ev_a', 'ev_b'])
})

test('AUTO-11: a contradiction on one key is told there, and holds up none of twenty others', async () => {
  const { done, run, workers } = workersOf(await fixture.openCase())
  const key = event('k-1', 'job.run')
  const token = await workers[0]?.hold({ ...key, content: { amount: 1 } })
  await workers[0]?.say('fail', { token, error: { code: 'again' } })
  const others = Array.from({ length: 20 }, (_, count) => event(`k-${count + 2}`, 'job.run'))
  const jobs = [{ ...key, content: { amount: 2 } }, ...others, { ...key, content: { amount: 1 } }]
  const statuses: (number | undefined)[] = []
  for (let first = 0; first < jobs.length; first += 5) {
    const batch = jobs.slice(first, first + 5)
    const answers = await Promise.all(batch.map((job, worker) => run(worker, job)))
    statuses.push(...answers.map((answer) => answer?.status))
  }
  expect(statuses).toEqual([422, ...Array.from({ length: 21 }, () => 201)])
  expect(done.filter((id) => id === 'k-1')).toHaveLength(1)
  expect(new Set(done).size).toBe(21)
})

test('AUTO-13: a run that is started three times at once and once later is one run, and all are told of the same ticket', async () => {
  const { done, run } = workersOf(await fixture.openCase())
  const start = (worker: number) => run(worker, event('run-7', 'run.start'), { waitSeconds: 30 })
  const answers = [...(await Promise.all([start(0), start(1), start(0)])), await start(1)]
  expect(done).toEqual(['run-7'])
  const later = answers.filter((answer) => answer?.status === 200)
  expect(later).toHaveLength(3)
  for (const answer of later) expect(answer?.body).toMatchObject({ duplicate: true, target: { id: 'T-1' } })
})
