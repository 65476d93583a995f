import { type Break, COPY, eventOf, idOf, invoiceOf, paymentOf, UNKNOWN } from './break.ts'

/** Questions and pointers, broken. */
export const deskBreaks: readonly Break[] = [
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
  {
    check: 'review.work',
    what: 'nobody knows how work of a program ended, and nobody was asked',
    statements: (books) => [
      `update events set state = 'unknown', finished_at = null where id = '${eventOf(books, 'shop-1')}'`,
    ],
    subject: (books) => eventOf(books, 'shop-1'),
    also: ['register.unknown'],
  },
  {
    check: 'review.work',
    what: 'work of a program failed for good, and nobody was asked',
    statements: (books) => [
      `update events set state = 'failed', is_final = true, error_code = 'offline' where id = '${eventOf(books, 'shop-1')}'`,
    ],
    subject: (books) => eventOf(books, 'shop-1'),
    also: ['register.failed'],
  },
  ...['', ', attempt = attempt + 1'].map(
    (change): Break => ({
      check: 'review.work',
      what: `a question is open about work that is done${change === '' ? '' : ' by a later attempt'}`,
      statements: (books) => [
        `update events set finished_at = finished_at${change} where id = '${eventOf(books, 'shop-2')}'`,
        `update review_items set state = 'open', decided_at = null, decided_by = null, decision = null, id = '${COPY}'
          where event_id = '${eventOf(books, 'shop-2')}'`,
      ],
      subject: () => COPY,
    }),
  ),
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
