/** The cases of idempotency on the register for programs outside. The judge is what was done in the other system. */
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { workOnce } from '../../src/worker/index.ts'
import { type Case, createCaseFixture } from '../support/case-fixture.ts'
import { endLeases, letTimePass, programOf } from '../support/program.ts'

const fixture = createCaseFixture()

const here = (opened: Case) => programOf(fixture.app, opened)
const there = (opened: Case) => programOf(fixture.otherApp, opened)
const work = (id: unknown, more: object = {}) => ({ source: 'shop', kind: 'order.create', id, ...more })
const inProgress = { status: 409, body: { code: 'in_progress' } }
const taken = { status: 201 }
const known = { status: 200, body: { duplicate: true } }
const differs = { status: 422, body: { code: 'content_differs' } }

test('IDEM-01: a program that dies after it reserved holds the key until its lease ends, and then one goes on', async () => {
  const opened = await fixture.openCase()
  await here(opened).hold(work('k-1', { target: 'accepts_key' }))
  let effects = 0
  const retry = (count: number) =>
    [here, there][count % 2]?.(opened).run(work('k-1', { target: 'accepts_key' }), () => {
      effects += 1
      return {}
    })
  for (const count of [1, 2, 3]) expect(await retry(count)).toMatchObject(inProgress)
  expect(effects).toBe(0)
  await endLeases(fixture.office, opened)
  const answers = await Promise.all(Array.from({ length: 16 }, (_, count) => retry(count)))
  expect(answers.filter((answer) => answer?.status === 201)).toMatchObject([{ body: { attempt: 2 } }])
  expect(effects).toBe(1)
  expect(await retry(1)).toMatchObject(known)
})

describe('IDEM-03: a program died after the other system did it, and its lease ended', () => {
  async function diedAfter(target: string) {
    const opened = await fixture.openCase()
    const objects: string[] = []
    const reserved = await here(opened).reserve(work('t-9', { target }))
    objects.push(String(reserved.body['idempotencyKey']))
    await endLeases(fixture.office, opened)
    return { opened, objects }
  }

  test('one that takes the key is given the same key, and makes no second object', async () => {
    const { opened, objects } = await diedAfter('accepts_key')
    const again = await there(opened).run(work('t-9', { target: 'accepts_key' }), ({ idempotencyKey }) => {
      if (!objects.includes(String(idempotencyKey))) objects.push(String(idempotencyKey))
      return { target: { type: 'order', id: 't-9' } }
    })
    expect(again).toMatchObject(taken)
    expect(objects).toHaveLength(1)
  })

  test('one that can be searched is searched first, and the object is found', async () => {
    const { opened, objects } = await diedAfter('searchable')
    const again = await there(opened).run(work('t-9', { target: 'searchable' }), ({ mustLookUp, idempotencyKey }) => {
      if (!(mustLookUp === true && objects.includes(String(idempotencyKey)))) objects.push('a second one')
      return { target: { type: 'order', id: 't-9' } }
    })
    expect(again).toMatchObject({ status: 201, body: { mustLookUp: true } })
    expect(objects).toHaveLength(1)
  })

  test('one that offers neither: nobody does it again, and a person decides', async () => {
    const { opened, objects } = await diedAfter('neither')
    const again = await there(opened).run(work('t-9'), () => ({ answer: objects.push('a second one') }))
    expect(again).toMatchObject({ status: 409, body: { code: 'outcome_unknown' } })
    expect(objects).toHaveLength(1)
    expect(await opened.desk()).toMatchObject([{ kind: 'unknown', decisions: ['resolve'] }])
  })
})

test('IDEM-04, IDEM-23: what failed in passing is done by the next attempt, and is a duplicate from then on', async () => {
  const opened = await fixture.openCase()
  const token = await here(opened).hold(work('k-23'))
  await here(opened).say('fail', { token, error: { code: 'target_down', message: '503' } })
  const again = await there(opened).run(work('k-23'), () => ({ target: { type: 'order', id: 'o-1' } }))
  expect(again).toMatchObject({ status: 201, body: { attempt: 2 } })
  expect(await here(opened).reserve(work('k-23'))).toMatchObject(known)
})

test('IDEM-23: a key that failed with wrong content is not the old refusal for the right one, but a contradiction', async () => {
  const opened = await fixture.openCase()
  const token = await here(opened).hold(work('k-24', { content: { code: 'wrong' } }))
  await here(opened).say('fail', { token, error: { code: 'refused', message: '400' } })
  expect(await there(opened).reserve(work('k-24', { content: { code: 'right' } }))).toMatchObject({
    ...differs,
    body: { differing: ['code'] },
  })
  expect(await there(opened).reserve(work('k-24', { content: { code: 'wrong' } }))).toMatchObject(taken)
})

test('IDEM-06: one name in two organisations is two things, and neither learns of the other', async () => {
  const [a, b] = [await fixture.openCase(), await fixture.openCase()]
  await here(a).run(work('2026-03-02-001'), () => ({ answer: 'of a' }))
  expect(await here(b).reserve(work('2026-03-02-001'))).toMatchObject({ status: 201, body: { attempt: 1, copies: 1 } })
  expect(await here(a).reserve(work('2026-03-02-001'))).toMatchObject({ status: 200, body: { answer: 'of a' } })
})

test('IDEM-08: other content under one key is refused while the first is at work and afterwards; the same gets its answer', async () => {
  const opened = await fixture.openCase()
  const amount = (amountMinor: number) => work('k-8', { content: { amountMinor } })
  const token = await here(opened).hold(amount(10_000))
  expect(await there(opened).reserve(amount(5_000))).toMatchObject(differs)
  await here(opened).say('complete', { token, answer: 'paid 10000' })
  expect(await there(opened).reserve(amount(5_000))).toMatchObject(differs)
  expect(await there(opened).reserve(amount(10_000))).toMatchObject({ status: 200, body: { answer: 'paid 10000' } })
})

describe('IDEM-09: the order of fields is no content, that of a list is, and a number is no text', () => {
  const item = (sku: string, count: unknown) => ({ sku, count })

  test('on the register', async () => {
    const opened = await fixture.openCase()
    const reserve = (content: object) => there(opened).reserve(work('k-9', { content }))
    await here(opened).run(work('k-9', { content: { a: 1, items: [item('x', 1), item('y', 2)] } }), () => ({}))
    expect(await reserve({ items: [{ count: 1, sku: 'x' }, item('y', 2)], a: 1.0 })).toMatchObject(known)
    expect(await reserve({ a: 1, items: [item('y', 2), item('x', 1)] })).toMatchObject(differs)
    expect(await reserve({ a: 1, items: [item('x', '1'), item('y', 2)] })).toMatchObject(differs)
  })

  test('in a write of the API', async () => {
    const opened = await fixture.openCase()
    const line = (description: string, unitPriceMinor: unknown) => ({ description, unitPriceMinor })
    const lines = [line('A', 1), line('B', 2)]
    const first = await opened.call('/invoices', { currency: 'EUR', lines }, 'k-9')
    const reordered = { lines: [{ unitPriceMinor: 1, description: 'A' }, line('B', 2)], currency: 'EUR' }
    expect(await opened.call('/invoices', reordered, 'k-9', fixture.otherApp)).toMatchObject({
      body: first.body,
      headers: { 'idempotent-replayed': 'true' },
    })
    expect(await opened.call('/invoices', { currency: 'EUR', lines: lines.toReversed() }, 'k-9')).toMatchObject(differs)
    const asText = [line('A', '1'), line('B', 2)]
    expect(await opened.call('/invoices', { currency: 'EUR', lines: asText }, 'k-9')).toMatchObject(differs)
  })
})

test('IDEM-11, IDEM-13, IDEM-17: ids that differ in capitals, at the end or beyond 2^53 are different things', async () => {
  const opened = await fixture.openCase()
  const long = 'x'.repeat(64)
  const ids = ['pay_1AbCdE', 'pay_1aBcDe', `${long}1`, `${long}2`, '9007199254740993', '9007199254740992']
  for (const id of ids) expect(await here(opened).run(work(id), () => ({ answer: id }))).toMatchObject(taken)
  for (const id of ids)
    expect(await there(opened).reserve(work(id))).toMatchObject({ status: 200, body: { answer: id } })
})

test('IDEM-12, IDEM-18: 300 things without an id are 300 refusals, and a padded one is another thing', async () => {
  const opened = await fixture.openCase()
  const empty = [undefined, null, '', '   ', 'undefined', 'null', '[object Object]', {}, [], { order: null }]
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, count) => here(opened).reserve(work(empty[count % empty.length]))),
  )
  expect([...new Set(answers.map(({ status, body }) => `${status} ${body['code']}`))]).toEqual(['422 key_unusable'])
  expect(await here(opened).reserve(work('k-12'))).toMatchObject(taken)
  expect(await here(opened).reserve(work(' k-12'))).toMatchObject(taken)
})

test('IDEM-15: a key of 10,000 random characters is refused with what to do, never a fault', async () => {
  const opened = await fixture.openCase()
  const id = randomBytes(5_000).toString('hex')
  expect(await here(opened).reserve(work(id))).toMatchObject({
    status: 422,
    body: { code: 'key_unusable', reason: 'too_long', detail: expect.stringContaining('SHA-256') },
  })
  expect(await here(opened).reserve(work(id.slice(0, 1_024)))).toMatchObject(taken)
})

test('IDEM-16: a NUL in an id is refused; in what is said of the work it does not stand in its way', async () => {
  const opened = await fixture.openCase()
  const nul = 'a\0b'
  expect(await here(opened).reserve(work(nul))).toMatchObject({ status: 422, body: { reason: 'nul' } })
  const done = await here(opened).run(work('k-16'), () => ({
    target: { type: 'order', id: nul },
    answer: { note: nul },
  }))
  expect(done).toMatchObject(taken)
  expect(await there(opened).reserve(work('k-16'))).toMatchObject(known)
  const token = await here(opened).hold(work('k-17'))
  expect(await here(opened).say('fail', { token, error: { code: nul, message: nul } })).toMatchObject({ status: 200 })
  const next = await here(opened).hold(work('k-17'))
  expect(await here(opened).say('unknown', { token: next, note: nul })).toMatchObject({ status: 200 })
})

test('IDEM-20: whoever loses the race is told so without a fault, and the connections stay usable', async () => {
  const opened = await fixture.openCase()
  const answers = await Promise.all(
    Array.from({ length: 32 }, (_, count) => (count % 2 === 0 ? here : there)(opened).reserve(work('k-20'))),
  )
  const statuses = answers.map(({ status }) => status).toSorted()
  expect(statuses).toEqual([201, ...Array.from({ length: 31 }, () => 409)])
  const token = answers.find(({ status }) => status === 201)?.body['token']
  expect(await there(opened).say('complete', { token })).toMatchObject({ status: 200 })
  expect(await here(opened).reserve(work('k-20'))).toMatchObject({ status: 200, body: { copies: 33 } })
})

test('IDEM-21: what is sent again after two, twenty and four hundred days is a duplicate', async () => {
  const opened = await fixture.openCase()
  const money = { payment: 'pay_21', amountMinor: 10_000, currency: 'EUR', invoice: opened.invoice.number }
  await here(opened).run(work('evt_21'), () => ({ answer: 'done' }))
  await opened.sandbox({ id: 'evt_21', data: money })
  for (const days of [2, 18, 380]) {
    await letTimePass(fixture.office, opened, `${days} days`)
    expect(await there(opened).reserve(work('evt_21'))).toMatchObject({ status: 200, body: { answer: 'done' } })
    expect(await opened.sandbox({ id: 'evt_21', data: money })).toMatchObject({
      status: 200,
      body: { duplicate: true },
    })
  }
})

test('IDEM-25: a recovery takes nothing from a program that lives and says so', async () => {
  const opened = await fixture.openCase()
  const token = await here(opened).hold(work('k-25', { target: 'accepts_key', leaseSeconds: 30 }))
  expect(await here(opened).say('heartbeat', { token, leaseSeconds: 60 })).toMatchObject({ status: 200 })
  const { organizationId } = opened.organization
  await fixture.office.owner.query('update due_work set due_at = clock_timestamp() where organization_id = $1', [
    organizationId,
  ])
  await workOnce(fixture.office)
  expect(await opened.desk()).toEqual([])
  expect(await there(opened).reserve(work('k-25', { target: 'accepts_key' }))).toMatchObject(inProgress)
  expect(await here(opened).say('complete', { token })).toMatchObject({ status: 200 })
  expect(await there(opened).reserve(work('k-25'))).toMatchObject({ status: 200, body: { attempt: 1 } })
})
