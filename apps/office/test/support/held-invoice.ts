import { expect, vi } from 'vitest'
import type { TestOffice } from './office.ts'

/**
 * A row under a lock of the test's own: whoever needs it stops there. This opens the window between two steps of somebody else's
 * transaction for as long as a test wants, without a clock.
 */
export interface HeldRow extends AsyncDisposable {
  /** Resolves when so many transactions wait for a lock: on the row, or behind one that does. */
  waiting(count: number): Promise<void>
  release(): Promise<void>
}

/** Whatever books on the invoice has reserved its key and stops before deciding. */
export function holdInvoice(office: TestOffice, invoiceId: string): Promise<HeldRow> {
  return holdRow(office, 'select 1 from invoices where id = $1 for update', [invoiceId])
}

/** Whatever moves this payment has looked where it lies and stops before it locks anything. */
export function holdPayment(office: TestOffice, externalId: string): Promise<HeldRow> {
  return holdRow(office, 'select 1 from money_subjects where external_id = $1 for update', [externalId])
}

/** Whoever takes the next number of this series stops before it has one. The series has to be there. */
export function holdSeries(office: TestOffice, organizationId: string, name: string): Promise<HeldRow> {
  const text = 'select 1 from number_series where organization_id = $1 and name = $2 for update'
  return holdRow(office, text, [organizationId, name])
}

/** Whoever accepts, cancels or renews this invitation, or invites the same address anew, stops before it is decided. */
export function holdInvitation(office: TestOffice, id: string): Promise<HeldRow> {
  return holdRow(office, 'select 1 from invitations where id = $1 for update', [id])
}

/** Whoever changes members of an organisation stops before they look who is what: its owners are locked first. */
export function holdMember(office: TestOffice, id: string): Promise<HeldRow> {
  return holdRow(office, 'select 1 from members where id = $1 for update', [id])
}

async function holdRow(office: TestOffice, text: string, values: readonly string[]): Promise<HeldRow> {
  const client = await office.owner.connect()
  let isHeld = true
  await client.query('begin')
  const { rowCount } = await client.query(text, [...values])
  expect(rowCount, 'rows held').toBe(1)
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
