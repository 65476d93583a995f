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

-- For lists alone: no look-up by key can choose it; see the head of the next file.
create index events_list_idx on events (organization_id, id) where id <> '00000000-0000-0000-0000-000000000000';
-- Partial, so that the usual event, which is born completed, does not pay for it.
create index events_unfinished_idx on events (organization_id, state, id) where state <> 'completed';

alter table events enable row level security;
alter table events force row level security;
create policy events_tenant on events
  using (organization_id = (select nullif(current_setting('einmal.organization_id', true), '')::uuid));

-- An event is never deleted and never renamed; its key is the memory of every later copy.
grant select, insert on events to einmal_office;
grant update (state, attempt, is_final, holder, lease_until, target_capability, target_type, target_id, answer, copies,
  error_code, error_message, last_arrived_at, started_at, finished_at) on events to einmal_office;
