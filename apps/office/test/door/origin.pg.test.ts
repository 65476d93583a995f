import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHouse, type House, PASSWORD, type TestMember } from '../support/house.ts'
import { makeApiKey } from '../support/office.ts'

let house: House
let owner: TestMember

beforeAll(async () => {
  house = await createHouse()
  owner = await house.addOwner()
})

afterAll(() => house.close())

const strangers = [
  ['another site', 'https://evil.example'],
  ['a page without an origin', 'null'],
  ['another port of the same host', 'http://localhost:3001'],
  ['the same name over TLS', 'https://localhost:3000'],
  ['a name that begins like ours', 'http://localhost:3000.evil.example'],
  ['a page that says nothing', ''],
] as const

describe('a write with a cookie', () => {
  test.each(strangers)('is refused from %s, and nothing is written', async (_who, origin) => {
    const browser = await house.signedIn(owner)
    const answer = await browser.post('/contacts', { type: 'company', name: 'Forged GmbH' }, { origin })
    expect(answer).toMatchObject({ status: 403, body: { code: 'origin_refused' } })
    const { rows } = await house.office.owner.query(`select from contacts where name = 'Forged GmbH'`)
    expect(rows).toEqual([])
  })

  test.each(strangers)(
    'is refused from %s at the door too: nobody is signed out, and no session begins',
    async (_who, origin) => {
      const browser = await house.signedIn(owner)
      for (const [path, body] of [
        ['sign-out', {}],
        ['revoke-sessions', {}],
        ['update-user', { name: 'Forged' }],
        ['sign-in/email', { email: owner.email, password: PASSWORD }],
        ['request-password-reset', { email: owner.email }],
      ] as const) {
        const answer = await browser.auth(path, body, { origin })
        expect([path, answer.status, answer.body['code']]).toEqual([path, 403, 'origin_refused'])
      }
      expect((await browser.get('/me')).body).toMatchObject({ user: { name: owner.name } })
    },
  )

  test('is taken from our own page', async () => {
    const browser = await house.signedIn(owner)
    expect((await browser.post('/contacts', { type: 'company', name: 'Own GmbH' })).status).toBe(201)
  })

  test('is refused for a page of another site also where nobody is signed in, so that it signs nobody in', async () => {
    const origin = 'https://evil.example'
    const answer = await house.browser().auth('sign-in/email', { email: owner.email, password: PASSWORD }, { origin })
    expect(answer).toMatchObject({ status: 403, body: { code: 'origin_refused' } })
    expect(answer.cookies).toEqual([])
  })
})

describe('no origin is needed', () => {
  test('for a read', async () => {
    const browser = await house.signedIn(owner)
    const [{ http }] = house.servers
    const cookie = `einmal.session_token=${browser.cookie('einmal.session_token')}`
    const answer = await http.inject({ url: '/api/v1/me', headers: { cookie, origin: 'https://evil.example' } })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('for a write with a key, which no browser sends of its own accord', async () => {
    const key = await makeApiKey(house.office, owner.organizationId, 'program')
    const [{ http }] = house.servers
    const write = (headers: Record<string, string>) =>
      http.inject({
        method: 'POST',
        url: '/api/v1/contacts',
        headers: { authorization: `Bearer ${key}`, ...headers },
        payload: { type: 'company', name: 'Program GmbH' },
      })
    const answers = [await write({}), await write({ origin: 'https://tool.example' }), await write({ cookie: 'any=1' })]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201])
  })

  test('for a write with a key that is none, which is refused for that', async () => {
    const browser = await house.signedIn(owner)
    const forged = { origin: 'https://evil.example', authorization: 'Bearer x' }
    const answer = await browser.post('/contacts', { type: 'company', name: 'X' }, forged)
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
  })
})
