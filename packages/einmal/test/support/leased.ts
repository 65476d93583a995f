import type { Register } from '../../src/index.ts'
import type { Pool } from './database.ts'

/** All tables of a register, as a migration would make them. */
export async function createTables(pool: Pool, register: Register): Promise<void> {
  const { createTable, createLeases, createMemory, createWindows } = register
  await pool.query([createTable, createLeases, createMemory, createWindows].join('\n'))
}

export interface LeasedRow {
  readonly id: string
  readonly state: string
  readonly attempt: number
  readonly copies: number
  readonly holder: string
  readonly is_final: boolean
  readonly error_code: string | null
  readonly error_message: string | null
  readonly target_type: string | null
  readonly target_id: string | null
  readonly answer: unknown
  readonly lease_until: Date | null
  readonly next_attempt_at: Date | null
  readonly kind: string
}

/** The rows of one id, all its generations, in the order of their kinds. */
export async function findRows(pool: Pool, id: string): Promise<LeasedRow[]> {
  const { rows } = await pool.query<LeasedRow>(
    `select id, state, attempt, copies, holder, is_final, error_code, error_message, target_type, target_id, answer,
      lease_until, next_attempt_at, kind from einmal_events where external_id = $1 order by kind`,
    [id],
  )
  return rows
}

export async function findLeasedRow(pool: Pool, id: string): Promise<LeasedRow | undefined> {
  const rows = await findRows(pool, id)
  if (rows.length > 1) throw new Error(`${rows.length} rows of one id`)
  return rows[0]
}

export interface Note {
  readonly type: string
  readonly holder: string | null
  readonly attempt: number | null
  readonly author: string | null
  readonly note: string | null
  readonly data: Record<string, unknown>
}

export async function findNotes(pool: Pool, id: string): Promise<Note[]> {
  const { rows } = await pool.query<Note>(
    `select n.type, n.holder, n.attempt, n.author, n.note, n.data from einmal_events_notes as n
      join einmal_events as e on e.id = n.event_id where e.external_id = $1 order by n.recorded_at`,
    [id],
  )
  return rows
}

/** The lease ends now, as if its time had gone by. */
export async function endLease(pool: Pool, id: string): Promise<void> {
  const { rowCount } = await pool.query(
    `update einmal_events set lease_until = clock_timestamp() - interval '1 microsecond'
      where external_id = $1 and state = 'in_progress'`,
    [id],
  )
  if (rowCount !== 1) throw new Error('there is no lease to end')
}

/** The next attempt is due now. */
export async function makeDue(pool: Pool, id: string): Promise<void> {
  const { rowCount } = await pool.query(
    `update einmal_events set next_attempt_at = clock_timestamp() where external_id = $1 and state = 'failed'`,
    [id],
  )
  if (rowCount !== 1) throw new Error('there is no attempt to wait for')
}

/** All times of the event move into the past. */
export async function makeOld(pool: Pool, id: string, age: string): Promise<void> {
  await pool.query(
    `update einmal_events set first_arrived_at = first_arrived_at - $2::interval,
      last_arrived_at = last_arrived_at - $2::interval, started_at = started_at - $2::interval,
      finished_at = finished_at - $2::interval where external_id = $1`,
    [id, age],
  )
}

/** Asks until the lease has ended by the database's clock; nothing else tells. Bounded by the time limit of the test. */
export async function untilLeaseEnded(pool: Pool, id: string): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ ended: boolean }>(
      `select lease_until <= clock_timestamp() as ended from einmal_events where external_id = $1`,
      [id],
    )
    if (rows[0]?.ended) return
  }
}
