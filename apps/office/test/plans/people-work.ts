import { createOrganizationWithOwner, findApiKeyById, setUpLink } from '../../src/modules/members/index.ts'
import { findMemberOfUser } from '../../src/modules/members/queries.ts'
import type { TestOrganization } from '../support/office.ts'
import { nextAddress, type SignedIn, signIn } from '../support/signed-in.ts'
import type { Desk } from './work-day.ts'

type Body = Readonly<Record<string, unknown>>
type Send = (method: 'GET' | 'PATCH' | 'POST', url: string, payload?: object, headers?: SignedIn) => Promise<Body>

/** People come in, look who is there and let others in and out; keys and senders are made and changed. In every way that there is. */
export async function workOnPeople(desk: Desk, organization: TestOrganization, run: string): Promise<void> {
  const { http } = desk.app
  const send: Send = async (method, url, payload, headers) => {
    const response = await http.inject({
      method,
      url,
      remoteAddress: nextAddress(),
      headers: headers ?? {},
      ...(payload === undefined ? {} : { payload }),
    })
    if (response.statusCode >= 500) throw new Error(`${url} answered ${response.statusCode}: ${response.body}`)
    return response.body === '' ? {} : response.json<Body>()
  }
  await send('POST', '/api/auth/sign-in/email', { ...organization.owner, password: 'a wrong password' })
  const owner = await comeIn(desk, organization, send)
  const asOwner = (method: 'GET' | 'PATCH' | 'POST', path: string, payload?: object) =>
    send(method, `/api/v1${path}`, payload, owner)
  await invite(desk, organization, asOwner, send, run)
  await keepKeys(desk, organization, asOwner)
  const { id } = await asOwner('POST', '/integrations', {
    provider: 'sandbox',
    label: run,
    settings: { webhookSecrets: [`whsec_${'c'.repeat(32)}`] },
  })
  await asOwner('PATCH', `/integrations/${id}`, { isEnabled: false })
  for (const list of ['/members', '/invitations', '/api-keys', '/integrations', '/audit-entries', '/notifications']) {
    await asOwner('GET', list)
    await asOwner('GET', `${list}?cursor=${id}`)
  }
  await asOwner('GET', `/audit-entries?subjectId=${id}`)
  await leave(organization, send, owner)
  await found(desk, send, run)
}

/** Twice, from two places, of which one is ended. */
async function comeIn({ app }: Desk, { owner, organizationId }: TestOrganization, send: Send): Promise<SignedIn> {
  await signIn(app.http, owner)
  const cookies = await signIn(app.http, owner)
  await send('GET', '/api/v1/me', undefined, cookies)
  await send('POST', '/api/v1/me/organization', { organizationId }, cookies)
  const { items } = await send('GET', '/api/v1/me/sessions', undefined, cookies)
  const other = (items as { id: string; isCurrent: boolean }[]).find(({ isCurrent }) => !isCurrent)
  await send('POST', `/api/v1/me/sessions/${other?.id}/end`, undefined, cookies)
  return cookies
}

type AsOwner = (method: 'GET' | 'PATCH' | 'POST', path: string, payload?: object) => Promise<Body>

async function invite(
  { app, office }: Desk,
  organization: TestOrganization,
  asOwner: AsOwner,
  send: Send,
  run: string,
): Promise<void> {
  const guest = { email: `${run}@guest.example`, password: 'a guest’s long password' }
  const other = await asOwner('POST', '/invitations', { email: `other-${run}@guest.example`, role: 'viewer' })
  await asOwner('POST', `/invitations/${(other['invitation'] as Body)['id']}/cancel`)
  const { invitation } = await asOwner('POST', '/invitations', { email: guest.email, role: 'agent' })
  await asOwner('POST', '/invitations', { email: guest.email, role: 'viewer' })
  const { link } = await asOwner('POST', `/invitations/${(invitation as Body)['id']}/send`)
  const token = String(link).split('#').at(-1)
  await send('POST', '/api/v1/invitations/read', { token })
  await send('POST', '/api/v1/invitations/accept', { token, name: 'Kim', password: guest.password })
  await send('POST', '/api/v1/invitations/accept', { token }, await signIn(app.http, guest))
  await asOwner('POST', '/invitations', { email: guest.email, role: 'viewer' })
  const { items } = await asOwner('GET', '/members?limit=200')
  const members = items as { id: string; email: string }[]
  const member = members.find(({ email }) => email === guest.email) ?? members.at(-1)
  const [userId = ''] = organization.userIds
  await office.door.db.transaction(organization.organizationId, (tx) =>
    findMemberOfUser(tx, organization.organizationId, userId),
  )
  await asOwner('PATCH', `/members/${member?.id}`, { role: 'viewer' })
  await asOwner('POST', `/members/${member?.id}/remove`)
}

/** Made, looked for as the command line does, and revoked. */
async function keepKeys({ db }: Desk, { organizationId }: TestOrganization, asOwner: AsOwner): Promise<void> {
  const { apiKey } = await asOwner('POST', '/api-keys', { name: 'Till', scopes: ['read'] })
  const { id } = apiKey as { id: string }
  await db.transaction(organizationId, (tx) => findApiKeyById(tx, organizationId, id))
  await asOwner('POST', `/api-keys/${id}/revoke`)
}

async function leave({ owner: { email, password } }: TestOrganization, send: Send, owner: SignedIn): Promise<void> {
  await send('POST', '/api/auth/request-password-reset', { email }, owner)
  await send('POST', '/api/auth/reset-password', { token: 'of nobody', newPassword: password }, owner)
  await send('POST', '/api/auth/update-user', { name: 'Kim' }, owner)
  await send('POST', '/api/auth/two-factor/enable', { password }, owner)
  await send('POST', '/api/auth/change-password', { currentPassword: password, newPassword: password }, owner)
  await send('POST', '/api/auth/revoke-sessions', {}, owner)
}

async function found({ office }: Desk, send: Send, run: string): Promise<void> {
  const { door, newId, clock } = office
  const input = {
    organizationName: run,
    name: 'Kim',
    email: `owner-${run}@guest.example`,
    password: 'a founder’s long password',
  }
  await createOrganizationWithOwner({ door, newId }, input, { now: clock.now() })
  const token = setUpLink(door).split('#').at(-1)
  await send('POST', '/api/v1/set-up', { token, ...input })
}
