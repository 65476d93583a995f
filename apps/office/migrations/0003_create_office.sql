-- The office: who sends, what arrived, money, and what people see of it.
--
-- Every row belongs to an organisation, and every key and foreign key carries it, behind the selective column: a row
-- cannot point at another organisation's invoice, no plan can walk a whole organisation, and the schema can be sharded
-- by organisation as it is. Money carries its currency the same way: the currency is part of a payment's and an
-- invoice's key, so that an allocation cannot join two currencies.
--
-- Lists are read by indexes that hold every row, yet are declared partial: only a statement that itself says
-- `id <> '0000…'` can use them. A look-up by key does not say it. While a table is young, PostgreSQL would find "all of this
-- organisation" as cheap as the one row, and keep that plan when the organisation has grown. (An index on the organisation
-- as text would keep look-ups away as well, but then no list could use it either: behind a policy, only conditions whose
-- functions are leakproof reach an index, and the cast is not.)
--
-- Facts (deliveries, payments, allocations, consequences) can be added and counted up, never deleted and never edited:
-- the server's role has no right to. There are no triggers; sums move together with their row, in one transaction,
-- under the lock of the row they belong to, and checks refuse what cannot be.

create table contacts (
  id uuid not null,
  organization_id uuid not null references auth.organization (id),
  name text not null check (name <> ''),
  email text,
  version integer not null default 1,
  created_at timestamptz not null,
  constraint contacts_pkey primary key (id, organization_id)
);
create index contacts_list_idx on contacts (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';

-- Who may send. Settings hold the secrets, so all of them are one AES-256-GCM text.
create table integrations (
  id uuid not null,
  organization_id uuid not null references auth.organization (id),
  provider text not null,
  label text not null,
  settings bytea not null,
  is_enabled boolean not null default true,
  created_at timestamptz not null,
  constraint integrations_pkey primary key (id, organization_id)
);

-- The directory: what must be known before the organisation is. The id is the opaque part of a webhook's address.
create table webhook_endpoints (
  id uuid not null constraint webhook_endpoints_pkey primary key,
  organization_id uuid not null,
  integration_id uuid not null,
  provider text not null,
  constraint webhook_endpoints_integration_fkey foreign key (integration_id, organization_id)
    references integrations (id, organization_id)
);

-- What arrived, byte for byte, once however often it came.
--
-- These three tables and the consequences below have no foreign keys. Each check runs a statement of its own per row,
-- five of them cost a third of a payment, and they would guard nothing: both sides are written by one transaction, and
-- every key that joins them has the organisation in it. Where money points at money, foreign keys stand.
create table delivery_bodies (
  hash bytea not null check (length(hash) = 32),
  organization_id uuid not null,
  body bytea,
  first_received_at timestamptz not null,
  constraint delivery_bodies_pkey primary key (hash, organization_id)
);

create table deliveries (
  id uuid not null,
  organization_id uuid not null,
  endpoint_id uuid not null,
  source text not null,
  received_at timestamptz not null,
  headers json not null,
  body_hash bytea not null,
  verdict text not null check (verdict in ('accepted', 'ignored', 'failed')),
  reason text,
  answer_status smallint not null,
  constraint deliveries_pkey primary key (id, organization_id)
);

create table delivery_events (
  delivery_id uuid not null,
  event_id uuid not null,
  organization_id uuid not null,
  outcome text not null check (outcome in ('done', 'duplicate', 'kept', 'failed')),
  constraint delivery_events_pkey primary key (event_id, delivery_id, organization_id)
);

-- Numbers are unique and without gaps, because the row that counts them is locked until the document is committed.
create table number_series (
  name text not null,
  organization_id uuid not null,
  prefix text not null,
  next_sequence bigint not null default 1 check (next_sequence > 0),
  constraint number_series_pkey primary key (name, organization_id)
);

create table invoices (
  id uuid not null,
  organization_id uuid not null references auth.organization (id),
  type text not null default 'invoice' check (type in ('invoice', 'credit_note')),
  lifecycle text not null default 'draft' check (lifecycle in ('draft', 'issued', 'void')),
  series text,
  sequence bigint,
  number text,
  contact_id uuid,
  currency text collate "C" not null check (currency ~ '^[A-Z]{3}$'),
  total_minor bigint not null check (total_minor between 0 and 9007199254740991),
  paid_minor bigint not null default 0 check (paid_minor >= 0),
  credited_minor bigint not null default 0 check (credited_minor >= 0),
  adjusted_minor bigint not null default 0 check (adjusted_minor >= 0),
  open_minor bigint generated always as (total_minor - paid_minor - credited_minor - adjusted_minor) stored,
  payment_state text generated always as (
    case
      when total_minor = paid_minor + credited_minor + adjusted_minor then 'settled'
      when paid_minor + credited_minor + adjusted_minor > 0 then 'partial'
      else 'open'
    end) stored,
  settle_count integer not null default 0,
  issued_at timestamptz,
  due_on date,
  version integer not null default 1,
  created_at timestamptz not null,
  constraint invoices_pkey primary key (id, organization_id, currency),
  constraint invoices_number_key unique (number, organization_id),
  constraint invoices_sequence_key unique (sequence, series, organization_id),
  constraint invoices_contact_fkey foreign key (contact_id, organization_id) references contacts (id, organization_id),
  constraint invoices_sum_check check (paid_minor + credited_minor + adjusted_minor <= total_minor),
  constraint invoices_number_check check (
    (lifecycle = 'draft') = (number is null)
    and (number is null) = (sequence is null) and (sequence is null) = (series is null)
    and (number is null) = (issued_at is null)
    and (lifecycle = 'issued' or paid_minor + credited_minor + adjusted_minor = 0))
  -- Every invoice is written again when it is paid; with room on its page, that touches none of its indexes.
) with (fillfactor = 50);
create index invoices_list_idx on invoices (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';

create table invoice_lines (
  invoice_id uuid not null,
  organization_id uuid not null,
  currency text collate "C" not null,
  position integer not null check (position > 0),
  description text not null check (description <> ''),
  quantity numeric(15, 4) not null,
  unit_price_minor numeric(20, 4) not null,
  tax_percent numeric(7, 4) not null check (tax_percent >= 0),
  net_minor bigint not null,
  constraint invoice_lines_pkey primary key (invoice_id, position, organization_id),
  constraint invoice_lines_invoice_fkey foreign key (invoice_id, organization_id, currency)
    references invoices (id, organization_id, currency)
);

-- One row per original payment, touched before anything else about that money: payment, refund and dispute meet here,
-- also where the one they belong to has not arrived yet.
create table money_subjects (
  external_id text collate "C" not null,
  source text collate "C" not null,
  organization_id uuid not null,
  constraint money_subjects_pkey primary key (external_id, source, organization_id)
);

create table payments (
  id uuid not null,
  organization_id uuid not null,
  source text collate "C" not null,
  external_id text collate "C" not null,
  kind text not null check (kind in ('payment')),
  original_id text collate "C" not null,
  event_id uuid not null,
  amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
  currency text collate "C" not null check (currency ~ '^[A-Z]{3}$'),
  applied_minor bigint not null default 0 check (applied_minor >= 0),
  returned_minor bigint not null default 0 check (returned_minor >= 0),
  unapplied_minor bigint generated always as (amount_minor - applied_minor - returned_minor) stored,
  invoice_reference text,
  -- Whose money it is while no invoice says so.
  contact_id uuid,
  payer_name text,
  payer_email text,
  occurred_at timestamptz,
  recorded_at timestamptz not null,
  constraint payments_pkey primary key (id, organization_id, currency),
  constraint payments_external_id_key unique (external_id, kind, source, organization_id),
  constraint payments_contact_fkey foreign key (contact_id, organization_id) references contacts (id, organization_id),
  constraint payments_sum_check check (applied_minor + returned_minor <= amount_minor)
) with (fillfactor = 90);
create index payments_list_idx on payments (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';
-- Money that waits for its invoice. Partial, so that the usual payment does not pay for it.
create index payments_waiting_idx on payments (invoice_reference, organization_id) where unapplied_minor > 0;

-- A later event about a payment that was on record. Rare, so that the usual payment does not pay for it: the event that
-- booked it stands in the payment itself.
create table payment_mentions (
  payment_id uuid not null,
  event_id uuid not null,
  organization_id uuid not null,
  currency text collate "C" not null,
  constraint payment_mentions_pkey primary key (payment_id, event_id, organization_id),
  constraint payment_mentions_payment_fkey foreign key (payment_id, organization_id, currency)
    references payments (id, organization_id, currency),
  constraint payment_mentions_event_fkey foreign key (event_id, organization_id) references events (id, organization_id)
);

create table allocations (
  id uuid not null,
  organization_id uuid not null,
  payment_id uuid not null,
  invoice_id uuid not null,
  currency text collate "C" not null,
  amount_minor bigint not null check (amount_minor > 0),
  event_id uuid not null,
  created_at timestamptz not null,
  reversed_at timestamptz,
  reversal_reason text,
  -- Behind the payment, so that one index serves both.
  constraint allocations_pkey primary key (payment_id, id, organization_id),
  constraint allocations_payment_fkey foreign key (payment_id, organization_id, currency)
    references payments (id, organization_id, currency),
  constraint allocations_invoice_fkey foreign key (invoice_id, organization_id, currency)
    references invoices (id, organization_id, currency),
  constraint allocations_reversed_check check ((reversed_at is null) = (reversal_reason is null))
);
create unique index allocations_live_key on allocations (invoice_id, payment_id, organization_id)
  where reversed_at is null;
-- The rest of an invoice's allocations. Partial, so that the usual payment does not pay for it.
create index allocations_reversed_idx on allocations (invoice_id, organization_id) where reversed_at is not null;

-- Consequences: what people and rules see. Each has a key of its own, so that a hole in one layer is caught by the next;
-- the key is the primary key, because nothing else points at these rows and every index is paid for by every payment.
create table activities (
  id uuid not null,
  organization_id uuid not null,
  subject_type text not null check (subject_type in ('contact', 'invoice', 'payment')),
  subject_id uuid not null,
  key text collate "C" not null,
  type text not null,
  event_id uuid not null,
  data json not null,
  recorded_at timestamptz not null,
  constraint activities_pkey primary key (subject_id, key, organization_id)
);

create table notifications (
  id uuid not null,
  organization_id uuid not null,
  recipient_id uuid not null,
  key text collate "C" not null,
  type text not null,
  event_id uuid not null,
  data json not null,
  recorded_at timestamptz not null,
  read_at timestamptz,
  constraint notifications_pkey primary key (recipient_id, key, organization_id)
);

create table domain_events (
  id uuid not null,
  organization_id uuid not null,
  type text not null,
  key text collate "C" not null,
  subject_type text not null,
  subject_id uuid not null,
  event_id uuid not null,
  data json not null,
  recorded_at timestamptz not null,
  constraint domain_events_pkey primary key (key, type, organization_id)
);

create table review_items (
  id uuid not null,
  organization_id uuid not null,
  key text collate "C" not null,
  kind text not null check (kind in ('unclear', 'conflict', 'unapplied', 'failed')),
  state text not null default 'open' check (state in ('open', 'decided')),
  event_id uuid not null,
  delivery_id uuid,
  data json not null,
  created_at timestamptz not null,
  decided_at timestamptz,
  decided_by text,
  decision text,
  constraint review_items_pkey primary key (id, organization_id),
  constraint review_items_key unique (key, organization_id),
  constraint review_items_event_fkey foreign key (event_id, organization_id) references events (id, organization_id),
  -- Checked at the commit: a delivery is written last in its transaction, with the outcome.
  constraint review_items_delivery_fkey foreign key (delivery_id, organization_id)
    references deliveries (id, organization_id) deferrable initially deferred,
  constraint review_items_decided_check check (
    (state = 'decided') = (decided_at is not null)
    and (decided_at is null) = (decided_by is null) and (decided_by is null) = (decision is null))
);
create index review_items_event_idx on review_items (event_id, organization_id);
create index review_items_open_idx on review_items (organization_id, id)
  where state = 'open' and id <> '00000000-0000-0000-0000-000000000000';

create table audit_entries (
  id uuid not null,
  organization_id uuid not null,
  actor_type text not null check (actor_type in ('member', 'api_key', 'system')),
  actor_id text not null,
  action text not null,
  subject_type text not null,
  subject_id uuid not null,
  data json not null,
  recorded_at timestamptz not null,
  constraint audit_entries_pkey primary key (id, organization_id)
);

-- One policy for every table with an organisation. After `set local` the setting reads '' and not null. The setting stands
-- in a select of its own, so that it is read once per statement and not once per row.
do $$
declare
  name text;
begin
  foreach name in array array['contacts', 'integrations', 'delivery_bodies', 'deliveries', 'delivery_events',
    'number_series', 'invoices', 'invoice_lines', 'money_subjects', 'payments', 'payment_mentions', 'allocations', 'activities',
    'notifications', 'domain_events', 'review_items', 'audit_entries']
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I using (organization_id = (select nullif(current_setting(''einmal.organization_id'', true), '''')::uuid))',
      name || '_tenant', name);
    execute format('grant select, insert on %I to einmal_office', name);
  end loop;
end
$$;

grant select, insert on webhook_endpoints to einmal_office;
grant update (name, email, version) on contacts to einmal_office;
grant update (label, settings, is_enabled) on integrations to einmal_office;
grant update (body) on delivery_bodies to einmal_office;
-- An upsert is how a group takes the lock of a money subject and of a number series; there is nothing to change in it.
grant update (source) on money_subjects to einmal_office;
grant update (next_sequence) on number_series to einmal_office;
grant update (lifecycle, series, sequence, number, issued_at, paid_minor, credited_minor, adjusted_minor, settle_count,
  version) on invoices to einmal_office;
grant update (applied_minor, returned_minor, invoice_reference, contact_id) on payments to einmal_office;
grant update (reversed_at, reversal_reason) on allocations to einmal_office;
grant update (read_at) on notifications to einmal_office;
grant update (state, decided_at, decided_by, decision) on review_items to einmal_office;
