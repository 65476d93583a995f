-- The event register: one row per event, held by one unique key. The table belongs to the library `einmal`; a test
-- compares this file with what the library says it needs. What follows the table is the office's own.

create table events (
  id uuid not null,
  organization_id uuid not null,
  source text collate "C" not null,
  kind text collate "C" not null,
  external_id text collate "C" not null,
  state text not null,
  attempt integer not null default 1,
  is_final boolean not null default false,
  holder uuid not null,
  lease_until timestamptz,
  target_capability text not null default 'neither',
  target_type text,
  target_id text,
  answer json,
  fingerprint text not null default '',
  copies integer not null default 1,
  error_code text,
  error_message text,
  first_arrived_at timestamptz not null,
  last_arrived_at timestamptz not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  constraint events_pkey primary key (id, organization_id),
  constraint events_external_id_key unique (external_id, kind, source, organization_id),
  constraint events_state_check check (
    '' not in (external_id, kind, source) and copies > 0 and attempt > 0
    and target_capability in ('accepts_key', 'searchable', 'neither')
    and case state
      when 'in_progress' then finished_at is null and error_code is null and not is_final
      when 'completed' then finished_at is not null and error_code is null and not is_final and lease_until is null
      when 'failed' then finished_at is not null and error_code is not null and lease_until is null
      when 'unknown' then finished_at is null and not is_final and lease_until is null
      else false
    end)
) with (fillfactor = 70);

alter table events
  add column next_attempt_at timestamptz,
  add column fields json;
create index events_due_idx on events (organization_id, (coalesce(lease_until, next_attempt_at)))
  where coalesce(lease_until, next_attempt_at) is not null;
create table events_notes (
  id uuid not null default gen_random_uuid(),
  event_id uuid not null,
  organization_id uuid not null,
  type text not null,
  holder uuid,
  attempt integer,
  author text,
  note text,
  data json,
  recorded_at timestamptz not null,
  constraint events_notes_pkey primary key (event_id, id, organization_id)
);
create unique index events_notes_generation_key on events_notes (event_id, (data ->> 'generation'), organization_id)
  where type = 'repeated';

create table events_windows (
  digest text collate "C" not null,
  kind text collate "C" not null,
  source text collate "C" not null,
  organization_id uuid not null,
  ordinal integer not null,
  opened_at timestamptz not null,
  constraint events_windows_pkey primary key (digest, kind, source, organization_id)
) with (fillfactor = 70);

-- Whose work may be due, and when: read before the organisation is known, so it has no policy. `null`: nothing is.
create table due_work (
  organization_id uuid not null constraint due_work_pkey primary key,
  due_at timestamptz
);
create index due_work_due_idx on due_work (due_at) where due_at is not null;

-- For lists alone: no look-up by key can choose it; see the head of the next file.
create index events_list_idx on events (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';
-- Partial, so that the usual event, which is born completed, does not pay for it.
create index events_unfinished_idx on events (organization_id, state, id) where state <> 'completed';

alter table events enable row level security;
alter table events force row level security;
create policy events_tenant on events
  using (organization_id = (select nullif(current_setting('einmal.organization_id', true), '')::uuid));

alter table events_notes enable row level security;
alter table events_notes force row level security;
create policy events_notes_tenant on events_notes
  using (organization_id = (select nullif(current_setting('einmal.organization_id', true), '')::uuid));
alter table events_windows enable row level security;
alter table events_windows force row level security;
create policy events_windows_tenant on events_windows
  using (organization_id = (select nullif(current_setting('einmal.organization_id', true), '')::uuid));

-- An event is never deleted and never renamed; its key is the memory of every later copy.
grant select, insert on events to einmal_office;
grant update (state, attempt, is_final, holder, lease_until, target_capability, target_type, target_id, answer, copies,
  error_code, error_message, last_arrived_at, started_at, finished_at, next_attempt_at) on events to einmal_office;
-- What was said beside an event is added to, and never changed.
grant select, insert on events_notes, events_windows, due_work to einmal_office;
grant update (ordinal, opened_at) on events_windows to einmal_office;
grant update (due_at) on due_work to einmal_office;
