/** The statements for what is kept of an event when its row is gone, and for the windows of events without a name. */
import { type Statement, statementsOf, type TableNames } from './register-names.ts'

const texts = { recall: recallText, purge: purgeText, openWindow: openWindowText }

export type MemoryStatements = Readonly<Record<keyof typeof texts, Statement>>

export function memoryStatements(names: TableNames): MemoryStatements {
  return statementsOf(texts, names)
}

export function createMemory({ table, short, scope, type }: TableNames): string {
  return `create table ${table}_memory (
  digest bytea not null,
  ${scope} ${type} not null,
  constraint ${short}_memory_pkey primary key (digest, ${scope}),
  constraint ${short}_memory_digest_check check (octet_length(digest) = 32)
);
`
}

export function createWindows({ table, short, scope, type }: TableNames): string {
  return `create table ${table}_windows (
  digest text collate "C" not null,
  kind text collate "C" not null,
  source text collate "C" not null,
  ${scope} ${type} not null,
  ordinal integer not null,
  opened_at timestamptz not null,
  constraint ${short}_windows_pkey primary key (digest, kind, source, ${scope})
) with (fillfactor = 70);
`
}

/* SHA-256 of `keyText`, made of the row itself: here alone, so that what remembers and what asks cannot differ. */
function digestOf(alias: string): string {
  const escaped = (column: string) =>
    `replace(replace(replace(replace(${alias}.${column}, '%', '%25'), ':', '%3A'), '&', '%26'), '=', '%3D')`
  const text = `${escaped('source')} || ':' || ${escaped('kind')} || ':' || ${alias}.external_id`
  return `sha256(convert_to(${text}, 'UTF8'))`
}

/*
 * Follows on a reservation in the same transaction and takes back the rows it made of events that are remembered. A
 * statement of its own, because the one that reserved may have waited for the purge, and does not see what that one
 * wrote meanwhile.
 */
function recallText({ table, scope, type }: TableNames): string {
  return `delete from ${table} as e using ${table}_memory as m
where e.id = any($2::uuid[]) and e.${scope} = $1::${type} and m.${scope} = e.${scope} and m.digest = ${digestOf('e')}
returning e.id`
}

/*
 * One page of the table. A row that anybody holds is passed over; one that has changed under the lock is looked at again.
 * An event that was repeated on purpose stays, because its notes count its generations.
 */
function purgeText({ table, scope, type }: TableNames): string {
  return `with page as materialized (
  select e.id from ${table} as e where e.id > $2::uuid and e.${scope} = $1::${type} order by e.id limit $3::integer
), doomed as materialized (
  select e.id, e.source, e.kind, e.external_id from ${table} as e
  where e.id = any(array(select p.id from page as p)) and e.${scope} = $1::${type} and e.state = 'completed'
    and greatest(e.finished_at, e.last_arrived_at)
      <= clock_timestamp() - $4::double precision * interval '1 millisecond'
    and not exists (select from ${table}_notes as n
      where n.event_id = e.id and n.${scope} = e.${scope} and n.type = 'repeated')
  for update of e skip locked
), remembered as (
  insert into ${table}_memory (digest, ${scope}) select ${digestOf('d')}, $1::${type} from doomed as d
  on conflict do nothing
), noted as (
  delete from ${table}_notes as n using doomed as d where n.event_id = d.id and n.${scope} = $1::${type}
), gone as (
  delete from ${table} as e using doomed as d where e.id = d.id and e.${scope} = $1::${type} returning e.id
)
select (select count(*)::integer from gone) as purged, (select count(*)::integer from page) as seen,
  (select p.id::text from page as p order by p.id desc limit 1) as last`
}

/* The window is anchored at the arrival that opened it: a later one within it never moves it. */
function openWindowText({ table, scope, type }: TableNames): string {
  const isOver = `w.opened_at + $5::double precision * interval '1 millisecond' <= excluded.opened_at`
  return `insert into ${table}_windows as w (digest, kind, source, ${scope}, ordinal, opened_at)
values ($2::text, $3::text, $4::text, $1::${type}, 1, clock_timestamp())
on conflict (digest, kind, source, ${scope}) do update set
  ordinal = case when ${isOver} then w.ordinal + 1 else w.ordinal end,
  opened_at = case when ${isOver} then excluded.opened_at else w.opened_at end
returning w.ordinal`
}
