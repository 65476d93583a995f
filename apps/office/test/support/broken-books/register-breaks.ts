import { type Break, COPY, copyOf, eventOf, idOf, paymentOf, returnOf, UNKNOWN, uuid } from './break.ts'

/** Keys, events and deliveries, broken. */
export const registerBreaks: readonly Break[] = [
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
    what: 'an event that booked a refund does not say so',
    statements: (books) => [
      `update events set target_type = null, target_id = null where id = '${eventOf(books, 'evt_re_hand')}'`,
    ],
    subject: (books) => eventOf(books, 'evt_re_hand'),
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
      `update delivery_events set outcome = 'done' where event_id = '${eventOf(books, 'evt_pi_settled')}'
        and delivery_id = (select delivery_id from delivery_events
          where event_id = '${eventOf(books, 'evt_pi_settled')}' and outcome = 'duplicate' limit 1)`,
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
