import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { createContact } from '../../src/modules/contacts/index.ts'
import { createIntegration } from '../../src/modules/integrations/index.ts'
import { type ApiScope, createApiKey, createOrganizationWithOwner, type Door } from '../../src/modules/members/index.ts'
import { createInvoice, issueInvoice } from '../../src/modules/money/index.ts'
import { writeOnce } from '../../src/pipeline/index.ts'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import { createDatabase, type Db } from '../../src/platform/database.ts'
import { idsOf, type NewId } from '../../src/platform/ids.ts'
import { signSandboxDelivery, signStripeDelivery } from '../../src/providers/index.ts'
import { createTestDoor } from './door.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

/** A database with what the cases call their fixture: organisations with members, keys, addresses and invoices. */
export interface TestOffice {
  readonly database: TestDatabase
  /** As the server sees it: role `einmal_office`, one organisation at a time. */
  readonly db: Db
  /** As the owner: sees everything, for judging. */
  readonly owner: pg.Pool
  readonly door: Door
  readonly secretKey: Buffer
  readonly clock: Clock
  readonly newId: NewId
  addOrganization(name: string, memberCount?: number): Promise<TestOrganization>
  close(): Promise<void>
}

export interface TestOrganization {
  readonly organizationId: string
  readonly name: string
  /** What the first of its people signs in with. */
  readonly owner: { readonly email: string; readonly password: string }
  readonly userIds: readonly string[]
  readonly apiKey: string
  readonly contactId: string
  readonly stripe: Sender
  readonly sandbox: Sender
  /** Issues an invoice. Its number is the next of the series: `RE-00001`, `RE-00002`, … */
  issueInvoice(total: { amountMinor: bigint; currency: string }): Promise<{ id: string; number: string }>
}

/** The address of one provider's deliveries, and how to sign for it. */
export interface Sender {
  readonly path: string
  readonly secret: string
  /** Headers for these bytes, signed at this moment or at the one given. */
  sign(body: string, options?: { nowMs?: number; id?: string }): Record<string, string>
}

export async function createTestOffice(clock: Clock = systemClock): Promise<TestOffice> {
  const database = await createTestDatabase()
  const db = createDatabase({ url: database.ownerUrl, role: 'einmal_office' })
  const owner = new pg.Pool({ connectionString: database.ownerUrl, max: 4 })
  owner.on('error', () => undefined)
  const secretKey = randomBytes(32)
  const door = createTestDoor(database.ownerUrl, secretKey)
  const newId = idsOf(clock)
  const parts = { database, db, owner, door, secretKey, clock, newId }
  return {
    ...parts,
    addOrganization: (name, memberCount = 3) => addOrganization(parts, name, memberCount),
    async close() {
      await db.close()
      await door.db.close()
      await owner.end()
      await database.drop()
    },
  }
}

type Parts = Omit<TestOffice, 'addOrganization' | 'close'>

async function addOrganization(parts: Parts, name: string, memberCount: number): Promise<TestOrganization> {
  const { db, owner, door, secretKey, clock, newId } = parts
  const input = {
    organizationName: name,
    name: `${name} owner`,
    email: `owner@${name.toLowerCase()}.example`,
    password: 'correct horse battery staple',
  }
  const { organizationId, userId } = await createOrganizationWithOwner({ door, newId }, input, { now: clock.now() })
  const userIds = [userId]
  for (let index = 1; index < memberCount; index += 1) {
    const { rows } = await owner.query<{ id: string }>(
      `insert into auth."user" (name, email, "emailVerified", "updatedAt") values ($1, $2, true, now()) returning id`,
      [`Member ${index}`, `member${index}@${name.toLowerCase()}.example`],
    )
    const id = rows[0]?.id ?? ''
    await owner.query(
      `insert into members (id, organization_id, user_id, role, joined_at) values ($3, $1, $2, 'agent', now())`,
      [organizationId, id, newId()],
    )
    userIds.push(id)
  }
  const apiKey = await makeApiKey(parts, organizationId, 'test')
  const contactId = newId()
  const stripeSecret = `whsec_${randomBytes(24).toString('base64url')}`
  const sandboxSecret = `whsec_${randomBytes(32).toString('base64')}`
  const context = { organizationId, secretKey, now: clock.now(), newId }
  const [stripePath, sandboxPath] = await db.transaction(organizationId, async (tx) => {
    await createContact(tx, context, { id: contactId, type: 'company', name: 'Muster GmbH' })
    const stripe = { provider: 'stripe', label: 'Stripe', settings: { webhookSecrets: [stripeSecret] } }
    const sandbox = { provider: 'sandbox', label: 'Sandbox', settings: { webhookSecrets: [sandboxSecret] } }
    const { endpointId: stripeEndpoint } = await createIntegration(tx, context, stripe)
    const { endpointId: sandboxEndpoint } = await createIntegration(tx, context, sandbox)
    return [`/webhooks/stripe/${stripeEndpoint}`, `/webhooks/sandbox/${sandboxEndpoint}`]
  })
  return {
    organizationId,
    name,
    owner: { email: input.email, password: input.password },
    userIds,
    apiKey,
    contactId,
    stripe: {
      path: stripePath,
      secret: stripeSecret,
      sign: (body, { nowMs = clock.now().getTime() } = {}) => signStripeDelivery({ body, secret: stripeSecret, nowMs }),
    },
    sandbox: {
      path: sandboxPath,
      secret: sandboxSecret,
      sign: (body, { nowMs = clock.now().getTime(), id = newId() } = {}) =>
        signSandboxDelivery({ id, body, secret: sandboxSecret, nowMs }),
    },
    issueInvoice: (total) => issue(parts, organizationId, contactId, total),
  }
}

async function issue(
  { db, clock, newId }: Parts,
  organizationId: string,
  contactId: string,
  total: { amountMinor: bigint; currency: string },
): Promise<{ id: string; number: string }> {
  const issued = { id: '', number: '' }
  const write = {
    organizationId,
    actor: { type: 'system', id: 'test' } as const,
    operation: 'invoice.issue',
    idempotencyKey: null,
    fingerprint: '',
  }
  await writeOnce({ db, clock, newId }, write, async (tx, eventId) => {
    const context = { organizationId, eventId, now: clock.now(), newId }
    const line = {
      description: 'Work',
      quantity: '1',
      unitPriceMinor: String(total.amountMinor),
      discountPercent: '0',
      taxPercent: '0',
    }
    const draft = await createInvoice(tx, context, {
      contactId,
      currency: total.currency,
      dueOn: null,
      discountPercent: '0',
      notes: null,
      lines: [line],
    })
    const row = await issueInvoice(tx, context, draft.id)
    issued.id = row.id
    issued.number = row.number ?? ''
    return { status: 200, body: null, target: { type: 'invoice', id: row.id } }
  })
  return issued
}

/** A real server process on the office's database. */
export interface TestServer {
  readonly url: string
  readonly process: ChildProcess
  /** What it wrote to its log, for the message of a failed test. */
  readonly output: () => string
  stop(): Promise<void>
}

const main = join(import.meta.dirname, '../../src/main.ts')

export async function startServer(
  office: TestOffice,
  options: { fault?: string; databaseUrl?: string } = {},
): Promise<TestServer> {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      DATABASE_URL: options.databaseUrl ?? office.database.ownerUrl,
      EINMAL_OWNER_URL: office.database.ownerUrl,
      EINMAL_SECRET_KEY: office.secretKey.toString('base64'),
      EINMAL_LOG_LEVEL: 'warn',
      ...(options.fault === undefined ? {} : { EINMAL_FAULT: options.fault }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`
      const found = /^Einmal runs at (\S+)/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the server ended with ${code} before it answered:\n${output}`)))
  })
  return {
    url,
    process: child,
    output: () => output,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Posts a signed body and reads the answer. */
export async function deliver(
  serverUrl: string,
  sender: Sender,
  body: string,
  headers: Record<string, string> = sender.sign(body),
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${serverUrl}${sender.path}`, { method: 'POST', headers, body })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** A Stripe event `payment_intent.succeeded`, as bytes. */
export function stripePaid(event: {
  eventId: string
  paymentId: string
  amount: number
  currency?: string
  invoice?: string
}): string {
  return JSON.stringify({
    id: event.eventId,
    object: 'event',
    type: 'payment_intent.succeeded',
    created: 1_773_136_797,
    livemode: true,
    data: {
      object: {
        id: event.paymentId,
        object: 'payment_intent',
        status: 'succeeded',
        amount: event.amount,
        amount_received: event.amount,
        currency: event.currency ?? 'eur',
        metadata: event.invoice === undefined ? {} : { invoice: event.invoice },
      },
    },
  })
}

/** One more key of an organisation. */
export async function makeApiKey(
  { db, clock, newId }: Pick<TestOffice, 'db' | 'clock' | 'newId'>,
  organizationId: string,
  name: string,
  scopes: readonly ApiScope[] = ['full'],
): Promise<string> {
  const context = { organizationId, now: clock.now(), newId }
  const input = { name, scopes, expiresAt: null, createdBy: null }
  const { key } = await db.transaction(organizationId, (tx) => createApiKey(tx, context, input))
  return key
}
