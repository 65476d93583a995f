/** What tests of work outside judge by: the row of the register, the desk, and what members were told. Read as the owner. */

import type { Answer } from './entrances.ts'
import type { TestOffice, TestOrganization } from './office.ts'
import { callApi } from './storm.ts'

export interface WorkRow {
  readonly id: string
  readonly state: string
  readonly attempt: number
  readonly copies: number
  readonly holder: string
  readonly target_type: string | null
  readonly target_id: string | null
  readonly answer: unknown
  readonly error_code: string | null
  readonly lease_until: Date | null
}

export interface AskedItem {
  readonly kind: string
  readonly state: string
  readonly decision: string | null
  readonly attempt: number
  /** How many notifications there are of it, and to how many members. */
  readonly told: number
  readonly members: number
}

/** The one event of this id, whatever its source; `undefined` where there is none. */
export async function readWork(
  office: TestOffice,
  { organizationId }: TestOrganization,
  id: string,
): Promise<WorkRow | undefined> {
  const { rows } = await office.owner.query<WorkRow>(
    `select id, state, attempt, copies, holder, target_type, target_id, answer, error_code, lease_until
      from events where organization_id = $1 and external_id = $2`,
    [organizationId, id],
  )
  if (rows.length > 1) throw new Error(`${rows.length} events of one id`)
  return rows[0]
}

/** What was asked about the event of this id, in the order of its asking. */
export async function readAsked(
  office: TestOffice,
  { organizationId }: TestOrganization,
  id: string,
): Promise<AskedItem[]> {
  const { rows } = await office.owner.query<AskedItem>(
    `select r.kind, r.state, r.decision, (r.data ->> 'attempt')::integer as attempt,
        count(n.*)::integer as told, count(distinct n.recipient_id)::integer as members
      from review_items as r join events as e on e.id = r.event_id and e.organization_id = r.organization_id
      left join notifications as n on n.key = 'review:' || r.key and n.organization_id = r.organization_id
      where r.organization_id = $1 and e.external_id = $2
      group by r.id, r.kind, r.state, r.decision, r.data ->> 'attempt' order by r.id`,
    [organizationId, id],
  )
  return rows
}

/** The id of the one open question about the event of this id. */
export async function readOpenItemId(
  office: TestOffice,
  { organizationId }: TestOrganization,
  id: string,
): Promise<string> {
  const { rows } = await office.owner.query<{ id: string }>(
    `select r.id from review_items as r join events as e on e.id = r.event_id and e.organization_id = r.organization_id
      where r.organization_id = $1 and e.external_id = $2 and r.state = 'open'`,
    [organizationId, id],
  )
  if (rows.length !== 1) throw new Error(`${rows.length} open questions`)
  return rows[0]?.id ?? ''
}

/** An open question about the event, and each member of a test's organisation was told once. */
export function askedOnce(kind: string, attempt = 1): AskedItem {
  return { kind, state: 'open', decision: null, attempt, told: 3, members: 3 }
}

/** The lease ends now, as if its time had gone by. The worker is told only where it shall find it. */
export async function endLease(
  office: TestOffice,
  { organizationId }: TestOrganization,
  id: string,
  options: { readonly isDue?: boolean } = {},
): Promise<void> {
  const { rowCount } = await office.owner.query(
    `update events set lease_until = clock_timestamp() - interval '1 microsecond'
      where organization_id = $1 and external_id = $2 and state = 'in_progress'`,
    [organizationId, id],
  )
  if (rowCount !== 1) throw new Error('there is no lease to end')
  if (options.isDue) await makeDue(office, { organizationId })
}

/** The worker has something to look for. */
export async function makeDue(
  office: TestOffice,
  organization: Pick<TestOrganization, 'organizationId'>,
): Promise<void> {
  await office.owner.query('update due_work set due_at = clock_timestamp() where organization_id = $1', [
    organization.organizationId,
  ])
}

/** Asks until so many statements wait for a lock; a lock gives no signal to others. Bounded by the time limit of the test. */
export async function untilWaiting(office: TestOffice, many: number): Promise<void> {
  for (;;) {
    const { rows } = await office.owner.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if ((rows[0]?.waiting ?? 0) >= many) return
  }
}

/** Asks again and again until it holds. Bounded by the time limit of the test. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}

/** A call of the register. */
export function tell(
  serverUrl: string,
  organization: TestOrganization,
  word: string,
  body: unknown,
  key?: string,
): Promise<Answer> {
  return callApi(serverUrl, organization, { path: `/register/${word}`, body, ...(key === undefined ? {} : { key }) })
}

/** As `tell`, of bytes that no program of ours would write. */
export async function tellRaw(
  serverUrl: string,
  organization: TestOrganization,
  word: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${serverUrl}/api/v1/register/${word}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${organization.apiKey}`, 'content-type': 'application/json', ...headers },
    body,
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

/** What was said beside the event: the notes as the API tells them. */
export async function readNotes(
  serverUrl: string,
  organization: TestOrganization,
  eventId: string,
): Promise<Record<string, unknown>[]> {
  const { body } = await callApi(serverUrl, organization, { method: 'GET', path: `/events/${eventId}` })
  return body['notes'] as Record<string, unknown>[]
}
