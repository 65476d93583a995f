import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from '../support/cookie-browser.ts'
import { createHouse, type House, PASSWORD, type TestMember, totpOf, turnTwoFactorOn } from '../support/house.ts'
import { makeApiKey } from '../support/office.ts'

let house: House

beforeAll(async () => {
  house = await createHouse()
})

afterAll(() => house.close())

interface Entry {
  readonly actor: { readonly type: string; readonly id: string; readonly name: string | null }
  readonly action: string
  readonly subject: { readonly type: string; readonly id: string }
  readonly data: unknown
}

/** What the organisation is told that `work` was, oldest first. */
async function entriesOf(reader: Browser, work: () => Promise<unknown>): Promise<Entry[]> {
  const read = async () => (await reader.get('/audit-entries?limit=200')).body['items'] as Entry[]
  const before = (await read()).length
  await work()
  return (await read()).slice(0, -before || undefined).toReversed()
}

const actionsOf = (entries: readonly Entry[]) => entries.map(({ action }) => action)
const byMember = ({ memberId, name }: TestMember) => ({ type: 'member', id: memberId, name })

async function addOffice() {
  const owner = await house.addOwner('Olga Owner')
  return { owner, asOwner: await house.signedIn(owner), reader: await house.signedIn(owner) }
}

describe('every act leaves one entry with who did it, and a repetition none', () => {
  test('of members, invitations, keys and senders', async () => {
    const { owner, asOwner, reader } = await addOffice()
    const member = await house.addMember(owner.organizationId, 'agent')
    const made: Record<string, string> = {}
    const twice = async (
      send: (headers: Record<string, string>) => Promise<{ status: number; body: Readonly<Record<string, unknown>> }>,
    ) => {
      const headers = { 'idempotency-key': randomUUID() }
      const answers = [await send(headers), await send(headers)]
      expect(answers[1]?.status).toBe(answers[0]?.status)
      expect(answers[0]?.status).toBeLessThan(300)
      return answers[0]?.body ?? {}
    }
    const entries = await entriesOf(reader, async () => {
      await twice((headers) => asOwner.patch(`/members/${member.memberId}`, { role: 'viewer' }, headers))
      await twice((headers) => asOwner.post(`/members/${member.memberId}/remove`, {}, headers))
      const invited = await twice((headers) =>
        asOwner.post('/invitations', { email: 'a@example.org', role: 'agent' }, headers),
      )
      made['invitation'] = (invited['invitation'] as { id: string }).id
      await twice((headers) => asOwner.post(`/invitations/${made['invitation']}/send`, {}, headers))
      await twice((headers) => asOwner.post(`/invitations/${made['invitation']}/cancel`, {}, headers))
      const key = await twice((headers) => asOwner.post('/api-keys', { name: 'till', scopes: ['read'] }, headers))
      made['key'] = (key['apiKey'] as { id: string }).id
      await twice((headers) => asOwner.post(`/api-keys/${made['key']}/revoke`, {}, headers))
      const settings = { webhookSecrets: ['whsec_a_secret_of_this_test'] }
      const sender = await twice((headers) =>
        asOwner.post('/integrations', { provider: 'stripe', label: 'S', settings }, headers),
      )
      made['sender'] = String(sender['id'])
      await twice((headers) => asOwner.patch(`/integrations/${made['sender']}`, { label: 'T' }, headers))
    })
    expect(entries.map(({ action, subject }) => [action, subject.type, subject.id])).toEqual([
      ['member.change', 'member', member.memberId],
      ['member.remove', 'member', member.memberId],
      ['invitation.create', 'invitation', made['invitation']],
      ['invitation.send', 'invitation', made['invitation']],
      ['invitation.cancel', 'invitation', made['invitation']],
      ['api_key.create', 'api_key', made['key']],
      ['api_key.revoke', 'api_key', made['key']],
      ['integration.create', 'integration', made['sender']],
      ['integration.change', 'integration', made['sender']],
    ])
    for (const { actor } of entries) expect(actor).toEqual(byMember(owner))
    expect(entries[0]?.data).toEqual({ before: { role: 'agent' }, after: { role: 'viewer' } })
  })

  test('and none where nothing changed or the act was refused', async () => {
    const { owner, asOwner, reader } = await addOffice()
    const member = await house.addMember(owner.organizationId, 'agent')
    const settings = { webhookSecrets: ['whsec_a_secret_of_this_test'] }
    const sender = await asOwner.post('/integrations', { provider: 'stripe', label: 'S', settings })
    const entries = await entriesOf(reader, async () => {
      const statuses = [
        (await asOwner.patch(`/members/${member.memberId}`, { role: 'agent' })).status,
        (await asOwner.patch(`/integrations/${sender.body['id']}`, { label: 'S', isEnabled: true })).status,
        (await asOwner.patch(`/integrations/${sender.body['id']}`, { settings })).status,
        (await asOwner.post(`/members/${owner.memberId}/remove`)).status,
        (await asOwner.post('/invitations', { email: member.email, role: 'agent' })).status,
      ]
      expect(statuses).toEqual([200, 200, 200, 409, 409])
    })
    expect(entries).toEqual([])
  })

  test('of whoever accepts an invitation, once', async () => {
    const { asOwner, reader } = await addOffice()
    const email = 'accepting@example.org'
    const before = house.letters.length
    await asOwner.post('/invitations', { email, role: 'accountant' })
    const token = /#([\w-]+)/.exec(house.letters[before]?.text ?? '')?.[1]
    const entries = await entriesOf(reader, async () => {
      const body = { token, name: 'Gina Guest', password: PASSWORD }
      await house.browser().post('/invitations/accept', body)
      await house.browser().post('/invitations/accept', body)
    })
    expect(entries).toMatchObject([
      { action: 'invitation.accept', actor: { type: 'member', name: 'Gina Guest' }, data: { role: 'accountant' } },
    ])
    expect(entries[0]?.subject.id).toBe(entries[0]?.actor.id)
  })

  test('of what people do about themselves, in every organisation of theirs', async () => {
    const { owner, reader } = await addOffice()
    const boss = await house.addOwner()
    await house.addMember(boss.organizationId, 'agent', owner)
    const other = await house.signedIn(boss)
    const browser = house.browser()
    const elsewhere = (address: string) => browser.copy(undefined, { address })
    let inOther: Entry[] = []
    const entries = await entriesOf(reader, async () => {
      inOther = await entriesOf(other, async () => {
        await browser.auth('sign-in/email', { email: owner.email, password: 'a wrong password' })
        await browser.auth('sign-in/email', { email: owner.email, password: PASSWORD })
        await browser.auth('update-user', { name: 'Olga the Second' })
        await browser.auth('change-password', { currentPassword: 'wrong', newPassword: 'a new and longer password' })
        const { totpUri, recoveryCodes } = await turnTwoFactorOn(browser)
        await elsewhere('192.0.2.1').auth('two-factor/verify-totp', { code: totpOf(totpUri) })
        await browser.auth('two-factor/generate-backup-codes', { password: PASSWORD })
        await browser.auth('sign-out')
        await browser.auth('sign-in/email', { email: owner.email, password: PASSWORD })
        const wrong = recoveryCodes[0] ?? ''
        await browser.auth('two-factor/verify-backup-code', { code: wrong })
        await browser
          .copy(undefined, { address: '192.0.2.3' })
          .auth('two-factor/verify-totp', { code: totpOf(totpUri, 1) })
      })
    })
    const told = [
      'session.start',
      'person.rename',
      'two_factor.enable',
      'two_factor.new_codes',
      'session.end',
      'two_factor.verify',
    ]
    expect(actionsOf(entries)).toEqual(told)
    expect(actionsOf(inOther)).toEqual(told)
    for (const { actor } of entries)
      expect(actor).toEqual({ type: 'member', id: owner.memberId, name: 'Olga the Second' })
  })

  test('of a new password, chosen by the old one or by a link, and of sessions that are ended', async () => {
    const { owner, reader: old } = await addOffice()
    const reader = await house.signedIn(await house.addMember(owner.organizationId, 'admin'))
    const before = house.letters.length
    const entries = await entriesOf(reader, async () => {
      const { body } = await old.get('/me/sessions')
      const other = (body['items'] as { id: string; isCurrent: boolean }[]).find(({ isCurrent }) => !isCurrent)
      await old.post(`/me/sessions/${other?.id}/end`)
      await old.auth('change-password', { currentPassword: PASSWORD, newPassword: 'a new and longer password' })
      await old.auth('revoke-sessions')
      await house.browser().auth('request-password-reset', { email: owner.email })
      const token = /#([\w-]+)/.exec(house.letters[before]?.text ?? '')?.[1]
      await house.browser().auth('reset-password', { token, newPassword: 'yet another password' })
      await house.browser().auth('reset-password', { token, newPassword: 'and another password' })
    })
    expect(actionsOf(entries)).toEqual(['session.end', 'password.change', 'session.end_all', 'password.reset'])
    for (const { actor } of entries) expect(actor).toEqual(byMember(owner))
  })

  test('of a program, under the name of its key', async () => {
    const { owner, reader } = await addOffice()
    const key = await makeApiKey(house.office, owner.organizationId, 'The till')
    const program = house.browser({ headers: { authorization: `Bearer ${key}` } })
    const entries = await entriesOf(reader, () => program.post('/contacts', { type: 'company', name: 'X' }))
    expect(entries).toMatchObject([{ action: 'contact.create', actor: { type: 'api_key', name: 'The till' } }])
  })
})

describe('the audit', () => {
  test('is read by owners, admins and accountants, and shows no other organisation', async () => {
    const { owner, reader } = await addOffice()
    for (const [role, status] of [
      ['admin', 200],
      ['accountant', 200],
      ['agent', 403],
      ['viewer', 403],
    ] as const) {
      const browser = await house.signedIn(await house.addMember(owner.organizationId, role))
      expect([role, (await browser.get('/audit-entries')).status]).toEqual([role, status])
    }
    const stranger = await house.addOwner('A Stranger')
    await (await house.signedIn(stranger)).post('/contacts', { type: 'company', name: 'X' })
    expect((await reader.get('/audit-entries?limit=200')).text).not.toContain('A Stranger')
  })
})

describe('a notification', () => {
  test('is read by the member it was for, and by nobody else', async () => {
    const { owner, asOwner } = await addOffice()
    const agent = await house.addMember(owner.organizationId, 'agent')
    const [mine, theirs] = [house.office.newId(), house.office.newId()]
    const contact = await asOwner.post('/contacts', { type: 'company', name: 'X' })
    expect(contact.status).toBe(201)
    const { rows } = await house.office.owner.query<{ id: string }>(
      'select id from events where organization_id = $1 limit 1',
      [owner.organizationId],
    )
    for (const [id, person] of [
      [mine, owner],
      [theirs, agent],
    ] as const) {
      await house.office.owner.query(
        `insert into notifications (id, organization_id, recipient_id, key, type, event_id, data, recorded_at)
         values ($1::uuid, $2, $3, $1::uuid::text, 'test', $4, '{}', now())`,
        [id, owner.organizationId, person.userId, rows[0]?.id],
      )
    }
    const asAgent = await house.signedIn(agent)
    const listed = async (browser: Browser) =>
      ((await browser.get('/notifications')).body['items'] as { id: string }[]).map(({ id }) => id)
    expect([await listed(asOwner), await listed(asAgent)]).toEqual([[mine], [theirs]])
    expect((await asAgent.get(`/notifications?recipientId=${owner.userId}`)).status).toBe(404)
    expect((await asAgent.post(`/notifications/${mine}/read`, {})).status).toBe(404)
    expect((await asAgent.post(`/notifications/${mine}/read`, { recipientId: owner.userId })).status).toBe(404)
    expect((await asAgent.post(`/notifications/${theirs}/read`, {})).status).toBe(200)
    expect((await asOwner.get('/notifications')).body['items']).toMatchObject([{ id: mine, readAt: null }])
    const key = await makeApiKey(house.office, owner.organizationId, 'program')
    const program = house.browser({ headers: { authorization: `Bearer ${key}` } })
    expect((await program.get('/notifications')).status).toBe(422)
    expect((await program.get(`/notifications?recipientId=${agent.userId}`)).body['items']).toMatchObject([
      { id: theirs },
    ])
  })
})
