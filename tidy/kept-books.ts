/** Books to try forbidden writes on: one row of each kind, made by the server itself wherever it can. */
import { randomUUID } from 'node:crypto'
import { deliver, stripePaid, type TestOffice, type TestOrganization } from '../apps/office/test/support/office.ts'
import { callApi } from '../apps/office/test/support/storm.ts'

export interface KeptBooks {
  readonly organization: TestOrganization
  /** Issued over 10,000 EUR, with `payment` of 4,000 on it. */
  readonly invoice: string
  /** Issued over 500 USD, with nothing on it. */
  readonly otherInvoice: string
  /** Issued over 3,000 EUR; 500 are credited, an adjustment was taken back, and `moved` lay here. */
  readonly credited: string
  /** Issued over 3,000 EUR, with 600 of `moved` and an adjustment of 100 on it. */
  readonly adjusted: string
  readonly creditNote: string
  readonly draft: string
  readonly voided: string
  readonly payment: string
  /** Of 1,000: moved from `credited` to `adjusted`, and 400 went back. */
  readonly moved: string
  readonly event: string
  readonly delivery: string
  readonly reviewItem: string
  readonly company: string
}

export async function keepBooks(office: TestOffice, serverUrl: string, name: string): Promise<KeptBooks> {
  const organization = await office.addOrganization(name)
  const pay = async (amount: number, invoice: string, paymentId = `pi_${randomUUID()}`): Promise<string> => {
    const body = stripePaid({ eventId: `evt_${randomUUID()}`, paymentId, amount, invoice })
    const answer = await deliver(serverUrl, organization.stripe, body)
    return targetOf(answer)
  }
  const act = async (path: string, body?: object, method: 'GET' | 'POST' = 'POST') => {
    const answer = await callApi(serverUrl, organization, { path, body, method, key: randomUUID() })
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const issue = (amountMinor: bigint, currency = 'EUR') => organization.issueInvoice({ amountMinor, currency })
  const draft = async () => String((await act('/invoices', draftOf(900)))['id'])

  const invoice = await issue(10_000n)
  const other = await issue(500n, 'USD')
  const [credited, adjusted, voided] = [await issue(3_000n), await issue(3_000n), await issue(3_000n)]
  const paymentId = `pi_${randomUUID()}`
  const payment = await pay(4_000, invoice.number, paymentId)
  // A second event about the same payment, which leaves a mention; and money that fits nowhere.
  await pay(4_000, invoice.number, paymentId)
  await pay(700, 'a number nobody has')
  const moved = await pay(1_000, credited.number)
  await act(`/payments/${moved}/move`, { toInvoiceId: adjusted.id })
  await act(`/payments/${moved}/refund`, { amount: { amountMinor: 400, currency: 'EUR' } })
  const creditNote = await act(`/invoices/${credited.id}/credit-note`, { lines: draftOf(500).lines })
  await act(`/invoices/${adjusted.id}/adjustments`, { kind: 'fee', amount: { amountMinor: 100, currency: 'EUR' } })
  await act(`/invoices/${credited.id}/adjustments`, { kind: 'fee', amount: { amountMinor: 100, currency: 'EUR' } })
  const reversed = await act(`/invoices/${credited.id}`, undefined, 'GET')
  const [adjustment] = reversed['adjustments'] as { id: string }[]
  await act(`/invoices/${credited.id}/adjustments/${adjustment?.id}/reverse`, { reason: 'No fee.' })
  await act(`/invoices/${voided.id}/void`)
  await addContacts(office, organization)
  await addInvitations(office, organization)
  return {
    organization,
    invoice: invoice.id,
    otherInvoice: other.id,
    credited: credited.id,
    adjusted: adjusted.id,
    creditNote: String(creditNote['id']),
    draft: await draft(),
    voided: voided.id,
    payment,
    moved,
    company: organization.contactId,
    ...(await findRows(office, organization, payment)),
  }
}

function draftOf(unitPriceMinor: number) {
  return { currency: 'EUR', lines: [{ description: 'Work', unitPriceMinor }] }
}

function targetOf(answer: { status: number; body: Record<string, unknown> }): string {
  if (answer.status !== 200) throw new Error(`the webhook answered ${answer.status}`)
  return (answer.body['target'] as { id: string }).id
}

async function addContacts(office: TestOffice, { organizationId, contactId }: TestOrganization): Promise<void> {
  await office.owner.query(
    `insert into contacts (id, organization_id, type, name, search_name, company_id, created_at)
     values (gen_random_uuid(), $1, 'person', 'Kim Roth', 'kim roth', $2, now())`,
    [organizationId, contactId],
  )
  await office.owner.query(
    `insert into contact_points (id, organization_id, contact_id, kind, value, created_at)
     values (gen_random_uuid(), $1, $2, 'phone', '+4930123456', now())`,
    [organizationId, contactId],
  )
  await office.owner.query(
    `insert into deals (id, organization_id, title, contact_id, stage, currency, amount_minor, created_at)
     values (gen_random_uuid(), $1, 'Website', $2, 'new', 'EUR', 100, now())`,
    [organizationId, contactId],
  )
}

/** A key that a member made, an invitation that is open, and one that was accepted. */
async function addInvitations({ owner }: TestOffice, { organizationId }: TestOrganization): Promise<void> {
  const member = `(select id from members where organization_id = $1 order by id limit 1)`
  await owner.query(
    `insert into api_keys (id, organization_id, name, start, hash, scopes, created_by, created_at)
     values (gen_random_uuid(), $1, 'made by a member', 'einmal_', 'hash', '{read}', ${member}, now())`,
    [organizationId],
  )
  await owner.query(
    `insert into invitations (id, organization_id, email, role, link_hash, invited_by, created_at, expires_at, accepted_at, accepted_by)
     values (gen_random_uuid(), $1, 'open@example.org', 'agent', 'open', ${member}, now(), now() + interval '7 days', null, null),
       (gen_random_uuid(), $1, 'came@example.org', 'agent', 'came', ${member}, now(), now() + interval '7 days', now(), ${member})`,
    [organizationId],
  )
}

async function findRows(office: TestOffice, { organizationId }: TestOrganization, payment: string) {
  const { rows } = await office.owner.query<{ event: string; delivery: string; reviewItem: string }>(
    `select p.event_id as event, d.delivery_id as delivery, r.id as "reviewItem"
     from payments as p join delivery_events as d on d.event_id = p.event_id, review_items as r
     where p.organization_id = $1 and r.organization_id = $1 and p.id = $2 and r.kind = 'unapplied' and r.state = 'open'`,
    [organizationId, payment],
  )
  const [row] = rows
  if (row === undefined) throw new Error('the server booked nothing')
  return row
}
