import { expect, vi } from 'vitest'
import type { TestOffice } from './office.ts'

/**
 * An invoice under a lock of the test's own: whatever books on it has reserved its key and stops before deciding. This
 * opens the window between look-up and insert for as long as a test wants, without a clock.
 */
export interface HeldInvoice extends AsyncDisposable {
  /** Resolves when so many transactions wait for a lock: on the invoice, or behind one that does. */
  waiting(count: number): Promise<void>
  release(): Promise<void>
}

export async function holdInvoice(office: TestOffice, invoiceId: string): Promise<HeldInvoice> {
  const client = await office.owner.connect()
  let isHeld = true
  await client.query('begin')
  // As the office locks it: whoever only points at the invoice passes, and whoever changes it waits in a queue.
  await client.query('select 1 from invoices where id = $1 for no key update', [invoiceId])
  const release = async () => {
    if (!isHeld) return
    isHeld = false
    await client.query('rollback')
    client.release()
  }
  return {
    waiting: (count) =>
      vi.waitFor(async () => expect(await countWaiting(office)).toBe(count), { interval: 5, timeout: 4_000 }),
    release,
    [Symbol.asyncDispose]: release,
  }
}

async function countWaiting(office: TestOffice): Promise<number | undefined> {
  const { rows } = await office.owner.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0]?.count
}
