import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { deriveSecret, type SecretKey } from '../../platform/secrets.ts'
import { recordAudit } from '../audit/index.ts'
import type { Door } from './door.ts'
import { insertOrganization, insertPerson } from './door-queries.ts'
import { hasOrganization, upsertMember } from './queries.ts'

interface NewOrganization {
  readonly organizationName: string
  readonly name: string
  readonly email: string
  readonly password: string
}

interface Parts {
  readonly door: Door
  readonly newId: NewId
}

/**
 * An organisation and the person it belongs to, both or neither. Throws `account_exists` where the address is taken, however it is
 * spelled, and `RangeError` for a password that sign-in would not take.
 */
export async function createOrganizationWithOwner(
  parts: Parts,
  input: NewOrganization,
  { now, isFirst = false }: { now: Date; isFirst?: boolean },
): Promise<{ organizationId: string; userId: string; memberId: string }> {
  const { door, newId } = parts
  const passwordHash = await hashPassword(door, input.password)
  const organizationId = newId()
  const userId = newId()
  const email = input.email.toLowerCase()
  const memberId = await door.db.transaction(organizationId, async (tx) => {
    const slug = slugOf(input.organizationName)
    const organization = { id: organizationId, name: input.organizationName, slug, now, isFirst }
    if (!(await insertOrganization(tx, organization))) throw setUpDone()
    const person = { userId, accountId: newId(), name: input.name, email, passwordHash, now }
    if (!(await insertPerson(tx, person))) {
      throw new AppError('account_exists', `There is an account with the address ${email}.`)
    }
    return enterOwner(tx, { organizationId, userId, now, newId })
  })
  return { organizationId, userId, memberId }
}

async function enterOwner(
  tx: Tx,
  { organizationId, userId, now, newId }: { organizationId: string; userId: string; now: Date; newId: NewId },
): Promise<string> {
  const memberId = await upsertMember(tx, { id: newId(), organizationId, userId, role: 'owner', now })
  const entry = {
    actor: { type: 'member', id: memberId } as const,
    action: 'organization.create',
    subject: { type: 'organization', id: organizationId },
    data: {},
  }
  recordAudit(tx, organizationId, entry, now, newId)
  return memberId
}

/** As sign-in will compare it. Throws `RangeError` for a length that it would not take. */
export async function hashPassword({ auth }: Door, password: string): Promise<string> {
  const context = await auth.$context
  const { minPasswordLength, maxPasswordLength } = context.password.config
  if (password.length < minPasswordLength || password.length > maxPasswordLength) {
    throw new RangeError(`A password needs ${minPasswordLength} to ${maxPasswordLength} characters.`)
  }
  return context.password.hash(password)
}

/**
 * The secret of the link of the first start. Made from the office's key, so that every server shows the same one; it opens as long
 * as there is no organisation, and then never again.
 */
function setUpToken(secretKey: SecretKey): string {
  return createHmac('sha256', deriveSecret(secretKey, 'set-up')).update('set-up').digest('base64url')
}

/** The link that a server shows while nobody is here. */
export function setUpLink({ secretKey, address }: Door): string {
  return `${address.baseUrl}/set-up#${setUpToken(secretKey)}`
}

/**
 * Makes the first organisation and its owner. Throws `link_invalid` for another token, and `set_up_done` where there is an
 * organisation: of two at once, one makes it and the other is told so.
 */
export async function setUpOffice(
  parts: Parts,
  token: string,
  input: NewOrganization,
  now: Date,
): Promise<{ organizationId: string }> {
  const [given, right] = [Buffer.from(token), Buffer.from(setUpToken(parts.door.secretKey))]
  if (given.length !== right.length || !timingSafeEqual(given, right)) {
    throw new AppError('link_invalid', 'Take the whole link from the log of the server.')
  }
  if (await hasOrganization(parts.door.db)) throw setUpDone()
  const { organizationId } = await createOrganizationWithOwner(parts, input, { now, isFirst: true })
  return { organizationId }
}

const setUpDone = () => new AppError('set_up_done', 'Sign in with the address and the password that were chosen then.')

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
