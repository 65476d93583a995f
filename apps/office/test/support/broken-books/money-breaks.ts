import { type Break, COPY, eventOf, invoiceOf, paymentOf, returnOf, UNKNOWN } from './break.ts'

/** Payments, allocations and what went back, broken. */
export const moneyBreaks: readonly Break[] = [
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
        values ('${COPY}', '${books.organizationId}', '${UNKNOWN}', '${invoiceOf(books, 'RE-00002')}', 'CHF', 7,
          '${eventOf(books, 'evt_pi_part')}', now())`,
    ],
    subject: () => 'CHF',
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
    what: 'a credit allocation has another currency than its credit note',
    statements: (books) => [
      `update credit_allocations set id = '${COPY}' where organization_id = '${books.organizationId}'`,
      `update invoices set currency = 'USD' where id = '${invoiceOf(books, 'GS-00001')}'`,
      `update issued_documents set currency = 'USD' where invoice_id = '${invoiceOf(books, 'GS-00001')}'`,
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
