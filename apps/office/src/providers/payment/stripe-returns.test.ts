import { describe, expect, test } from 'vitest'
import type { ReceivedEvent, ReturnFact } from '../../facts/index.ts'
import type { Received } from '../provider.ts'
import { SAMPLE_NOW_MS } from './samples/samples.ts'
import { samples } from './samples/stripe.ts'
import { signStripeDelivery } from './sign.ts'
import { stripe } from './stripe.ts'

const secret = samples.secrets.current
const settings = stripe.settings.parse({ webhookSecrets: [secret] })

function receive(type: string, object: unknown, envelope: Record<string, unknown> = {}): Received {
  const event = { id: 'evt_1', object: 'event', created: 1789999990, livemode: true, type, data: { object } }
  const body = Buffer.from(JSON.stringify({ api_version: '2026-02-25.clover', ...event, ...envelope }))
  return stripe.receive(
    { headers: signStripeDelivery({ body, secret, nowMs: SAMPLE_NOW_MS }), body },
    settings,
    SAMPLE_NOW_MS,
  )
}

function eventOf(received: Received): ReceivedEvent {
  const event = received.outcome === 'events' ? received.events[0] : undefined
  if (event === undefined) throw new Error(JSON.stringify(received))
  return event
}

function returnsOf(received: Received): readonly ReturnFact[] {
  const { content } = eventOf(received)
  if (!('facts' in content)) throw new Error(JSON.stringify(content))
  return content.facts.filter((fact) => fact.type === 'return')
}

function unclearOf(received: Received) {
  const { kind, content } = eventOf(received)
  if (!('unclear' in content)) throw new Error('it was booked')
  return { kind, code: content.unclear.code, subject: content.unclear.subject?.externalId ?? null }
}

const keyOf = ({ kind, externalId }: ReturnFact) => `${kind} ${externalId}`
const shortOf = (fact: ReturnFact) => [
  fact.kind,
  fact.externalId,
  fact.returnId,
  fact.original.externalId,
  String(fact.amount.amountMinor),
]

const refund = {
  id: 're_1',
  object: 'refund',
  charge: 'ch_6',
  payment_intent: null,
  amount: 400,
  currency: 'eur',
  status: 'succeeded',
}
const charge = { id: 'ch_6', object: 'charge', amount: 10000, amount_captured: 10000, currency: 'eur', captured: true }
const dispute = {
  id: 'dp_1',
  object: 'dispute',
  charge: 'ch_6',
  payment_intent: 'pi_6',
  amount: 10000,
  currency: 'eur',
}
const taken = { id: 'txn_1', amount: -10000, currency: 'eur', fee: 1500, net: -11500 }
const given = { id: 'txn_2', amount: 10000, currency: 'eur', fee: 0, net: 10000 }
const takenAgain = { id: 'txn_3', amount: -10000, currency: 'eur', fee: 0, net: -10000 }

describe('refunds', () => {
  test('ORD-12 all events of one refund meet in its id, and another refund stays another', () => {
    const of = (type: string, id: string) => returnsOf(receive(type, { ...refund, id })).map(keyOf)
    const types = ['refund.created', 'refund.updated', 'charge.refund.updated']
    expect(types.flatMap((type) => of(type, 're_1'))).toEqual(Array(3).fill('refund re_1'))
    expect(of('refund.updated', 're_2')).toEqual(['refund re_2'])
  })

  test('ORD-12 the refund names its payment as the charge does: by the intent, and by the charge where there is none', () => {
    const original = (object: Record<string, unknown>) =>
      returnsOf(receive('refund.updated', { ...refund, ...object }))[0]?.original.externalId
    expect(original({})).toBe('ch_6')
    expect(original({ payment_intent: 'pi_6' })).toBe('pi_6')
    expect(original({ payment_intent: { id: 'pi_6', object: 'payment_intent' } })).toBe('pi_6')
    expect(original({ charge: { id: 'ch_6', object: 'charge' } })).toBe('ch_6')
  })

  test('a refund that names no payment, or an expanded one without id, is kept with its money key', () => {
    for (const object of [{ charge: null }, { payment_intent: {} }, { payment_intent: { id: 7.5 } }, { charge: [] }]) {
      expect(unclearOf(receive('refund.created', { ...refund, ...object }))).toEqual({
        kind: 'payment.refunded',
        code: 'id_unusable',
        subject: 're_1',
      })
    }
  })

  test('a reversal pairs with its refund, whether that had succeeded before or not', () => {
    for (const status of ['failed', 'canceled']) {
      const [fact] = returnsOf(receive('refund.updated', { ...refund, status }))
      expect(fact).toMatchObject({ kind: 'refund_reversal', externalId: 're_1', returnId: 're_1' })
    }
    expect(eventOf(receive('refund.failed', { ...refund, status: 'failed' }))).toMatchObject({
      kind: 'payment.refund_failed',
    })
  })

  test.each([
    ['refund.updated', undefined],
    ['refund.updated', null],
    ['refund.updated', 'SUCCEEDED'],
    ['refund.updated', true],
    ['refund.failed', 'succeeded'],
    ['refund.failed', 'pending'],
    ['refund.failed', undefined],
  ])('%s with the status %j is kept, neither booked nor dropped', (type, status) => {
    expect(unclearOf(receive(type, { ...refund, status }))).toEqual({
      kind: 'unreadable',
      code: 'shape_unknown',
      subject: 're_1',
    })
  })

  test('an authorisation that ended without capture is no refund', () => {
    const ended = { ...refund, reason: 'expired_uncaptured_charge' }
    expect(receive('refund.created', ended).outcome).toBe('ignored')
  })

  test('AMT-01 amounts of refunds and disputes are read as those of payments', () => {
    const of = (currency: string, amount: number) =>
      returnsOf(receive('refund.created', { ...refund, currency, amount }))[0]?.amount
    expect(of('isk', 500)).toEqual({ amountMinor: 5n, currency: 'ISK' })
    expect(of('jpy', 500)).toEqual({ amountMinor: 500n, currency: 'JPY' })
    expect(unclearOf(receive('refund.created', { ...refund, currency: 'kwd', amount: 5124 })).code).toBe(
      'amount_unreadable',
    )
    const inKrona = {
      ...dispute,
      currency: 'isk',
      balance_transactions: [{ id: 'txn_1', amount: -500, currency: 'isk' }],
    }
    expect(returnsOf(receive('charge.dispute.created', inKrona))[0]?.amount).toEqual({
      amountMinor: 5n,
      currency: 'ISK',
    })
  })
})

describe('running totals', () => {
  test('ORD-10 each total of a charge is a fact of its own, and a resend is the same', () => {
    // As the report had it: no field beside these, and the currency.
    const body = (amount_refunded: number) => ({ id: 'ch_3', amount: 10000, currency: 'eur', amount_refunded })
    const all = [1200, 2000, 2000].map((total) =>
      returnsOf(receive('charge.refunded', body(total), { api_version: null })),
    )
    expect(all.flat().map(shortOf)).toEqual([
      ['refund_total', 'ch_3/total/1200', 'total', 'ch_3', '1200'],
      ['refund_total', 'ch_3/total/2000', 'total', 'ch_3', '2000'],
      ['refund_total', 'ch_3/total/2000', 'total', 'ch_3', '2000'],
    ])
  })

  test('ORD-12 the total of a charge is told apart from its single refunds, and names the same payment', () => {
    const told = [
      receive('refund.updated', refund),
      receive('charge.refunded', { ...charge, amount_refunded: 400 }),
      receive('refund.updated', { ...refund, id: 're_2', amount: 600 }),
      receive('charge.refunded', { ...charge, amount_refunded: 1000 }),
      receive('refund.updated', refund),
    ].flatMap(returnsOf)
    expect(told.map(shortOf)).toEqual([
      ['refund', 're_1', 're_1', 'ch_6', '400'],
      ['refund_total', 'ch_6/total/400', 'total', 'ch_6', '400'],
      ['refund', 're_2', 're_2', 'ch_6', '600'],
      ['refund_total', 'ch_6/total/1000', 'total', 'ch_6', '1000'],
      ['refund', 're_1', 're_1', 'ch_6', '400'],
    ])
  })

  test('ORD-10 no two payments and totals give one name, whatever is in the id', () => {
    const name = (id: string, amount_refunded: number) =>
      returnsOf(receive('charge.refunded', { ...charge, id, amount_refunded }))[0]?.externalId
    const names = [
      name('ch/total/1', 12),
      name('ch', 112),
      name('ch1', 12),
      name('ch/total/11', 2),
      name('ch/total', 112),
    ]
    expect(new Set(names).size).toBe(5)
    expect(name('x'.repeat(1024), 1)).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(name('x'.repeat(1024), 2)).not.toBe(name('x'.repeat(1024), 1))
  })

  test('AMT-11 a total that cannot be read has no money key, and is kept', () => {
    for (const amount_refunded of [undefined, null, '400', -1, 4.5]) {
      expect(unclearOf(receive('charge.refunded', { ...charge, amount_refunded }))).toEqual({
        kind: 'payment.refund_total',
        code: 'amount_unreadable',
        subject: null,
      })
    }
  })

  test('what an authorisation sets free is no refund: ignored if nothing was captured, kept if the total may hold it', () => {
    const ended = { ...charge, captured: false, amount_captured: 0, amount_refunded: 10000 }
    expect(receive('charge.refunded', ended).outcome).toBe('ignored')
    const inPart = { ...charge, amount_captured: 8000, amount_refunded: 2500 }
    for (const api_version of ['2024-10-28.acacia', '2020-08-27', null, 17]) {
      expect(unclearOf(receive('charge.refunded', inPart, { api_version })).code).toBe('shape_unknown')
    }
    for (const api_version of ['2025-03-31.basil', '2026-02-25.clover']) {
      expect(returnsOf(receive('charge.refunded', inPart, { api_version })).map(keyOf)).toEqual([
        'refund_total ch_6/total/2500',
      ])
    }
    expect(
      returnsOf(receive('charge.refunded', { ...charge, amount_refunded: 400 }, { api_version: '2020-08-27' })),
    ).toHaveLength(1)
  })
})

describe('disputes', () => {
  const told = (step: string, balance_transactions: unknown, other: Record<string, unknown> = {}) =>
    receive(`charge.dispute.${step}`, { ...dispute, balance_transactions, ...other })

  test('ORD-13 won, then lost: three movements with names of their own, however often each is listed', () => {
    const all = [
      told('created', []),
      told('funds_withdrawn', [taken]),
      told('funds_reinstated', [taken, given]),
      told('funds_reinstated', [taken, given]),
      told('funds_withdrawn', [taken, given, takenAgain]),
      told('closed', [taken, given, takenAgain]),
    ]
    expect(all[0]?.outcome).toBe('ignored')
    const facts = all.slice(1).flatMap(returnsOf)
    const distinct = new Map(facts.map((fact) => [keyOf(fact), fact]))
    expect([...distinct.values()].map(shortOf)).toEqual([
      ['chargeback', 'txn_1', 'dp_1', 'pi_6', '10000'],
      ['chargeback_reversal', 'txn_2', 'dp_1', 'pi_6', '10000'],
      ['chargeback', 'txn_3', 'dp_1', 'pi_6', '10000'],
    ])
  })

  test('ORD-13 the order of the list changes neither key nor fingerprint; another movement does', () => {
    const fingerprint = (list: unknown[]) => eventOf(told('funds_reinstated', list)).fingerprint
    expect(fingerprint([given, taken])).toBe(fingerprint([taken, given]))
    expect(fingerprint([taken, { ...given, id: 'txn_9' }])).not.toBe(fingerprint([taken, given]))
    expect(fingerprint([taken, given, takenAgain])).not.toBe(fingerprint([taken, given]))
  })

  test('the fee is no money of the payment, and a movement of nothing but a fee is none', () => {
    expect(returnsOf(told('funds_withdrawn', [taken]))[0]?.amount.amountMinor).toBe(10000n)
    const feeAlone = { id: 'txn_4', amount: 0, currency: 'eur', fee: 1500, net: -1500 }
    expect(returnsOf(told('closed', [taken, feeAlone])).map(keyOf)).toEqual(['chargeback txn_1'])
    expect(told('closed', [feeAlone]).outcome).toBe('ignored')
  })

  test('AMT-06 a movement in the currency of the account counts as what the dispute states in that of the payment', () => {
    const facts = returnsOf(
      told('funds_reinstated', [
        { ...taken, amount: -10843, currency: 'usd' },
        { ...given, amount: 10790, currency: 'usd' },
      ]),
    )
    expect(facts.map((fact) => [fact.kind, fact.amount])).toEqual([
      ['chargeback', { amountMinor: 10000n, currency: 'EUR' }],
      ['chargeback_reversal', { amountMinor: 10000n, currency: 'EUR' }],
    ])
  })

  test.each([
    ['its amount is text', { ...taken, amount: '-10000' }, 'amount_unreadable', 'txn_1'],
    [
      'its amount is text, in another currency',
      { ...taken, amount: '-1', currency: 'usd' },
      'amount_unreadable',
      'txn_1',
    ],
    ['its amount is a fraction', { ...taken, amount: -100.5 }, 'amount_unreadable', 'txn_1'],
    ['its amount is missing', { id: 'txn_1', currency: 'eur' }, 'amount_unreadable', 'txn_1'],
    ['its currency is missing', { id: 'txn_1', amount: -10000 }, 'currency_unknown', 'txn_1'],
    ['its currency is unknown', { ...taken, currency: 'xyz' }, 'currency_unknown', 'txn_1'],
    ['its id is missing', { amount: -10000, currency: 'eur' }, 'id_unusable', null],
    ['it is nothing but an id', 'txn_1', 'shape_unknown', 'txn_1'],
    ['it is nothing', null, 'shape_unknown', null],
  ])('a dispute whose second movement cannot be read is kept as a whole: %s', (_why, transaction, code, subject) => {
    for (const step of ['funds_withdrawn', 'closed']) {
      expect(unclearOf(told(step, [given, transaction]))).toMatchObject({ code, subject })
    }
  })

  test('a movement that is listed twice in one event is kept', () => {
    expect(unclearOf(told('funds_withdrawn', [taken, taken]))).toMatchObject({
      code: 'shape_unknown',
      subject: 'txn_1',
    })
    // A chargeback and a reversal of one name are no pair that Stripe could mean.
    expect(unclearOf(told('closed', [taken, { ...given, id: 'txn_1' }]))).toMatchObject({ code: 'shape_unknown' })
  })

  test('a dispute in no known currency cannot state what a converted movement was', () => {
    expect(unclearOf(told('closed', [{ ...taken, currency: 'usd' }], { currency: 'xyz' })).code).toBe(
      'currency_unknown',
    )
  })

  test('money that moved without a movement to show for it is kept; a dispute that moved none is ignored', () => {
    for (const list of [undefined, null, []]) {
      for (const step of ['funds_withdrawn', 'funds_reinstated']) {
        expect(unclearOf(told(step, list))).toEqual({ kind: 'unreadable', code: 'shape_unknown', subject: null })
      }
      for (const step of ['created', 'updated', 'closed']) expect(told(step, list).outcome).toBe('ignored')
    }
    for (const list of ['txn_1', {}, 7]) expect(unclearOf(told('updated', list)).code).toBe('shape_unknown')
  })
})

test.each([
  ['refund.reversed', refund, 're_1'],
  ['charge.refund.later_step', refund, 're_1'],
  ['charge.dispute.later_step', { ...dispute, balance_transactions: [taken] }, null],
])('%s, a step that this version does not know, is kept', (type, object, subject) => {
  expect(unclearOf(receive(type, object))).toEqual({ kind: `stripe.${type}`, code: 'type_not_supported', subject })
})

test('a return without its object is kept under its own id', () => {
  expect(eventOf(receive('refund.created', 're_1'))).toMatchObject({
    kind: 'unreadable',
    id: 'evt_1',
    content: { unclear: { code: 'shape_unknown' } },
  })
})
