import type { Db, Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { recordAudit } from '../audit/index.ts'
import { findPersonByEmail, insertPerson } from './door-queries.ts'
import { newOrganizationToken, readOrganizationToken } from './organization-token.ts'
import {
  findInvitationByLink,
  findMember,
  findMemberByEmail,
  findMemberOfUser,
  findOrganizationName,
  type InvitationRow,
  insertInvitation,
  lockInvitation,
  lockInvitationByLink,
  lockOpenInvitation,
  setInvitationAccepted,
  setInvitationCancelled,
  setInvitationLink,
  upsertMember,
} from './queries.ts'
import { mayManage, type Role } from './roles.ts'

const VALID_FOR_MS = 7 * 24 * 60 * 60 * 1_000

interface Context {
  readonly organizationId: string
  readonly now: Date
  readonly newId: NewId
  /** The member who invites. */
  readonly by: string
}

export function invitationState(row: InvitationRow, now: Date): 'open' | 'accepted' | 'cancelled' | 'expired' {
  if (row.accepted_at !== null) return 'accepted'
  if (row.cancelled_at !== null) return 'cancelled'
  return row.expires_at <= now ? 'expired' : 'open'
}

/**
 * Invites an address for seven days. The secret of the link is in the answer and nowhere else; a rollback takes the invitation
 * back. Throws `already_member`, `already_invited` while another invitation is open, and `forbidden` for a role above one's own.
 * One whose time is over is ended by the new one.
 */
export async function invite(
  tx: Tx,
  context: Context,
  { email, role }: { email: string; role: Role },
): Promise<{ id: string; token: string }> {
  const { organizationId, now, newId, by } = context
  await requireMayInvite(tx, context, role)
  // The lock first: whoever is accepting at this moment is a member when we look.
  const open = await lockOpenInvitation(tx, organizationId, email)
  if ((await findMemberByEmail(tx, organizationId, email)) !== undefined) {
    throw new AppError('already_member', `${email} belongs to the organisation already.`)
  }
  if (open !== undefined) {
    if (open.expires_at > now) throw alreadyInvited(email)
    await setInvitationCancelled(tx, organizationId, open.id, now)
  }
  const id = newId()
  const link = newOrganizationToken(organizationId)
  const isNew = await insertInvitation(tx, {
    id,
    organization_id: organizationId,
    email,
    role,
    link_hash: link.hash,
    invited_by: by,
    created_at: now,
    expires_at: new Date(now.getTime() + VALID_FOR_MS),
    accepted_at: null,
    accepted_by: null,
    cancelled_at: null,
  })
  if (!isNew) throw alreadyInvited(email)
  return { id, token: link.text }
}

/** A new link for seven days from now; the one before is dead. Throws `not_found`, `invitation_ended`, `forbidden`. */
export async function renewInvitation(
  tx: Tx,
  context: Context,
  id: string,
): Promise<{ invitation: InvitationRow; token: string }> {
  const { organizationId, now } = context
  const invitation = await lockEndable(tx, context, id)
  const link = newOrganizationToken(organizationId)
  const expiresAt = new Date(now.getTime() + VALID_FOR_MS)
  await setInvitationLink(tx, organizationId, id, { hash: link.hash, expiresAt })
  return { invitation, token: link.text }
}

/** From now on the link opens nothing. Throws `not_found`, `invitation_ended` where it was accepted or cancelled, `forbidden`. */
export async function cancelInvitation(tx: Tx, context: Context, id: string): Promise<InvitationRow> {
  const invitation = await lockEndable(tx, context, id)
  await setInvitationCancelled(tx, context.organizationId, id, context.now)
  return invitation
}

async function lockEndable(tx: Tx, context: Context, id: string): Promise<InvitationRow> {
  const invitation = await lockInvitation(tx, context.organizationId, id)
  if (invitation === undefined) throw new AppError('not_found', `There is no invitation ${id}.`)
  await requireMayInvite(tx, context, invitation.role)
  const state = invitationState(invitation, context.now)
  if (state === 'accepted' || state === 'cancelled') {
    throw new AppError('invitation_ended', `It was ${state} already. Invite them anew.`)
  }
  return invitation
}

async function requireMayInvite(tx: Tx, { organizationId, by }: Context, role: Role): Promise<void> {
  const own = await findMember(tx, organizationId, by)
  if (own === undefined || !mayManage(own.role, role)) {
    throw new AppError('forbidden', 'Only an owner can invite an owner.')
  }
}

const invalidLink = () =>
  new AppError('link_invalid', 'It was cancelled, replaced by a newer one, or is too old. Ask for another invitation.')

const alreadyInvited = (email: string) =>
  new AppError('already_invited', `${email} has an open invitation. Send it again, or cancel it first.`)

const accountExists = (email: string) => new AppError('account_exists', `Sign in as ${email}, and open the link again.`)

export interface Offer {
  readonly organizationName: string
  readonly email: string
  readonly role: Role
  readonly hasAccount: boolean
  readonly expiresAt: Date
  readonly isAccepted: boolean
}

/** What a link offers, on the door's role. Throws `link_invalid` for one that opens nothing. */
export async function readOffer(door: Db, text: string, now: Date): Promise<Offer> {
  return withLink(
    door,
    text,
    now,
    findInvitationByLink,
    async (tx, { organization_id, email, role, expires_at, accepted_at }) => ({
      organizationName: await findOrganizationName(tx, organization_id),
      email,
      role,
      hasAccount: (await findPersonByEmail(tx, email)) !== undefined,
      expiresAt: expires_at,
      isAccepted: accepted_at !== null,
    }),
  )
}

/** Whoever comes with a link: as somebody who is signed in, or with what a new account needs. */
export type Guest =
  | { readonly userId: string; readonly email: string }
  | { readonly name: string; readonly passwordHash: string }

/**
 * Makes the guest a member, and a person if they are new: one transaction on the door's role, with its audit entry. Again by the
 * same person it is the same answer. Throws `link_invalid` for anybody but the invited address, and `account_exists` where a new
 * account was asked for and there is one: then they sign in first.
 */
export async function acceptInvitation(
  door: Db,
  { now, newId }: { now: Date; newId: NewId },
  text: string,
  guest: Guest,
): Promise<{ organizationId: string }> {
  return withLink(door, text, now, lockInvitationByLink, async (tx, invitation) => {
    const organizationId = invitation.organization_id
    const known = await findPersonByEmail(tx, invitation.email)
    if ('email' in guest && guest.email !== invitation.email) throw invalidLink()
    if (!('email' in guest) && known !== undefined) throw accountExists(invitation.email)
    if (invitation.accepted_at !== null) {
      const member = 'email' in guest ? await findMemberOfUser(tx, organizationId, guest.userId) : undefined
      if (member?.id !== invitation.accepted_by) throw invalidLink()
      return { organizationId }
    }
    const userId = 'email' in guest ? guest.userId : newId()
    if (!('email' in guest)) {
      const { name, passwordHash } = guest
      const person = { userId, accountId: newId(), name, email: invitation.email, passwordHash, now }
      if (!(await insertPerson(tx, person))) throw accountExists(invitation.email)
    }
    const memberId = await upsertMember(tx, { id: newId(), organizationId, userId, role: invitation.role, now })
    await setInvitationAccepted(tx, organizationId, invitation.id, { memberId, now })
    const entry = {
      actor: { type: 'member', id: memberId } as const,
      action: 'invitation.accept',
      subject: { type: 'member', id: memberId },
      data: { invitationId: invitation.id, role: invitation.role },
    }
    recordAudit(tx, organizationId, entry, now, newId)
    return { organizationId }
  })
}

async function withLink<T>(
  door: Db,
  text: string,
  now: Date,
  read: typeof findInvitationByLink,
  work: (tx: Tx, invitation: InvitationRow) => Promise<T>,
): Promise<T> {
  const token = readOrganizationToken(text)
  if (token === null) throw invalidLink()
  return door.transaction(token.organizationId, async (tx) => {
    const invitation = await read(tx, token.organizationId, token.hash)
    if (invitation === undefined) throw invalidLink()
    const state = invitationState(invitation, now)
    if (state === 'cancelled' || state === 'expired') throw invalidLink()
    return work(tx, invitation)
  })
}
