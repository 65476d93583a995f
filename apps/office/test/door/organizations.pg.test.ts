import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from '../support/cookie-browser.ts'
import { createHouse, type House, PASSWORD, type TestMember, turnTwoFactorOn } from '../support/house.ts'

let house: House

beforeAll(async () => {
  house = await createHouse()
})

afterAll(() => house.close())

const organizationOf = async (browser: Browser) => (await browser.get('/me')).body['organization']
const enter = (browser: Browser, organizationId: string) => browser.post('/me/organization', { organizationId })

/** Somebody who owns one organisation and serves another. */
async function addWanderer(): Promise<{ own: TestMember; other: TestMember; boss: TestMember; browser: Browser }> {
  const own = await house.addOwner()
  const boss = await house.addOwner()
  const other = await house.addMember(boss.organizationId, 'agent', own)
  return { own, other, boss, browser: await house.signedIn(own) }
}

describe('somebody in two organisations', () => {
  test('sees both, works in one, and is in it whoever they are there', async () => {
    const { own, other, browser } = await addWanderer()
    const before = await browser.get('/me')
    expect(before.body).toMatchObject({
      organization: { id: own.organizationId, role: 'owner', memberId: own.memberId },
      organizations: [
        { id: own.organizationId, role: 'owner' },
        { id: other.organizationId, role: 'agent' },
      ],
    })
    const after = await enter(browser, other.organizationId)
    expect(after.status).toBe(200)
    expect(after.body).toMatchObject({
      organization: { id: other.organizationId, role: 'agent', memberId: other.memberId },
    })
    expect((await browser.get('/me')).body).toEqual(after.body)
    expect((await browser.get('/members')).status).toBe(403)
  })

  test('writes into the one they work in, and sees nothing of the other', async () => {
    const { own, other, browser } = await addWanderer()
    const made = await browser.post('/contacts', { type: 'company', name: 'Of my own' })
    await enter(browser, other.organizationId)
    expect((await browser.get(`/contacts/${made.body['id']}`)).status).toBe(404)
    await browser.post('/contacts', { type: 'company', name: 'Of the other' })
    const { rows } = await house.office.owner.query(
      `select organization_id, name from contacts where organization_id = any ($1) order by name`,
      [[own.organizationId, other.organizationId]],
    )
    expect(rows).toEqual([
      { organization_id: own.organizationId, name: 'Of my own' },
      { organization_id: other.organizationId, name: 'Of the other' },
    ])
  })

  test('works where each of their browsers is', async () => {
    const { own, other, browser } = await addWanderer()
    const second = await house.signedIn(own)
    await enter(browser, other.organizationId)
    expect(await organizationOf(browser)).toMatchObject({ id: other.organizationId })
    expect(await organizationOf(second)).toMatchObject({ id: own.organizationId })
  })

  test('stays where they are when the session is renewed: a new password, the second factor on and off', async () => {
    const { other, browser } = await addWanderer()
    await enter(browser, other.organizationId)
    await turnTwoFactorOn(browser)
    expect(await organizationOf(browser)).toMatchObject({ id: other.organizationId })
    await browser
      .copy(undefined, { address: '192.0.2.50' })
      .auth('two-factor/generate-backup-codes', { password: PASSWORD })
    const elsewhere = browser.copy(undefined, { address: '192.0.2.51' })
    expect((await elsewhere.auth('two-factor/disable', { password: PASSWORD })).status).toBe(200)
    expect(await organizationOf(elsewhere)).toMatchObject({ id: other.organizationId })
    const change = { currentPassword: PASSWORD, newPassword: 'a new and longer password' }
    expect((await elsewhere.auth('change-password', change)).status).toBe(200)
    expect(await organizationOf(elsewhere)).toMatchObject({ id: other.organizationId })
  })

  test('enters none that they do not belong to', async () => {
    const { own, browser } = await addWanderer()
    const stranger = await house.addOwner()
    for (const organizationId of [stranger.organizationId, randomUUID()]) {
      expect(await enter(browser, organizationId)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
    expect(await organizationOf(browser)).toMatchObject({ id: own.organizationId })
  })

  test('who is removed from one is in the other from the next request on', async () => {
    const { own, other, boss, browser } = await addWanderer()
    await enter(browser, other.organizationId)
    const removed = await (await house.signedIn(boss)).post(`/members/${other.memberId}/remove`)
    expect(removed.status).toBe(200)
    expect(await organizationOf(browser)).toMatchObject({ id: own.organizationId })
    expect((await enter(browser, other.organizationId)).status).toBe(404)
  })
})

describe('somebody without an organisation', () => {
  test('is signed in, and may do what is about themselves and nothing else', async () => {
    const person = await house.addPerson()
    const browser = await house.signedIn(person)
    const answer = await browser.get('/me')
    expect(answer.body).toMatchObject({ user: { id: person.userId }, organization: null, organizations: [] })
    expect((await browser.get('/me/sessions')).status).toBe(200)
    for (const path of ['/contacts', '/members', '/audit-entries', '/notifications']) {
      expect(await browser.get(path)).toMatchObject({ status: 403, body: { code: 'no_organization' } })
    }
    const write = await browser.post('/contacts', { type: 'company', name: 'X' })
    expect(write).toMatchObject({ status: 403, body: { code: 'no_organization' } })
  })

  test('who is not signed in either is told to', async () => {
    for (const path of ['/me', '/me/sessions', '/contacts', '/members']) {
      expect(await house.browser().get(path)).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    }
  })
})
