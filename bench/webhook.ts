/**
 * Signed Stripe payments over HTTP: the office against a handler written by hand, one after the other on the same
 * database, under the same load. The office books each with invoice, payment, allocation, activity, notification,
 * domain events and the delivery itself; the handler does what `hand-written-server.ts` says.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { createIntegration } from '../apps/office/src/modules/integrations/index.ts'
import { createDoor, createOrganizationWithOwner } from '../apps/office/src/modules/members/index.ts'
import { systemClock } from '../apps/office/src/platform/clock.ts'
import { createDatabase, createPool } from '../apps/office/src/platform/database.ts'
import { idsOf } from '../apps/office/src/platform/ids.ts'
import { createLog } from '../apps/office/src/platform/log.ts'
import { migrate } from '../apps/office/src/platform/migrate.ts'
import { signStripeDelivery } from '../apps/office/src/providers/index.ts'
import { type LoadRequest, type LoadResult, load, loadGenerator } from './load.ts'
import { type Row, ratio, report } from './report.ts'

const WARM_UP_SECONDS = 2
const root = join(import.meta.dirname, '..')

interface Rival {
  readonly name: string
  readonly url: string
  readonly path: string
  readonly process: ChildProcess
}

export async function benchWebhook(
  ownerUrl: string,
  options: { seconds: number; connections: readonly number[] },
): Promise<void> {
  const generator = await loadGenerator()
  process.stdout.write(`\nWebhooks, load by ${generator}, ${options.seconds} s each\n`)
  const rows: Row[] = []
  for (const connections of options.connections) {
    const hand = await measure(ownerUrl, 'hand-written', generator, connections, options.seconds)
    const office = await measure(ownerUrl, 'office', generator, connections, options.seconds)
    rows.push(
      toRow(`new payments, ${connections} connections`, hand.fresh, office.fresh),
      toRow(`the same again, ${connections} connections`, hand.again, office.again),
    )
  }
  report(rows)
}

function toRow(work: string, hand: LoadResult, office: LoadResult): Row {
  return { work, hand, ours: office, ratio: ratio(office.perSecond, hand.perSecond) }
}

/** A fresh database for each rival, so that neither runs on what the other has written. */
async function measure(
  serverUrl: string,
  rival: 'hand-written' | 'office',
  generator: 'wrk' | 'autocannon',
  connections: number,
  seconds: number,
): Promise<{ fresh: LoadResult; again: LoadResult }> {
  const database = `bench_${randomUUID().replaceAll('-', '')}`
  const admin = new pg.Client({ connectionString: serverUrl })
  // Without a listener, the end of the server would hide the error that led to it.
  admin.on('error', () => undefined)
  await admin.connect()
  await admin.query(`create database ${database}`)
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  const count = seconds * 14_000
  const secret = `whsec_${randomBytes(24).toString('base64url')}`
  const started =
    rival === 'office' ? await startOffice(url.href, secret, count) : await startHandWritten(url.href, secret, count)
  try {
    await load(
      generator,
      started.url,
      requestsFor(started, secret, count, 0, WARM_UP_SECONDS * 12_000),
      connections,
      WARM_UP_SECONDS,
    )
    const fresh = requestsFor(started, secret, count, WARM_UP_SECONDS * 12_000, count)
    const first = await load(generator, started.url, fresh, connections, seconds)
    if (first.requests > fresh.length) throw new Error('the list of new payments was too short for this machine')
    const again = requestsFor(
      started,
      secret,
      count,
      WARM_UP_SECONDS * 12_000,
      WARM_UP_SECONDS * 12_000 + Math.floor(first.requests * 0.9),
    )
    const second = await load(generator, started.url, again, connections, seconds)
    return { fresh: first, again: second }
  } finally {
    started.process.kill('SIGTERM')
    await new Promise((resolve) => started.process.once('exit', resolve))
    await admin.query(`drop database ${database} with (force)`)
    await admin.end()
  }
}

/** Signed at this moment, since a signature is believed for five minutes. */
export function requestsFor(rival: Rival, secret: string, count: number, from: number, to: number): LoadRequest[] {
  const nowMs = Date.now()
  return Array.from({ length: to - from }, (_, offset) => {
    const index = (from + offset) % (count + WARM_UP_SECONDS * 12_000)
    const body = stripeEvent(index)
    return { path: rival.path, headers: signStripeDelivery({ body, secret, nowMs }), body }
  })
}

/** About as large as Stripe's own. */
function stripeEvent(index: number): string {
  return JSON.stringify({
    id: `evt_3PbenchEvent${index}`,
    object: 'event',
    api_version: '2026-02-25',
    created: 1_773_136_797,
    data: {
      object: {
        id: `pi_3PbenchPayment${index}`,
        object: 'payment_intent',
        amount: 11_900,
        amount_capturable: 0,
        amount_details: { tip: {} },
        amount_received: 11_900,
        application: null,
        automatic_payment_methods: { allow_redirects: 'always', enabled: true },
        canceled_at: null,
        cancellation_reason: null,
        capture_method: 'automatic_async',
        client_secret: `pi_3PbenchPayment${index}_secret_0123456789`,
        confirmation_method: 'automatic',
        created: 1_773_136_790,
        currency: 'eur',
        customer: 'cus_QbenchCustomer',
        description: 'Invoice for consulting',
        latest_charge: `ch_3PbenchCharge${index}`,
        livemode: true,
        metadata: { invoice: `RE-${String(index + 1).padStart(7, '0')}` },
        payment_method: 'pm_1PbenchMethod',
        payment_method_types: ['card', 'sepa_debit'],
        receipt_email: 'kunde@example.org',
        statement_descriptor: null,
        status: 'succeeded',
      },
    },
    livemode: true,
    pending_webhooks: 2,
    request: { id: 'req_benchRequest', idempotency_key: '8c7a2b1e-0f0e-4c55-9a4e-3b6f1b1f0a01' },
    type: 'payment_intent.succeeded',
  })
}

export async function startOffice(ownerUrl: string, secret: string, count: number): Promise<Rival> {
  await migrate(ownerUrl, join(root, 'apps/office/migrations'))
  const secretKey = randomBytes(32)
  const newId = idsOf(systemClock)
  const pool = createPool({ url: ownerUrl, role: 'einmal_auth', maxConnections: 1 })
  const db = createDatabase({ url: ownerUrl, role: 'einmal_office', maxConnections: 1 })
  const address = { baseUrl: 'http://localhost', trustedOrigins: [] }
  const door = createDoor({ pool, secretKey, address, sendMail: null, log: createLog('silent') })
  const input = { organizationName: 'Bench', name: 'Bench', email: 'bench@example.org', password: randomUUID() }
  const { organizationId } = await createOrganizationWithOwner({ door, newId }, input, { now: new Date() })
  const { endpointId } = await db.transaction(organizationId, (tx) =>
    createIntegration(
      tx,
      { organizationId, secretKey, now: new Date(), newId },
      { provider: 'stripe', label: 'bench', settings: { webhookSecrets: [secret] } },
    ),
  )
  await pool.end()
  await db.close()
  const owner = new pg.Client({ connectionString: ownerUrl })
  owner.on('error', () => undefined)
  await owner.connect()
  await owner.query(
    `insert into contacts (id, organization_id, type, name, search_name, created_at) values (uuidv7(), '${organizationId}', 'company', 'Customer', 'customer', now())`,
  )
  await owner.query(`insert into issued_documents (invoice_id, organization_id, currency, total_minor, number, sequence, series, issued_at, content)
    select uuidv7(), '${organizationId}', 'EUR', 11900, 'RE-' || lpad(i::text, 7, '0'), i, 'invoice', now(), '{}'
    from generate_series(1, ${count + WARM_UP_SECONDS * 12_000}) as i`)
  await owner.query(`insert into invoices (id, organization_id, lifecycle, series, sequence, number, contact_id, currency, total_minor, issued_at, created_at)
    select invoice_id, organization_id, 'issued', series, sequence, number, (select id from contacts), currency, total_minor, issued_at, issued_at
    from issued_documents`)
  await owner.query('vacuum analyze')
  await owner.end()
  const child = spawn(process.execPath, ['apps/office/src/main.ts'], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      DATABASE_URL: ownerUrl,
      EINMAL_SECRET_KEY: secretKey.toString('base64'),
      EINMAL_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await waitForLine(child, /^Einmal runs at (\S+)/)
  return { name: 'office', url: line, path: `/webhooks/stripe/${endpointId}`, process: child }
}

export async function startHandWritten(ownerUrl: string, secret: string, count: number): Promise<Rival> {
  const owner = new pg.Client({ connectionString: ownerUrl })
  owner.on('error', () => undefined)
  await owner.connect()
  await owner.query(`
    create table hand_keys (id text primary key);
    create table hand_invoices (id bigserial primary key, number text not null unique, total integer not null, paid integer not null default 0);
    create table hand_payments (id bigserial primary key, external_id text not null, invoice_id bigint not null references hand_invoices,
      amount integer not null, currency text not null);
    insert into hand_invoices (number, total) select 'RE-' || lpad(i::text, 7, '0'), 11900
      from generate_series(1, ${count + WARM_UP_SECONDS * 12_000}) as i`)
  await owner.query('vacuum analyze')
  await owner.end()
  const child = spawn(process.execPath, ['bench/hand-written-server.ts', ownerUrl, secret], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await waitForLine(child, /^listening (\d+)/)
  return { name: 'hand-written', url: `http://127.0.0.1:${port}`, path: '/webhooks/stripe', process: child }
}

function waitForLine(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new Error('no output to read')
    createInterface({ input: child.stdout }).on('line', (line) => {
      const found = pattern.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the server ended with ${code} before it answered`)))
  })
}
