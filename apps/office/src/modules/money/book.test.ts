import { describe, expect, test } from 'vitest'
import type { PaymentFact, ReturnFact } from '../../facts/index.ts'
import { Book } from './book.ts'
import type { KnownPayment, LedgerState, LiveAllocation, LockedInvoice } from './ledger.ts'

/** The rules of the money desk without a database: rows in, rows out. */
let ids = 0

function newId(): string {
  ids += 1
  return `new-${String(ids).padStart(4, '0')}`
}

const context = { now: new Date('2026-03-01T12:00:00Z'), newId }
const cause = { eventId: 'event-1', deliveryId: null }

function invoice(id: string, openMinor: bigint, further: Partial<LockedInvoice> = {}): LockedInvoice {
  return {
    ...{ id, number: id.toUpperCase(), type: 'invoice', lifecycle: 'issued', currency: 'EUR' },
    ...{ totalMinor: 10_000n, openMinor, settleCount: 0, contactId: null, version: 1 },
    ...further,
  }
}

function payment(externalId: string, amountMinor: bigint, further: Partial<KnownPayment> = {}): KnownPayment {
  return {
    ...{ id: `id-${externalId}`, source: 'stripe', externalId, kind: 'payment', amountMinor, currency: 'EUR' },
    ...{
      appliedMinor: 0n,
      returnedMinor: 0n,
      invoiceReference: null,
      isPlacedByHand: false,
      contactId: null,
      version: 1,
    },
    ...further,
  }
}

function lies(id: string, externalId: string, invoiceId: string, amountMinor: bigint): LiveAllocation {
  return { id, paymentId: `id-${externalId}`, invoiceId, amountMinor }
}

function open(
  state: Partial<Omit<LedgerState, 'invoices' | 'invoiceIds'>>,
  ...invoices: readonly LockedInvoice[]
): Book {
  const byId = new Map(invoices.map((row) => [row.id, row]))
  const names = invoices.flatMap(({ id, number }) => [[id, id] as const, [number ?? '', id] as const])
  const none = { payments: [], returns: [], allocations: [] }
  return new Book({ ...none, ...state, invoices: byId, invoiceIds: new Map(names) }, context)
}

const name = (externalId: string) => ({ source: 'stripe', externalId })

function paid(externalId: string, amountMinor: bigint, invoiceReference: string | null) {
  const fact: PaymentFact = {
    ...{ type: 'payment', kind: 'payment', ...name(externalId), amount: { amountMinor, currency: 'EUR' } },
    ...{ invoiceReference, payer: { name: null, email: null }, occurredAt: null },
  }
  return { fact, id: `id-${externalId}`, ...cause }
}

function went(externalId: string, originalId: string, amountMinor: bigint, kind: ReturnFact['kind'] = 'refund') {
  const fact: ReturnFact = {
    ...{ type: 'return', kind, ...name(externalId), returnId: externalId, original: name(originalId) },
    ...{ amount: { amountMinor, currency: 'EUR' }, occurredAt: null },
  }
  return { fact, id: `id-${externalId}`, ...cause }
}

const typesOf = (list: readonly { readonly type: string }[]) => list.map(({ type }) => type)

describe('money that goes back', () => {
  const two = () =>
    open(
      {
        payments: [payment('p', 10_000n, { appliedMinor: 9_000n })],
        allocations: [lies('a1', 'p', 'a', 4_000n), lies('a2', 'p', 'b', 5_000n)],
      },
      invoice('a', 6_000n),
      invoice('b', 5_000n),
    )

  test('is what lies nowhere first, then what lies on invoices, newest first', () => {
    const book = two()
    expect(book.enterReturn(went('r', 'p', 3_000n))).toMatchObject({
      outcome: 'booked',
      applied: { amountMinor: -2_000n },
    })
    expect(book.rows()).toMatchObject({
      reversals: [{ id: 'a2', reason: 'returned' }],
      // What is left of the last one stays where it lay.
      allocations: [{ invoiceId: 'b', amountMinor: 3_000n, reversalReason: null }],
      paymentChanges: [{ appliedMinor: -2_000n, returnedMinor: 3_000n }],
      invoiceChanges: [{ id: 'b', paidMinor: -2_000n }],
    })
  })

  test('is at most what had come, and a person is asked about more', () => {
    const book = two()
    book.enterReturn(went('r', 'p', 12_000n))
    expect(book.rows().paymentChanges).toMatchObject([{ appliedMinor: -9_000n, returnedMinor: 10_000n }])
    expect(book.consequences().reviewItems).toMatchObject([{ kind: 'excess', key: 'excess:id-p' }])
  })

  test('lets the money in that waited for the invoice which it opens, oldest first', () => {
    const book = open(
      {
        payments: [
          payment('p', 10_000n, { appliedMinor: 10_000n }),
          payment('waits-2', 900n, { id: 'id-2', invoiceReference: 'A' }),
          payment('waits-1', 500n, { id: 'id-1', invoiceReference: 'A' }),
        ],
        allocations: [lies('a1', 'p', 'a', 10_000n)],
      },
      invoice('a', 0n),
    )
    book.enterReturn(went('r', 'p', 1_000n))
    expect(book.rows().invoiceChanges).toMatchObject([{ id: 'a', paidMinor: 0n, settled: 0 }])
    expect(book.rows().paymentChanges).toMatchObject([
      { id: 'id-p', appliedMinor: -1_000n },
      { id: 'id-2', appliedMinor: 500n },
      { id: 'id-1', appliedMinor: 500n },
    ])
    // Within one step it was settled before and is settled after: nobody is told that it was paid or reopened.
    expect(typesOf(book.consequences().domainEvents)).toEqual(['payment.refunded'])
  })

  test('is told once where it comes twice in one book, and kept where it contradicts itself', () => {
    const book = two()
    book.enterReturn(went('r', 'p', 3_000n))
    expect(book.enterReturn(went('r', 'p', 3_000n))).toMatchObject({
      outcome: 'duplicate',
      applied: { amountMinor: 0n },
    })
    expect(book.enterReturn(went('r', 'p', 3_001n))).toMatchObject({ outcome: 'kept', reason: 'content_differs' })
    expect(book.rows().returns).toHaveLength(1)
    expect(book.rows().paymentChanges).toMatchObject([{ returnedMinor: 3_000n }])
  })

  test('before its payment waits, and the payment of the same book meets it', () => {
    const book = open({}, invoice('a', 10_000n))
    expect(book.enterReturn(went('r', 'p', 4_000n))).toMatchObject({
      applied: { amountMinor: 0n },
      reason: 'payment_unknown',
    })
    expect(book.enterPayment(paid('p', 10_000n, 'A'))).toMatchObject({ applied: { amountMinor: 6_000n } })
    expect(book.rows().payments).toMatchObject([{ appliedMinor: 6_000n, returnedMinor: 4_000n }])
    expect(book.consequences().reviewItems).toMatchObject([{ kind: 'waiting' }])
    expect(book.consequences().answeredItems).toContainEqual({ key: 'waiting:stripe:p', decision: 'arrived' })
  })
})

describe('a payment', () => {
  test('fills its invoice and leaves the rest to a person; the second one in the same book sees what the first has left', () => {
    const book = open({}, invoice('a', 10_000n))
    expect(book.enterPayment(paid('p', 7_000n, 'A'))).toMatchObject({ applied: { amountMinor: 7_000n } })
    expect(book.enterPayment(paid('q', 7_000n, 'a'))).toMatchObject({
      applied: { amountMinor: 3_000n },
      reason: 'overpaid',
    })
    expect(book.rows().invoiceChanges).toMatchObject([{ paidMinor: 10_000n, settled: 1 }])
    expect(typesOf(book.consequences().domainEvents)).toEqual(['payment.received', 'payment.received', 'invoice.paid'])
    expect(book.consequences().reviewItems).toMatchObject([{ kind: 'unapplied', key: 'unapplied:id-q' }])
  })

  test.each([
    ['of another currency', { currency: 'USD' }, 'currency_differs'],
    ['that is a draft', { lifecycle: 'draft' }, 'invoice_not_issued'],
    ['that is void', { lifecycle: 'void' }, 'invoice_void'],
    ['that is a credit note', { type: 'credit_note' }, 'not_an_invoice'],
    ['that is settled', { openMinor: 0n }, 'invoice_settled'],
  ] as const)('is not applied to an invoice %s', (_title, further, reason) => {
    const book = open({}, invoice('a', 10_000n, further))
    expect(book.enterPayment(paid('p', 500n, 'A'))).toMatchObject({ applied: { amountMinor: 0n }, reason })
    expect(book.rows()).toMatchObject({ payments: [{ appliedMinor: 0n }], allocations: [], invoiceChanges: [] })
  })

  test('is one allocation on one invoice, however often something of it is added there', () => {
    const book = open(
      { payments: [payment('p', 900n, { appliedMinor: 300n })], allocations: [lies('a1', 'p', 'a', 300n)] },
      invoice('a', 9_700n),
    )
    for (const limit of [100n, 200n]) expect(book.apply(name('p'), 'a', limit, cause)).toBe(limit)
    expect(book.rows().reversals).toMatchObject([{ id: 'a1', reason: 'joined' }])
    expect(book.rows().allocations).toMatchObject([
      { amountMinor: 400n, reversalReason: 'joined' },
      { amountMinor: 600n, reversalReason: null },
    ])
    expect(book.rows().invoiceChanges).toMatchObject([{ paidMinor: 300n }])
  })

  test('that a person placed no longer goes where its reference says', () => {
    const waits = payment('p', 500n, { invoiceReference: 'A', isPlacedByHand: true })
    const book = open({ payments: [waits] }, invoice('a', 10_000n))
    book.takeWaiting(cause)
    expect(book.rows()).toMatchObject({ paymentChanges: [], allocations: [] })
  })
})

describe('a move', () => {
  const lying = () =>
    open(
      {
        payments: [payment('p', 9_000n, { appliedMinor: 9_000n })],
        allocations: [lies('a1', 'p', 'a', 4_000n), lies('a2', 'p', 'b', 5_000n)],
      },
      invoice('a', 6_000n),
      invoice('b', 0n, { totalMinor: 5_000n }),
      invoice('c', 7_000n),
    )

  test('takes everything along that lies elsewhere, and what does not fit lies nowhere', () => {
    const book = lying()
    expect(book.move(name('p'), null, 'c', cause)).toBe(7_000n)
    expect(book.rows().reversals.map(({ id, reason }) => [id, reason])).toEqual([
      ['a1', 'moved'],
      ['a2', 'moved'],
    ])
    expect(book.rows().paymentChanges).toMatchObject([{ appliedMinor: -2_000n, isPlacedByHand: true }])
    expect(typesOf(book.consequences().domainEvents)).toEqual(['payment.moved', 'invoice.reopened', 'invoice.paid'])
    expect(book.consequences().reviewItems).toMatchObject([{ kind: 'unapplied', data: { unappliedMinor: 2_000 } }])
  })

  test('from one invoice leaves what lies on the others', () => {
    const book = lying()
    expect(book.move(name('p'), 'b', 'c', cause)).toBe(5_000n)
    expect(book.rows().reversals).toMatchObject([{ id: 'a2' }])
  })

  test('to where the money lies already moves nothing and tells nobody', () => {
    const book = open(
      { payments: [payment('p', 400n, { appliedMinor: 400n })], allocations: [lies('a1', 'p', 'a', 400n)] },
      invoice('a', 9_600n),
    )
    expect(book.move(name('p'), null, 'a', cause)).toBe(0n)
    expect(book.rows()).toMatchObject({ reversals: [], allocations: [], invoiceChanges: [] })
    expect(book.consequences()).toMatchObject({ activities: [], domainEvents: [], reviewItems: [] })
  })
})

describe('a credit note', () => {
  test('lowers what is open first, and beyond that releases payments, the newest first', () => {
    const book = open(
      {
        payments: [payment('old', 3_000n, { appliedMinor: 3_000n }), payment('new', 2_000n, { appliedMinor: 2_000n })],
        allocations: [lies('a1', 'old', 'a', 3_000n), lies('a2', 'new', 'a', 2_000n)],
      },
      invoice('a', 5_000n),
      invoice('n', 8_000n, { type: 'credit_note' }),
    )
    book.credit('a', 'n', 8_000n, cause)
    expect(book.rows().reversals.map(({ id, reason }) => [id, reason])).toEqual([
      ['a2', 'credited'],
      ['a1', 'credited'],
    ])
    expect(book.rows().invoiceChanges).toMatchObject([
      { id: 'a', paidMinor: -3_000n, creditedMinor: 8_000n },
      { id: 'n', creditedMinor: 8_000n },
    ])
    // The invoice is settled by it; the credit note itself is never told of as paid.
    expect(typesOf(book.consequences().domainEvents)).toContain('invoice.paid')
    expect(book.consequences().domainEvents.filter(({ type }) => type === 'invoice.paid')).toHaveLength(1)
  })
})

test('what was not read is never written over', () => {
  const book = open({}, invoice('a', 10_000n))
  expect(() => book.move(name('p'), null, 'a', cause)).toThrow('was not read')
  const lost = open({ payments: [payment('p', 500n, { appliedMinor: 500n })] }, invoice('a', 10_000n))
  expect(() => lost.enterReturn(went('r', 'p', 500n))).toThrow('more than its allocations say')
})
