import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from '../support/cookie-browser.ts'
import { holdMember } from '../support/held-invoice.ts'
import { createHouse, type House, type TestMember } from '../support/house.ts'
import { makeApiKey } from '../support/office.ts'

let house: House

beforeAll(async () => {
  house = await createHouse()
})

afterAll(() => house.close())

const give = (browser: Browser, { memberId }: TestMember, role: string) =>
  browser.patch(`/members/${memberId}`, { role })
const remove = (browser: Browser, { memberId }: TestMember) => browser.post(`/members/${memberId}/remove`)

async function rolesIn(organizationId: string): Promise<Record<string, string>> {
  const { rows } = await house.office.owner.query<{ id: string; role: string }>(
    'select id, role from members where organization_id = $1 and removed_at is null',
    [organizationId],
  )
  return Object.fromEntries(rows.map(({ id, role }) => [id, role]))
}

/** An organisation with one member of each kind, and who is signed in as what. */
async function addTeam() {
  const owner = await house.addOwner()
  const [admin, agent] = [
    await house.addMember(owner.organizationId, 'admin'),
    await house.addMember(owner.organizationId, 'agent'),
  ]
  return { owner, admin, agent, asOwner: await house.signedIn(owner), asAdmin: await house.signedIn(admin) }
}

describe('the members of an organisation', () => {
  test('are listed with what they are, and with nobody of another or who has left', async () => {
    const { owner, admin, agent, asOwner } = await addTeam()
    await house.addOwner()
    await remove(asOwner, agent)
    const { body } = await asOwner.get('/members')
    expect(body['nextCursor']).toBeNull()
    const items = body['items'] as { id: string }[]
    expect(items.toSorted((one, other) => one.id.localeCompare(other.id))).toMatchObject([
      { id: owner.memberId, email: owner.email, role: 'owner', isSelf: true, hasTwoFactor: false },
      { id: admin.memberId, email: admin.email, role: 'admin', isSelf: false },
    ])
    expect(Object.keys(items[0] ?? {})).not.toContain('userId')
  })

  test('are read by pages, each once', async () => {
    const { owner, asOwner } = await addTeam()
    const read: string[] = []
    for (let cursor = ''; cursor !== 'null'; ) {
      const { body } = await asOwner.get(`/members?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
      read.push(...(body['items'] as { id: string }[]).map(({ id }) => id))
      cursor = String(body['nextCursor'])
    }
    expect(read.toSorted()).toEqual(Object.keys(await rolesIn(owner.organizationId)).toSorted())
  })
})

describe('a role', () => {
  test('that was given counts from the next request on', async () => {
    const { agent, asOwner } = await addTeam()
    const browser = await house.signedIn(agent, { server: 1 })
    expect((await browser.get('/members')).status).toBe(403)
    expect(await give(asOwner, agent, 'admin')).toMatchObject({
      status: 200,
      body: { id: agent.memberId, role: 'admin' },
    })
    expect((await browser.get('/members')).status).toBe(200)
    await give(asOwner, agent, 'viewer')
    expect((await browser.get('/members')).status).toBe(403)
    expect((await browser.post('/contacts', { type: 'company', name: 'X' })).status).toBe(403)
  })

  test('is read under the lock: whoever lost theirs while they waited changes nothing', async () => {
    const { owner, admin, agent, asAdmin, asOwner } = await addTeam()
    await using held = await holdMember(house.office, owner.memberId)
    const demoting = give(asOwner, admin, 'agent')
    await held.waiting(1)
    const late = remove(asAdmin.copy(house.servers[1].http), agent)
    await held.waiting(2)
    await held.release()
    expect((await demoting).status).toBe(200)
    expect(await late).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(await rolesIn(owner.organizationId)).toMatchObject({ [agent.memberId]: 'agent' })
  })

  test('of an owner is not given, changed or ended by an admin', async () => {
    const { owner, admin, agent, asAdmin } = await addTeam()
    for (const answer of [
      await give(asAdmin, agent, 'owner'),
      await give(asAdmin, admin, 'owner'),
      await give(asAdmin, owner, 'viewer'),
      await remove(asAdmin, owner),
    ]) {
      expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
    expect((await give(asAdmin, agent, 'accountant')).status).toBe(200)
    expect(await rolesIn(owner.organizationId)).toEqual({
      [owner.memberId]: 'owner',
      [admin.memberId]: 'admin',
      [agent.memberId]: 'accountant',
    })
  })

  test('is one of ours, of a member of ours', async () => {
    const { agent, asOwner } = await addTeam()
    const stranger = await house.addOwner()
    expect((await give(asOwner, agent, 'emperor')).status).toBe(422)
    for (const memberId of [stranger.memberId, randomUUID()]) {
      expect((await give(asOwner, { ...stranger, memberId }, 'viewer')).status).toBe(404)
      expect((await remove(asOwner, { ...stranger, memberId })).status).toBe(404)
    }
    await remove(asOwner, agent)
    expect((await give(asOwner, agent, 'admin')).status).toBe(404)
    expect((await remove(asOwner, agent)).status).toBe(404)
  })

  test('is no business of a key, whatever its scope', async () => {
    const { owner, agent } = await addTeam()
    const key = await makeApiKey(house.office, owner.organizationId, 'program')
    const program = house.browser({ headers: { authorization: `Bearer ${key}` } })
    expect((await program.get('/members')).status).toBe(403)
    expect((await give(program, agent, 'owner')).status).toBe(403)
    expect((await program.get('/me')).status).toBe(403)
  })
})

describe('the last owner', () => {
  test('cannot leave and cannot become anything else', async () => {
    const { owner, asOwner } = await addTeam()
    for (const answer of [await give(asOwner, owner, 'admin'), await remove(asOwner, owner)]) {
      expect(answer).toMatchObject({ status: 409, body: { code: 'last_owner' } })
    }
    expect(await rolesIn(owner.organizationId)).toMatchObject({ [owner.memberId]: 'owner' })
  })

  test('can when there is another one, who is the last then', async () => {
    const { owner, admin, asOwner, asAdmin } = await addTeam()
    await give(asOwner, admin, 'owner')
    expect((await give(asOwner, owner, 'viewer')).status).toBe(200)
    expect(await remove(asAdmin, admin)).toMatchObject({ status: 409, body: { code: 'last_owner' } })
  })

  test.each([
    ['take the role from each other', (one: TestMember, other: TestMember) => [other, one]],
    ['give it up', (one: TestMember, other: TestMember) => [one, other]],
  ] as const)('of two is left when both %s at once over two servers', async (_what, targets) => {
    for (let round = 0; round < 4; round += 1) {
      const { owner, admin: second, asOwner } = await addTeam()
      await give(asOwner, second, 'owner')
      const asSecond = await house.signedIn(second, { server: 1 })
      const [first, last] = targets(owner, second)
      const answers = await Promise.all([
        round % 2 === 0 ? give(asOwner, first ?? owner, 'admin') : remove(asOwner, first ?? owner),
        round % 2 === 0 ? give(asSecond, last ?? owner, 'admin') : remove(asSecond, last ?? owner),
      ])
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      const owners = Object.values(await rolesIn(owner.organizationId)).filter((role) => role === 'owner')
      expect(owners).toHaveLength(1)
    }
  })
})

describe('a member who is removed', () => {
  test('is nobody here from the next request on, whatever session they have and whatever server it is', async () => {
    const { agent, asOwner } = await addTeam()
    const browsers = [await house.signedIn(agent), await house.signedIn(agent, { server: 1 })]
    for (const browser of browsers) expect((await browser.get('/contacts')).status).toBe(200)
    expect(await remove(asOwner, agent)).toMatchObject({ status: 200, body: { id: agent.memberId } })
    for (const browser of browsers) {
      expect(await browser.get('/contacts')).toMatchObject({ status: 403, body: { code: 'no_organization' } })
      expect(await browser.post('/contacts', { type: 'company', name: 'X' })).toMatchObject({ status: 403 })
    }
  })

  test('once for one Idempotency-Key: the repetition is the same answer', async () => {
    const { agent, asOwner } = await addTeam()
    const key = { 'idempotency-key': randomUUID() }
    const answers = [
      await asOwner.post(`/members/${agent.memberId}/remove`, {}, key),
      await asOwner.copy(house.servers[1].http).post(`/members/${agent.memberId}/remove`, {}, key),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[1]?.body).toEqual(answers[0]?.body)
  })

  test('themselves has left', async () => {
    const { admin, asAdmin } = await addTeam()
    expect((await remove(asAdmin, admin)).status).toBe(200)
    expect((await asAdmin.get('/members')).status).toBe(403)
  })
})
