import type pg from 'pg'
import { createPool } from '../platform/database.ts'
import type { Check } from './check.ts'
import { checks } from './checks.ts'
import { type Finding, type FoundRow, textOf, toFindings } from './diagnose.ts'
import { beginSnapshot, endSnapshot } from './queries.ts'

/** A connection for whole organisations, however large. */
export interface Doctor {
  /**
   * Every check, one after the other, on the books of one moment: a running office goes on, and none of its work in
   * progress is seen by halves. `onCheck` is told which one begins, and waited for.
   */
  examine(organizationId: string, onCheck?: (check: Check) => unknown): Promise<Finding[]>
  close(): Promise<void>
}

/** A check reads whole tables, which takes longer than the server's limit for a statement. */
const QUERY_TIMEOUT_MS = 24 * 60 * 60 * 1_000

/** Connects as the server does, with its rights: row-level security keeps each examination to its organisation. */
export async function openDoctor(url: string): Promise<Doctor> {
  const pool = createPool({ url, role: 'einmal_office', maxConnections: 1 })
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    await pool.end()
    throw error
  }
  const ask = async (check: Check, organizationId: string): Promise<FoundRow[]> => {
    const query = { text: textOf(check), values: [organizationId], query_timeout: QUERY_TIMEOUT_MS }
    return (await client.query<FoundRow>(query)).rows
  }
  return {
    async examine(organizationId, onCheck) {
      const findings: Finding[] = []
      await client.query(beginSnapshot(organizationId))
      try {
        for (const check of checks) {
          await onCheck?.(check)
          findings.push(...toFindings(check, await ask(check, organizationId)))
        }
      } finally {
        // It only looked: there is nothing to commit. A connection that is gone has rolled back by itself.
        await client.query(endSnapshot).catch(() => undefined)
      }
      return findings
    },
    async close() {
      client.release()
      await pool.end()
    },
  }
}
