/**
 * The register: one row per event, in one table, held by one unique key. All SQL of the library stands here and in its
 * neighbours: `register-leases.ts` for effects outside of the database, `register-memory.ts` for what outlives a row.
 *
 * Words. *Arrival*: somebody came with an event. *Holder*: the arrival that does the work. *Copies*: how often the
 * event arrived, the first time included. *Fingerprint*: the content that matters, as `version:text`.
 */
import type { Query } from './database.ts'
import type { EventKey } from './keys.ts'
import { createLeases, type LeaseStatements, leaseStatements } from './register-leases.ts'
import { createMemory, createWindows, type MemoryStatements, memoryStatements } from './register-memory.ts'
import { type Statement, statement } from './register-names.ts'

export type EventState = 'in_progress' | 'completed' | 'failed' | 'unknown'

/** What the work led to, such as `{ type: 'payment', id: '…' }`. */
export interface Target {
  readonly type: string
  readonly id: string
}

/** What a finished event remembers, and what every later copy is told. */
export interface Completion {
  readonly target?: Target | undefined
  /** Anything that JSON can hold. */
  readonly answer?: unknown
}

export interface Arrival {
  /** Id of the row, should this arrival be the first. */
  readonly id: string
  readonly key: EventKey
  /** Names this arrival, and only it: a repetition of the work by the same holder is the same work. */
  readonly holder: string
  /** `version:text`; only texts of one version are compared. Empty: content is not compared. */
  readonly fingerprint: string
  /** How many arrivals this one stands for, itself included. */
  readonly copies: number
  readonly arrivedAt: Date
  /** What a new row remembers if the work ends as expected. It is written again only if it ended otherwise. */
  readonly expected?: Completion | undefined
}

/**
 * What reserving found.
 *
 * `reserved`: the work is yours. `finished_before`: it was yours and is committed; only the word of it got lost.
 * `duplicate`: somebody finished it; `remembered`, where the row was purged and only the memory of it is left.
 * `conflict`: the key is known with other content. `in_progress`: somebody else holds it. `unknown` and `failed`: a
 * person has to say what happened, or nobody shall try again.
 */
export type Reservation =
  | {
      readonly verdict: 'reserved'
      readonly eventId: string
      readonly attempt: number
      readonly copies: number
      readonly isNew: boolean
    }
  | ({ readonly verdict: 'finished_before' | 'conflict' } & Known)
  | ({ readonly verdict: 'duplicate'; readonly remembered?: true } & Known)
  | ({ readonly verdict: 'in_progress'; readonly leaseUntil: Date | null } & Known)
  | ({ readonly verdict: 'unknown' } & Known)
  | ({ readonly verdict: 'failed'; readonly error: { readonly code: string; readonly message: string } } & Known)

export interface Known {
  /** Of a remembered event it is the id of the arrival: there is no row. */
  readonly eventId: string
  readonly attempt: number
  readonly copies: number
  readonly target: Target | undefined
  readonly answer: unknown
}

export interface RegisterNames {
  /** Table, with schema if it has one. */
  readonly table?: string
  readonly scopeColumn?: string
  readonly scopeType?: 'text' | 'uuid' | 'bigint'
  /**
   * Asks the memory before a new event is done, so that what `purge` took away is still a duplicate. One statement more
   * for every new event; off by default. Every process must have it before the first purge.
   */
  readonly memory?: boolean
}

/** The statements of one register table. Made once by `defineRegister`; holds no connection and no state. */
export interface Register {
  readonly table: string
  readonly memory: boolean
  /** Creates the table. Plain SQL, to be run by a migration or by `install`. */
  readonly createTable: string
  /** After `createTable`, for effects outside of the database: two columns, an index, and the table of notes. */
  readonly createLeases: string
  /** After `createLeases`, for `purge`: the table of what is remembered. */
  readonly createMemory: string
  /** For `keylessKey`: the table of windows. */
  readonly createWindows: string
  readonly reserveOne: Statement
  readonly reserveMany: Statement
  readonly reserveAgain: Statement
  readonly takeOver: Statement
  readonly complete: Statement
  readonly fail: Statement
  readonly leases: LeaseStatements
  readonly memories: MemoryStatements
}

const identifier = /^[a-z_][a-z0-9_]*$/

export function defineRegister(names: RegisterNames = {}): Register {
  const table = names.table ?? 'einmal_events'
  const scope = names.scopeColumn ?? 'scope'
  const type = names.scopeType ?? 'text'
  for (const part of [...table.split('.'), scope]) {
    if (!identifier.test(part)) throw new TypeError(`"${part}" is no plain lower-case SQL name`)
  }
  const short = table.split('.').at(-1) ?? table
  const checked = { table, short, scope, type }
  return {
    table,
    memory: names.memory ?? false,
    createTable: createTable(table, short, scope, type),
    reserveOne: statement('reserve_one', reserveText(table, scope, oneRow(type), addCopies)),
    reserveMany: statement('reserve_many', reserveText(table, scope, manyRows(type), addCopies)),
    reserveAgain: statement('reserve_again', reserveText(table, scope, manyRows(type), addCopiesOnce)),
    takeOver: statement('take_over', takeOverText(table, scope, type)),
    complete: statement('complete', completeText(table, scope, type)),
    fail: statement('fail', failText(table, scope, type)),
    createLeases: createLeases(checked),
    createMemory: createMemory(checked),
    createWindows: createWindows(checked),
    leases: leaseStatements(checked),
    memories: memoryStatements(checked),
  }
}

/* One check instead of one per column: PostgreSQL prepares every check anew for every statement. */
function createTable(table: string, short: string, scope: string, type: string): string {
  return `create table ${table} (
  id uuid not null,
  ${scope} ${type} not null,
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
  constraint ${short}_pkey primary key (id, ${scope}),
  constraint ${short}_external_id_key unique (external_id, kind, source, ${scope}),
  constraint ${short}_state_check check (
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
`
}

const addCopies = `case when e.holder = excluded.holder then 0 else excluded.copies end`

/*
 * $14 are transactions in which the same group may already have been committed: where one was, the copies are in. Their
 * end is certain by then, because each of them locked the very rows that this statement has just waited for. One that
 * is not older than this one was lost in a crash of the server, and its number is not given out yet or is our own.
 */
const addCopiesOnce = `case when e.holder = excluded.holder then 0
    when (select bool_or(pg_xact_status(t) = 'committed') from unnest($14::xid8[]) as t
      where t < pg_current_xact_id()) then 0
    else excluded.copies end`

function oneRow(type: string): string {
  return `values ($2::uuid, $1::${type}, $3::text, $4::text, $5::text, 'completed', $6::uuid, $7::text, $8::integer,
  $9::timestamptz, $9::timestamptz, $10::timestamptz, $10::timestamptz, $11::text, $12::text, $13::text::json)`
}

function manyRows(type: string): string {
  return `select u.id, $1::${type}, u.source, u.kind, u.external_id, 'completed', u.holder, u.fingerprint, u.copies,
  u.arrived_at, u.arrived_at, $10::timestamptz, $10::timestamptz, u.target_type, u.target_id, u.answer::json
from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::integer[], $9::timestamptz[],
  $11::text[], $12::text[], $13::text[])
  as u (id, source, kind, external_id, holder, fingerprint, copies, arrived_at, target_type, target_id, answer)`
}

/*
 * One statement reserves a whole group, so that two groups that meet wait for each other and never deadlock: rows come
 * sorted by key, and each is either inserted or locked by its update. (Insert-or-nothing followed by an update of the
 * rest takes the locks in two rounds, and does deadlock.)
 *
 * A new row is born `completed`: reservation and effect commit together, nobody can see it before, and the work ends
 * without a second version of every row. `xmax = 0` tells it from a row that was there.
 */
function reserveText(table: string, scope: string, rows: string, copies: string): string {
  return `insert into ${table} as e (id, ${scope}, source, kind, external_id, state, holder, fingerprint, copies,
  first_arrived_at, last_arrived_at, started_at, finished_at, target_type, target_id, answer)
${rows}
on conflict (external_id, kind, source, ${scope}) do update set copies = e.copies + ${copies},
  last_arrived_at = greatest(e.last_arrived_at, excluded.last_arrived_at)
returning e.id, e.external_id, pg_current_xact_id()::text as transaction_id,
  case when e.xmax <> 0 then json_build_object('state', e.state, 'attempt', e.attempt, 'isFinal', e.is_final,
    'holder', e.holder, 'leaseUntil', e.lease_until, 'targetType', e.target_type, 'targetId', e.target_id,
    'answer', e.answer, 'fingerprint', e.fingerprint, 'copies', e.copies, 'errorCode', e.error_code,
    'errorMessage', e.error_message) end as known`
}

/* Follows on `reserve` in the same transaction, whose update has locked the row: nobody else can take it over. */
function takeOverText(table: string, scope: string, type: string): string {
  return `update ${table} as e set state = 'in_progress', attempt = e.attempt + 1, holder = u.holder,
  started_at = $4::timestamptz, finished_at = null, error_code = null, error_message = null
from unnest($2::uuid[], $3::uuid[]) as u (id, holder)
where e.id = u.id and e.id = any($2::uuid[]) and e.${scope} = $1::${type} and e.state = 'failed' and not e.is_final`
}

/* `= any` beside the join: without it, a plan may start from the table as long as PostgreSQL believes it to be empty. */
function completeText(table: string, scope: string, type: string): string {
  return `update ${table} as e set state = 'completed', finished_at = $3::timestamptz, lease_until = null,
  target_type = u.target_type, target_id = u.target_id, answer = u.answer::json
from unnest($2::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[])
  as u (id, holder, target_type, target_id, answer)
where e.id = u.id and e.id = any($2::uuid[]) and e.${scope} = $1::${type} and e.holder = u.holder
  and e.state in ('in_progress', 'completed')`
}

/* Only where no row stands or a failed one: whoever won in the meantime is never overwritten. */
function failText(table: string, scope: string, type: string): string {
  return `insert into ${table} as e (id, ${scope}, source, kind, external_id, state, holder, fingerprint, copies,
  first_arrived_at, last_arrived_at, started_at, finished_at, error_code, error_message, is_final)
values ($2, $1::${type}, $3, $4, $5, 'failed', $6, $7, $8, $9, $9, $10, $10, $11, $12, $13)
on conflict (external_id, kind, source, ${scope}) do update set
  copies = e.copies + excluded.copies, attempt = e.attempt + 1, holder = excluded.holder,
  last_arrived_at = greatest(e.last_arrived_at, excluded.last_arrived_at), finished_at = excluded.finished_at,
  error_code = excluded.error_code, error_message = excluded.error_message, is_final = excluded.is_final
where e.state = 'failed' and not e.is_final
returning e.id, e.attempt, e.copies`
}

/** `known` is null for a row that this statement made: most are, and columns that are not sent cost nothing. */
interface ReserveRow {
  id: string
  external_id: string
  transaction_id: string
  known: KnownRow | null
}

interface KnownRow {
  state: EventState
  attempt: number
  isFinal: boolean
  holder: string
  leaseUntil: string | null
  targetType: string | null
  targetId: string | null
  answer: unknown
  fingerprint: string
  copies: number
  errorCode: string | null
  errorMessage: string | null
}

export interface Reserved {
  readonly reservations: readonly Reservation[]
  /** The transaction that holds the reservations, for a second try after a lost answer to its commit. */
  readonly transactionId: string | null
}

/**
 * Reserves every arrival in one statement, in the transaction of `query`; a rollback takes all of it back.
 *
 * Waits for other transactions that hold one of the keys. A failed event goes to its next arrival, unless its failure
 * is final or the content is another one. Reservations come in the order of the arrivals. The arrivals are of one scope
 * and of different keys; `inKeyOrder` sorts them, which keeps two groups from deadlocking.
 *
 * @param earlierTransactions transactions of earlier tries of exactly these arrivals whose end is not known.
 */
export async function reserve(
  query: Query,
  register: Register,
  arrivals: readonly Arrival[],
  startedAt: Date,
  earlierTransactions: readonly string[] = [],
): Promise<Reserved> {
  const [first] = arrivals
  if (first === undefined) return { reservations: [], transactionId: null }
  const rows = await sendReserve(query, register, first, arrivals, startedAt, earlierTransactions)
  const remembered = register.memory ? await recallAll(query, register, first.key.scope, rows) : nothing
  const reservations: Reservation[] = []
  const takenOver: { id: string; holder: string }[] = []
  for (const [index, arrival] of arrivals.entries()) {
    const row = rows[index]
    // PostgreSQL returns the rows in the order they were given; an effect under a foreign key would be the worst fault.
    if (row?.external_id !== arrival.key.id) throw new Error('the register answered in another order than asked')
    const reservation = remembered.has(row.id) ? toRemembered(row.id, arrival.copies) : toReservation(arrival, row)
    reservations.push(reservation)
    if (reservation.verdict === 'reserved' && !reservation.isNew) takenOver.push({ id: row.id, holder: arrival.holder })
  }
  if (takenOver.length > 0) {
    const ids = takenOver.map((row) => row.id)
    const holders = takenOver.map((row) => row.holder)
    await query(
      register.takeOver.text,
      [first.key.scope, ids, holders, startedAt.toISOString()],
      register.takeOver.name,
    )
  }
  return { reservations, transactionId: rows[0]?.transaction_id ?? null }
}

function sendReserve(
  query: Query,
  register: Register,
  first: Arrival,
  arrivals: readonly Arrival[],
  startedAt: Date,
  earlierTransactions: readonly string[],
): Promise<ReserveRow[]> {
  const { key } = first
  const started = startedAt.toISOString()
  if (arrivals.length === 1 && earlierTransactions.length === 0) {
    const { id, holder, fingerprint, copies, arrivedAt } = first
    const arrived = arrivedAt.toISOString()
    const { target, answer } = toColumns(first.expected)
    const values = [
      ...[key.scope, id, key.source, key.kind, key.id, holder, fingerprint, copies, arrived, started],
      ...[target?.type ?? null, target?.id ?? null, answer],
    ]
    return query(register.reserveOne.text, values, register.reserveOne.name)
  }
  const values = [
    key.scope,
    arrivals.map((arrival) => arrival.id),
    arrivals.map((arrival) => arrival.key.source),
    arrivals.map((arrival) => arrival.key.kind),
    arrivals.map((arrival) => arrival.key.id),
    arrivals.map((arrival) => arrival.holder),
    arrivals.map((arrival) => arrival.fingerprint),
    arrivals.map((arrival) => arrival.copies),
    arrivals.map((arrival) => arrival.arrivedAt.toISOString()),
    started,
    arrivals.map(({ expected }) => expected?.target?.type ?? null),
    arrivals.map(({ expected }) => expected?.target?.id ?? null),
    arrivals.map(({ expected }) => toColumns(expected).answer),
  ]
  return earlierTransactions.length === 0
    ? query(register.reserveMany.text, values, register.reserveMany.name)
    : query(register.reserveAgain.text, [...values, earlierTransactions], register.reserveAgain.name)
}

const nothing: ReadonlySet<string> = new Set()

function recallAll(query: Query, register: Register, scope: string, rows: readonly ReserveRow[]) {
  return recall(
    query,
    register,
    scope,
    rows.flatMap((row) => (row.known === null ? [row.id] : [])),
  )
}

/**
 * Takes back new rows whose events are remembered from before a purge, in the transaction that made them, and returns
 * their ids: those events are duplicates.
 */
export async function recall(
  query: Query,
  register: Register,
  scope: string,
  newIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (newIds.length === 0) return nothing
  const { text, name } = register.memories.recall
  const rows = await query<{ id: string }>(text, [scope, newIds], name)
  return new Set(rows.map(({ id }) => id))
}

/** What is told of an event whose row was purged: that it was done, and nothing else. */
export function toRemembered(eventId: string, copies: number) {
  return {
    verdict: 'duplicate',
    remembered: true,
    eventId,
    attempt: 1,
    copies,
    target: undefined,
    answer: undefined,
  } as const
}

/** Sorts by key, the order in which all groups take their locks. */
export function inKeyOrder<T>(items: readonly T[], keyOf: (item: T) => EventKey): T[] {
  return items.toSorted((left, right) => {
    const a = keyOf(left)
    const b = keyOf(right)
    return compareText(a.id, b.id) || compareText(a.kind, b.kind) || compareText(a.source, b.source)
  })
}

/** Compares by code unit: any order will do, as long as all processes share it. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function toReservation(arrival: Arrival, { id: eventId, known: row }: ReserveRow): Reservation {
  if (row === null) return { verdict: 'reserved', eventId, attempt: 1, copies: arrival.copies, isNew: true }
  const known: Known = {
    eventId,
    attempt: row.attempt,
    copies: row.copies,
    target: row.targetType === null ? undefined : { type: row.targetType, id: row.targetId ?? '' },
    answer: row.answer ?? undefined,
  }
  if (row.holder === arrival.holder && row.state === 'completed') return { verdict: 'finished_before', ...known }
  if (isOtherContent(row.fingerprint, arrival.fingerprint)) return { verdict: 'conflict', ...known }
  switch (row.state) {
    case 'completed':
      return { verdict: 'duplicate', ...known }
    case 'in_progress':
      return { verdict: 'in_progress', leaseUntil: row.leaseUntil === null ? null : new Date(row.leaseUntil), ...known }
    case 'unknown':
      return { verdict: 'unknown', ...known }
    case 'failed':
      return row.isFinal
        ? { verdict: 'failed', error: { code: row.errorCode ?? '', message: row.errorMessage ?? '' }, ...known }
        : { verdict: 'reserved', eventId, attempt: row.attempt + 1, copies: row.copies, isNew: false }
  }
}

/** True only where both texts are of one version and differ: what cannot be compared is no contradiction. */
export function isOtherContent(stored: string, arriving: string): boolean {
  return stored !== arriving && stored.split(':', 1)[0] === arriving.split(':', 1)[0]
}

/** As the columns hold it. Throws `TypeError` for an answer that JSON cannot hold. */
export function toColumns(completion: Completion | undefined): { target: Target | undefined; answer: string | null } {
  const answer = completion?.answer
  return { target: completion?.target, answer: answer === undefined ? null : JSON.stringify(answer) }
}

/** True where both would leave the same row behind. */
export function isSameCompletion(one: Completion | undefined, other: Completion | undefined): boolean {
  const a = toColumns(one)
  const b = toColumns(other)
  return a.target?.type === b.target?.type && a.target?.id === b.target?.id && a.answer === b.answer
}

export interface Completed {
  readonly eventId: string
  readonly holder: string
  readonly completion: Completion
}

/** Writes target and answer of reserved events, in the transaction of their reservation. A foreign holder changes nothing. */
export async function complete(
  query: Query,
  register: Register,
  scope: string,
  completed: readonly Completed[],
  finishedAt: Date,
): Promise<void> {
  if (completed.length === 0) return
  await query(
    register.complete.text,
    [
      scope,
      completed.map((item) => item.eventId),
      finishedAt.toISOString(),
      completed.map((item) => item.holder),
      completed.map(({ completion }) => completion.target?.type ?? null),
      completed.map(({ completion }) => completion.target?.id ?? null),
      completed.map(({ completion }) => toColumns(completion).answer),
    ],
    register.complete.name,
  )
}

export interface Failure {
  readonly eventId: string
  readonly attempt: number
  readonly copies: number
}

/**
 * Puts a failure on record, in a transaction of its own after the work was rolled back.
 *
 * Returns how many attempts have failed, or `null` where somebody else finished or holds the event: then nothing is
 * written. A failed event is taken over by its next arrival, unless the failure is final.
 */
export async function fail(
  query: Query,
  register: Register,
  arrival: Arrival,
  failure: { code: string; message: string; isFinal: boolean },
  failedAt: Date,
): Promise<Failure | null> {
  const { key } = arrival
  const rows = await query<{ id: string; attempt: number; copies: number }>(
    register.fail.text,
    [
      key.scope,
      arrival.id,
      key.source,
      key.kind,
      key.id,
      arrival.holder,
      arrival.fingerprint,
      arrival.copies,
      arrival.arrivedAt.toISOString(),
      failedAt.toISOString(),
      failure.code,
      withoutNul(failure.message),
      failure.isFinal,
    ],
    register.fail.name,
  )
  const row = rows[0]
  return row === undefined ? null : { eventId: row.id, attempt: row.attempt, copies: row.copies }
}

/** An error message may quote a payload, and a text column takes no NUL. */
export function withoutNul(text: string): string {
  return text.replaceAll('\0', '\u2400').slice(0, 2000)
}
