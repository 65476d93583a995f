import { afterAll, beforeAll, expect, test } from 'vitest'
import { createInProcessApp } from '../support/in-process-app.ts'
import { createTestOffice } from '../support/office.ts'

/**
 * The last line: even a writer that forgets every lock and every look-up cannot put a second row there. Each key is
 * tried with a copy of a real row that differs in nothing but its own id.
 */
const office = await createTestOffice()

beforeAll(async () => {
  const app = await createInProcessApp(office)
  const organization = await office.addOrganization('Keys')
  await organization.issueInvoice({ amountMinor: 10_000n, currency: 'EUR' })
  const data = { payment: 'pay_1', amountMinor: 15_000, currency: 'EUR', invoice: 'RE-00001' }
  const body = JSON.stringify({ type: 'payment.paid', data })
  for (const id of ['evt_1', 'evt_1_again']) {
    const answer = await app.deliver(organization.sandbox, body, organization.sandbox.sign(body, { id }))
    expect(answer.status).toBe(200)
  }
  const refund = JSON.stringify({
    type: 'payment.refunded',
    data: { refund: 'rf_1', payment: 'pay_1', amountMinor: 100, currency: 'EUR' },
  })
  expect((await app.deliver(organization.sandbox, refund)).status).toBe(200)
  const { rows } = await office.owner.query<{ id: string }>(`select id from invoices where number = 'RE-00001'`)
  const part = { lines: [{ description: 'Not done', unitPriceMinor: 100 }] }
  const path = `/invoices/${rows[0]?.id}/credit-note`
  const credit = await app.post(organization, path, part, { 'idempotency-key': 'k' })
  expect(credit.status).toBe(201)
  await app.close()
})

afterAll(() => office.close())

test.each([
  ['an event', 'events', 'external_id, kind, source, organization_id'],
  ['the money of a payment', 'payments', 'external_id, kind, source, organization_id'],
  ['the subject of money', 'money_subjects', 'external_id, source, organization_id'],
  ['a later news of a payment', 'payment_mentions', 'payment_id, event_id, organization_id'],
  ['a payment on an invoice', 'allocations', 'invoice_id, payment_id, organization_id'],
  ['a movement of money that went back', 'payment_returns', 'external_id, kind, source, organization_id'],
  ['a credit note on an invoice', 'credit_allocations', 'credit_note_id, organization_id'],
  ['what an invoice said when it was issued', 'issued_documents', 'invoice_id, organization_id'],
  ['a number of an invoice', 'invoices', 'number, organization_id'],
  ['a series of numbers', 'number_series', 'name, organization_id'],
  ['an activity line', 'activities', 'subject_id, key, organization_id'],
  ['a notification to one member', 'notifications', 'recipient_id, key, organization_id'],
  ['a domain event', 'domain_events', 'key, type, organization_id'],
  ['a question on the desk', 'review_items', 'key, organization_id'],
  ['an arrival of an event', 'delivery_events', 'event_id, delivery_id, organization_id'],
  ['the bytes of a delivery', 'delivery_bodies', 'hash, organization_id'],
])('%s is there once, and the database itself refuses a second', async (_what, table, key) => {
  const refusal = { code: '23505', detail: expect.stringContaining(`Key (${key})=`) }
  await expect(office.owner.query(await copyStatement(table))).rejects.toMatchObject(refusal)
})

/** Inserts a table's first row once more, under a new id of its own if it has one. */
async function copyStatement(table: string): Promise<string> {
  const { rows } = await office.owner.query<{ name: string }>(
    `select column_name as name from information_schema.columns
      where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position`,
    [table],
  )
  const names = rows.map((row) => row.name)
  const values = names.map((name) => (name === 'id' ? 'gen_random_uuid()' : name))
  return `insert into ${table} (${names.join(', ')}) select ${values.join(', ')} from ${table}
    ${table === 'allocations' ? 'where reversed_at is null ' : ''}order by ctid limit 1`
}
