import type { WrittenBooks } from './written-books.ts'

/** One way in which books can be broken, past every right and every constraint. */
export interface Break {
  /** The check that it is made for. */
  readonly check: string
  readonly what: string
  /** Statements of the owner of the database; foreign keys are switched off. */
  statements(books: WrittenBooks, others: WrittenBooks): readonly string[]
  /** What that check must name. */
  subject(books: WrittenBooks): string
  /** What else no longer holds by the same deed. */
  readonly also?: readonly string[]
}

const UNKNOWN = '00000000-0000-7000-8000-000000000001'
const COPY = '00000000-0000-7000-8000-000000000002'

function uuid(ids: Readonly<Record<string, string>>, name: string): string {
  const id = ids[name]
  if (id === undefined) throw new Error(`the books have no ${name}`)
  return id
}

const paymentOf = (books: WrittenBooks, name: string) => uuid(books.payments, name)
const invoiceOf = (books: WrittenBooks, name: string) => uuid(books.invoices, name)
const eventOf = (books: WrittenBooks, name: string) => uuid(books.events, name)
const returnOf = (books: WrittenBooks, name: string) => uuid(books.returns, name)

/** The same row again under another id. */
function copyOf(table: string, columns: string, id: string): string {
  return `insert into ${table} (id, organization_id, ${columns}) select '${COPY}', organization_id, ${columns} from ${table}
    where id = '${id}'`
}

/** Subject and finding are about a row that stands in no list of the books; it is found by its event. */
function idOf(table: string, eventId: string, further = 'true'): string {
  return `(select id from ${table} where event_id = '${eventId}' and ${further} order by id limit 1)`
}

const moneyBreaks: readonly Break[] = [
  {
    check: 'payment.applied',
    what: 'the counter of a payment is one too low',
    statements: (books) => [
      `update payments set applied_minor = applied_minor - 1 where id = '${paymentOf(books, 'pi_overpaid')}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_overpaid'),
    also: ['money.received'],
  },
  {
    check: 'payment.applied',
    what: 'an allocation was taken back, and the counter of the payment was forgotten',
    statements: (books) => [
      `update allocations set reversed_at = now(), reversal_reason = 'moved' where payment_id = '${paymentOf(books, 'pi_part')}'`,
      `update invoices set paid_minor = paid_minor - 5000 where id = '${invoiceOf(books, 'RE-00002')}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_part'),
    also: ['money.received'],
  },
  {
    check: 'payment.returned',
    what: 'a running total counts although it is not the highest',
    statements: (books) => [`update payments set returned_minor = 400 where id = '${paymentOf(books, 'pi_totals')}'`],
    subject: (books) => paymentOf(books, 'pi_totals'),
  },
  {
    check: 'payment.returned',
    what: 'a running total counts beside single refunds of the same source',
    statements: (books) => [`update payments set returned_minor = 500 where id = '${paymentOf(books, 'pi_singles')}'`],
    subject: (books) => paymentOf(books, 'pi_singles'),
  },
  {
    check: 'payment.returned',
    what: 'what came back of a dispute is not counted',
    statements: (books) => [`update payments set returned_minor = 300 where id = '${paymentOf(books, 'pi_disputed')}'`],
    subject: (books) => paymentOf(books, 'pi_disputed'),
    also: ['review.unapplied'],
  },
  {
    check: 'payment.returned',
    what: 'a refund is gone',
    statements: (books) => [`delete from payment_returns where id = '${returnOf(books, 're_early')}'`],
    subject: (books) => paymentOf(books, 'pi_late'),
    also: ['event.target', 'subject.named'],
  },
  {
    check: 'payment.parts',
    what: 'the unapplied part is no longer computed, and is another',
    statements: (books) => [
      'alter table payments alter column unapplied_minor drop expression',
      `update payments set unapplied_minor = 1001 where id = '${paymentOf(books, 'pi_overpaid')}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_overpaid'),
    also: ['money.received'],
  },
  {
    check: 'payment.parts',
    what: 'more is applied and returned than was received',
    statements: (books) => [
      'alter table payments drop constraint payments_sum_check',
      `update payments set applied_minor = applied_minor + 2000 where id = '${paymentOf(books, 'pi_overpaid')}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_overpaid'),
    also: ['payment.applied', 'money.received'],
  },
  {
    check: 'money.received',
    what: 'money lies on an invoice that no payment brought',
    statements: (books) => [
      `insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id, created_at)
        values ('${COPY}', '${books.organizationId}', '${UNKNOWN}', '${invoiceOf(books, 'RE-00002')}', 'EUR', 7,
          '${eventOf(books, 'evt_pi_part')}', now())`,
    ],
    subject: () => 'EUR',
    also: ['allocation.ends', 'invoice.paid'],
  },
  {
    check: 'payment.waiting',
    what: 'money waits that names an open invoice by its number',
    statements: (books) => [
      `update payments set invoice_reference = 'RE-00002' where id = '${paymentOf(books, 'pi_totals')}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_totals'),
  },
  {
    check: 'payment.waiting',
    what: 'money waits that names an open invoice by its id',
    statements: (books) => [
      `update payments set invoice_reference = upper('${invoiceOf(books, 'RE-00002')}')
        where id = '${paymentOf(books, 'pi_totals')}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_totals'),
  },
  {
    check: 'payment.told',
    what: 'the domain event of a payment is gone',
    statements: (books) => [
      `delete from domain_events where type = 'payment.received' and key = '${paymentOf(books, 'pi_part')}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_part'),
  },
  {
    check: 'payment.told',
    what: 'a payment stands on two time lines',
    statements: (books) => [
      `insert into activities (id, organization_id, subject_type, subject_id, key, type, event_id, data, recorded_at)
        select '${COPY}', organization_id, 'invoice', '${invoiceOf(books, 'RE-00002')}', key, type, event_id, data, recorded_at
        from activities where data ->> 'paymentId' = '${paymentOf(books, 'pi_part')}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_part'),
  },
  {
    check: 'return.told',
    what: 'the domain event of a refund is gone',
    statements: (books) => [`delete from domain_events where key = '${returnOf(books, 're_1')}'`],
    subject: (books) => returnOf(books, 're_1'),
  },
  {
    check: 'allocation.ends',
    what: 'an allocation has another currency than its invoice',
    statements: (books) => [
      `update allocations set currency = 'USD', id = '${COPY}' where payment_id = '${paymentOf(books, 'pi_part')}'`,
    ],
    subject: () => COPY,
    also: ['money.received'],
  },
  {
    check: 'allocation.ends',
    what: 'an allocation lies on a void invoice',
    statements: (books) => [
      `update allocations set invoice_id = '${invoiceOf(books, 'RE-00007')}', id = '${COPY}'
        where payment_id = '${paymentOf(books, 'pi_part')}'`,
    ],
    subject: () => COPY,
    also: ['invoice.paid'],
  },
  {
    check: 'allocation.ends',
    what: 'a credit allocation takes from a credit note that is not on record',
    statements: ({ organizationId }) => [
      `update credit_allocations set credit_note_id = '${UNKNOWN}', id = '${COPY}'
        where organization_id = '${organizationId}'`,
    ],
    subject: () => COPY,
    also: ['invoice.credited'],
  },
  {
    check: 'allocation.ends',
    what: 'an allocation has another currency than its payment',
    statements: (books) => [
      `update allocations set id = '${COPY}' where payment_id = '${paymentOf(books, 'pi_yen')}'`,
      `update payments set currency = 'EUR' where id = '${paymentOf(books, 'pi_yen')}'`,
    ],
    subject: () => COPY,
    also: ['money.received'],
  },
  {
    check: 'allocation.ends',
    what: 'an allocation lies on an invoice that is not on record',
    statements: (books) => [
      `update allocations set invoice_id = '${UNKNOWN}', id = '${COPY}' where payment_id = '${paymentOf(books, 'pi_part')}'`,
    ],
    subject: () => COPY,
    also: ['invoice.paid'],
  },
  {
    check: 'allocation.ends',
    what: 'an allocation lies on a credit note',
    statements: (books) => [
      `update allocations set invoice_id = '${invoiceOf(books, 'GS-00001')}', id = '${COPY}'
        where payment_id = '${paymentOf(books, 'pi_part')}'`,
    ],
    subject: () => COPY,
    also: ['invoice.paid'],
  },
  {
    check: 'allocation.ends',
    what: 'a credit allocation has another currency',
    statements: ({ organizationId }) => [
      `update credit_allocations set currency = 'USD', id = '${COPY}' where organization_id = '${organizationId}'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'allocation.ends',
    what: 'a credit allocation takes from an invoice',
    statements: (books) => [
      `update credit_allocations set id = '${COPY}' where organization_id = '${books.organizationId}'`,
      'alter table invoices drop constraint invoices_corrects_check',
      `update invoices set type = 'invoice', credited_minor = 0 where id = '${invoiceOf(books, 'GS-00001')}'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'allocation.ends',
    what: 'a credit allocation is of an invoice that is not on record',
    statements: ({ organizationId }) => [
      `update credit_allocations set invoice_id = '${UNKNOWN}', id = '${COPY}' where organization_id = '${organizationId}'`,
    ],
    subject: () => COPY,
    also: ['invoice.credited'],
  },
  {
    check: 'allocation.ends',
    what: 'a credit allocation is of a draft',
    statements: (books) => [
      `update credit_allocations set invoice_id = '${invoiceOf(books, 'draft')}', id = '${COPY}'
        where organization_id = '${books.organizationId}'`,
    ],
    subject: () => COPY,
    also: ['invoice.credited'],
  },
  {
    check: 'allocation.ends',
    what: 'an adjustment has another currency than its invoice',
    statements: ({ organizationId }) => [
      `update invoice_adjustments set currency = 'USD', id = '${COPY}'
        where organization_id = '${organizationId}' and reversed_at is null`,
    ],
    subject: () => COPY,
  },
  {
    check: 'allocation.ends',
    what: 'an adjustment is of a draft',
    statements: (books) => [
      `update invoice_adjustments set invoice_id = '${invoiceOf(books, 'draft')}', id = '${COPY}'
        where organization_id = '${books.organizationId}' and reversed_at is null`,
    ],
    subject: () => COPY,
    also: ['invoice.adjusted'],
  },
  {
    check: 'allocation.ends',
    what: 'an adjustment is of an invoice that is not on record',
    statements: ({ organizationId }) => [
      `update invoice_adjustments set invoice_id = '${UNKNOWN}', id = '${COPY}'
        where organization_id = '${organizationId}' and reversed_at is null`,
    ],
    subject: () => COPY,
    also: ['invoice.adjusted'],
  },
  {
    check: 'allocation.twice',
    what: 'one payment lies on one invoice in two parts',
    statements: (books) => [
      'drop index allocations_live_key',
      `insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id, created_at)
        select '${COPY}', organization_id, payment_id, invoice_id, currency, 1000, event_id, created_at
        from allocations where payment_id = '${paymentOf(books, 'pi_part')}'`,
      `update allocations set amount_minor = 4000 where payment_id = '${paymentOf(books, 'pi_part')}' and id <> '${COPY}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00002'),
  },
  {
    check: 'allocation.reversal',
    what: 'an allocation was taken back without a reason',
    statements: (books) => [
      'alter table allocations drop constraint allocations_reversed_check',
      `update allocations set reversal_reason = null, id = '${COPY}'
        where payment_id = '${paymentOf(books, 'pi_moved')}' and reversed_at is not null`,
    ],
    subject: () => COPY,
  },
  {
    check: 'allocation.reversal',
    what: 'the reason for an adjustment taken back is blank',
    statements: ({ organizationId }) => [
      `update invoice_adjustments set reversal_reason = ' ', id = '${COPY}'
        where organization_id = '${organizationId}' and reversed_at is not null`,
    ],
    subject: () => COPY,
  },
  {
    check: 'allocation.reversal',
    what: 'an allocation that stands has a reason for being taken back',
    statements: (books) => [
      'alter table allocations drop constraint allocations_reversed_check',
      `update allocations set reversal_reason = 'moved', id = '${COPY}' where payment_id = '${paymentOf(books, 'pi_part')}'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'money.subject',
    what: 'the row on which an awaited payment’s refund waits is gone',
    statements: ({ organizationId }) => [
      `delete from money_subjects where external_id = 'a payment that has not arrived' and organization_id = '${organizationId}'`,
    ],
    subject: (books) => returnOf(books, 're_alone'),
  },
  {
    check: 'money.subject',
    what: 'the row on which a payment’s money waits is gone',
    statements: ({ organizationId }) => [
      `delete from money_subjects where external_id = 'pi_part' and organization_id = '${organizationId}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_part'),
  },
]

const invoiceBreaks: readonly Break[] = [
  {
    check: 'invoice.paid',
    what: 'the counter of an invoice is one too low',
    statements: (books) => [
      `update invoices set paid_minor = paid_minor - 1 where id = '${invoiceOf(books, 'RE-00002')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00002'),
  },
  {
    check: 'invoice.credited',
    what: 'the counter of an invoice is one too low, so that it is open again, and money waits for it',
    statements: (books) => [
      `update invoices set credited_minor = credited_minor - 1 where id = '${invoiceOf(books, 'RE-00005')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00005'),
    also: ['payment.waiting', 'invoice.settled'],
  },
  {
    check: 'invoice.credited',
    what: 'the counter of a credit note is one too low',
    statements: (books) => [
      `update invoices set credited_minor = credited_minor - 1 where id = '${invoiceOf(books, 'GS-00001')}'`,
    ],
    subject: (books) => invoiceOf(books, 'GS-00001'),
  },
  {
    check: 'invoice.adjusted',
    what: 'something was taken off without a row that says so',
    statements: (books) => [`update invoices set adjusted_minor = 1 where id = '${invoiceOf(books, 'RE-00002')}'`],
    subject: (books) => invoiceOf(books, 'RE-00002'),
  },
  {
    check: 'invoice.open',
    what: 'the open amount is no longer computed, and is another',
    statements: (books) => [
      'alter table invoices alter column open_minor drop expression',
      `update invoices set open_minor = 1 where id = '${invoiceOf(books, 'RE-00002')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00002'),
  },
  {
    check: 'invoice.open',
    what: 'the state is no longer computed, and is another',
    statements: (books) => [
      'alter table invoices alter column payment_state drop expression',
      `update invoices set payment_state = 'open' where id = '${invoiceOf(books, 'RE-00002')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00002'),
  },
  {
    check: 'invoice.open',
    what: 'an invoice is paid beyond its total',
    statements: (books) => [
      'alter table invoices drop constraint invoices_sum_check',
      `update invoices set paid_minor = total_minor + 1 where id = '${invoiceOf(books, 'RE-00002')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00002'),
    also: ['invoice.paid'],
  },
  {
    check: 'invoice.line',
    what: 'the quantity of a line was changed',
    statements: (books) => [
      `update invoice_lines set quantity = 2 where invoice_id = '${invoiceOf(books, 'RE-00002')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00002'),
  },
  {
    check: 'invoice.line',
    what: 'the discount of a line is gone',
    statements: (books) => [
      `update invoice_lines set discount_percent = 0 where invoice_id = '${invoiceOf(books, 'RE-00001')}' and position = 2`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00001'),
  },
  {
    check: 'invoice.total',
    what: 'the total of a draft is not that of its lines',
    statements: (books) => [`update invoices set total_minor = 701 where id = '${invoiceOf(books, 'draft')}'`],
    subject: (books) => invoiceOf(books, 'draft'),
  },
  {
    check: 'invoice.total',
    what: 'the discount of an issued document is another',
    statements: (books) => [`update invoices set discount_percent = 2.4 where id = '${invoiceOf(books, 'RE-00001')}'`],
    subject: (books) => invoiceOf(books, 'RE-00001'),
  },
  {
    check: 'invoice.total',
    what: 'the tax of a line is another',
    statements: (books) => [
      `update invoice_lines set tax_percent = 16 where invoice_id = '${invoiceOf(books, 'RE-00001')}' and position = 1`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00001'),
  },
  {
    check: 'invoice.document',
    what: 'the document of an issued invoice is gone',
    statements: (books) => [`delete from issued_documents where invoice_id = '${invoiceOf(books, 'RE-00002')}'`],
    subject: (books) => invoiceOf(books, 'RE-00002'),
  },
  {
    check: 'invoice.document',
    what: 'an issued invoice has another date than its document',
    statements: (books) => [
      `update invoices set issued_at = issued_at + interval '1 day' where id = '${invoiceOf(books, 'RE-00002')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00002'),
  },
  {
    check: 'invoice.document',
    what: 'an issued invoice has no number, and its document has',
    statements: (books) => [
      'alter table invoices drop constraint invoices_number_check',
      `update invoices set number = null, sequence = null, series = null, issued_at = null
        where id = '${invoiceOf(books, 'RE-00008')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00008'),
    also: ['series.next'],
  },
  {
    check: 'invoice.document',
    what: 'a draft was issued before',
    statements: (books) => [
      `insert into issued_documents (invoice_id, organization_id, currency, total_minor, number, sequence, series, issued_at, content)
        select '${invoiceOf(books, 'draft')}', organization_id, currency, total_minor, 'RE-99', 99, series, issued_at, content
        from issued_documents where invoice_id = '${invoiceOf(books, 'RE-00002')}'`,
    ],
    subject: (books) => invoiceOf(books, 'draft'),
  },
  {
    check: 'invoice.document',
    what: 'the invoice of a document is gone, and left a gap',
    statements: (books) => [`delete from invoices where id = '${invoiceOf(books, 'RE-00004')}'`],
    subject: (books) => invoiceOf(books, 'RE-00004'),
    also: ['event.target', 'series.gap', 'subject.named'],
  },
  {
    check: 'invoice.unissued',
    what: 'a draft is paid',
    statements: (books) => [
      'alter table invoices drop constraint invoices_number_check',
      `update invoices set paid_minor = 1 where id = '${invoiceOf(books, 'draft')}'`,
    ],
    subject: (books) => invoiceOf(books, 'draft'),
    also: ['invoice.paid'],
  },
  {
    check: 'invoice.unissued',
    what: 'a credit note is paid',
    statements: (books) => [
      'alter table invoices drop constraint invoices_credit_note_check, drop constraint invoices_sum_check',
      `update invoices set paid_minor = 1, total_minor = 3001 where id = '${invoiceOf(books, 'GS-00001')}'`,
    ],
    subject: (books) => invoiceOf(books, 'GS-00001'),
    also: ['invoice.paid', 'invoice.total', 'invoice.document'],
  },
  {
    check: 'invoice.settled',
    what: 'an invoice counts one settling more than was told',
    statements: (books) => [
      `update invoices set settle_count = settle_count + 1 where id = '${invoiceOf(books, 'RE-00001')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00001'),
  },
  {
    check: 'invoice.settled',
    what: 'nobody was told that an invoice was reopened',
    statements: (books) => [
      `delete from domain_events where type = 'invoice.reopened' and subject_id = '${invoiceOf(books, 'RE-00003')}'`,
    ],
    subject: (books) => invoiceOf(books, 'RE-00003'),
  },
  {
    check: 'series.gap',
    what: 'a number was left out',
    statements: (books) => [
      ...['invoices', 'issued_documents'].map(
        (table) => `update ${table} set sequence = 10
          where ${table === 'invoices' ? 'id' : 'invoice_id'} = '${invoiceOf(books, 'RE-00008')}'`,
      ),
      `update number_series set next_sequence = 11 where name = 'invoice'`,
    ],
    subject: () => 'invoice',
  },
  {
    check: 'series.twin',
    what: 'two invoices have one number',
    statements: (books) => [
      'alter table invoices drop constraint invoices_number_key',
      ...['invoices', 'issued_documents'].map(
        (table) => `update ${table} set number = 'RE-00001'
          where ${table === 'invoices' ? 'id' : 'invoice_id'} = '${invoiceOf(books, 'RE-00004')}'`,
      ),
    ],
    subject: () => 'RE-00001',
  },
  {
    check: 'series.twin',
    what: 'two invoices have one place in their series',
    statements: (books) => [
      'alter table invoices drop constraint invoices_sequence_key',
      ...['invoices', 'issued_documents'].map(
        (table) => `update ${table} set sequence = 7
          where ${table === 'invoices' ? 'id' : 'invoice_id'} = '${invoiceOf(books, 'RE-00008')}'`,
      ),
      `update number_series set next_sequence = 8 where name = 'invoice'`,
    ],
    subject: () => 'invoice 7',
  },
  {
    check: 'series.next',
    what: 'a series would give a number again',
    statements: () => [`update number_series set next_sequence = 8 where name = 'invoice'`],
    subject: () => 'invoice',
  },
  {
    check: 'series.next',
    what: 'a series has lost its row',
    statements: () => [`delete from number_series where name = 'credit_note'`],
    subject: () => 'credit_note',
  },
]

const registerBreaks: readonly Break[] = [
  {
    check: 'key.once',
    what: 'an event is on record twice',
    statements: (books) => [
      'alter table events drop constraint events_external_id_key',
      copyOf(
        'events',
        `source, kind, external_id, state, holder, target_type, target_id, answer, first_arrived_at, last_arrived_at,
          started_at, finished_at`,
        eventOf(books, 'evt_pi_part'),
      ),
    ],
    subject: () => COPY,
  },
  {
    check: 'key.once',
    what: 'a payment is on record twice',
    statements: (books) => [
      'alter table payments drop constraint payments_external_id_key',
      copyOf(
        'payments',
        'source, external_id, kind, event_id, amount_minor, currency, is_placed_by_hand, recorded_at',
        paymentOf(books, 'pi_moved'),
      ),
    ],
    subject: () => COPY,
    also: ['payment.told'],
  },
  {
    check: 'key.once',
    what: 'a refund is on record twice',
    statements: (books) => [
      'alter table payment_returns drop constraint payment_returns_external_id_key',
      copyOf(
        'payment_returns',
        'source, external_id, kind, return_id, original_id, original_source, event_id, amount_minor, currency, recorded_at',
        returnOf(books, 're_alone'),
      ),
    ],
    subject: () => COPY,
    also: ['return.told'],
  },
  ...(
    [
      ['activities', 'activities_pkey', 'subject_type, subject_id, key, type, event_id, data, recorded_at'],
      ['notifications', 'notifications_pkey', 'recipient_id, key, type, event_id, data, recorded_at'],
      ['domain_events', 'domain_events_pkey', 'type, key, subject_type, subject_id, event_id, data, recorded_at'],
    ] as const
  ).map(
    ([table, key, columns]): Break => ({
      check: 'key.once',
      what: `a row of ${table} is there twice`,
      statements: (books) => [
        `alter table ${table} drop constraint ${key}`,
        copyOf(table, columns, COPY).replace(
          `id = '${COPY}'`,
          `id = ${idOf(table, eventOf(books, table === 'domain_events' ? 'key-RE-00004' : 'evt_re_alone'))}`,
        ),
      ],
      subject: () => COPY,
    }),
  ),
  {
    check: 'key.once',
    what: 'a question is asked twice',
    statements: (books) => [
      'alter table review_items drop constraint review_items_key',
      copyOf('review_items', 'key, kind, event_id, data, created_at', COPY).replace(
        `id = '${COPY}'`,
        `id = ${idOf('review_items', eventOf(books, 'evt_re_alone'))}`,
      ),
    ],
    subject: () => COPY,
  },
  ...(
    [
      ['activities', 'evt_pi_overpaid'],
      ['notifications', 'evt_pi_overpaid'],
      ['domain_events', 'evt_pi_overpaid'],
      ['allocations', 'evt_pi_overpaid'],
      ['review_items', 'evt_pi_overpaid'],
      ['credit_allocations', 'key-credit'],
      ['invoice_adjustments', 'key-credit'],
    ] as const
  ).map(
    ([table, event]): Break => ({
      check: 'event.named',
      what: `a row of ${table} names an event that is not on record`,
      statements: (books) => [
        `update ${table} set event_id = '${UNKNOWN}', id = '${COPY}' where id = ${idOf(table, eventOf(books, event))}`,
      ],
      subject: () => COPY,
    }),
  ),
  {
    check: 'event.named',
    what: 'a later word about a payment names an event that is not on record',
    statements: ({ organizationId }) => [
      `update payment_mentions set event_id = '${UNKNOWN}' where organization_id = '${organizationId}'`,
    ],
    subject: (books) => paymentOf(books, 'pi_settled'),
  },
  {
    check: 'event.named',
    what: 'a refund names an event that is not on record',
    statements: (books) => [
      `update payment_returns set event_id = '${UNKNOWN}' where id = '${returnOf(books, 're_1')}'`,
    ],
    subject: (books) => returnOf(books, 're_1'),
  },
  {
    check: 'event.named',
    what: 'a payment names an event that is not on record',
    statements: (books) => [`update payments set event_id = '${UNKNOWN}' where id = '${paymentOf(books, 'pi_part')}'`],
    subject: (books) => paymentOf(books, 'pi_part'),
  },
  {
    check: 'event.named',
    what: 'the event of a refund has not been completed',
    statements: (books) => [
      `update events set state = 'failed', error_code = 'fault' where id = '${eventOf(books, 'evt_re_1')}'`,
    ],
    subject: (books) => returnOf(books, 're_1'),
    also: ['register.failed'],
  },
  {
    check: 'event.target',
    what: 'what an event led to is not on record',
    statements: (books) => [
      `update events set target_id = '${UNKNOWN}' where id = '${eventOf(books, 'evt_pi_settled_again')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_pi_settled_again'),
  },
  {
    check: 'event.target',
    what: 'an event that booked a payment does not say so',
    statements: (books) => [
      `update events set target_type = null, target_id = null where id = '${eventOf(books, 'evt_key-button')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_key-button'),
  },
  {
    check: 'event.target',
    what: 'news of money led nowhere, and nobody was asked',
    statements: (books) => [
      `update events set target_type = null, target_id = null where id = '${eventOf(books, 'evt_pi_settled_again')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_pi_settled_again'),
  },
  {
    check: 'event.copies',
    what: 'an event arrived less often than deliveries brought it',
    statements: (books) => [`update events set copies = 2 where id = '${eventOf(books, 'evt_pi_settled')}'`],
    subject: (books) => eventOf(books, 'evt_pi_settled'),
  },
  {
    check: 'event.once',
    what: 'an event was booked through two deliveries',
    statements: (books) => [
      `update delivery_events set outcome = 'done' where event_id = '${eventOf(books, 'evt_pi_settled')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_pi_settled'),
  },
  {
    check: 'delivery.event',
    what: 'the delivery of an event is gone',
    statements: ({ organizationId, ...books }) => [
      `insert into delivery_events (delivery_id, event_id, organization_id, outcome)
        values ('${UNKNOWN}', '${uuid(books.events, 'evt_pi_settled')}', '${organizationId}', 'duplicate')`,
    ],
    subject: () => UNKNOWN,
  },
  {
    check: 'delivery.event',
    what: 'the event of a delivery is gone',
    statements: ({ organizationId }) => [
      `insert into delivery_events (delivery_id, event_id, organization_id, outcome)
        select id, '${UNKNOWN}', organization_id, 'duplicate' from deliveries
        where organization_id = '${organizationId}' and verdict = 'ignored'`,
      `update delivery_events set delivery_id = '${COPY}' where event_id = '${UNKNOWN}'`,
      `update deliveries set id = '${COPY}' where organization_id = '${organizationId}' and verdict = 'ignored'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'delivery.event',
    what: 'a delivery was accepted and brought nothing',
    statements: ({ organizationId }) => [
      `update deliveries set verdict = 'accepted', id = '${COPY}'
        where organization_id = '${organizationId}' and verdict = 'ignored'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'delivery.event',
    what: 'a question names a delivery that is not on record',
    statements: (books) => [
      `update review_items set delivery_id = '${UNKNOWN}' where event_id = '${eventOf(books, 'evt_unclear')}'`,
    ],
    subject: () => UNKNOWN,
  },
  {
    check: 'delivery.body',
    what: 'a body is gone with its hash',
    statements: ({ organizationId }) => [
      `delete from delivery_bodies where organization_id = '${organizationId}'
        and hash = (select body_hash from deliveries where organization_id = '${organizationId}' and verdict = 'ignored')`,
      `update deliveries set id = '${COPY}' where organization_id = '${organizationId}' and verdict = 'ignored'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'delivery.bytes',
    what: 'a body was changed',
    statements: ({ organizationId }) => [
      `update delivery_bodies set body = '{"amount":1}', hash = sha256('here')
        where hash = (select body_hash from deliveries where organization_id = '${organizationId}' and verdict = 'ignored')`,
      `update deliveries set body_hash = sha256('here')
        where organization_id = '${organizationId}' and verdict = 'ignored'`,
    ],
    subject: () => 'fcec91509759ad995c2cd14bcb26b2720993faf61c29d379b270d442d92290eb',
  },
  {
    check: 'delivery.address',
    what: 'a delivery came in at the address of another organisation',
    statements: ({ organizationId }, others) => [
      `update deliveries set endpoint_id = '${others.endpointId}', id = '${COPY}'
        where organization_id = '${organizationId}' and verdict = 'ignored'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'register.failed',
    what: 'an event has failed',
    statements: (books) => [
      `update events set state = 'failed', error_code = 'fault' where id = '${eventOf(books, 'evt_unclear')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_unclear'),
  },
  {
    check: 'register.unknown',
    what: 'an event is unknown',
    statements: (books) => [
      `update events set state = 'unknown', finished_at = null where id = '${eventOf(books, 'evt_unclear')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_unclear'),
  },
  {
    check: 'register.stuck',
    what: 'an event is in progress without a lease',
    statements: (books) => [
      `update events set state = 'in_progress', finished_at = null where id = '${eventOf(books, 'evt_unclear')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_unclear'),
  },
  {
    check: 'register.stuck',
    what: 'the lease of an event has ended',
    statements: (books) => [
      `update events set state = 'in_progress', finished_at = null, lease_until = now() - interval '1 second'
        where id = '${eventOf(books, 'evt_unclear')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_unclear'),
  },
]

const deskBreaks: readonly Break[] = [
  {
    check: 'review.missing',
    what: 'nobody was asked about money that lies nowhere',
    statements: (books) => [`delete from review_items where key = 'unapplied:${paymentOf(books, 'pi_overpaid')}'`],
    subject: (books) => paymentOf(books, 'pi_overpaid'),
  },
  {
    check: 'review.unapplied',
    what: 'a question is open about a payment that lies on its invoice',
    statements: (books) => [
      `update review_items set id = '${COPY}', key = 'unapplied:${paymentOf(books, 'pi_part')}',
          data = '{"paymentId":"${paymentOf(books, 'pi_part')}"}'
        where key = 'unapplied:${paymentOf(books, 'pi_overpaid')}'`,
      `update payments set is_placed_by_hand = true where id = '${paymentOf(books, 'pi_overpaid')}'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'review.unapplied',
    what: 'a question is open about a payment that is not on record',
    statements: (books) => [
      `update review_items set id = '${COPY}', key = 'unapplied:${UNKNOWN}', data = '{}'
        where key = 'unapplied:${paymentOf(books, 'pi_overpaid')}'`,
      `update payments set is_placed_by_hand = true where id = '${paymentOf(books, 'pi_overpaid')}'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'review.waiting',
    what: 'a question is open about a payment that has arrived',
    statements: ({ organizationId }) => [
      `update review_items set state = 'open', decided_at = null, decided_by = null, decision = null, id = '${COPY}'
        where organization_id = '${organizationId}' and key = 'waiting:stripe:pi_late'`,
    ],
    subject: () => COPY,
  },
  {
    check: 'review.failed',
    what: 'a question is open about a failure that was made good',
    statements: ({ organizationId }) => [
      `update review_items set state = 'open', decided_at = null, decided_by = null, decision = null, id = '${COPY}'
        where organization_id = '${organizationId}' and kind = 'failed'`,
    ],
    subject: () => COPY,
  },
  ...['activities', 'domain_events'].map(
    (table): Break => ({
      check: 'subject.named',
      what: `a row of ${table} is about something that is not on record`,
      statements: (books) => [
        `update ${table} set subject_id = '${UNKNOWN}', id = '${COPY}'
          where id = ${idOf(table, eventOf(books, 'evt_pi_overpaid'))}`,
      ],
      subject: () => COPY,
    }),
  ),
  {
    check: 'subject.named',
    what: 'a draft is the copy of an invoice that is not on record',
    statements: (books) => [
      `update invoices set copied_from_id = '${UNKNOWN}' where id = '${invoiceOf(books, 'draft')}'`,
    ],
    subject: (books) => invoiceOf(books, 'draft'),
  },
]

/** Every way to break the books; each check has one at least. */
export const breaks: readonly Break[] = [...registerBreaks, ...moneyBreaks, ...invoiceBreaks, ...deskBreaks]
