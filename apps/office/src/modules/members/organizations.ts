import { randomBytes } from 'node:crypto'
import { type ApiScope, SCOPES_OF } from './api-keys.ts'
import type { Auth, Role } from './auth.ts'

interface NewOrganization {
  readonly organizationName: string
  readonly ownerName: string
  readonly email: string
  readonly password: string
}

/**
 * An organisation and the person it belongs to, both or neither.
 *
 * The four rows are written by better-auth's adapter in one transaction: its endpoints for signing up and for creating
 * an organisation are two, and a crash between them would leave an address that can neither sign in to anything nor be
 * used again. An address that is already taken is refused by its unique key.
 */
export async function createOrganizationWithOwner(
  auth: Auth,
  { organizationName, ownerName, email, password }: NewOrganization,
): Promise<{ organizationId: string; userId: string }> {
  const context = await auth.$context
  const { minPasswordLength, maxPasswordLength } = context.password.config
  if (password.length < minPasswordLength || password.length > maxPasswordLength) {
    throw new RangeError(`A password needs ${minPasswordLength} to ${maxPasswordLength} characters.`)
  }
  const passwordHash = await context.password.hash(password)
  const role: Role = 'owner'
  return context.adapter.transaction(async (tx) => {
    const user = await tx.create<NewRow, { id: string; createdAt: Date }>({
      model: 'user',
      // Sign-in looks for the address in lower case.
      data: { name: ownerName, email: email.toLowerCase(), emailVerified: false },
    })
    const { id: userId, createdAt } = user
    await tx.create<NewRow>({
      model: 'account',
      data: {
        userId,
        providerId: 'credential',
        accountId: userId,
        password: passwordHash,
        createdAt,
        updatedAt: createdAt,
      },
    })
    const { id: organizationId } = await tx.create<NewRow, { id: string }>({
      model: 'organization',
      data: { name: organizationName, slug: slugOf(organizationName), createdAt },
    })
    await tx.create<NewRow>({ model: 'member', data: { organizationId, userId, role, createdAt } })
    return { organizationId, userId }
  })
}

/** The key is in the answer and nowhere else: the database keeps its hash. `userId` must be allowed to make keys. */
export async function createApiKey(
  auth: Auth,
  key: { organizationId: string; userId: string; name: string; scopes?: readonly ApiScope[] },
): Promise<{ apiKey: string; apiKeyId: string }> {
  const { scopes = ['full'], ...rest } = key
  const created = await auth.api.createApiKey({ body: { ...rest, permissions: { [SCOPES_OF]: [...scopes] } } })
  return { apiKey: created.key, apiKeyId: created.id }
}

type NewRow = Record<string, unknown>

/** Readable, and unique by its tail: two organisations may bear the same name. */
function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40)
  return `${words === '' ? 'office' : words}-${randomBytes(4).toString('hex')}`
}
