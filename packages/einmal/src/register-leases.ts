/**
 * The statements for effects outside of the database: leases, their ends, and the notes beside them.
 *
 * Every time in them is the database's own. A lease that is written by one application's clock and read by another's
 * would end early for one of them.
 */
import { type Statement, statementsOf, type TableNames } from './register-names.ts'

const texts = {
  reserveLeased: reserveText,
  peek: peekText,
  heartbeat: heartbeatText,
  finish: finishText,
  resolve: resolveText,
  surrender: surrenderText,
  claim: claimText,
  countDue: countDueText,
  lockOriginal: lockOriginalText,
  openGeneration: openGenerationText,
}

export type LeaseStatements = Readonly<Record<keyof typeof texts, Statement>>

export function leaseStatements(names: TableNames): LeaseStatements {
  return statementsOf(texts, names)
}

/* The index holds what is unfinished and nothing else: a completed event has neither time and costs it nothing. */
export function createLeases({ table, short, scope, type }: TableNames): string {
  return `alter table ${table}
  add column next_attempt_at timestamptz,
  add column fields json;
create index ${short}_due_idx on ${table} (${scope}, (coalesce(lease_until, next_attempt_at)))
  where coalesce(lease_until, next_attempt_at) is not null;
create table ${table}_notes (
  id uuid not null default gen_random_uuid(),
  event_id uuid not null,
  ${scope} ${type} not null,
  type text not null,
  holder uuid,
  attempt integer,
  author text,
  note text,
  data json,
  recorded_at timestamptz not null,
  constraint ${short}_notes_pkey primary key (event_id, id, ${scope})
);
create unique index ${short}_notes_generation_key on ${table}_notes (event_id, (data ->> 'generation'), ${scope})
  where type = 'repeated';
`
}

const ms = (parameter: string) => `${parameter}::double precision * interval '1 millisecond'`

const columns = [
  ...[
    'id',
    'source',
    'kind',
    'external_id',
    'state',
    'attempt',
    'is_final',
    'holder',
    'lease_until',
    'next_attempt_at',
  ],
  ...['target_capability', 'target_type', 'target_id', 'answer', 'fingerprint', 'fields', 'copies', 'error_code'],
  'error_message',
]

/** The row as the caller needs it, as JSON, so that nothing hangs on how a driver reads times and numbers. */
const row = `json_build_object(${columns.map((column) => `'${column}', e.${column}`).join(', ')},
  'is_new', e.xmax = 0, 'transaction_id', pg_current_xact_id()::text) as found`

/* One version of the fingerprint and another text: what cannot be compared is no contradiction. */
const isOtherContent = `(e.fingerprint <> excluded.fingerprint
    and split_part(e.fingerprint, ':', 1) = split_part(excluded.fingerprint, ':', 1))`

/*
 * Whether the next attempt may follow on one that may have reached the target. The weaker of the two decides: one that
 * hands on the key, after one that did too; one that looks first, after one that can be found. An attempt that failed on
 * a target that can do neither is known not to have been sent, or it would be `unknown`.
 */
function mayFollow(capability: string): string {
  return `case when e.target_capability = 'neither' then e.state = 'failed'
      when ${capability} = 'searchable' then true
      else ${capability} = 'accepts_key' and e.target_capability = 'accepts_key' end`
}

/** What a row becomes that is taken over, and one that nobody may take over: the columns that change, and to what. */
type Change = Readonly<Record<string, string>>

const free = { finished_at: 'null', next_attempt_at: 'null' }

const surrendered: Change = {
  ...{ ...free, state: "'unknown'", lease_until: 'null', error_code: "'no_word'" },
  error_message: "'an earlier attempt may have reached the target, and nobody can find out'",
}

function taken(holder: string, capability: string, now: string, leaseUntil: string): Change {
  return {
    ...{ ...free, state: "'in_progress'", attempt: 'e.attempt + 1', holder, target_capability: capability },
    ...{ started_at: now, lease_until: leaseUntil, error_code: 'null' },
    // Kept while the next attempt runs, which has to know that the one before may have died of this very event.
    error_message: "case when e.state = 'in_progress' then 'the attempt before ended without a word' end",
  }
}

/** Every column with the same two conditions, so that all of them decide alike. */
function setEither(takes: string, change: Change, givesUp: string, otherwise: Change = {}): string {
  return Object.entries(change)
    .map(([column, value]) => {
      const unknown = surrendered[column]
      const second = unknown === undefined ? '' : ` when ${givesUp} then ${unknown}`
      return `${column} = case when ${takes} then ${value}${second} else ${otherwise[column] ?? `e.${column}`} end`
    })
    .join(',\n  ')
}

/*
 * One statement reserves, whatever is there. The clock is read once, before any wait for the row: a stale time finds a
 * lease alive that has just ended, never the other way round, and gives a lease that is too short, never one too long.
 */
function reserveText({ table, scope, type }: TableNames): string {
  const isOpen = `((e.state = 'in_progress' and e.lease_until <= excluded.started_at)
    or (e.state = 'failed' and not e.is_final
      and coalesce(e.next_attempt_at, excluded.started_at) <= excluded.started_at)) and not ${isOtherContent}`
  const follows = mayFollow('excluded.target_capability')
  const change = taken('excluded.holder', 'excluded.target_capability', 'excluded.started_at', 'excluded.lease_until')
  const lease_until = `case when e.holder = excluded.holder and e.state = 'in_progress'
    then greatest(e.lease_until, excluded.lease_until) else e.lease_until end`
  return `insert into ${table} as e (id, ${scope}, source, kind, external_id, state, holder, fingerprint, fields, copies,
  target_capability, first_arrived_at, last_arrived_at, started_at, lease_until)
select $2::uuid, $1::${type}, $3::text, $4::text, $5::text, 'in_progress', $6::uuid, $7::text, $8::text::json,
  greatest($9::integer, 1), $10::text, n.now, n.now, n.now, n.now + ${ms('$11')}
from (select clock_timestamp() as now) as n
on conflict (external_id, kind, source, ${scope}) do update set
  copies = e.copies + case when e.holder = excluded.holder then 0
    when (select bool_or(pg_xact_status(t) = 'committed') from unnest($12::xid8[]) as t
      where t < pg_current_xact_id()) then 0
    else $9::integer end,
  last_arrived_at = greatest(e.last_arrived_at, excluded.last_arrived_at),
  ${setEither(`${isOpen} and (${follows})`, change, `${isOpen} and not (${follows})`, { lease_until })}
returning ${row}`
}

const keyed = 'e.external_id = $2::text and e.kind = $3::text and e.source = $4::text'

/* For those who wait: reads, and writes nothing. */
function peekText({ table, scope, type }: TableNames): string {
  return `select json_build_object('is_running', e.state = 'in_progress' and e.lease_until > clock_timestamp()) as found
from ${table} as e where ${keyed} and e.${scope} = $1::${type}`
}

function heartbeatText({ table, scope, type }: TableNames): string {
  return `update ${table} as e set lease_until = greatest(e.lease_until, clock_timestamp() + ${ms('$5')})
where e.id = $2::uuid and e.${scope} = $1::${type} and e.holder = $3::uuid and e.attempt = $4::integer
  and e.state = 'in_progress' and e.lease_until > clock_timestamp()
returning json_build_object('lease_until', e.lease_until) as found`
}

interface End {
  /** Which event. */
  readonly which: string
  /** Whether this word ends it; whether it is the same word once more, after a lost answer. */
  readonly counts: string
  readonly isRepeated: string
  readonly holder: string
  readonly attempt: string
  readonly author: string
  /** Of the note beside it: what it is called, its text, and when there is one. */
  readonly type: string
  readonly note: string
  readonly isNoted: string
}

/* Who may end an event is decided under the lock of its row, and the note is of the same moment. */
function endText({ table, scope, type }: TableNames, end: End): string {
  return `with held as materialized (
  select e.id, e.state, e.holder, e.attempt, e.lease_until, e.next_attempt_at, e.error_code, e.is_final, e.target_type,
    e.target_id, e.answer::text as answer, clock_timestamp() as now
  from ${table} as e where ${end.which} and e.${scope} = $1::${type} for no key update
), written as (
  update ${table} as e set state = $5::text, holder = ${end.holder}, lease_until = null,
    finished_at = case when $5::text <> 'unknown' then h.now end,
    target_type = $6::text, target_id = $7::text, answer = $8::text::json,
    error_code = $9::text, error_message = $10::text, is_final = $11::boolean, next_attempt_at = h.now + ${ms('$12')}
  from held as h where e.id = h.id and e.${scope} = $1::${type} and ${end.counts}
  returning e.next_attempt_at
), noted as (
  insert into ${table}_notes (event_id, ${scope}, type, holder, attempt, author, note, data, recorded_at)
  select h.id, $1::${type}, ${end.type}, ${end.holder}, ${end.attempt}, ${end.author}, ${end.note}, json_build_object(
    'code', $9::text, 'targetType', $6::text, 'targetId', $7::text, 'answer', $8::text::json, 'state', h.state,
    'heldBy', h.holder), h.now
  from held as h where ${end.isNoted}
)
select json_build_object('id', h.id, 'attempt', h.attempt, 'state', h.state, 'is_written', exists (select from written),
  'is_repeated', ${end.isRepeated},
  'next_attempt_at', coalesce((select w.next_attempt_at from written as w), h.next_attempt_at)) as found
from held as h`
}

/*
 * The end of an attempt, written by whoever holds it. The word of anybody else, and one that contradicts an earlier one,
 * changes nothing and is kept beside the event.
 */
function finishText(names: TableNames): string {
  const isMine = 'h.holder = $3::uuid and h.attempt = $4::integer'
  const counts = `${isMine} and h.state = 'in_progress'`
  // Not the end that a lease came to by itself, and not another one than was said: that may be a second effect.
  const isRepeated = `(${isMine} and h.state = $5::text and h.is_final = $11::boolean
    and (h.error_code, h.target_type, h.target_id, h.answer) is not distinct from ($9::text, $6::text, $7::text, $8::text))`
  return endText(names, {
    ...{ which: 'e.id = $2::uuid', counts, isRepeated, holder: '$3::uuid', attempt: '$4::integer', author: 'null' },
    ...{ type: `case when ${counts} then $5::text else 'late_' || $5::text end`, note: '$10::text' },
    isNoted: `case when ${counts} then $5::text = 'unknown' else not ${isRepeated} end`,
  })
}

/* The holder becomes the decision itself: whoever was at it before has lost, whatever he still has to say. */
function resolveText(names: TableNames): string {
  const isOpen = `(h.state in ('unknown', 'failed') or (h.state = 'in_progress' and h.lease_until <= h.now))`
  const counts = `${isOpen} and h.holder <> $13::uuid`
  return endText(names, {
    ...{
      which: keyed,
      counts,
      isRepeated: 'h.holder = $13::uuid',
      holder: '$13::uuid',
      attempt: 'h.attempt',
      author: '$14::text',
    },
    ...{ type: '$15::text', note: '$16::text', isNoted: counts },
  })
}

function isDue(scope: string, type: string): string {
  return `e.${scope} = $1::${type} and coalesce(e.lease_until, e.next_attempt_at) <= (select clock_timestamp())
    and e.state in ('in_progress', 'failed') and not e.is_final`
}

/* The longest due first. Others look past a row that somebody has. */
const inTurn = (limit: string) => `order by coalesce(e.lease_until, e.next_attempt_at) limit ${limit}
  for update of e skip locked`

/* Ended leases on targets that can neither take the key nor be searched: nobody knows, and nobody tries again. */
function surrenderText({ table, scope, type }: TableNames): string {
  const changes = Object.entries(surrendered).map(([column, value]) => `${column} = ${value}`)
  return `with due as materialized (
  select e.id from ${table} as e
  where ${isDue(scope, type)} and e.state = 'in_progress' and e.target_capability = 'neither'
  ${inTurn('$2::integer')}
)
update ${table} as e set ${changes.join(', ')}
from due where e.id = due.id and e.${scope} = $1::${type}
returning ${row}`
}

/* One event for a handler of its source and kind. */
function claimText({ table, scope, type }: TableNames): string {
  const follows = mayFollow('due.capability')
  const change = taken('$2::uuid', 'due.capability', 'due.now', `due.now + ${ms('due.lease_ms')}`)
  return `with due as materialized (
  select e.id, u.capability, u.lease_ms, clock_timestamp() as now from ${table} as e
  join unnest($3::text[], $4::text[], $5::text[], $6::double precision[]) as u (source, kind, capability, lease_ms)
    on u.source = e.source and u.kind = regexp_replace(e.kind, '#[0-9]+$', '')
  where ${isDue(scope, type)}
  ${inTurn('1')}
)
update ${table} as e set ${setEither(follows, change, 'true')}
from due where e.id = due.id and e.${scope} = $1::${type}
returning ${row}`
}

function countDueText({ table, scope, type }: TableNames): string {
  return `select count(*)::integer as count from (
  select from ${table} as e where ${isDue(scope, type)} limit $2::integer
) as due`
}

/*
 * The arrival time is written so that a purge which stands at this row sees that somebody was here. The number itself is
 * taken by a statement of its own: one that began before the lock would not see what the one before it has opened.
 */
function lockOriginalText({ table, scope, type }: TableNames): string {
  return `update ${table} as e set last_arrived_at = greatest(e.last_arrived_at, clock_timestamp())
where ${keyed} and e.${scope} = $1::${type} returning json_build_object('id', e.id, 'state', e.state) as found`
}

function openGenerationText({ table, scope, type }: TableNames): string {
  const ofEvent = `n.event_id = $2::uuid and n.${scope} = $1::${type} and n.type = 'repeated'`
  return `with opened as (
  insert into ${table}_notes (event_id, ${scope}, type, holder, author, note, data, recorded_at)
  select $2::uuid, $1::${type}, 'repeated', $3::uuid, $4::text, $5::text, json_build_object('generation',
    (select coalesce(max((n.data ->> 'generation')::integer), 1) + 1 from ${table}_notes as n where ${ofEvent})),
    clock_timestamp()
  where not exists (select from ${table}_notes as n where ${ofEvent} and n.holder = $3::uuid)
  returning data
)
select (data ->> 'generation')::integer as generation from opened
union all
select (n.data ->> 'generation')::integer from ${table}_notes as n where ${ofEvent} and n.holder = $3::uuid`
}
