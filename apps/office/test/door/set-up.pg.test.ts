import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createOrganizationWithOwner, setUpLink } from '../../src/modules/members/index.ts'
import { countStatuses, createHouse, dumpDatabase, type House, PASSWORD } from '../support/house.ts'
import { startServer, type TestServer } from '../support/office.ts'

let house: House

beforeEach(async () => {
  house = await createHouse()
})

afterEach(() => house.close())

const tokenIn = (text: string) => /\/set-up#([\w-]+)/.exec(text)?.[1] ?? ''
const tokenOf = ({ servers }: House) => tokenIn(setUpLink(servers[0].door))
const input = { organizationName: 'Möbel Müller', name: 'Olga Müller', email: 'Olga@Example.org', password: PASSWORD }

async function countOrganizations(): Promise<number> {
  const { rows } = await house.office.owner.query<{ count: string }>('select count(*) from organizations')
  return Number(rows[0]?.count)
}

describe('the link of the first start', () => {
  test('makes the organisation and its owner, who signs in with what was entered', async () => {
    const browser = house.browser()
    expect((await browser.get('/door')).body).toEqual({ needsSetUp: true, sendsMail: true })
    const made = await browser.post('/set-up', { token: tokenOf(house), ...input })
    expect(made.status).toBe(201)
    const { organizationId } = made.body
    const signIn = await browser.auth('sign-in/email', { email: 'olga@example.org', password: PASSWORD })
    expect(signIn.status).toBe(200)
    expect((await browser.get('/me')).body).toMatchObject({
      user: { name: 'Olga Müller', email: 'olga@example.org' },
      organization: { id: organizationId, name: 'Möbel Müller', role: 'owner' },
    })
    expect((await browser.get('/door')).body).toEqual({ needsSetUp: false, sendsMail: true })
  })

  test('works once', async () => {
    const token = tokenOf(house)
    expect((await house.browser().post('/set-up', { token, ...input })).status).toBe(201)
    const again = await house.browser({ server: 1 }).post('/set-up', { token, ...input, email: 'eve@example.org' })
    expect(again).toMatchObject({ status: 409, body: { code: 'set_up_done' } })
    expect(await countOrganizations()).toBe(1)
  })

  test('makes one organisation when eight come with it at once to two servers, and leaves no stray person', async () => {
    const token = tokenOf(house)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        house
          .browser({ server: index % 2 === 0 ? 0 : 1 })
          .post('/set-up', { token, ...input, email: `owner-${index}@example.org` }),
      ),
    )
    expect(countStatuses(answers)).toEqual({ 201: 1, 409: 7 })
    expect(await countOrganizations()).toBe(1)
    const { rows } = await house.office.owner.query('select from auth."user"')
    expect(rows).toHaveLength(1)
  })

  test('is the whole link: with another token nobody sets up anything', async () => {
    const token = tokenOf(house)
    for (const wrong of [
      token.slice(1),
      `${token}x`,
      token.toUpperCase(),
      'x'.repeat(token.length),
      `${'ü'.repeat(21)}x`,
    ]) {
      const answer = await house.browser().post('/set-up', { token: wrong, ...input })
      expect([wrong, answer.status, answer.body['code']]).toEqual([wrong, 403, 'link_invalid'])
    }
    expect(await countOrganizations()).toBe(0)
  })

  test('opens nothing where there is an organisation, however it was made', async () => {
    await house.addOwner()
    const answer = await house.browser().post('/set-up', { token: tokenOf(house), ...input })
    expect(answer).toMatchObject({ status: 409, body: { code: 'set_up_done' } })
    expect(await countOrganizations()).toBe(1)
  })

  test('is another one for another key of the office, and is not in the database', async () => {
    const other = await createHouse()
    try {
      expect(tokenOf(other)).not.toBe(tokenOf(house))
      const answer = await house.browser().post('/set-up', { token: tokenOf(other), ...input })
      expect(answer.status).toBe(403)
    } finally {
      await other.close()
    }
    const token = tokenOf(house)
    await house.browser().post('/set-up', { token, ...input })
    expect(await dumpDatabase(house.office)).not.toContain(token)
    expect(house.logged.join('')).not.toContain(token)
  })

  test('is printed by every start until somebody has used it, and by none after that', async () => {
    const servers: TestServer[] = []
    const start = async () => {
      const server = await startServer(house.office)
      servers.push(server)
      return server
    }
    try {
      const first = await start()
      const second = await start()
      const [printed] = first.output().match(/http\S+\/set-up#\S+/) ?? []
      expect(printed?.startsWith(`${first.url}/set-up#`)).toBe(true)
      expect(tokenIn(second.output())).toBe(tokenIn(printed ?? ''))
      const response = await fetch(`${second.url}/api/v1/set-up`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token: tokenIn(printed ?? ''), ...input }),
      })
      expect(response.status).toBe(201)
      expect((await start()).output()).not.toContain('set-up')
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
    }
  })
})

describe('an organisation', () => {
  const made = (given: Partial<typeof input> = {}) => {
    const { servers, office } = house
    const parts = { door: servers[0].door, newId: office.newId }
    return createOrganizationWithOwner(parts, { ...input, ...given }, { now: office.clock.now() })
  }

  test('is not made for an address that is taken, however it is spelled', async () => {
    await made()
    await expect(made({ email: 'OLGA@example.org' })).rejects.toMatchObject({ code: 'account_exists' })
    expect(await countOrganizations()).toBe(1)
  })

  test('that cannot be made leaves no owner behind, so that the address stays free', async () => {
    // PostgreSQL refuses the zero byte, whatever was written before it.
    await expect(made({ name: 'O\0lga' })).rejects.toMatchObject({ code: '22021' })
    expect(await countOrganizations()).toBe(0)
    await expect(made()).resolves.toMatchObject({ organizationId: expect.any(String) })
  })

  test('is not made with a password that sign-in would not take', async () => {
    await expect(made({ password: 'short' })).rejects.toThrow(RangeError)
    const answer = await house.browser().post('/set-up', { token: tokenOf(house), ...input, password: 'x'.repeat(129) })
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } })
    expect(answer.text).not.toContain('xxx')
  })

  test('may bear the name of another one', async () => {
    const [one, other] = [await made(), await made({ email: 'otto@example.org' })]
    expect(one.organizationId).not.toBe(other.organizationId)
  })
})
