-- The office: who belongs to it, who sends, what arrived, money, and what people see of it.
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

-- The root of everything. The one table of ours that is read before an organisation is known.
create table organizations (
  id uuid not null constraint organizations_pkey primary key,
  name text not null check (name <> ''),
  slug text collate "C" not null constraint organizations_slug_key unique,
  created_at timestamptz not null,
  -- True for the one that was made by the link of the first start: unique, so that the link works once.
  is_first boolean constraint organizations_first_key unique check (is_first)
);

-- A person in an organisation. Nobody is deleted, because the audit names them; who comes back is the same member.
create table members (
  id uuid not null,
  organization_id uuid not null references organizations (id),
  user_id uuid not null references auth."user" (id),
  role text not null check (role in ('owner', 'admin', 'accountant', 'agent', 'viewer')),
  joined_at timestamptz not null,
  removed_at timestamptz,
  constraint members_pkey primary key (id, organization_id),
  constraint members_user_key unique (user_id, organization_id)
);
create index members_list_idx on members (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';

-- Only the hash of a link is stored. An address has one open invitation at a time.
create table invitations (
  id uuid not null,
  organization_id uuid not null references organizations (id),
  email text collate "C" not null check (email = lower(email)),
  role text not null check (role in ('owner', 'admin', 'accountant', 'agent', 'viewer')),
  link_hash text collate "C" not null,
  invited_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at),
  accepted_at timestamptz,
  accepted_by uuid,
  cancelled_at timestamptz,
  constraint invitations_pkey primary key (id, organization_id),
  constraint invitations_link_key unique (link_hash, organization_id),
  constraint invitations_inviter_fkey foreign key (invited_by, organization_id) references members (id, organization_id),
  constraint invitations_member_fkey foreign key (accepted_by, organization_id) references members (id, organization_id),
  check ((accepted_at is null) = (accepted_by is null)),
  check (accepted_at is null or cancelled_at is null)
);
create unique index invitations_open_key on invitations (email, organization_id) where accepted_at is null and cancelled_at is null;
create index invitations_list_idx on invitations (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';

-- What programs come in with. A key is shown once; its hash is stored, and so much of its beginning that people can tell keys
-- apart. A revoked one stays, because the audit names it.
create table api_keys (
  id uuid not null,
  organization_id uuid not null references organizations (id),
  name text not null check (name <> '' and length(name) <= 100),
  start text not null,
  hash text collate "C" not null,
  scopes text[] not null check (scopes <> '{}' and scopes <@ array['full', 'read', 'register', 'resolve']),
  -- Null where it was made on the command line.
  created_by uuid,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint api_keys_pkey primary key (id, organization_id),
  constraint api_keys_hash_key unique (hash, organization_id),
  constraint api_keys_member_fkey foreign key (created_by, organization_id) references members (id, organization_id)
);
create index api_keys_list_idx on api_keys (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';

-- People and companies. A person may belong to a company; that it is one is part of the foreign key, and nobody changes type.
create table contacts (
  id uuid not null,
  organization_id uuid not null references organizations (id),
  type text collate "C" not null check (type in ('person', 'company')),
  name text not null check (name <> ''),
  -- The name as it is looked for: in small letters and one spelling. Made by the office: the functions of the database for that
  -- depend on its locale, and behind a policy no condition with them reaches an index.
  search_name text collate "C" not null check (search_name <> ''),
  company_id uuid,
  company_type text collate "C" not null default 'company' check (company_type = 'company'),
  tax_id text,
  street text,
  postal_code text,
  city text,
  country text check (country ~ '^[A-Z]{2}$'),
  version integer not null default 1,
  created_at timestamptz not null,
  constraint contacts_pkey primary key (id, organization_id),
  constraint contacts_type_key unique (id, type, organization_id),
  constraint contacts_company_fkey foreign key (company_id, company_type, organization_id)
    references contacts (id, type, organization_id),
  constraint contacts_company_check check (company_id is null or type = 'person')
);
create index contacts_list_idx on contacts (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';
-- Each of these lists says something else that is always true, so that it takes its own index and no other.
create index contacts_companies_idx on contacts (organization_id, id) where type = 'company' and company_id is null;
create index contacts_name_idx on contacts (organization_id, search_name, id) where search_name <> '';
create index contacts_company_name_idx on contacts (organization_id, search_name, id)
  where type = 'company' and search_name <> '';
create index contacts_people_idx on contacts (company_id, organization_id, id) where company_id is not null;

-- By what a contact is reached and recognised, normalised. One belongs to one contact at most, unless it is marked shared: the
-- number of a switchboard names nobody. What was removed stays on record and frees its value.
create table contact_points (
  id uuid not null,
  organization_id uuid not null,
  contact_id uuid not null,
  kind text collate "C" not null check (kind in ('email', 'phone', 'iban', 'messenger')),
  value text collate "C" not null check (value <> ''),
  label text,
  is_shared boolean not null default false,
  created_at timestamptz not null,
  removed_at timestamptz,
  constraint contact_points_pkey primary key (id, organization_id),
  constraint contact_points_contact_fkey foreign key (contact_id, organization_id) references contacts (id, organization_id)
);
create unique index contact_points_identity_key on contact_points (value, kind, organization_id)
  where not is_shared and removed_at is null;
create unique index contact_points_own_key on contact_points (contact_id, value, kind, organization_id)
  where removed_at is null and kind <> '';
create index contact_points_value_idx on contact_points (value, kind, organization_id)
  where removed_at is null and value <> '';

-- What may become a sale. An amount that nobody knows yet is zero.
create table deals (
  id uuid not null,
  organization_id uuid not null references organizations (id),
  title text not null check (title <> ''),
  contact_id uuid not null,
  stage text not null check (stage in ('new', 'qualified', 'proposal', 'won', 'lost')),
  currency text collate "C" not null check (currency ~ '^[A-Z]{3}$'),
  amount_minor bigint not null check (amount_minor between 0 and 9007199254740991),
  expected_on date,
  version integer not null default 1,
  created_at timestamptz not null,
  closed_at timestamptz,
  constraint deals_pkey primary key (id, organization_id),
  constraint deals_contact_fkey foreign key (contact_id, organization_id) references contacts (id, organization_id),
  constraint deals_closed_check check ((stage in ('won', 'lost')) = (closed_at is not null))
);
create index deals_list_idx on deals (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';
create index deals_stage_idx on deals (organization_id, stage, id) where stage <> '';
create index deals_contact_idx on deals (contact_id, organization_id, id);

-- Who may send. Settings hold the secrets, so all of them are one AES-256-GCM text.
create table integrations (
  id uuid not null,
  organization_id uuid not null references organizations (id),
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
create index webhook_endpoints_integration_idx on webhook_endpoints (integration_id, organization_id);

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

-- Documents as they were issued: added once, never changed. An issued invoice points here with its total, its number and its
-- date, so that none of them can be edited; what it says in full is kept as it was said.
create table issued_documents (
  invoice_id uuid not null,
  organization_id uuid not null,
  currency text collate "C" not null,
  total_minor bigint not null,
  number text not null,
  sequence bigint not null,
  series text not null,
  issued_at timestamptz not null,
  -- Lines, taxes, discount, notes, and whom it was for.
  content json not null,
  constraint issued_documents_pkey primary key (invoice_id, organization_id),
  constraint issued_documents_frozen_key
    unique (invoice_id, organization_id, currency, total_minor, number, sequence, series, issued_at)
);

create table invoices (
  id uuid not null,
  organization_id uuid not null references organizations (id),
  type text not null default 'invoice' check (type in ('invoice', 'credit_note')),
  lifecycle text not null default 'draft' check (lifecycle in ('draft', 'issued', 'void')),
  series text,
  sequence bigint,
  number text,
  contact_id uuid,
  currency text collate "C" not null check (currency ~ '^[A-Z]{3}$'),
  total_minor bigint not null check (total_minor between 0 and 9007199254740991),
  paid_minor bigint not null default 0 check (paid_minor >= 0),
  -- Of an invoice: what credit notes took off it. Of a credit note: what of it was used.
  credited_minor bigint not null default 0 check (credited_minor >= 0),
  -- Cash discount, fees and bad debts.
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
  discount_percent numeric(7, 4) not null default 0 check (discount_percent between 0 and 100),
  notes text,
  -- The document that this draft was copied from. A pointer for people, so no key.
  copied_from_id uuid,
  -- The invoice that this credit note takes back.
  corrects_id uuid,
  version integer not null default 1,
  created_at timestamptz not null,
  constraint invoices_pkey primary key (id, organization_id, currency),
  constraint invoices_number_key unique (number, organization_id),
  constraint invoices_sequence_key unique (sequence, series, organization_id),
  constraint invoices_contact_fkey foreign key (contact_id, organization_id) references contacts (id, organization_id),
  constraint invoices_corrects_fkey foreign key (corrects_id, organization_id, currency)
    references invoices (id, organization_id, currency),
  -- Not looked at for a draft, whose number is null.
  constraint invoices_issued_fkey foreign key (id, organization_id, currency, total_minor, number, sequence, series, issued_at)
    references issued_documents (invoice_id, organization_id, currency, total_minor, number, sequence, series, issued_at),
  constraint invoices_sum_check check (paid_minor + credited_minor + adjusted_minor <= total_minor),
  constraint invoices_corrects_check check (corrects_id is null or type = 'credit_note'),
  constraint invoices_credit_note_check check (type = 'invoice' or (paid_minor = 0 and adjusted_minor = 0)),
  constraint invoices_number_check check (
    (lifecycle <> 'draft' or number is null) and (lifecycle <> 'issued' or number is not null)
    and (number is null) = (sequence is null) and (sequence is null) = (series is null)
    and (number is null) = (issued_at is null)
    and (lifecycle = 'issued' or paid_minor + credited_minor + adjusted_minor = 0))
  -- Every invoice is written again when it is paid; with room on its page, that touches none of its indexes.
) with (fillfactor = 50);
create index invoices_contact_idx on invoices (contact_id, organization_id) where contact_id is not null;
create index invoices_list_idx on invoices (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';

create table invoice_lines (
  invoice_id uuid not null,
  organization_id uuid not null,
  currency text collate "C" not null,
  position integer not null check (position > 0),
  description text not null check (description <> ''),
  quantity numeric(15, 4) not null,
  unit_price_minor numeric(20, 4) not null,
  discount_percent numeric(7, 4) not null default 0 check (discount_percent between 0 and 100),
  tax_percent numeric(7, 4) not null check (tax_percent >= 0),
  -- After the line's own discount, before the document's.
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
  -- A correction is what a person added where a source had told two amounts of one payment.
  kind text not null check (kind in ('payment', 'correction')),
  event_id uuid not null,
  amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
  currency text collate "C" not null check (currency ~ '^[A-Z]{3}$'),
  applied_minor bigint not null default 0 check (applied_minor >= 0),
  returned_minor bigint not null default 0 check (returned_minor >= 0),
  unapplied_minor bigint generated always as (amount_minor - applied_minor - returned_minor) stored,
  invoice_reference text,
  -- A person said where this money belongs, so that its reference no longer does.
  is_placed_by_hand boolean not null default false,
  -- Whose money it is while no invoice says so.
  contact_id uuid,
  payer_name text,
  payer_email text,
  occurred_at timestamptz,
  recorded_at timestamptz not null,
  version integer not null default 1,
  constraint payments_pkey primary key (id, organization_id, currency),
  constraint payments_external_id_key unique (external_id, kind, source, organization_id),
  constraint payments_contact_fkey foreign key (contact_id, organization_id) references contacts (id, organization_id),
  constraint payments_sum_check check (applied_minor + returned_minor <= amount_minor)
) with (fillfactor = 90);
create index payments_list_idx on payments (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';
-- Money that waits for its invoice. Partial, so that the usual payment does not pay for it.
create index payments_waiting_idx on payments (invoice_reference, organization_id) where unapplied_minor > 0;
-- What a contact has to its credit. Partial for the same reason.
create index payments_credit_idx on payments (contact_id, organization_id) where unapplied_minor > 0 and contact_id is not null;

-- Money that went back, or came again after it had: refunds, disputes, and their reversals. Each row is a movement that its
-- source named, and is never changed. What of it counts stands in the payment's `returned_minor`: per refund or dispute
-- (`return_id`) what went minus what came back, never below nothing; together never more than the payment. A sum over a set, so that
-- the order of arrival cannot change it, and neither can a row that comes before its payment.
create table payment_returns (
  id uuid not null,
  organization_id uuid not null,
  source text collate "C" not null,
  external_id text collate "C" not null,
  kind text not null check (kind in ('refund', 'refund_reversal', 'refund_total', 'chargeback', 'chargeback_reversal', 'correction')),
  -- The refund or the dispute that this movement belongs to.
  return_id text collate "C" not null,
  -- The payment's key. No foreign key: the payment may come later.
  original_id text collate "C" not null,
  original_source text collate "C" not null,
  event_id uuid not null,
  amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
  currency text collate "C" not null check (currency ~ '^[A-Z]{3}$'),
  occurred_at timestamptz,
  recorded_at timestamptz not null,
  constraint payment_returns_pkey primary key (id, organization_id),
  constraint payment_returns_external_id_key unique (external_id, kind, source, organization_id)
);
-- Without the organisation, so that a look-up by the movement's own key cannot take this one for its own.
create index payment_returns_original_idx on payment_returns (original_id, original_source);

-- What went back of a payment, by its key: the rule above as a sum. The office counts in TypeScript; this is what the policy
-- on payments holds it to. A running total is believed only while the source has told of no single refund.
create function returned_of(payment_id text, payment_source text, payment_organization uuid, payment_currency text)
returns bigint language sql stable as $$
  with movements as (
    select * from payment_returns where original_id = payment_id and original_source = payment_source
      and organization_id = payment_organization and currency = payment_currency)
  select coalesce(sum(counted), 0)::bigint from (
    select greatest(0, sum(case when kind like '%reversal' then -amount_minor else amount_minor end)) as counted
    from movements where kind <> 'refund_total' group by return_id, split_part(kind, '_', 1)
    union all
    select max(amount_minor) from movements where kind = 'refund_total' and not exists (
      select 1 from movements where kind in ('refund', 'refund_reversal') and source = payment_source)
  ) as per_return
$$;

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

-- What a credit note took off an invoice. A policy sees to the types: no invoice credits another.
create table credit_allocations (
  id uuid not null,
  organization_id uuid not null,
  credit_note_id uuid not null,
  invoice_id uuid not null,
  currency text collate "C" not null,
  amount_minor bigint not null check (amount_minor > 0),
  event_id uuid not null,
  created_at timestamptz not null,
  constraint credit_allocations_pkey primary key (credit_note_id, organization_id),
  constraint credit_allocations_credit_note_fkey foreign key (credit_note_id, organization_id, currency)
    references invoices (id, organization_id, currency),
  constraint credit_allocations_invoice_fkey foreign key (invoice_id, organization_id, currency)
    references invoices (id, organization_id, currency)
);
-- Without the organisation, so that a look-up by the credit note cannot take this one for its own while the table is young.
create index credit_allocations_invoice_idx on credit_allocations (invoice_id);

-- What is no longer owed although nobody paid it.
create table invoice_adjustments (
  id uuid not null,
  organization_id uuid not null,
  invoice_id uuid not null,
  currency text collate "C" not null,
  kind text not null check (kind in ('cash_discount', 'fee', 'bad_debt')),
  amount_minor bigint not null check (amount_minor > 0),
  note text,
  event_id uuid not null,
  created_at timestamptz not null,
  reversed_at timestamptz,
  reversal_reason text,
  constraint invoice_adjustments_pkey primary key (id, organization_id),
  constraint invoice_adjustments_invoice_fkey foreign key (invoice_id, organization_id, currency)
    references invoices (id, organization_id, currency),
  constraint invoice_adjustments_reversed_check check ((reversed_at is null) = (reversal_reason is null))
);
create index invoice_adjustments_invoice_idx on invoice_adjustments (invoice_id, organization_id);

-- Consequences: what people and rules see. Each has a key of its own, so that a hole in one layer is caught by the next;
-- the key is the primary key, because nothing else points at these rows and every index is paid for by every payment.
create table activities (
  id uuid not null,
  organization_id uuid not null,
  subject_type text not null check (subject_type in ('contact', 'deal', 'invoice', 'payment', 'payment_return')),
  subject_id uuid not null,
  key text collate "C" not null,
  type text not null,
  event_id uuid not null,
  data json not null,
  recorded_at timestamptz not null,
  constraint activities_pkey primary key (subject_id, key, organization_id)
);

create table notifications (
  -- Names the news; each recipient has a row of it.
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
create index notifications_list_idx on notifications (recipient_id, id, organization_id);

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
  kind text not null check (kind in ('unclear', 'conflict', 'unapplied', 'failed', 'waiting', 'excess', 'unknown', 'stuck',
    'given_up')),
  state text not null default 'open' check (state in ('open', 'decided')),
  event_id uuid not null,
  delivery_id uuid,
  data json not null,
  created_at timestamptz not null,
  decided_at timestamptz,
  decided_by text,
  decision text,
  note text,
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
create index review_items_decided_idx on review_items (organization_id, id)
  where state = 'decided' and id <> '00000000-0000-0000-0000-000000000000';

create table audit_entries (
  id uuid not null,
  organization_id uuid not null,
  actor_type text not null check (actor_type in ('member', 'api_key', 'assistant', 'system')),
  actor_id text not null,
  action text not null,
  subject_type text not null,
  subject_id uuid not null,
  data json not null,
  recorded_at timestamptz not null,
  constraint audit_entries_pkey primary key (id, organization_id)
);
create index audit_entries_list_idx on audit_entries (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';
create index audit_entries_subject_idx on audit_entries (subject_id, organization_id, id);

-- One policy for every table with an organisation. After `set local` the setting reads '' and not null. The setting stands
-- in a select of its own, so that it is read once per statement and not once per row.
do $$
declare
  name text;
begin
  foreach name in array array['members', 'invitations', 'api_keys', 'contacts', 'contact_points', 'deals', 'integrations', 'delivery_bodies', 'deliveries', 'delivery_events',
    'number_series', 'issued_documents', 'invoices', 'invoice_lines', 'money_subjects', 'payments', 'payment_mentions',
    'payment_returns', 'allocations', 'credit_allocations', 'invoice_adjustments', 'activities', 'notifications', 'domain_events', 'review_items', 'audit_entries']
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
grant select (id, name, slug) on organizations to einmal_office;
grant update (role, removed_at) on members to einmal_office;
grant update (link_hash, expires_at, cancelled_at) on invitations to einmal_office;
grant update (revoked_at) on api_keys to einmal_office;

-- Who lets people in also makes the first organisation and its owner, and ends an invitation together with the person who came.
-- Which organisations a person belongs to is asked before one is chosen; everything else is within one.
grant select, insert on organizations to einmal_auth;
grant select, insert, update (role, joined_at, removed_at) on members to einmal_auth;
grant select, update (accepted_at, accepted_by) on invitations to einmal_auth;
grant insert on audit_entries to einmal_auth;
create policy members_of_person on members for select to einmal_auth using (true);
revoke insert on members from einmal_office;

-- A key is revoked once and for good. An invitation that was accepted or cancelled stays what it is.
create policy api_keys_revoked_once on api_keys as restrictive for update to einmal_office
  using (revoked_at is null) with check (revoked_at is not null);
-- Said otherwise than in invitations_open_key, which it would offer to every look-up by another key.
create policy invitations_ended_once on invitations as restrictive for update to einmal_office, einmal_auth
  using (coalesce(accepted_at, cancelled_at) is null) with check (true);
grant update (name, search_name, company_id, tax_id, street, postal_code, city, country, version) on contacts to einmal_office;
grant update (removed_at) on contact_points to einmal_office;
grant update (title, contact_id, stage, currency, amount_minor, expected_on, version, closed_at) on deals to einmal_office;
grant update (label, settings, is_enabled) on integrations to einmal_office;
grant update (body) on delivery_bodies to einmal_office;
-- An upsert is how a group takes the lock of a money subject and of a number series; there is nothing to change in it.
grant update (source) on money_subjects to einmal_office;
grant update (next_sequence) on number_series to einmal_office;
grant update (lifecycle, series, sequence, number, issued_at, paid_minor, credited_minor, adjusted_minor, settle_count,
  version, contact_id, currency, total_minor, due_on, discount_percent, notes) on invoices to einmal_office;
grant delete on invoice_lines to einmal_office;
grant update (applied_minor, returned_minor, invoice_reference, is_placed_by_hand, contact_id, version) on payments to einmal_office;
grant update (reversed_at, reversal_reason) on allocations, invoice_adjustments to einmal_office;
grant update (read_at) on notifications to einmal_office;
grant update (state, event_id, delivery_id, data, decided_at, decided_by, decision, note) on review_items to einmal_office;

-- What the server may write depends on what is there. Policies look at the row as it is (`using`) and as it would be
-- (`with check`), so the database itself refuses what no path of the office does.

-- A counter holds what its ledger rows add up to, whoever writes it. They stand before it in the transaction.
create policy invoices_counters on invoices as restrictive for update to einmal_office using (true) with check (
  paid_minor = (select coalesce(sum(a.amount_minor), 0)::bigint from allocations as a
    where a.invoice_id = invoices.id and a.organization_id = invoices.organization_id and a.reversed_at is null)
  and credited_minor = case type
    when 'invoice' then (select coalesce(sum(c.amount_minor), 0)::bigint from credit_allocations as c
      where c.invoice_id = invoices.id and c.organization_id = invoices.organization_id)
    else (select coalesce(sum(c.amount_minor), 0)::bigint from credit_allocations as c
      where c.credit_note_id = invoices.id and c.organization_id = invoices.organization_id) end
  and adjusted_minor = (select coalesce(sum(d.amount_minor), 0)::bigint from invoice_adjustments as d
    where d.invoice_id = invoices.id and d.organization_id = invoices.organization_id and d.reversed_at is null));
create policy payments_counters on payments as restrictive for update to einmal_office using (true) with check (
  -- Apart, so that it is looked up by the payment: with the condition behind it, the index of live allocations would look as
  -- good while the table is young, which leads with the invoice.
  applied_minor = (select coalesce(sum(a.amount_minor), 0)::bigint from (
    select amount_minor, reversed_at from allocations
    where payment_id = payments.id and organization_id = payments.organization_id offset 0) as a
    where a.reversed_at is null)
  and returned_minor = least(amount_minor, returned_of(external_id, source, organization_id, currency)));

-- A point is taken away once; who has it again has a new one.
create policy contact_points_removed_once on contact_points as restrictive for update to einmal_office
  using (removed_at is null) with check (removed_at is not null);

-- A credit note credits, and an invoice is credited.
create policy credit_allocations_types on credit_allocations as restrictive for insert to einmal_office with check (
  exists (select 1 from invoices as i where i.id = credit_note_id and i.organization_id = credit_allocations.organization_id
    and i.type = 'credit_note')
  and exists (select 1 from invoices as i where i.id = invoice_id and i.organization_id = credit_allocations.organization_id
    and i.type = 'invoice'));

-- Taken back once, and never given back again.
create policy allocations_reversed_once on allocations as restrictive for update to einmal_office
  using (reversed_at is null) with check (reversed_at is not null);
create policy invoice_adjustments_reversed_once on invoice_adjustments as restrictive for update to einmal_office
  using (reversed_at is null) with check (reversed_at is not null);

-- An invoice begins as a draft with nothing on it. What was issued keeps its number for good and is no draft again, and nothing
-- but a draft has lines that can be added or taken away.
create policy invoices_begin_as_drafts on invoices as restrictive for insert to einmal_office with check (
  lifecycle = 'draft' and paid_minor + credited_minor + adjusted_minor = 0);
create policy invoices_issued_once on invoices as restrictive for update to einmal_office using (lifecycle <> 'void') with check (
  number is not null or not exists (select 1 from issued_documents as d
    where d.invoice_id = invoices.id and d.organization_id = invoices.organization_id));
-- `offset 0` keeps it from becoming a join, which would start from the organisation.
create policy invoice_lines_of_drafts on invoice_lines as restrictive for insert to einmal_office with check (exists (
  select 1 from invoices as i where i.id = invoice_id and i.organization_id = invoice_lines.organization_id
    and i.lifecycle = 'draft' offset 0));
create policy invoice_lines_of_drafts_removed on invoice_lines as restrictive for delete to einmal_office using (exists (
  select 1 from invoices as i where i.id = invoice_id and i.organization_id = invoice_lines.organization_id
    and i.lifecycle = 'draft' offset 0));
