import { beforeAll, describe, expect, test } from 'vitest'
import { MAX_ATTEMPTS } from '../../src/pipeline/commit-group.ts'
import { armFault } from '../../src/platform/fault-points.ts'
import { listImbalances } from '../support/books.ts'
import {
  booked,
  type Case,
  createCaseFixture,
  duplicate,
  kept,
  openInvoice,
  paymentRow,
  returnedRow,
  settledInvoice,
} from '../support/case-fixture.ts'
import { holdInvoice } from '../support/held-invoice.ts'
import type { InProcessAnswer } from '../support/in-process-app.ts'
import { changeSettings } from '../support/integrations.ts'
import type { Sender } from '../support/office.ts'
import { makeApiKey } from '../support/office.ts'

/** Every way in which a person ends a question, and what it leaves in the books. */
let passedMs = 0
const fixture = createCaseFixture({ now: () => new Date(Date.now() + passedMs) })

/** Sets an address right, and lets so much time pass that every server has seen it. */
async function learn({ sender }: { readonly sender: Sender }): Promise<void> {
  await changeSettings(fixture.office, sender, { amounts: 'decimal' })
  passedMs += 5_000
}

const euros = (amountMinor: number) => ({ amountMinor, currency: 'EUR' })

async function only(opened: Case, kind: string): Promise<string> {
  const items = await opened.desk()
  expect(items).toMatchObject([{ kind }])
  return items[0]?.id ?? ''
}

function decide(opened: Case, item: string, body: object, key?: string): Promise<InProcessAnswer> {
  return opened.call(`/review-items/${item}/decide`, body, key)
}

async function read(opened: Case, item: string): Promise<InProcessAnswer['body']> {
  return (await fixture.app.get(opened.organization, `/review-items/${item}`)).body
}

const refused = (code: string) => ({ status: 409, body: { code } })

async function expectBalanced({ organization }: Case): Promise<void> {
  expect(await listImbalances(fixture.office, organization.organizationId)).toEqual([])
}

/** Who did what to the item, as the audit tells. */
async function auditOf({ organization }: Case, item: string) {
  const { rows } = await fixture.office.owner.query<{ action: string; actor: string; data: Record<string, unknown> }>(
    `select action, actor_type || '/' || actor_id as actor, data from audit_entries
     where organization_id = $1 and subject_id = $2 order by id`,
    [organization.organizationId, item],
  )
  return rows
}

async function actorOf({ organization }: Case): Promise<string> {
  const { rows } = await fixture.office.owner.query<{ id: string }>(
    `select id from api_keys where organization_id = $1 order by id limit 1`,
    [organization.organizationId],
  )
  return `api_key/${rows[0]?.id}`
}

// Not understood

/** A payment of 10,000 for the case's invoice, whose amount this address does not expect as text. */
async function openUnclear(total = 10_000) {
  const opened = await fixture.openCase(total)
  const sender = await opened.addSandbox({ account: 'shop', amounts: 'minor' })
  const data = { payment: 'p_1', amount: '100.00', currency: 'EUR', invoice: opened.invoice.number }
  const body = JSON.stringify({ type: 'payment.paid', data })
  const arrive = () => fixture.app.deliver(sender, body, sender.sign(body, { id: 'evt_unclear' }))
  expect(await arrive()).toMatchObject(kept('amount_unreadable'))
  /** The same money, told in another event that can be read. */
  const tell = (amountMinor: number) => {
    const readable = { ...data, amount: undefined, amountMinor }
    const text = JSON.stringify({ type: 'payment.paid', data: readable })
    return fixture.app.deliver(sender, text, sender.sign(text, { id: `evt_${amountMinor}` }))
  }
  return { ...opened, sender, arrive, tell, item: await only(opened, 'unclear') }
}

const enter = { decision: 'enter', amount: euros(10_000), invoice: 'RE-00001' }

describe('a question that was not understood', () => {
  test('is read again by settings that have learned, and its repetition then is one and no contradiction', async () => {
    const opened = await openUnclear()
    expect(await decide(opened, opened.item, { decision: 'retry' }, 'too-early')).toMatchObject(
      refused('still_unclear'),
    )
    expect(await read(opened, opened.item)).toMatchObject({ state: 'open', decisions: ['retry', 'enter', 'dismiss'] })
    await learn(opened)
    // Whoever was refused may ask again with the same key.
    const learned = await decide(opened, opened.item, { decision: 'retry', note: 'Set right.' }, 'too-early')
    expect(learned).toMatchObject({ status: 200, body: { outcome: { duplicate: false, applied: euros(10_000) } } })
    expect(await opened.arrive()).toMatchObject({ status: 200, body: { duplicate: true } })
    expect(await opened.books()).toMatchObject({
      payments: [paymentRow('p_1', 10_000)],
      invoices: [settledInvoice(10_000)],
      reviewItems: [{ kind: 'unclear', state: 'decided', decision: 'retry' }],
    })
    await expectBalanced(opened)
  })

  test('is answered to a repetition as the first time, also when reading again is impossible by then', async () => {
    const opened = await openUnclear()
    await learn(opened)
    const again = () => decide(opened, opened.item, { decision: 'retry' }, 'once')
    const first = await again()
    expect(first.status).toBe(200)
    await fixture.office.owner.query('update delivery_bodies set body = null where organization_id = $1', [
      opened.organization.organizationId,
    ])
    expect(await again()).toMatchObject({ status: 200, body: first.body, headers: { 'idempotent-replayed': 'true' } })
  })

  test('is entered under the key of the money, so that the provider’s later news of it is a repetition', async () => {
    const opened = await openUnclear()
    const answer = await decide(opened, opened.item, enter)
    expect(answer).toMatchObject({ status: 200, body: { outcome: { duplicate: false, applied: euros(10_000) } } })
    expect([await opened.arrive(), await opened.tell(10_000)]).toMatchObject([
      { status: 200, body: { duplicate: true } },
      duplicate(),
    ])
    expect(await opened.books()).toMatchObject({
      payments: [{ ...paymentRow('p_1', 10_000), source: 'sandbox/shop' }],
      invoices: [settledInvoice(10_000)],
    })
    expect(await opened.desk()).toEqual([])
    // News with another amount contradicts what was entered, and is a question again.
    expect(await opened.tell(9_000)).toMatchObject(kept('content_differs'))
    expect(await opened.desk()).toMatchObject([
      { kind: 'conflict', data: { told: euros(9_000), recorded: euros(10_000) } },
    ])
  })

  test.each(['refund', 'chargeback'] as const)('is entered as a %s of a payment', async (kind) => {
    const opened = await openUnclear()
    await opened.tell(10_000)
    const sender = await opened.addSandbox({ account: 'shop', amounts: 'minor' })
    const type = kind === 'refund' ? 'payment.refunded' : 'payment.charged_back'
    const name = kind === 'refund' ? { refund: 'back_1' } : { dispute: 'dp_1', movement: 'back_1' }
    const data = { ...name, payment: 'p_1', amount: '40.00', currency: 'EUR' }
    await fixture.app.deliver(sender, JSON.stringify({ type, data }))
    const item = (await opened.desk()).find((each) => each.data['kind'] === type)?.id ?? ''
    const unnamed = await decide(opened, item, { decision: 'enter', kind, amount: euros(4_000) })
    expect(unnamed).toMatchObject({ status: 422, body: { code: 'invalid' } })
    const named = { payment: 'p_1', ...(kind === 'chargeback' ? { dispute: 'dp_1' } : {}) }
    const entered = await decide(opened, item, { decision: 'enter', kind, amount: euros(4_000), ...named })
    expect(entered).toMatchObject({ status: 200, body: { outcome: { applied: euros(-4_000) } } })
    const readable = { ...data, amount: undefined, amountMinor: 4_000 }
    expect(await fixture.app.deliver(sender, JSON.stringify({ type, data: readable }))).toMatchObject(duplicate())
    expect(await opened.books()).toMatchObject({ payments: [returnedRow('p_1', 10_000, 4_000)] })
    await expectBalanced(opened)
  })

  test('as a chargeback says of which dispute, so that what comes back of that finds it', async () => {
    const opened = await openUnclear()
    await opened.tell(10_000)
    const { items } = (await fixture.app.get(opened.organization, '/payments')).body as { items: { id: string }[] }
    const path = `/payments/${items[0]?.id}/chargeback`
    const name = { source: 'sandbox/shop', externalId: 'm_1', amount: euros(4_000) }
    const charge = (key: string, body: object) =>
      fixture.app.post(opened.organization, path, body, { 'idempotency-key': key })
    expect(await charge('without', name)).toMatchObject({ status: 422, body: { code: 'invalid' } })
    expect(await charge('with', { ...name, dispute: 'dp_1' })).toMatchObject({ status: 200 })
    const sender = await opened.addSandbox({ account: 'shop', amounts: 'minor' })
    const data = { dispute: 'dp_1', payment: 'p_1', amountMinor: 4_000, currency: 'EUR' }
    const tell = (type: string, movement: string) =>
      fixture.app.deliver(sender, JSON.stringify({ type, data: { ...data, movement } }))
    expect(await tell('payment.charged_back', 'm_1')).toMatchObject(duplicate())
    await tell('payment.chargeback_reversed', 'm_2')
    expect(await opened.books()).toMatchObject({ payments: [returnedRow('p_1', 10_000, 0)] })
    await expectBalanced(opened)
  })

  test('is dismissed and comes back to the desk, and nothing was booked by that', async () => {
    const opened = await openUnclear()
    expect(await decide(opened, opened.item, { decision: 'dismiss', note: 'A test of theirs.' })).toMatchObject({
      status: 200,
      body: { outcome: null, item: { state: 'decided', decision: 'dismiss', note: 'A test of theirs.' } },
    })
    expect(await opened.desk()).toEqual([])
    expect(await decide(opened, opened.item, enter)).toMatchObject(refused('decided_already'))
    expect(await opened.call(`/review-items/${opened.item}/reopen`)).toMatchObject({
      status: 200,
      body: { state: 'open' },
    })
    expect(await opened.call(`/review-items/${opened.item}/reopen`)).toMatchObject(refused('decision_unsuitable'))
    expect(await opened.books()).toMatchObject({ payments: [], invoices: [openInvoice(10_000)] })
    expect(await decide(opened, opened.item, enter)).toMatchObject({ status: 200 })
    expect(await opened.call(`/review-items/${opened.item}/reopen`)).toMatchObject(refused('decision_unsuitable'))
    expect(await opened.books()).toMatchObject({ payments: [paymentRow('p_1', 10_000)] })
    const actor = await actorOf(opened)
    expect(await auditOf(opened, opened.item)).toMatchObject([
      { action: 'review_item.decide', actor, data: { decision: 'dismiss', note: 'A test of theirs.' } },
      { action: 'review_item.reopen', actor },
      { action: 'review_item.decide', actor, data: { decision: 'enter', amount: euros(10_000) } },
    ])
    expect(await read(opened, opened.item)).toMatchObject({ decidedBy: actor, decision: 'enter' })
  })

  test('is no question of another kind, and an ending that it does not have books nothing', async () => {
    const opened = await openUnclear()
    for (const body of [{ decision: 'book_difference' }, { decision: 'apply', invoiceId: opened.invoice.id }]) {
      expect(await decide(opened, opened.item, body)).toMatchObject(refused('decision_unsuitable'))
    }
    const tooPrecise = { decision: 'enter', amount: { amountMinor: 10_000, currency: 'XXQ' } }
    expect(await decide(opened, opened.item, tooPrecise)).toMatchObject({ status: 422, body: { code: 'invalid' } })
    expect(await read(opened, opened.item)).toMatchObject({ state: 'open', decidedBy: null })
    expect(await opened.books()).toMatchObject({ payments: [], audits: 0 })
    expect(await decide(opened, fixture.office.newId(), { decision: 'dismiss' })).toMatchObject({ status: 404 })
  })
})

// A contradiction

async function openConflict(first: number, second: number, total = 20_000) {
  const opened = await fixture.openCase(total)
  const tell = (id: string, amountMinor: number) =>
    opened.sandbox({
      id,
      data: { payment: 'p_1', amountMinor, currency: 'EUR', invoice: opened.invoice.number },
    })
  expect(await tell('evt_1', first)).toMatchObject(booked(first))
  expect(await tell('evt_2', second)).toMatchObject(kept('content_differs'))
  return { ...opened, tell, item: await only(opened, 'conflict') }
}

describe('a contradiction', () => {
  test('of more is booked as its difference to the same invoice, once, and the payment stays as it was told', async () => {
    const opened = await openConflict(10_000, 12_500)
    const answer = await decide(opened, opened.item, { decision: 'book_difference', note: 'They wrote to us.' })
    expect(answer).toMatchObject({ status: 200, body: { outcome: { applied: euros(2_500) } } })
    expect(await decide(opened, opened.item, { decision: 'book_difference' })).toMatchObject(refused('decided_already'))
    // The same contradiction again is the question that was answered.
    await opened.tell('evt_2', 12_500)
    expect(await opened.books()).toMatchObject({
      payments: [
        { kind: 'correction', source: 'correction', amountMinor: 2_500, appliedMinor: 2_500 },
        { ...paymentRow('p_1', 10_000), kind: 'payment' },
      ],
      invoices: [openInvoice(20_000, 12_500)],
      reviewItems: [{ kind: 'conflict', state: 'decided', decision: 'book_difference' }],
      told: { 'domain_event payment.received': 1, 'domain_event payment.corrected': 1 },
    })
    await expectBalanced(opened)
  })

  test('of less goes back, once', async () => {
    const opened = await openConflict(10_000, 7_000)
    const answer = await decide(opened, opened.item, { decision: 'book_difference' })
    expect(answer).toMatchObject({ status: 200, body: { outcome: { applied: euros(-3_000) } } })
    expect(await opened.books()).toMatchObject({
      payments: [returnedRow('p_1', 10_000, 3_000)],
      returns: [{ source: 'correction', kind: 'correction', amountMinor: 3_000 }],
      invoices: [openInvoice(20_000, 7_000)],
      told: { 'domain_event payment.corrected': 1 },
    })
    await expectBalanced(opened)
  })

  test('in another currency has no difference that could be booked, and is dismissed', async () => {
    const opened = await fixture.openCase()
    const data = { payment: 'p_1', amountMinor: 10_000, invoice: opened.invoice.number }
    await opened.sandbox({ data: { ...data, currency: 'EUR' } })
    await opened.sandbox({ data: { ...data, currency: 'USD' } })
    const item = await only(opened, 'conflict')
    const refusal = await decide(opened, item, { decision: 'book_difference' })
    expect(refusal).toMatchObject({ status: 422, body: { code: 'invalid' } })
    expect(await read(opened, item)).toMatchObject({ state: 'open' })
    expect(await decide(opened, item, { decision: 'dismiss' })).toMatchObject({ status: 200 })
    expect(await opened.books()).toMatchObject({
      payments: [paymentRow('p_1', 10_000)],
      invoices: [settledInvoice(10_000)],
    })
  })
})

// Money on no invoice

async function openUnapplied(amountMinor = 10_000) {
  const opened = await fixture.openCase()
  expect(await opened.sandbox({ data: { payment: 'p_1', amountMinor, currency: 'EUR' } })).toMatchObject(booked(0))
  return { ...opened, item: await only(opened, 'unapplied') }
}

describe('money that lies on no invoice', () => {
  test('is applied, and the question is signed by who did it and not by the office', async () => {
    const opened = await openUnapplied()
    const { id: invoiceId } = opened.invoice
    const answer = await decide(opened, opened.item, { decision: 'apply', invoiceId })
    expect(answer).toMatchObject({ status: 200, body: { outcome: { applied: euros(10_000) } } })
    expect(await read(opened, opened.item)).toMatchObject({
      state: 'decided',
      decision: 'apply',
      decidedBy: await actorOf(opened),
    })
    expect(await opened.books()).toMatchObject({
      payments: [paymentRow('p_1', 10_000)],
      invoices: [settledInvoice(10_000)],
    })
    await expectBalanced(opened)
  })

  test('is applied in part, and never in another currency or beyond what there is', async () => {
    const opened = await openUnapplied()
    const { id: invoiceId } = opened.invoice
    for (const amount of [{ amountMinor: 4_000, currency: 'USD' }, euros(0)]) {
      const answer = await decide(opened, opened.item, { decision: 'apply', invoiceId, amount })
      expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } })
    }
    const beyond = await decide(opened, opened.item, { decision: 'apply', invoiceId, amount: euros(10_001) })
    expect(beyond).toMatchObject(refused('amount_exceeds'))
    expect(await read(opened, opened.item)).toMatchObject({ state: 'open' })
    const part = await decide(opened, opened.item, { decision: 'apply', invoiceId, amount: euros(4_000) })
    expect(part).toMatchObject({ status: 200, body: { outcome: { applied: euros(4_000) } } })
    expect(await opened.books()).toMatchObject({ payments: [{ appliedMinor: 4_000, unappliedMinor: 6_000 }] })
    await expectBalanced(opened)
  })

  test('is asked about again when it lies nowhere again', async () => {
    const opened = await openUnapplied()
    await decide(opened, opened.item, { decision: 'apply', invoiceId: opened.invoice.id })
    const credit = await opened.call(`/invoices/${opened.invoice.id}/credit-note`)
    expect(credit.status).toBe(201)
    expect(await opened.desk()).toMatchObject([{ id: opened.item, kind: 'unapplied', data: { reason: 'released' } }])
    expect(await decide(opened, opened.item, { decision: 'dismiss' })).toMatchObject({ status: 200 })
    expect(await opened.books()).toMatchObject({ payments: [{ appliedMinor: 0, unappliedMinor: 10_000 }] })
  })
})

// Our own fault

/** A payment that was kept from being booked until a person was asked, and the event that stands for it. */
async function openFailed(attempts = MAX_ATTEMPTS) {
  const opened = await fixture.openCase()
  const data = { payment: 'p_1', amountMinor: 10_000, currency: 'EUR', invoice: opened.invoice.number }
  armFault({ at: 'pipeline.afterWrite', action: 'throw', times: attempts })
  for (let attempt = 0; attempt < attempts; attempt += 1) await opened.sandbox({ id: 'evt_failed', data })
  armFault(null)
  const [event] = (await opened.books()).events
  expect(event).toMatchObject({ state: 'failed', attempt: attempts })
  return { ...opened, data, event: event?.id ?? '', item: attempts < MAX_ATTEMPTS ? '' : await only(opened, 'failed') }
}

describe('an event that failed', () => {
  test('is booked by the decision of a person, as the next attempt of the event itself', async () => {
    const opened = await openFailed()
    const answer = await decide(opened, opened.item, { decision: 'retry', note: 'The disk was full.' })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        outcome: { duplicate: false, applied: euros(10_000), eventId: opened.event },
        item: { state: 'decided', decision: 'retry', decidedBy: await actorOf(opened), note: 'The disk was full.' },
      },
    })
    expect(await opened.sandbox({ id: 'evt_failed', data: opened.data })).toMatchObject(duplicate())
    const { events, ...books } = await opened.books()
    expect(events.find(({ id }) => id === opened.event)).toMatchObject({
      state: 'completed',
      attempt: MAX_ATTEMPTS + 1,
    })
    expect(books).toMatchObject({ payments: [paymentRow('p_1', 10_000)], invoices: [settledInvoice(10_000)] })
    expect(await auditOf(opened, opened.item)).toMatchObject([
      { action: 'review_item.decide', data: { decision: 'retry' } },
    ])
    await expectBalanced(opened)
  })

  test('needs the key as every decision does, and is decided once for it', async () => {
    const opened = await openFailed()
    const path = `/review-items/${opened.item}/decide`
    const without = await fixture.app.post(opened.organization, path, { decision: 'retry' })
    expect(without).toMatchObject({ status: 400, body: { code: 'idempotency_key_missing' } })
    expect(await opened.books()).toMatchObject({ payments: [] })
    const first = await decide(opened, opened.item, { decision: 'retry' }, 'k')
    const again = await decide(opened, opened.item, { decision: 'retry' }, 'k')
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'idempotent-replayed': 'true' } })
  })

  test('is booked by a further attempt before anybody was asked, and afterwards is a duplicate', async () => {
    const opened = await openFailed(2)
    const retry = (key: string) => opened.call(`/events/${opened.event}/retry`, undefined, key)
    const first = await retry('retry-1')
    expect(first).toMatchObject({ status: 200, body: { duplicate: false, applied: euros(10_000) } })
    expect(await retry('retry-1')).toMatchObject({ body: first.body, headers: { 'idempotent-replayed': 'true' } })
    expect(await retry('retry-2')).toMatchObject({ status: 200, body: { duplicate: true, applied: euros(0) } })
    expect(await opened.books()).toMatchObject({
      payments: [paymentRow('p_1', 10_000)],
      invoices: [settledInvoice(10_000)],
    })
    const actor = await actorOf(opened)
    expect(await auditOf(opened, opened.event)).toMatchObject([
      { action: 'event.retry', actor },
      { action: 'event.retry', actor },
    ])
  })

  test('that fails again stays as it was, with one attempt more, and its key may try again', async () => {
    const opened = await openFailed()
    armFault({ at: 'pipeline.afterWrite', action: 'throw', times: 1 })
    const failed = await decide(opened, opened.item, { decision: 'retry' }, 'k')
    armFault(null)
    expect(failed).toMatchObject({ status: 500, body: { code: 'internal' } })
    expect(await opened.books()).toMatchObject({ payments: [], invoices: [openInvoice(10_000)], audits: 0 })
    const { events } = await opened.books()
    expect(events.find(({ id }) => id === opened.event)).toMatchObject({ state: 'failed', attempt: MAX_ATTEMPTS + 1 })
    expect(await read(opened, opened.item)).toMatchObject({ state: 'open' })
    expect(await decide(opened, opened.item, { decision: 'retry' }, 'k')).toMatchObject({ status: 200 })
    expect(await opened.books()).toMatchObject({ payments: [paymentRow('p_1', 10_000)] })
  })

  test('is dismissed, and what comes later is booked all the same', async () => {
    const opened = await openFailed()
    expect(await decide(opened, opened.item, { decision: 'dismiss' })).toMatchObject({ status: 200 })
    expect(await opened.sandbox({ id: 'evt_failed', data: opened.data })).toMatchObject(booked(10_000))
    expect(await read(opened, opened.item)).toMatchObject({ decision: 'dismiss', decidedBy: await actorOf(opened) })
  })

  test('cannot be tried where no delivery brought it, or where there is none', async () => {
    const opened = await fixture.openCase()
    await opened.pay('by-hand', 1_000)
    const [event] = (await opened.books()).events
    expect(await opened.call(`/events/${event?.id}/retry`)).toMatchObject(refused('decision_unsuitable'))
    expect(await opened.call(`/events/${fixture.office.newId()}/retry`)).toMatchObject({ status: 404 })
  })
})

// What a person can only acknowledge

describe('what only waits or exceeds', () => {
  test('a refund whose payment is not here is acknowledged, and is counted when the payment comes all the same', async () => {
    const opened = await fixture.openCase()
    const refund = { refund: 'rf_1', payment: 'p_1', amountMinor: 4_000, currency: 'EUR' }
    await opened.sandbox({ type: 'payment.refunded', data: refund })
    const item = await only(opened, 'waiting')
    expect(await read(opened, item)).toMatchObject({ decisions: ['dismiss'] })
    expect(await decide(opened, item, { decision: 'retry' })).toMatchObject(refused('decision_unsuitable'))
    expect(await decide(opened, item, { decision: 'dismiss' })).toMatchObject({ status: 200 })
    const paid = { payment: 'p_1', amountMinor: 10_000, currency: 'EUR', invoice: opened.invoice.number }
    expect(await opened.sandbox({ data: paid })).toMatchObject(booked(6_000))
    expect(await read(opened, item)).toMatchObject({ decision: 'dismiss', decidedBy: await actorOf(opened) })
    await expectBalanced(opened)
  })

  test('more that went back than had come is acknowledged, and no sum goes below nothing', async () => {
    const opened = await fixture.openCase()
    const data = { payment: 'p_1', amountMinor: 10_000, currency: 'EUR' }
    await opened.sandbox({ data: { ...data, invoice: opened.invoice.number } })
    for (const refund of ['rf_1', 'rf_2']) await opened.sandbox({ type: 'payment.refunded', data: { ...data, refund } })
    const item = await only(opened, 'excess')
    expect(await read(opened, item)).toMatchObject({ decisions: ['dismiss'], data: { returned: euros(20_000) } })
    expect(await decide(opened, item, { decision: 'dismiss' })).toMatchObject({ status: 200 })
    expect(await opened.books()).toMatchObject({ payments: [returnedRow('p_1', 10_000, 10_000)] })
    await expectBalanced(opened)
  })

  test('more that went back is asked about again when it is so again after it was not', async () => {
    const opened = await fixture.openCase()
    const data = { payment: 'p_1', amountMinor: 10_000, currency: 'EUR' }
    await opened.sandbox({ data: { ...data, invoice: opened.invoice.number } })
    const back = (type: string, refund: string) =>
      opened.sandbox({ type, data: { ...data, refund, amountMinor: 6_000 } })
    await back('payment.refunded', 'rf_1')
    await back('payment.refunded', 'rf_2')
    const item = await only(opened, 'excess')
    await back('payment.refund_failed', 'rf_2')
    expect(await opened.desk()).toEqual([])
    expect(await read(opened, item)).toMatchObject({ decidedBy: 'system', decision: 'no_longer' })
    await back('payment.refunded', 'rf_3')
    expect(await opened.desk()).toMatchObject([{ id: item, data: { returned: euros(12_000) } }])
    await expectBalanced(opened)
  })
})

// Two people

interface Person {
  readonly actor: string
  decide(opened: Case, item: string, body: object, app: typeof fixture.app): Promise<InProcessAnswer>
}

describe('two people who decide at the same moment', () => {
  let people: readonly ((opened: Case) => Promise<Person>)[]

  beforeAll(() => {
    const person = (of: number) => async (opened: Case) => {
      const { organizationId } = opened.organization
      const apiKey = await makeApiKey(fixture.office, organizationId, `person ${of}`)
      const organization = { ...opened.organization, apiKey }
      const { rows } = await fixture.office.owner.query<{ id: string }>(
        `select id from api_keys where organization_id = $1 and name = $2`,
        [organizationId, `person ${of}`],
      )
      return {
        actor: `api_key/${rows[0]?.id}`,
        decide: (_case: Case, item: string, body: object, app: typeof fixture.app) =>
          app.post(organization, `/review-items/${item}/decide`, body, { 'idempotency-key': 'decide' }),
      }
    }
    people = [person(0), person(1)]
  })

  const situations = {
    'enter what could not be read': async () => ({ opened: await openUnclear(), body: enter, received: 10_000 }),
    'read again': async () => {
      const opened = await openUnclear()
      await learn(opened)
      return { opened, body: { decision: 'retry' }, received: 10_000 }
    },
    'book a difference': async () => ({
      opened: await openConflict(10_000, 12_500),
      body: { decision: 'book_difference' },
      received: 12_500,
    }),
    'apply what lies nowhere': async () => {
      const opened = await openUnapplied()
      return { opened, body: { decision: 'apply', invoiceId: opened.invoice.id }, received: 10_000 }
    },
    'book again what failed': async () => ({
      opened: await openFailed(),
      body: { decision: 'retry' },
      received: 10_000,
    }),
  }

  test.each(Object.entries(situations))(
    'to %s: one does, the other is told who did, and it is booked once',
    async (_name, situate) => {
      const { opened, body, received } = await situate()
      const [one, other] = await Promise.all(people.map((person) => person(opened)))
      if (one === undefined || other === undefined) throw new Error('two people are needed')
      await using held = await holdInvoice(fixture.office, opened.invoice.id)
      const first = one.decide(opened, opened.item, body, fixture.app)
      await held.waiting(1)
      const second = other.decide(opened, opened.item, body, fixture.otherApp)
      await held.waiting(2)
      await held.release()

      const answers = [await first, await second]
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
      const winner = answers[0]?.status === 200 ? one : other
      expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
        code: 'decided_already',
        decidedBy: winner.actor,
        decision: body.decision,
      })
      expect(await read(opened, opened.item)).toMatchObject({ state: 'decided', decidedBy: winner.actor })
      const books = await opened.books()
      expect(books.payments.reduce((sum, { amountMinor }) => sum + amountMinor, 0)).toBe(received)
      expect(books.told).toMatchObject({ 'audit_entry review_item.decide': 1 })
      expect(await auditOf(opened, opened.item)).toMatchObject([{ actor: winner.actor }])
      await expectBalanced(opened)
    },
  )
})
