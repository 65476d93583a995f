/** The register for programs outside, call by call, over two applications that share nothing but the database. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { workOnce } from '../../src/worker/index.ts'
import { type Case, createCaseFixture } from '../support/case-fixture.ts'
import type { InProcessApp } from '../support/in-process-app.ts'
import { makeApiKey } from '../support/office.ts'
import { endLeases, programOf } from '../support/program.ts'

const fixture = createCaseFixture()

const work = (more: object = {}) => ({ source: 'shop', kind: 'label.print', id: 'order-1', ...more })

function registerOf(opened: Case, app: InProcessApp = fixture.app) {
  const program = programOf(app, opened)
  return {
    say: program.say,
    reserve: (more: object = {}, headers: Record<string, string> = {}) => program.reserve(work(more), headers),
    hold: (more: object = {}) => program.hold(work(more)),
  }
}

async function notificationsOf({ organization: { organizationId } }: Case) {
  const { rows } = await fixture.office.owner.query<{ type: string; told: number }>(
    `select type, count(*)::int as told from notifications where organization_id = $1 group by type order by type`,
    [organizationId],
  )
  return Object.fromEntries(rows.map(({ type, told }) => [type, told]))
}

async function eventOf(opened: Case, eventId: unknown) {
  const { body } = await fixture.app.get(opened.organization, `/events/${String(eventId)}`)
  return body
}

const letWorkerLook = () => workOnce(fixture.office)

describe('a thing that a program does', () => {
  test('is reserved once, and every later arrival is told what came of it, with success', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const first = await register.reserve({ target: 'accepts_key', leaseSeconds: 120 })
    expect(first).toMatchObject({
      status: 201,
      body: { state: 'in_progress', duplicate: false, attempt: 1, copies: 1, mustLookUp: false },
    })
    expect(first.body['idempotencyKey']).toBe(
      `${opened.organization.organizationId}:external%2Fshop:label.print:order-1`,
    )
    const end = { token: first.body['token'], target: { type: 'label', id: 'L-1' }, answer: { pages: 2 } }
    expect(await register.say('complete', end)).toMatchObject({ status: 200, body: { state: 'completed' } })
    for (const [copies, app] of [fixture.app, fixture.otherApp, fixture.app].entries()) {
      expect(await registerOf(opened, app).reserve()).toMatchObject({
        status: 200,
        body: {
          ...{ state: 'completed', duplicate: true, copies: copies + 2 },
          ...{ target: { type: 'label', id: 'L-1' }, answer: { pages: 2 } },
        },
      })
    }
  })

  test('is told to be in progress while somebody is at it, with its start, its end and when to ask again', async () => {
    const opened = await fixture.openCase()
    const { body } = await registerOf(opened).reserve({ leaseSeconds: 30 })
    const other = await registerOf(opened, fixture.otherApp).reserve()
    expect(other).toMatchObject({
      status: 409,
      body: { code: 'in_progress', leaseUntil: body['leaseUntil'], copies: 2, eventId: body['eventId'] },
    })
    expect(Number(other.headers['retry-after'])).toBeGreaterThan(20)
    expect(Number(other.headers['retry-after'])).toBeLessThanOrEqual(31)
  })

  test('is waited for by a copy that asks for it, and told to it when it is done', async () => {
    const opened = await fixture.openCase()
    const token = await registerOf(opened).hold()
    const waiting = registerOf(opened, fixture.otherApp).reserve({ waitSeconds: 30 })
    // The copy is counted by now or later; either way its answer is that of the first.
    await registerOf(opened).say('complete', { token, answer: 'printed' })
    expect(await waiting).toMatchObject({ status: 200, body: { duplicate: true, answer: 'printed' } })
  })

  test('is the caller’s own when its request comes again with the same Idempotency-Key', async () => {
    const opened = await fixture.openCase()
    const run = { 'idempotency-key': 'execution-231' }
    const first = await registerOf(opened).reserve({}, run)
    const again = await registerOf(opened, fixture.otherApp).reserve({}, run)
    expect(again).toMatchObject({ status: 201, body: { token: first.body['token'], attempt: 1, copies: 1 } })
    expect(await registerOf(opened).reserve({}, { 'idempotency-key': 'execution-232' })).toMatchObject({ status: 409 })
  })

  test('that failed is the next attempt of whoever reserves it next', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const error = { code: 'printer_offline', message: 'no answer' }
    const failed = await register.say('fail', { token: await register.hold(), error })
    expect(failed).toMatchObject({ status: 200, body: { state: 'failed', isFinal: false } })
    expect(await register.reserve()).toMatchObject({ status: 201, body: { attempt: 2, copies: 2 } })
  })

  test('that failed and is not due yet is not done behind anybody’s back', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const error = { code: 'printer_offline' }
    await register.say('fail', { token: await register.hold(), error, retryAfterSeconds: 3600 })
    const early = await register.reserve()
    expect(early).toMatchObject({ status: 409, body: { code: 'not_due', error: { code: 'printer_offline' } } })
    expect(early.headers['retry-after']).toBe('60')
  })

  test('that failed for good is not tried again, and a person is asked, each member told once', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const end = { token: await register.hold(), error: { code: 'no_such_address' }, final: true }
    for (let count = 0; count < 2; count += 1) {
      expect(await register.say('fail', end)).toMatchObject({ status: 200, body: { isFinal: true, willRetryAt: null } })
    }
    expect(await register.reserve()).toMatchObject({ status: 409, body: { code: 'failed_for_good' } })
    expect(await opened.desk()).toMatchObject([{ kind: 'given_up', decisions: ['resolve', 'dismiss'] }])
    expect(await notificationsOf(opened)).toMatchObject({ 'review.given_up': 3 })
  })

  test('that failed eight times is given up, whatever the program says', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      const ended = await register.say('fail', { token: await register.hold(), error: { code: 'again' } })
      expect(ended.body).toMatchObject({ isFinal: attempt === 8 })
    }
    expect(await register.reserve()).toMatchObject({ status: 409, body: { code: 'failed_for_good' } })
    expect(await opened.desk()).toMatchObject([{ kind: 'given_up' }])
  })

  test('that ends its program each time is given up after eight attempts', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await register.hold({ target: 'accepts_key' })
      await endLeases(fixture.office, opened)
    }
    expect(await register.reserve({ target: 'accepts_key' })).toMatchObject({
      status: 409,
      body: { code: 'failed_for_good', error: { code: 'attempts_exhausted' } },
    })
    expect(await opened.desk()).toMatchObject([{ kind: 'given_up' }])
  })
})

describe('a program that falls silent', () => {
  test('on a target that can neither take the key nor be searched: unknown, and a person is asked, each member told once', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const token = await register.hold()
    await endLeases(fixture.office, opened)
    for (const app of [fixture.app, fixture.otherApp]) {
      expect(await registerOf(opened, app).reserve()).toMatchObject({ status: 409, body: { code: 'outcome_unknown' } })
    }
    expect(await opened.desk()).toMatchObject([{ kind: 'unknown', decisions: ['resolve'] }])
    expect(await notificationsOf(opened)).toMatchObject({ 'review.unknown': 3 })
    // Its word comes too late, changes nothing and is kept.
    const late = await register.say('complete', { token, target: { type: 'label', id: 'L-1' } })
    expect(late).toMatchObject({ status: 409, body: { code: 'lease_lost', state: 'unknown' } })
    const [item] = await opened.desk()
    expect(await eventOf(opened, item?.eventId)).toMatchObject({
      state: 'unknown',
      notes: [{ type: 'late_completed', attempt: 1, data: { targetId: 'L-1' } }],
    })
  })

  test.each([
    ['accepts_key', false],
    ['searchable', true],
  ])('on a target that is %s: the next reservation goes on, with the same key', async (target, mustLookUp) => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const first = await register.reserve({ target })
    await endLeases(fixture.office, opened)
    const { idempotencyKey } = first.body
    expect(await register.reserve({ target })).toMatchObject({
      status: 201,
      body: { attempt: 2, idempotencyKey, mustLookUp },
    })
    expect(await register.say('complete', { token: first.body['token'] })).toMatchObject({
      status: 409,
      body: { code: 'lease_lost', state: 'in_progress' },
    })
    expect(await register.say('heartbeat', { token: first.body['token'] })).toMatchObject({ status: 409 })
  })

  test('is found by the worker without any arrival, once by however many workers', async () => {
    const [a, b] = [await fixture.openCase(), await fixture.openCase()]
    await registerOf(a).hold()
    await registerOf(b).hold({ target: 'accepts_key' })
    for (const opened of [a, b]) await endLeases(fixture.office, opened)
    await Promise.all([letWorkerLook(), letWorkerLook(), letWorkerLook()])
    await letWorkerLook()
    expect(await a.desk()).toMatchObject([{ kind: 'unknown' }])
    expect(await b.desk()).toMatchObject([{ kind: 'stuck', decisions: ['resolve', 'dismiss'] }])
    expect([await notificationsOf(a), await notificationsOf(b)]).toEqual([
      { 'review.unknown': 3 },
      { 'review.stuck': 3 },
    ])
  })

  test('is seen with its start, and its question is answered by whoever takes over', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const { body } = await register.reserve({ target: 'accepts_key' })
    await endLeases(fixture.office, opened)
    await letWorkerLook()
    const { body: page } = await fixture.app.get(opened.organization, '/events?state=in_progress')
    expect(page['items']).toMatchObject([{ id: body['eventId'], isStuck: true, startedAt: expect.any(String) }])
    expect(await opened.desk()).toHaveLength(1)
    await register.hold({ target: 'accepts_key' })
    expect(await opened.desk()).toEqual([])
    expect(await eventOf(opened, body['eventId'])).toMatchObject({ isStuck: false, attempt: 2 })
  })

  test('and comes back before anybody took over may still say its word, and its question is answered', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const token = await register.hold({ target: 'accepts_key' })
    await endLeases(fixture.office, opened)
    await letWorkerLook()
    expect(await register.say('heartbeat', { token })).toMatchObject({ status: 409, body: { code: 'lease_lost' } })
    expect(await opened.desk()).toHaveLength(1)
    expect(await register.say('complete', { token })).toMatchObject({ status: 200 })
    expect(await opened.desk()).toEqual([])
  })

  test('was dismissed, and its question comes back only while it is silent still', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    await register.hold({ target: 'accepts_key' })
    await endLeases(fixture.office, opened)
    await letWorkerLook()
    const [item] = await opened.desk()
    const dismiss = () => opened.call(`/review-items/${item?.id}/decide`, { decision: 'dismiss' })
    const reopen = () => opened.call(`/review-items/${item?.id}/reopen`)
    await dismiss()
    expect(await reopen()).toMatchObject({ status: 200 })
    await dismiss()
    await register.hold({ target: 'accepts_key' })
    expect(await reopen()).toMatchObject({ status: 409, body: { code: 'decision_unsuitable' } })
    expect(await opened.desk()).toEqual([])
  })

  test('in a later generation is asked about under its own name', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    await register.say('complete', { token: await register.hold() })
    await register.say('repeat', { key: work(), reason: 'torn' }, { 'idempotency-key': 'wish' })
    for (const id of ['order-1', 'order-2']) {
      await register.hold({
        id,
        target: id === 'order-1' ? 'neither' : 'accepts_key',
        ...(id === 'order-1' && { generation: 2 }),
      })
    }
    await endLeases(fixture.office, opened)
    await letWorkerLook()
    const desk = await opened.desk()
    expect(desk.map(({ kind, data }) => [kind, data['kind']]).toSorted()).toEqual([
      ['stuck', 'label.print'],
      ['unknown', 'label.print#2'],
    ])
  })

  test('in one organisation holds up no other, where something is wrong with two of them', async () => {
    const opened = [await fixture.openCase(), await fixture.openCase(), await fixture.openCase()] as const
    for (const each of opened) {
      await registerOf(each).hold()
      await endLeases(fixture.office, each)
    }
    const [a, sound, c] = opened
    const faulty = [a, c].map(({ organization }) => organization.organizationId)
    const { db, clock, newId } = fixture.office
    const broken: typeof db = {
      ...db,
      transaction: (organizationId, work) =>
        faulty.includes(organizationId) ? Promise.reject(new Error('a fault')) : db.transaction(organizationId, work),
    }
    const faults: string[] = []
    await workOnce({ db: broken, clock, newId }, { onFault: (_error, organizationId) => faults.push(organizationId) })
    // Two, so that whichever comes first, somebody stands behind it.
    expect(faults.toSorted()).toEqual(faulty.toSorted())
    expect(await sound.desk()).toMatchObject([{ kind: 'unknown' }])
  })

  test('leaves the worker nothing to do once it was asked about, and is planned for while it lives', async () => {
    const opened = await fixture.openCase()
    const dueAt = async () => {
      const { organizationId } = opened.organization
      const { rows } = await fixture.office.owner.query<{ due_at: Date | null }>(
        'select due_at from due_work where organization_id = $1',
        [organizationId],
      )
      return rows[0]?.due_at?.toISOString() ?? null
    }
    const { body } = await registerOf(opened).reserve({ leaseSeconds: 600 })
    expect(await dueAt()).toBe(body['leaseUntil'])
    const { body: sooner } = await registerOf(opened).reserve({ id: 'order-2', leaseSeconds: 60 })
    expect(await dueAt()).toBe(sooner['leaseUntil'])
    await endLeases(fixture.office, opened)
    await letWorkerLook()
    expect(await dueAt()).toBe(null)
  })
})

describe('a person, or a program that looked', () => {
  async function unknown(opened: Case) {
    const register = registerOf(opened)
    const { body } = await register.say('unknown', { token: await register.hold(), note: 'the request timed out' })
    const [item] = await opened.desk()
    return { register, eventId: String(body['eventId']), itemId: String(item?.id) }
  }

  test('says on the desk that it was done: every copy is told so, and who decided and why stands beside it', async () => {
    const opened = await fixture.openCase()
    const { register, eventId, itemId } = await unknown(opened)
    const decision = {
      decision: 'resolve',
      outcome: 'completed',
      note: 'seen it',
      target: { type: 'label', id: 'L-9' },
    }
    const decided = await opened.call(`/review-items/${itemId}/decide`, decision)
    expect(decided).toMatchObject({ status: 200, body: { item: { state: 'decided', decision: 'resolve' } } })
    expect(await register.reserve()).toMatchObject({ status: 200, body: { target: { id: 'L-9' } } })
    expect(await eventOf(opened, eventId)).toMatchObject({
      state: 'completed',
      notes: [
        { type: 'unknown' },
        { type: 'resolved_as_completed', note: 'seen it', author: expect.stringMatching(/^api_key\//) },
      ],
    })
  })

  test('says that it was not done and may be tried: the next reservation is the next attempt', async () => {
    const opened = await fixture.openCase()
    const { register, eventId } = await unknown(opened)
    const said = { outcome: 'retry', note: 'nothing there' }
    expect(await opened.call(`/events/${eventId}/resolve`, said)).toMatchObject({ body: { state: 'failed' } })
    expect(await opened.desk()).toEqual([])
    expect(await register.reserve()).toMatchObject({ status: 201, body: { attempt: 2 } })
  })

  test('decides once: of two at the same moment the other is told that there is nothing to decide', async () => {
    const opened = await fixture.openCase()
    const { eventId } = await unknown(opened)
    const say = (outcome: string, app: InProcessApp) =>
      app.post(opened.organization, `/events/${eventId}/resolve`, { outcome, note: 'looked' })
    const answers = await Promise.all([say('completed', fixture.app), say('completed', fixture.otherApp)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'nothing_to_resolve' })
  })

  test('cannot decide what somebody is at, and not what the office books itself', async () => {
    const opened = await fixture.openCase()
    const token = await registerOf(opened).hold()
    const said = { key: work(), outcome: 'failed', note: 'no' }
    expect(await registerOf(opened).say('resolve', said)).toMatchObject({
      status: 409,
      body: { code: 'nothing_to_resolve', state: 'in_progress' },
    })
    expect(await registerOf(opened).say('complete', { token })).toMatchObject({ status: 200 })
    const paid = { payment: 'p_1', amountMinor: 100, currency: 'EUR', invoice: opened.invoice.number }
    const { body } = await opened.sandbox({ data: paid })
    const refused = await opened.call(`/events/${String(body['eventId'])}/resolve`, { outcome: 'failed', note: 'no' })
    expect(refused).toMatchObject({ status: 409, body: { code: 'nothing_to_resolve' } })
  })

  test('does a thing again on purpose: a generation of its own, while copies of the first stay copies', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const wish = { key: work(), reason: 'the label was torn' }
    const repeat = (key: string) => register.say('repeat', wish, { 'idempotency-key': key })
    expect(await repeat('wish-1')).toMatchObject({ status: 404 })
    const token = await register.hold()
    expect(await repeat('wish-1')).toMatchObject({ status: 409, body: { code: 'nothing_to_repeat' } })
    const { body } = await register.say('complete', { token })
    for (const _click of [1, 2]) expect(await repeat('wish-1')).toMatchObject({ status: 201, body: { generation: 2 } })
    expect(await repeat('wish-2')).toMatchObject({ status: 201, body: { generation: 3 } })
    expect(await register.reserve()).toMatchObject({ status: 200, body: { duplicate: true } })
    expect(await register.reserve({ generation: 2 })).toMatchObject({ status: 201, body: { key: { generation: 2 } } })
    expect(await eventOf(opened, body['eventId'])).toMatchObject({
      notes: [{ type: 'repeated', note: 'the label was torn' }, { type: 'repeated' }],
    })
  })
})

describe('the name of a thing', () => {
  test('names it in one organisation only, and no token reaches into another', async () => {
    const [a, b] = [await fixture.openCase(), await fixture.openCase()]
    const token = await registerOf(a).hold()
    expect(await registerOf(b).reserve()).toMatchObject({ status: 201, body: { copies: 1 } })
    for (const step of ['complete', 'unknown', 'heartbeat']) {
      expect(await registerOf(b).say(step, { token })).toMatchObject({
        status: 409,
        body: { code: 'lease_lost', state: null },
      })
    }
    expect(await registerOf(a).say('complete', { token })).toMatchObject({ status: 200 })
  })

  test('never meets an event of the office’s own: a genuine payment cannot be held up by it', async () => {
    const opened = await fixture.openCase()
    const paid = { payment: 'p_1', amountMinor: 100, currency: 'EUR', invoice: opened.invoice.number }
    for (const kind of ['payment.paid', 'payment', 'payments.paid']) {
      await registerOf(opened).hold({ source: 'sandbox', kind, id: 'evt_1' })
    }
    expect(await opened.sandbox({ id: 'evt_1', data: paid })).toMatchObject({ body: { duplicate: false } })
  })

  test('may be several fields, which no other fields can pass for', async () => {
    const opened = await fixture.openCase()
    const names = [{ a: 'x:y', b: 'z' }, { a: 'x', b: 'y:z' }, { a: 'x:y:z', b: '' }, { 'a=x:y&b': 'z' }]
    const answers = await Promise.all(names.map((id) => registerOf(opened).reserve({ id })))
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 422, 201])
    expect(await registerOf(opened).reserve({ id: { b: 'z', a: 'x:y' } })).toMatchObject({ status: 409 })
    expect(await registerOf(opened).reserve({ id: 'a=x%3Ay&b=z' })).toMatchObject({ status: 201 })
    expect(await registerOf(opened).reserve({ id: 'fields:a=x%3Ay&b=z' })).toMatchObject({ status: 409 })
  })

  test.each([
    ['absent', undefined],
    ['absent', null],
    ['empty', ''],
    ['blank', '  '],
    ['placeholder', 'undefined'],
    ['placeholder', '[object Object]'],
    ['not_text', true],
    ['not_text', ['order-1']],
    ['not_text', 2 ** 53 + 2],
    ['time_stamp', '2026-11-30T12:00:00Z'],
    ['half_composite', { order: 'o-1', line: null }],
    ['too_long', 'x'.repeat(10_000)],
  ])('is refused where it names nothing: %s %j', async (reason, id) => {
    const opened = await fixture.openCase()
    expect(await registerOf(opened).reserve({ id })).toMatchObject({
      status: 422,
      body: { code: 'key_unusable', reason },
    })
  })

  test('may be made of fields for a while, where the business says why', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const window = { seconds: 300, reason: 'a double click', reviewOn: '2100-01-01' }
    const fields = { email: 'kim@example.com', message: 'Please call back' }
    const keyless = { id: undefined, fields, window }
    expect(await register.reserve(keyless)).toMatchObject({ status: 201 })
    expect(await register.reserve(keyless)).toMatchObject({ status: 409, body: { code: 'in_progress' } })
    expect(await register.reserve({ ...keyless, fields: { ...fields, message: 'Thanks' } })).toMatchObject({
      status: 201,
    })
    for (const [reason, wrong] of [
      ['review_due', { ...keyless, window: { ...window, reviewOn: '2020-01-01' } }],
      ['time_stamp', { ...keyless, fields: { sentAt: '2026-11-30T12:00:00Z' } }],
      ['half_composite', { ...keyless, fields: { ...fields, email: null } }],
    ] as const) {
      expect(await register.reserve(wrong)).toMatchObject({ status: 422, body: { code: 'key_unusable', reason } })
    }
    expect(await register.reserve({ ...keyless, window: { ...window, reason: ' ' } })).toMatchObject({
      status: 422,
      body: { code: 'invalid' },
    })
    expect(await register.reserve({ fields, window })).toMatchObject({ status: 422, body: { code: 'invalid' } })
  })

  test('stands for one content: another one is refused, with the fields that differ', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(opened)
    const content = { amountMinor: 100, currency: 'EUR', items: [{ b: 1, a: 2 }] }
    const token = await register.hold({ content })
    const other = { ...content, amountMinor: 101 }
    const differs = { status: 422, body: { code: 'content_differs', differing: ['amountMinor'] } }
    expect(await register.reserve({ content: other })).toMatchObject(differs)
    await register.say('complete', { token })
    expect(await register.reserve({ content: other })).toMatchObject(differs)
    const same = { items: [{ a: 2, b: 1 }], currency: 'EUR', amountMinor: 100 }
    expect(await register.reserve({ content: same })).toMatchObject({ status: 200 })
    await register.hold({ id: 'order-2', fingerprint: '100 EUR' })
    expect(await register.reserve({ id: 'order-2', fingerprint: '101 EUR' })).toMatchObject({ status: 422 })
    expect(await register.reserve({ id: 'order-2', fingerprint: '100 EUR' })).toMatchObject({ status: 409 })
  })
})

describe('a key of the API', () => {
  async function keyWith(opened: Case, scopes: readonly ('full' | 'register' | 'resolve')[]): Promise<Case> {
    const apiKey = await makeApiKey(fixture.office, opened.organization.organizationId, 'n8n', scopes)
    return { ...opened, organization: { ...opened.organization, apiKey } }
  }

  test('for the register reaches nothing else, and does not say how work of others ended', async () => {
    const opened = await keyWith(await fixture.openCase(), ['register'])
    const register = registerOf(opened)
    const token = await register.hold()
    expect(await register.say('complete', { token })).toMatchObject({ status: 200 })
    const forbidden = { status: 403, body: { code: 'forbidden' } }
    expect(await register.say('resolve', { key: work(), outcome: 'failed', note: 'no' })).toMatchObject(forbidden)
    for (const path of ['/invoices', '/events', '/review-items']) {
      expect(await fixture.app.get(opened.organization, path)).toMatchObject(forbidden)
    }
  })

  test('with the right to resolve may say it', async () => {
    const opened = await fixture.openCase()
    const register = registerOf(await keyWith(opened, ['register', 'resolve']))
    await register.say('unknown', { token: await register.hold() })
    const said = { key: work(), outcome: 'completed', note: 'found it by its reference' }
    expect(await register.say('resolve', said)).toMatchObject({ status: 200, body: { state: 'completed' } })
  })
})

test('what is no token is told so, and a token with another attempt is one that lost', async () => {
  const opened = await fixture.openCase()
  const register = registerOf(opened)
  const token = await register.hold()
  for (const wrong of ['x', randomUUID(), `${token}A`, token.slice(4)]) {
    expect(await register.say('heartbeat', { token: wrong })).toMatchObject({
      status: 422,
      body: { code: 'token_invalid' },
    })
  }
  const bytes = Buffer.from(token, 'base64url')
  bytes.writeUInt32BE(2, 32)
  expect(await register.say('heartbeat', { token: bytes.toString('base64url') })).toMatchObject({ status: 409 })
  for (const leaseMs of [0, 86_400_001, 2 ** 32 - 1]) {
    bytes.writeUInt32BE(leaseMs, 36)
    expect(await register.say('heartbeat', { token: bytes.toString('base64url') })).toMatchObject({
      status: 422,
      body: { code: 'token_invalid' },
    })
  }
})

test('what is no text to the database is refused in a filter, and is no fault', async () => {
  const { organization } = await fixture.openCase()
  for (const name of ['q', 'source', 'kind']) {
    expect(await fixture.app.get(organization, `/events?${name}=%00`)).toMatchObject({ status: 422 })
  }
})

test('another answer for the same work is another word: it has lost, and is kept beside the event', async () => {
  const opened = await fixture.openCase()
  const register = registerOf(opened)
  const token = await register.hold()
  const { body } = await register.say('complete', { token, answer: { label: 'L-1' } })
  expect(await register.say('complete', { token, answer: { label: 'L-1' } })).toMatchObject({ status: 200 })
  expect(await register.say('complete', { token, answer: { label: 'L-2' } })).toMatchObject({
    status: 409,
    body: { code: 'lease_lost', state: 'completed' },
  })
  expect(await eventOf(opened, body['eventId'])).toMatchObject({
    answer: { label: 'L-1' },
    notes: [{ type: 'late_completed', data: { answer: { label: 'L-2' } } }],
  })
})
