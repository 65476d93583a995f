import { randomBytes, randomUUID } from 'node:crypto'
import { encryptSecret } from '../../src/platform/secrets.ts'
import { signSandboxDelivery, signStripeDelivery } from '../../src/providers/index.ts'
import { makeApiKey, type Sender, type TestOffice } from './office.ts'

/** An organisation with one member, a key, and the addresses of two providers; and without a single row of business. */
export interface PooledOrganization {
  readonly organizationId: string
  readonly apiKey: string
  readonly stripe: Sender
  readonly sandbox: Sender
}

/** Organisations for tests that need thousands of fresh ones: made in bulk, and emptied in bulk when all have been used. */
export interface OrganizationPool {
  /** Hands `work` so many fresh organisations; several callers may be at work at once. */
  use<T>(count: number, work: (organizations: readonly PooledOrganization[]) => Promise<T>): Promise<T>
}

/** What business writes. Members, keys and addresses stay. */
const businessTables = [
  'activities',
  'allocations',
  'audit_entries',
  'credit_allocations',
  'deliveries',
  'delivery_bodies',
  'delivery_events',
  'domain_events',
  'events',
  'invoice_adjustments',
  'invoice_lines',
  'invoices',
  'issued_documents',
  'money_subjects',
  'notifications',
  'number_series',
  'payment_mentions',
  'payment_returns',
  'payments',
  'review_items',
] as const

/**
 * Kept small: the statements of an audit and of the doctor read tables from end to end, so that what they cost grows with
 * the rows of all organisations.
 */
export async function createOrganizationPool(office: TestOffice, size: number): Promise<OrganizationPool> {
  const organizations: PooledOrganization[] = []
  for (let index = 0; index < size; index += 1) organizations.push(await insertOrganization(office, index))
  let fresh = [...organizations]
  let inUse = 0
  let emptying: Promise<void> | null = null
  let waiting: (() => void)[] = []

  async function take(count: number): Promise<readonly PooledOrganization[]> {
    for (;;) {
      if (emptying !== null) await emptying
      else if (fresh.length >= count) {
        inUse += count
        return fresh.splice(0, count)
      } else if (inUse === 0) {
        emptying = emptyTables(office).then(() => {
          fresh = [...organizations]
          emptying = null
        })
      } else await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }

  return {
    async use(count, work) {
      if (count > size) throw new Error(`the pool has ${size} organisations`)
      const taken = await take(count)
      try {
        return await work(taken)
      } finally {
        inUse -= count
        for (const wake of waiting.splice(0)) wake()
        waiting = []
      }
    },
  }
}

/** As the owner, past all policies and foreign keys: in a test's database nobody misses the rows. */
async function emptyTables({ owner }: TestOffice): Promise<void> {
  const client = await owner.connect()
  try {
    const deletes = businessTables.map((table) => `delete from ${table}`).join('; ')
    await client.query(`begin; set local session_replication_role = replica; ${deletes}; commit`)
    // Dead rows would be read as well, until somebody sweeps.
    await client.query(`vacuum ${businessTables.join(', ')}`)
  } finally {
    client.release()
  }
}

async function insertOrganization(office: TestOffice, index: number): Promise<PooledOrganization> {
  const { owner, clock, newId } = office
  const organizationId = randomUUID()
  const userId = randomUUID()
  const stripeSecret = `whsec_${randomBytes(24).toString('base64url')}`
  const sandboxSecret = `whsec_${randomBytes(32).toString('base64')}`
  await owner.query(
    `with organization as (
        insert into organizations (id, name, slug, created_at) values ($1, $2, $2, now())
      ), person as (
        insert into auth."user" (id, name, email, "emailVerified") values ($3, $2, $2 || '@pool.example', true)
      )
      insert into members (id, organization_id, user_id, role, joined_at) values ($4, $1, $3, 'owner', now())`,
    [organizationId, `pool-${index}`, userId, newId()],
  )
  const apiKey = await makeApiKey(office, organizationId, 'test')
  const addressOf = (provider: string, secret: string) => insertAddress(office, organizationId, provider, secret)
  return {
    organizationId,
    apiKey,
    stripe: {
      path: await addressOf('stripe', stripeSecret),
      secret: stripeSecret,
      sign: (body, { nowMs = clock.now().getTime() } = {}) => signStripeDelivery({ body, secret: stripeSecret, nowMs }),
    },
    sandbox: {
      path: await addressOf('sandbox', sandboxSecret),
      secret: sandboxSecret,
      sign: (body, { nowMs = clock.now().getTime(), id = randomUUID() } = {}) =>
        signSandboxDelivery({ id, body, secret: sandboxSecret, nowMs }),
    },
  }
}

/** An integration and its address, as `createIntegration` writes them. */
async function insertAddress(
  { owner, secretKey }: TestOffice,
  organizationId: string,
  provider: string,
  secret: string,
): Promise<string> {
  const integrationId = randomUUID()
  const endpointId = randomUUID()
  const settings = encryptSecret(secretKey, integrationId, JSON.stringify({ webhookSecrets: [secret] }))
  await owner.query(
    `insert into integrations (id, organization_id, provider, label, settings, created_at)
      values ($1, $2, $3, $3, $4, now())`,
    [integrationId, organizationId, provider, settings],
  )
  await owner.query(
    `insert into webhook_endpoints (id, organization_id, integration_id, provider) values ($1, $2, $3, $4)`,
    [endpointId, organizationId, integrationId, provider],
  )
  return `/webhooks/${provider}/${endpointId}`
}
