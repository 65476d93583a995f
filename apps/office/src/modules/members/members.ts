import type { Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import { findMember, lockMember, lockOwners, type Member, setMemberRemoved, setMemberRole } from './queries.ts'
import { mayManage, type Role } from './roles.ts'

interface Change {
  readonly organizationId: string
  readonly now: Date
  /** The member who wants it. */
  readonly by: string
}

/** A member before and after an act; they are equal where there was nothing to do. */
export interface MemberChange {
  readonly before: Member
  readonly after: Member
}

/**
 * Gives a member another role. Throws `not_found`, `forbidden` where the role of the one or the other is above the one who asks, and
 * `last_owner` where nobody would be left who owns the organisation: two who do so at once wait for each other.
 */
export async function changeRole(tx: Tx, change: Change, memberId: string, role: Role): Promise<MemberChange> {
  const { before, ownRole } = await beginChange(tx, change, memberId)
  if (before.role === role) return { before, after: before }
  requireMayManage(ownRole, role)
  if (before.role === 'owner') await requireAnotherOwner(tx, change.organizationId, memberId)
  await setMemberRole(tx, change.organizationId, memberId, role)
  return { before, after: { ...before, role } }
}

/** Ends a membership; from the next request on they are nobody here. Throws as `changeRole` does. */
export async function removeMember(tx: Tx, change: Change, memberId: string): Promise<Member> {
  const { before } = await beginChange(tx, change, memberId)
  if (before.role === 'owner') await requireAnotherOwner(tx, change.organizationId, memberId)
  await setMemberRemoved(tx, change.organizationId, memberId, change.now)
  return before
}

/** Owners are locked before the member, whoever it is, so that two changes meet at the same row first. */
async function beginChange(tx: Tx, { organizationId, by }: Change, memberId: string) {
  await lockOwners(tx, organizationId)
  await lockMember(tx, organizationId, memberId)
  // As they are now, and not as they were when the request came in.
  const [own, before] = [await findMember(tx, organizationId, by), await findMember(tx, organizationId, memberId)]
  if (own === undefined) throw new AppError('forbidden', 'You are no member any more.')
  if (before === undefined) throw new AppError('not_found', `There is no member ${memberId}.`)
  requireMayManage(own.role, before.role)
  return { before, ownRole: own.role }
}

function requireMayManage(own: Role, other: Role): void {
  if (!mayManage(own, other)) throw new AppError('forbidden', 'Only an owner can make, change or remove an owner.')
}

/** Asked anew: whoever waited for the first lock does not see in it who has become an owner meanwhile. */
async function requireAnotherOwner(tx: Tx, organizationId: string, memberId: string): Promise<void> {
  const owners = await lockOwners(tx, organizationId)
  if (owners.some((id) => id !== memberId)) return
  throw new AppError('last_owner', 'Somebody has to own the organisation. Make another member an owner first.')
}
