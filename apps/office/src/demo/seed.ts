import { randomBytes } from 'node:crypto'
import { createContact } from '../modules/contacts/index.ts'
import { createIntegration } from '../modules/integrations/index.ts'
import { createApiKey, createOrganizationWithOwner, type Door, hasOrganization } from '../modules/members/index.ts'
import { createInvoice, issueInvoice } from '../modules/money/index.ts'
import { type ApiWrite, writeOnce } from '../pipeline/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database.ts'
import type { NewId } from '../platform/ids.ts'
import { toJsonAmount } from '../platform/money.ts'
import type { SecretKey } from '../platform/secrets.ts'
import type { DemoFile } from './demo-file.ts'

export interface SeedParts {
  readonly db: Db
  readonly door: Door
  readonly clock: Clock
  readonly newId: NewId
  readonly secretKey: SecretKey
}

const invoices = [
  { description: 'Website, first part', unitPriceMinor: '10000', currency: 'EUR' },
  { description: 'Website, second part', unitPriceMinor: '45000', currency: 'EUR' },
  { description: 'Consulting', unitPriceMinor: '20000', currency: 'EUR' },
  { description: 'Hosting for a year', unitPriceMinor: '72000', currency: 'EUR' },
  { description: 'Translation', unitPriceMinor: '4600', currency: 'JPY' },
] as const

/** An organisation to play with: an owner, a key, a contact, issued invoices and the addresses of two senders. */
export async function seedDemo(parts: SeedParts, url: string): Promise<DemoFile> {
  const { db, door, clock, newId, secretKey } = parts
  // A start that died half way left its organisation behind, and its key is nowhere: another one is made.
  const suffix = !(await hasOrganization(db)) ? '' : `-${randomBytes(3).toString('hex')}`
  const owner = { email: `owner${suffix}@demo.example`, password: randomBytes(12).toString('base64url') }
  const input = { organizationName: `Demo${suffix}`, name: 'Olga Owner', ...owner }
  const { organizationId, memberId } = await createOrganizationWithOwner({ door, newId }, input, { now: clock.now() })
  const stripeSecret = `whsec_${randomBytes(24).toString('base64url')}`
  const sandboxSecret = `whsec_${randomBytes(32).toString('base64')}`
  const { apiKey, stripePath, sandboxPath } = await db.transaction(organizationId, async (tx) => {
    const context = { organizationId, secretKey, now: clock.now(), newId }
    const wanted = { name: 'demo', scopes: ['full'], expiresAt: null, createdBy: memberId } as const
    const { key } = await createApiKey(tx, context, wanted)
    const stripe = await createIntegration(tx, context, {
      provider: 'stripe',
      label: 'Stripe (demo)',
      settings: { webhookSecrets: [stripeSecret] },
    })
    const sandbox = await createIntegration(tx, context, {
      provider: 'sandbox',
      label: 'Sandbox',
      settings: { webhookSecrets: [sandboxSecret] },
    })
    return {
      apiKey: key,
      stripePath: `/webhooks/stripe/${stripe.endpointId}`,
      sandboxPath: `/webhooks/sandbox/${sandbox.endpointId}`,
    }
  })
  return {
    url,
    apiKey,
    organizationId,
    owner,
    webhooks: {
      stripe: { path: stripePath, secret: stripeSecret },
      sandbox: { path: sandboxPath, secret: sandboxSecret },
    },
    invoices: await seedInvoices(parts, organizationId),
  }
}

async function seedInvoices(parts: SeedParts, organizationId: string): Promise<DemoFile['invoices']> {
  const { db, clock, newId } = parts
  const contactId = newId()
  await db.transaction(organizationId, (tx) =>
    createContact(
      tx,
      { organizationId, now: clock.now(), newId },
      {
        id: contactId,
        type: 'company',
        name: 'Muster GmbH',
        points: [
          {
            field: 'email',
            kind: 'email',
            value: 'kontakt@muster.example',
            label: null,
            isShared: false,
            country: null,
          },
        ],
      },
    ),
  )
  const write: ApiWrite = {
    organizationId,
    actor: { type: 'system', id: 'demo' },
    operation: 'demo.seed',
    idempotencyKey: null,
    fingerprint: '',
  }
  const made: { id: string; number: string; totalMinor: number; currency: string }[] = []
  for (const { description, unitPriceMinor, currency } of invoices) {
    await writeOnce(parts, write, async (tx, eventId) => {
      const context = { organizationId, eventId, now: clock.now(), newId }
      const lines = [{ description, quantity: '1', unitPriceMinor, discountPercent: '0', taxPercent: '0' }]
      const draft = await createInvoice(tx, context, {
        contactId,
        currency,
        dueOn: null,
        discountPercent: '0',
        notes: null,
        lines,
      })
      const issued = await issueInvoice(tx, context, draft.id)
      made.push({ id: issued.id, number: issued.number ?? '', totalMinor: toJsonAmount(issued.total_minor), currency })
      return { status: 201, body: null, target: { type: 'invoice', id: issued.id } }
    })
  }
  return made
}
