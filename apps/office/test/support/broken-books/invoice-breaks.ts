import { type Break, invoiceOf } from './break.ts'

/** Invoices, documents and numbers, broken. */
export const invoiceBreaks: readonly Break[] = [
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
    what: 'an issued invoice has neither number nor document',
    statements: (books) => [
      'alter table invoices drop constraint invoices_number_check',
      `update invoices set number = null, sequence = null, series = null, issued_at = null
        where id = '${invoiceOf(books, 'RE-00008')}'`,
      `delete from issued_documents where invoice_id = '${invoiceOf(books, 'RE-00008')}'`,
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
  ...['credited', 'adjusted'].map(
    (sum): Break => ({
      check: 'invoice.unissued',
      what: `a void invoice is ${sum}`,
      statements: (books) => [
        'alter table invoices drop constraint invoices_number_check',
        `update invoices set ${sum}_minor = 1 where id = '${invoiceOf(books, 'RE-00007')}'`,
      ],
      subject: (books) => invoiceOf(books, 'RE-00007'),
      also: [`invoice.${sum}`],
    }),
  ),
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
    what: 'nobody was told that an invoice was settled',
    statements: (books) => [
      `delete from domain_events where type = 'invoice.paid' and subject_id = '${invoiceOf(books, 'RE-00001')}'`,
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
