import type pg from 'pg'
import {
  AT,
  addDelivery,
  addEvent,
  addLine,
  ask,
  type Book,
  fire,
  notify,
  openBook,
  sumOf,
  type WrittenBooks,
} from './book-rows.ts'

export type { WrittenBooks }

const NOBODY = 'a payment that has not arrived'

interface Line {
  readonly quantity: string
  readonly price: string
  readonly discount?: string
  readonly tax: string
  /** By hand, as the rule says. */
  readonly net: number
}

interface InvoiceSpec {
  readonly type?: 'invoice' | 'credit_note'
  readonly lifecycle?: 'draft' | 'issued' | 'void'
  readonly currency?: string
  readonly discount?: string
  readonly lines: readonly Line[]
  /** By hand, as the rule says. */
  readonly total: number
  readonly settled?: number
  readonly reopened?: number
  readonly copiedFrom?: string
  readonly corrects?: string
}

interface PaymentSpec {
  readonly kind?: 'payment' | 'correction'
  readonly source?: string
  readonly amount: number
  readonly currency?: string
  readonly reference?: string | null
  readonly isPlacedByHand?: boolean
  /** By hand. */
  readonly returned?: number
  /** Deliveries that brought it; what arrived beyond them left none. */
  readonly deliveries?: number
  readonly copies?: number
}

/**
 * A year of an office in an hour: everything that the tables can say, each once, and all of it in order.
 *
 * Sums of ledger rows are counted here; totals, nets and what went back are written down by hand.
 */
export async function writeBooks(owner: pg.Pool, name: string): Promise<WrittenBooks> {
  const book = await openBook(owner, name)
  writeInvoices(book)
  writePayments(book)
  writeReturns(book)
  writeOtherArrivals(book)
  await book.flush(owner)
  return book.books
}

function tax0(amount: number): Line[] {
  return [{ quantity: '1', price: String(amount), tax: '0', net: amount }]
}

function writeInvoices(book: Book): void {
  // 19 %: 10150 - 254 = 9896, and 1880 tax. 7 %: 950 - 24 = 926, and 65 tax.
  issue(book, 'RE-00001', {
    discount: '2.5',
    lines: [
      { quantity: '3', price: '3333.3333', tax: '19', net: 10_000 },
      { quantity: '0.5', price: '333', discount: '10', tax: '19', net: 150 },
      { quantity: '1', price: '1001', tax: '7', net: 1_001 },
      { quantity: '-1', price: '50.5', tax: '7', net: -51 },
    ],
    total: 12_767,
    settled: 1,
  })
  issue(book, 'RE-00002', { lines: tax0(20_000), total: 20_000 })
  issue(book, 'RE-00003', { lines: tax0(10_000), total: 10_000, settled: 2, reopened: 1 })
  issue(book, 'RE-00004', { lines: tax0(0), total: 0 })
  issue(book, 'RE-00005', { lines: tax0(8_000), total: 8_000, settled: 1 })
  issue(book, 'RE-00006', { lines: tax0(1_000), total: 1_000, settled: 1 })
  issue(book, 'RE-00007', { lines: tax0(500), total: 500, lifecycle: 'void', settled: 1, reopened: 1 })
  issue(book, 'RE-00008', { lines: tax0(4_600), total: 4_600, currency: 'JPY', settled: 1 })
  issue(book, 'GS-00001', { type: 'credit_note', lines: tax0(3_000), total: 3_000, corrects: 'RE-00005' })
  issue(book, 'draft', { lifecycle: 'draft', lines: tax0(700), total: 700, copiedFrom: 'RE-00001' })
  book.add('number_series', { name: 'invoice', prefix: 'RE-', next_sequence: 9 })
  book.add('number_series', { name: 'credit_note', prefix: 'GS-', next_sequence: 2 })
  const { invoices } = book.books
  const event = addEvent(book, 'key-credit', {
    source: 'api',
    kind: 'invoice.credit',
    target: invoiceTarget('GS-00001'),
  })
  book.add('credit_allocations', {
    id: book.newId(),
    credit_note_id: invoices['GS-00001'],
    invoice_id: invoices['RE-00005'],
    currency: 'EUR',
    amount_minor: 3_000,
    event_id: event,
    created_at: AT,
  })
  for (const [amount, reason] of [
    [20, null],
    [5, 'a mistake'],
  ] as const) {
    book.add('invoice_adjustments', {
      id: book.newId(),
      invoice_id: invoices['RE-00006'],
      currency: 'EUR',
      kind: 'cash_discount',
      amount_minor: amount,
      event_id: event,
      created_at: AT,
      reversed_at: reason === null ? null : AT,
      reversal_reason: reason,
    })
  }

  function invoiceTarget(number: string) {
    return { type: 'invoice', id: invoices[number] ?? '' }
  }
}

function issue(book: Book, number: string, spec: InvoiceSpec): void {
  const { books, newId, add } = book
  const { type = 'invoice', lifecycle = 'issued', currency = 'EUR', lines, total, settled = 0, reopened = 0 } = spec
  const id = newId()
  books.invoices[number] = id
  const target = { type: 'invoice', id }
  const event = addEvent(book, `key-${number}`, { source: 'api', kind: 'invoice.issue', target })
  const isDraft = lifecycle === 'draft'
  const issued = {
    number: isDraft ? null : number,
    sequence: isDraft ? null : Number(number.split('-')[1]),
    series: isDraft ? null : type,
    issued_at: isDraft ? null : AT,
  }
  if (!isDraft) {
    add('issued_documents', { invoice_id: id, currency, total_minor: total, ...issued, content: '{}' })
    fire(book, 'invoice.issued', id, { type: 'invoice', id }, event)
  }
  for (let count = 1; count <= settled; count += 1) fire(book, 'invoice.paid', `${id}:${count}`, target, event)
  for (let count = 1; count <= reopened; count += 1) fire(book, 'invoice.reopened', `${id}:${count}`, target, event)
  add('invoices', {
    id,
    type,
    lifecycle,
    ...issued,
    contact_id: books.contactId,
    currency,
    total_minor: total,
    settle_count: settled,
    discount_percent: spec.discount ?? '0',
    copied_from_id: books.invoices[spec.copiedFrom ?? ''] ?? null,
    corrects_id: books.invoices[spec.corrects ?? ''] ?? null,
    created_at: AT,
    paid_minor: () => sumOf(book.of('allocations'), (row) => row['invoice_id'] === id && row['reversed_at'] === null),
    credited_minor: () => {
      const own = type === 'invoice' ? 'invoice_id' : 'credit_note_id'
      return sumOf(book.of('credit_allocations'), (row) => row[own] === id)
    },
    adjusted_minor: () =>
      sumOf(book.of('invoice_adjustments'), (row) => row['invoice_id'] === id && row['reversed_at'] === null),
  })
  for (const [index, line] of lines.entries()) {
    add('invoice_lines', {
      invoice_id: id,
      currency,
      position: index + 1,
      description: 'Work',
      quantity: line.quantity,
      unit_price_minor: line.price,
      discount_percent: line.discount ?? '0',
      tax_percent: line.tax,
      net_minor: line.net,
    })
  }
}

function writePayments(book: Book): void {
  const { books } = book
  pay(book, 'pi_settled', { amount: 12_767, reference: 'RE-00001', deliveries: 3, copies: 4 })
  allocate(book, 'pi_settled', 'RE-00001', 12_767)
  pay(book, 'pi_part', { amount: 5_000, reference: 'RE-00002' })
  allocate(book, 'pi_part', 'RE-00002', 5_000)
  pay(book, 'key-button', { source: 'api', amount: 6_000, reference: books.invoices['RE-00002'] ?? '', deliveries: 0 })
  allocate(book, 'key-button', 'RE-00002', 6_000)
  pay(book, 'pi_refunded', { amount: 10_000, reference: 'RE-00003', returned: 4_000 })
  allocate(book, 'pi_refunded', 'RE-00003', 10_000, 'returned')
  allocate(book, 'pi_refunded', 'RE-00003', 6_000)
  pay(book, 'pi_again', { amount: 4_000, reference: 'RE-00003' })
  allocate(book, 'pi_again', 'RE-00003', 4_000)
  pay(book, 'pi_overpaid', { amount: 6_000, reference: 'RE-00005' })
  allocate(book, 'pi_overpaid', 'RE-00005', 5_000)
  askAbout(book, 'pi_overpaid')
  pay(book, 'pi_discounted', { amount: 980, reference: 'RE-00006' })
  allocate(book, 'pi_discounted', 'RE-00006', 980)
  pay(book, 'pi_moved', { amount: 520, reference: 'RE-00007', isPlacedByHand: true })
  allocate(book, 'pi_moved', 'RE-00007', 500, 'moved')
  allocate(book, 'pi_moved', 'RE-00002', 500)
  pay(book, 'pi_early', { amount: 700, reference: books.invoices['draft'] ?? '' })
  askAbout(book, 'pi_early')
  pay(book, 'pi_yen', { amount: 4_600, currency: 'JPY', reference: 'RE-00008' })
  allocate(book, 'pi_yen', 'RE-00008', 4_600)
  pay(book, 'pi_dollar', { amount: 100, currency: 'USD', reference: 'RE-00002' })
  askAbout(book, 'pi_dollar', 'left for the next invoice')
  pay(book, 'conflict:1', { kind: 'correction', amount: 10 })
  askAbout(book, 'conflict:1')
  // Told of again by another event.
  const again = addEvent(book, 'evt_pi_settled_again', {
    target: { type: 'payment', id: books.payments['pi_settled'] ?? '' },
    answer: { applied: [], duplicate: true },
  })
  addDelivery(book, [{ event: again, outcome: 'duplicate' }])
  book.add('payment_mentions', { payment_id: books.payments['pi_settled'], event_id: again, currency: 'EUR' })
}

function writeReturns(book: Book): void {
  giveBack(book, 're_1', { kind: 'refund', of: 'pi_refunded', amount: 4_000 })
  pay(book, 'pi_disputed', { amount: 300, returned: 200 })
  giveBack(book, 'du_1_out', { kind: 'chargeback', of: 'pi_disputed', returnId: 'du_1', amount: 300 })
  giveBack(book, 'du_1_in', { kind: 'chargeback_reversal', of: 'pi_disputed', returnId: 'du_1', amount: 100 })
  askAbout(book, 'pi_disputed')
  // The highest running total counts.
  pay(book, 'pi_totals', { amount: 900, returned: 600 })
  giveBack(book, 'pi_totals/400', { kind: 'refund_total', of: 'pi_totals', returnId: 'total', amount: 400 })
  giveBack(book, 'pi_totals/600', { kind: 'refund_total', of: 'pi_totals', returnId: 'total', amount: 600 })
  askAbout(book, 'pi_totals')
  // Its source told of single refunds, so its total does not count; one refund failed, and more came back than had gone.
  pay(book, 'pi_singles', { amount: 900, returned: 200 })
  giveBack(book, 'pi_singles/500', { kind: 'refund_total', of: 'pi_singles', returnId: 'total', amount: 500 })
  giveBack(book, 're_2', { kind: 'refund', of: 'pi_singles', amount: 200 })
  giveBack(book, 're_3', { kind: 'refund', of: 'pi_singles', amount: 100 })
  giveBack(book, 're_3_failed', { kind: 'refund_reversal', of: 'pi_singles', returnId: 're_3', amount: 150 })
  giveBack(book, 're_4', { kind: 'refund', of: 'pi_singles', amount: 800, currency: 'USD' })
  askAbout(book, 'pi_singles')
  // Entered by a person beside a running total: both count, because the source itself told of no single refund.
  pay(book, 'pi_by_hand', { amount: 900, returned: 450 })
  giveBack(book, 'pi_by_hand/400', { kind: 'refund_total', of: 'pi_by_hand', returnId: 'total', amount: 400 })
  giveBack(book, 're_hand', { kind: 'refund', of: 'pi_by_hand', amount: 50, source: 'api' })
  askAbout(book, 'pi_by_hand')
  // Came before its payment, and is more than it.
  pay(book, 'pi_late', { amount: 100, returned: 100 })
  giveBack(book, 're_early', { kind: 'refund', of: 'pi_late', amount: 150 })
  ask(book, `waiting:stripe:pi_late`, 'waiting', book.books.events['evt_re_early'] ?? '', {}, 'arrived')
  ask(book, `excess:${book.books.payments['pi_late']}`, 'excess', book.books.events['evt_pi_late'] ?? '', {})
  giveBack(book, 're_alone', { kind: 'refund', of: NOBODY, amount: 50 })
  ask(book, `waiting:stripe:${NOBODY}`, 'waiting', book.books.events['evt_re_alone'] ?? '', {})
}

function writeOtherArrivals(book: Book): void {
  addDelivery(book, [], 'ignored')
  const unclear = addEvent(book, 'evt_unclear', { kind: 'unreadable', answer: { applied: [], kept: 'shape_unknown' } })
  const delivery = addDelivery(book, [{ event: unclear, outcome: 'kept' }])
  ask(book, `unclear:event:${unclear}`, 'unclear', unclear, {}, null, delivery)
  const mended = book.books.events['evt_pi_again'] ?? ''
  ask(book, `failed:${mended}`, 'failed', mended, {}, 'succeeded')
  const { contactId } = book.books
  addEvent(book, 'key-contact', { source: 'api', kind: 'contact.create', target: { type: 'contact', id: contactId } })
  const deal = { type: 'deal', id: book.newId() }
  const deals = { title: 'A new kitchen', contact_id: contactId, stage: 'new', currency: 'EUR', amount_minor: 0 }
  book.add('deals', { id: deal.id, ...deals, created_at: AT })
  const opened = addEvent(book, 'key-deal', { source: 'api', kind: 'deal.create', target: deal })
  addLine(book, deal, 'deal.opened', 'deal.opened', opened, {})
  // Neither is a provider's news of money: a program's own key in the register, and a write that led to no single thing.
  addEvent(book, 'shop-1', { source: 'external/shop', kind: 'payment.exported' })
  // What a program did outside has a name of that system, whatever it calls it; a question about it was answered when it was done.
  const outside = { source: 'external/shop', kind: 'label.print', target: { type: 'payment', id: 'L-1' } }
  const printed = addEvent(book, 'shop-2', outside)
  ask(book, `register:${printed}:1:stuck`, 'stuck', printed, {}, 'completed')
  addEvent(book, 'key-export', { source: 'api', kind: 'payment.export' })
}

function pay(book: Book, externalId: string, spec: PaymentSpec): void {
  const { books, newId, add } = book
  const { kind = 'payment', source = 'stripe', amount, currency = 'EUR', reference = null, deliveries = 1 } = spec
  const id = newId()
  books.payments[externalId] = id
  const target = { type: 'payment', id }
  const eventKind = source === 'api' ? 'invoice.pay' : 'payment.paid'
  const copies = spec.copies ?? Math.max(1, deliveries)
  const event = addEvent(book, `evt_${externalId}`, { source, kind: eventKind, target, copies })
  for (let count = 1; count <= deliveries; count += 1) {
    addDelivery(book, [{ event, outcome: count === 1 ? 'done' : 'duplicate' }])
  }
  add('money_subjects', { external_id: externalId, source })
  add('payments', {
    id,
    source,
    external_id: externalId,
    kind,
    event_id: event,
    amount_minor: amount,
    currency,
    returned_minor: spec.returned ?? 0,
    invoice_reference: reference,
    is_placed_by_hand: spec.isPlacedByHand ?? false,
    recorded_at: AT,
    applied_minor: () =>
      sumOf(book.of('allocations'), (row) => row['payment_id'] === id && row['reversed_at'] === null),
  })
  const type = kind === 'payment' ? 'payment.received' : 'payment.corrected'
  const invoice = books.invoices[reference ?? '']
  const data = { paymentId: id }
  addLine(
    book,
    { type: 'contact', id: books.contactId },
    `payment:${source}:${externalId}:${invoice ?? ''}`,
    type,
    event,
    data,
  )
  notify(book, `payment:${source}:${externalId}`, type, event, data)
  fire(book, type, id, target, event)
}

function allocate(book: Book, payment: string, invoice: string, amount: number, reversal: string | null = null): void {
  const { books, newId, add, of } = book
  const row = of('payments').find(({ id }) => id === books.payments[payment])
  add('allocations', {
    id: newId(),
    payment_id: books.payments[payment],
    invoice_id: books.invoices[invoice],
    currency: row?.['currency'],
    amount_minor: amount,
    event_id: row?.['event_id'],
    created_at: AT,
    reversed_at: reversal === null ? null : AT,
    reversal_reason: reversal,
  })
}

function giveBack(
  book: Book,
  externalId: string,
  spec: { kind: string; of: string; amount: number; returnId?: string; currency?: string; source?: string },
): void {
  const { books, newId, add, of } = book
  const { source = 'stripe', currency = 'EUR' } = spec
  const id = newId()
  books.returns[externalId] = id
  const target = { type: 'payment_return', id }
  const event = addEvent(book, `evt_${externalId}`, { source, kind: 'payment.refunded', target })
  if (source === 'stripe') addDelivery(book, [{ event, outcome: 'done' }])
  const isKnown = of('money_subjects').some((row) => row['external_id'] === spec.of)
  if (!isKnown) add('money_subjects', { external_id: spec.of, source: 'stripe' })
  add('payment_returns', {
    id,
    source,
    external_id: externalId,
    kind: spec.kind,
    return_id: spec.returnId ?? externalId,
    original_id: spec.of,
    original_source: 'stripe',
    event_id: event,
    amount_minor: spec.amount,
    currency,
    recorded_at: AT,
  })
  const key = `return:${source}:${spec.kind}:${externalId}`
  addLine(book, { type: 'contact', id: books.contactId }, key, 'payment.refunded', event, {})
  notify(book, key, 'payment.refunded', event, {})
  fire(book, 'payment.refunded', id, target, event)
}

function askAbout(book: Book, payment: string, decision: string | null = null): void {
  const paymentId = book.books.payments[payment] ?? ''
  ask(book, `unapplied:${paymentId}`, 'unapplied', book.books.events[`evt_${payment}`] ?? '', { paymentId }, decision)
}
