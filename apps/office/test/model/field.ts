import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import { diagnose } from '../../src/doctor/index.ts'
import { createKeepAliveClient, type KeepAliveClient, type PostedAnswer } from '../support/keep-alive-client.ts'
import { createTestOffice, type TestOffice } from '../support/office.ts'
import { createOrganizationPool, type OrganizationPool } from '../support/organization-pool.ts'
import { type ServerPair, startServerPair } from '../support/server-pair.ts'
import { numberOf, type PlannedInvoice } from './fact-plan.ts'
import { type Ledger, readLedger } from './ledger.ts'
import type { Request } from './tellings.ts'

/** Where plans are played: two server processes on one database, and fresh organisations as many as it takes. */
export interface Field {
  readonly pool: OrganizationPool
  /** Sends as an honest sender does: again, where it is told to come again. Throws where an answer is our fault. */
  send(server: number, request: Request): Promise<PostedAnswer>
  /** Written by the owner, in one statement: what is under test comes after. Returns their ids. */
  writeInvoices(organizationId: string, invoices: readonly WrittenInvoice[]): Promise<string[]>
  ledgerOf(organizationId: string): Promise<Ledger>
  /** What the doctor finds; nothing, where it is content. */
  diagnose(organizationId: string): Promise<string[]>
}

/** A draft, where nothing else is said. */
type WrittenInvoice = PlannedInvoice & { readonly isIssued?: boolean }

const POOL_SIZE = 24
const TRIES_MAX = 50

/** Opens the field before the tests of the file, and closes it behind them. */
export function createField(announced: string): Field {
  const open: { office?: TestOffice; pair?: ServerPair; pool?: OrganizationPool } = {}
  const client = createKeepAliveClient()
  beforeAll(async () => {
    console.log(announced)
    open.office = await createTestOffice()
    open.pool = await createOrganizationPool(open.office, POOL_SIZE)
    open.pair = await startServerPair(open.office)
  })
  afterAll(async () => {
    client.close()
    await open.pair?.stop()
    await open.office?.close()
  })
  return {
    get pool() {
      return there(open.pool)
    },
    send: (server, request) => send(there(open.pair), client, server, request),
    writeInvoices: (organizationId, invoices) => writeInvoices(there(open.office), organizationId, invoices),
    ledgerOf: (organizationId) => readLedger(there(open.office).owner, organizationId),
    async diagnose(organizationId) {
      const findings = await there(open.office).db.transaction(organizationId, (tx) => diagnose(tx, organizationId))
      return findings.map(({ check, title, rows }) => `the doctor says ${check} (${title}): ${toText(rows)}`)
    },
  }
}

function there<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the field opens before the first test')
  return value
}

async function send(
  pair: ServerPair,
  client: KeepAliveClient,
  server: number,
  { path, headers, body }: Request,
): Promise<PostedAnswer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await client.post(`${pair.url(server)}${path}`, headers, body)
    const isToComeAgain = 'retry-after' in answer.headers && (answer.status === 503 || answer.status === 409)
    if (isToComeAgain && tries < TRIES_MAX) continue
    if (answer.status < 500) return answer
    const log = pair.servers[server % 2 === 0 ? 0 : 1].output().trimEnd().split('\n').at(-1)
    throw new Error(
      `${path} was answered with ${answer.status} ${toText(answer.body)}\nThe last line of its log:\n${log}`,
    )
  }
}

async function writeInvoices(
  { owner }: TestOffice,
  organizationId: string,
  invoices: readonly WrittenInvoice[],
): Promise<string[]> {
  let sequence = 0
  const rows = invoices.map(({ total, currency, isIssued = false }) => {
    if (isIssued) sequence += 1
    const numbered = isIssued ? { sequence, number: numberOf(sequence - 1) } : {}
    return { id: randomUUID(), total, currency, ...numbered }
  })
  await owner.query({
    name: 'model.invoices',
    text: `with planned as (
        select *, case when number is not null then 'invoice' end as series, case when number is not null then now() end as at
        from json_to_recordset($2) as p (id uuid, total bigint, currency text, sequence bigint, number text)
      ), documents as (
        insert into issued_documents (invoice_id, organization_id, currency, total_minor, number, sequence, series,
          issued_at, content)
        select id, $1, currency, total, number, sequence, series, at, '{}' from planned where number is not null
      ), counted as (
        insert into number_series (name, organization_id, prefix, next_sequence)
        select 'invoice', $1, 'RE-', max(sequence) + 1 from planned having max(sequence) is not null
      ), written as (
        insert into invoices (id, organization_id, currency, total_minor, lifecycle, number, sequence, series, issued_at,
          created_at)
        select id, $1, currency, total, case when number is null then 'draft' else 'issued' end, number, sequence, series,
          at, now() from planned
      )
      insert into invoice_lines (invoice_id, organization_id, currency, position, description, quantity,
        unit_price_minor, tax_percent, net_minor)
      select id, $1, currency, 1, 'Work', 1, total, 0, total from planned`,
    values: [organizationId, JSON.stringify(rows)],
  })
  return rows.map(({ id }) => id)
}

/** All values, or the first error; in either case when nothing is under way any more that could reach into the next run. */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}

/** As JSON, with the whole numbers that JSON has no word for. */
function toText(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? Number(each) : each))
}
