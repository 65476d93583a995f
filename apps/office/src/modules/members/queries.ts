import type { NotNull, Selectable } from 'kysely'
import { type Db, isListed, listedIn, send, sql, type Tx } from '../../platform/database.ts'
import type { Tables } from '../../platform/tables.ts'
import type { Role } from './roles.ts'

export type ApiKeyRow = Selectable<Tables['api_keys']>
export type InvitationRow = Selectable<Tables['invitations']>

/** A person in an organisation. */
export interface Member {
  readonly id: string
  readonly userId: string
  readonly name: string
  readonly email: string
  readonly role: Role
  readonly joinedAt: Date
  readonly hasTwoFactor: boolean
}

/** An organisation as one of its members sees it. */
export interface Membership {
  readonly organizationId: string
  readonly organizationName: string
  readonly memberId: string
  readonly role: Role
}

function members(tx: Tx, organizationId: string) {
  return tx
    .selectFrom('members as m')
    .innerJoin('auth.user as u', 'u.id', 'm.user_id')
    .select([
      'm.id',
      'm.user_id as userId',
      'u.name',
      'u.email',
      'm.role',
      'm.joined_at as joinedAt',
      'u.twoFactorEnabled as hasTwoFactor',
    ])
    .where('m.organization_id', '=', organizationId)
    .where('m.removed_at', 'is', null)
}

const toMember = <Row extends { hasTwoFactor: boolean | null }>(row: Row) => ({
  ...row,
  hasTwoFactor: row.hasTwoFactor === true,
})

/** Who belongs to the organisation, in the order in which they came. */
export async function listMembers(
  tx: Tx,
  organizationId: string,
  after: string | null,
  limit: number,
): Promise<Member[]> {
  const rows = await members(tx, organizationId)
    .where(isListed('m.id'))
    .$if(after !== null, (query) => query.where('m.id', '>', after ?? ''))
    .orderBy('m.id')
    .limit(limit)
    .execute()
  return rows.map(toMember)
}

/** A member by their id; nobody who has left. */
export async function findMember(tx: Tx, organizationId: string, id: string): Promise<Member | undefined> {
  const row = await members(tx, organizationId).where('m.id', '=', id).executeTakeFirst()
  return row && toMember(row)
}

/** What a member is called, also one who has left; '' for nobody. */
export async function findMemberName(tx: Tx, organizationId: string, id: string): Promise<string> {
  const row = await tx
    .selectFrom('members as m')
    .innerJoin('auth.user as u', 'u.id', 'm.user_id')
    .select('u.name')
    .where('m.id', '=', id)
    .where('m.organization_id', '=', organizationId)
    .executeTakeFirst()
  return row?.name ?? ''
}

export async function findMemberOfUser(tx: Tx, organizationId: string, userId: string): Promise<Member | undefined> {
  const row = await members(tx, organizationId).where('m.user_id', '=', userId).executeTakeFirst()
  return row && toMember(row)
}

/** The member with this address. */
export async function findMemberByEmail(tx: Tx, organizationId: string, email: string): Promise<Member | undefined> {
  const row = await members(tx, organizationId).where('u.email', '=', email).executeTakeFirst()
  return row && toMember(row)
}

/** Ids of all owners, locked in the order of their ids. */
export async function lockOwners(tx: Tx, organizationId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('members')
    .select('id')
    .where(listedIn(organizationId))
    .where('role', '=', 'owner')
    .where('removed_at', 'is', null)
    .orderBy('id')
    .forUpdate()
    .execute()
  return rows.map((row) => row.id)
}

export async function lockMember(tx: Tx, organizationId: string, id: string): Promise<void> {
  await tx
    .selectFrom('members')
    .select('id')
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .forUpdate()
    .execute()
}

export async function setMemberRole(tx: Tx, organizationId: string, id: string, role: Role): Promise<void> {
  await tx
    .updateTable('members')
    .set({ role })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
}

export async function setMemberRemoved(tx: Tx, organizationId: string, id: string, now: Date): Promise<void> {
  await tx
    .updateTable('members')
    .set({ removed_at: now })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
}

/**
 * Makes a person a member; who was one before is the same member again, with this role. Who is one at this moment stays what they
 * are. Returns the member's id.
 */
export async function upsertMember(
  tx: Tx,
  row: { id: string; organizationId: string; userId: string; role: Role; now: Date },
): Promise<string> {
  const [member] = await send<{ id: string }>(
    tx,
    sql`insert into members (id, organization_id, user_id, role, joined_at)
      values (${row.id}, ${row.organizationId}, ${row.userId}, ${row.role}, ${row.now.toISOString()})
      on conflict (user_id, organization_id) do update set
        role = case when members.removed_at is null then members.role else excluded.role end,
        joined_at = case when members.removed_at is null then members.joined_at else excluded.joined_at end,
        removed_at = null
      returning id`,
  )
  if (member === undefined) throw new Error('a member was written and is not there')
  return member.id
}

export async function insertApiKey(tx: Tx, row: ApiKeyRow): Promise<void> {
  await tx.insertInto('api_keys').values(row).execute()
}

/** The key with this hash, whatever its state, so that the caller's clock decides whether it has expired. */
export async function findApiKeyByHash(tx: Tx, organizationId: string, hash: string): Promise<ApiKeyRow | null> {
  const row = await tx
    .selectFrom('api_keys')
    .selectAll()
    .where('hash', '=', hash)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return row ?? null
}

export async function findApiKeyById(tx: Tx, organizationId: string, id: string): Promise<ApiKeyRow | undefined> {
  return tx
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Locked while it is valid. A revoked one never changes again, and the policy of updates hides it from locks: it is read as it is. */
export async function lockApiKey(tx: Tx, organizationId: string, id: string): Promise<ApiKeyRow | undefined> {
  const key = tx.selectFrom('api_keys').selectAll().where('id', '=', id).where('organization_id', '=', organizationId)
  return (await key.forUpdate().executeTakeFirst()) ?? key.executeTakeFirst()
}

export async function setApiKeyRevoked(tx: Tx, organizationId: string, id: string, now: Date): Promise<void> {
  await tx
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
}

/** The keys of the organisation with who made them, oldest first, revoked ones too. */
export async function listApiKeys(
  tx: Tx,
  organizationId: string,
  after: string | null,
  limit: number,
): Promise<(ApiKeyRow & { creator_name: string | null })[]> {
  return tx
    .selectFrom('api_keys as k')
    .leftJoin('members as m', (join) =>
      join.onRef('m.id', '=', 'k.created_by').onRef('m.organization_id', '=', 'k.organization_id'),
    )
    .leftJoin('auth.user as u', 'u.id', 'm.user_id')
    .selectAll('k')
    .select('u.name as creator_name')
    .where('k.organization_id', '=', organizationId)
    .where(isListed('k.id'))
    .$if(after !== null, (query) => query.where('k.id', '>', after ?? ''))
    .orderBy('k.id')
    .limit(limit)
    .execute()
}

/** Returns false, and writes nothing, where the address has an open invitation. */
export async function insertInvitation(tx: Tx, row: InvitationRow): Promise<boolean> {
  const inserted = await tx
    .insertInto('invitations')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['email', 'organization_id'])
        .where('accepted_at', 'is', null)
        .where('cancelled_at', 'is', null)
        .doNothing(),
    )
    .returning('id')
    .execute()
  return inserted.length > 0
}

export type ListedInvitation = InvitationRow & { readonly inviter_name: string }

/** The name as a look-up for each row: of a join, a young database would enter the members by their organisation. */
function invitations(tx: Tx, organizationId: string) {
  return tx
    .selectFrom('invitations as i')
    .selectAll('i')
    .select((eb) =>
      eb
        .selectFrom('members as m')
        .innerJoin('auth.user as u', 'u.id', 'm.user_id')
        .select('u.name')
        .whereRef('m.id', '=', 'i.invited_by')
        .whereRef('m.organization_id', '=', 'i.organization_id')
        .as('inviter_name'),
    )
    .$narrowType<{ inviter_name: NotNull }>()
    .where('i.organization_id', '=', organizationId)
}

/** Newest first, ended ones too, from before `before` on. */
export async function listInvitations(
  tx: Tx,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<ListedInvitation[]> {
  return invitations(tx, organizationId)
    .where(isListed('i.id'))
    .$if(before !== null, (query) => query.where('i.id', '<', before ?? ''))
    .orderBy('i.id', 'desc')
    .limit(limit)
    .execute()
}

/** Locked while it is open. One that has ended never changes again, and the policy of updates hides it from locks: it is read as it is. */
export async function lockInvitation(tx: Tx, organizationId: string, id: string): Promise<InvitationRow | undefined> {
  const invitation = tx
    .selectFrom('invitations')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
  return (await invitation.forUpdate().executeTakeFirst()) ?? invitation.executeTakeFirst()
}

export async function findInvitation(
  tx: Tx,
  organizationId: string,
  id: string,
): Promise<ListedInvitation | undefined> {
  return invitations(tx, organizationId).where('i.id', '=', id).executeTakeFirst()
}

/** The one that nobody has accepted or cancelled, also when its time is over. */
export async function lockOpenInvitation(
  tx: Tx,
  organizationId: string,
  email: string,
): Promise<InvitationRow | undefined> {
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where('email', '=', email)
    .where('organization_id', '=', organizationId)
    .where('accepted_at', 'is', null)
    .where('cancelled_at', 'is', null)
    .forUpdate()
    .executeTakeFirst()
}

function invitationByLink(tx: Tx, organizationId: string, linkHash: string) {
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where('link_hash', '=', linkHash)
    .where('organization_id', '=', organizationId)
}

export async function findInvitationByLink(
  tx: Tx,
  organizationId: string,
  linkHash: string,
): Promise<InvitationRow | undefined> {
  return invitationByLink(tx, organizationId, linkHash).executeTakeFirst()
}

/** As `lockInvitation` does: whoever else has the link waits until it is decided what becomes of it. */
export async function lockInvitationByLink(
  tx: Tx,
  organizationId: string,
  linkHash: string,
): Promise<InvitationRow | undefined> {
  const invitation = invitationByLink(tx, organizationId, linkHash)
  return (await invitation.forUpdate().executeTakeFirst()) ?? invitation.executeTakeFirst()
}

export async function setInvitationLink(
  tx: Tx,
  organizationId: string,
  id: string,
  link: { hash: string; expiresAt: Date },
): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ link_hash: link.hash, expires_at: link.expiresAt })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
}

export async function setInvitationCancelled(tx: Tx, organizationId: string, id: string, now: Date): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ cancelled_at: now })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
}

export async function setInvitationAccepted(
  tx: Tx,
  organizationId: string,
  id: string,
  accepted: { memberId: string; now: Date },
): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ accepted_at: accepted.now, accepted_by: accepted.memberId })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
}

/** True where some organisation is there; outside any, as the server's role or the door's. */
export async function hasOrganization(db: Db): Promise<boolean> {
  const rows = await db.query('select 1 from organizations limit 1', [])
  return rows.length > 0
}

export async function findOrganizationName(tx: Tx, organizationId: string): Promise<string> {
  const row = await tx.selectFrom('organizations').select('name').where('id', '=', organizationId).executeTakeFirst()
  return row?.name ?? ''
}
