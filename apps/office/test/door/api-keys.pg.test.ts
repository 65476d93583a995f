import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey, findApiKey } from '../../src/modules/members/index.ts'
import type { Db } from '../../src/platform/database.ts'
import type { Browser } from '../support/cookie-browser.ts'
import { createHouse, dumpDatabase, type House, type TestMember } from '../support/house.ts'

let house: House
let owner: TestMember
let own: Browser

beforeAll(async () => {
  house = await createHouse()
  owner = await house.addOwner()
  own = await house.signedIn(owner)
})

afterAll(() => house.close())

interface Made {
  readonly id: string
  readonly key: string
}

async function make(body: object = {}, browser: Browser = own): Promise<Made> {
  const answer = await browser.post('/api-keys', { name: 'till', scopes: ['full'], ...body })
  expect([answer.status, answer.text.slice(0, 200)]).toEqual([201, expect.anything()])
  const { apiKey, key } = answer.body as { apiKey: { id: string }; key: string }
  return { id: apiKey.id, key }
}

const program = (key: string, server: 0 | 1 = 0) =>
  house.browser({ server, headers: { authorization: `Bearer ${key}`, origin: '' } })

/** A database that counts what is asked of it; each has a memory of keys of its own. */
function countingDb(): Db & { readonly asked: () => number } {
  const [{ db }] = house.servers
  let asked = 0
  return {
    ...db,
    transaction(organizationId, work) {
      asked += 1
      return db.transaction(organizationId, work)
    },
    asked: () => asked,
  }
}

const now = () => house.office.clock.now()
const later = (from: Date, ms: number) => new Date(from.getTime() + ms)

describe('a key', () => {
  test('is shown once and acts for its organisation', async () => {
    const answer = await own.post('/api-keys', { name: 'till', scopes: ['full'] })
    expect(answer).toMatchObject({
      status: 201,
      body: {
        key: expect.stringMatching(/^einmal_[\w-]{64}$/),
        apiKey: {
          name: 'till',
          scopes: ['full'],
          state: 'valid',
          expiresAt: null,
          createdBy: { id: owner.memberId, name: owner.name },
        },
      },
    })
    const { key, apiKey } = answer.body as { key: string; apiKey: { id: string; start: string } }
    expect(key.startsWith(apiKey.start)).toBe(true)
    const made = await program(key).post('/contacts', { type: 'company', name: 'Of a program' })
    expect(made.status).toBe(201)
    expect((await own.get(`/contacts/${made.body['id']}`)).status).toBe(200)
    const listed = await own.get('/api-keys')
    expect(listed.text).toContain(apiKey.id)
    expect(listed.text).not.toContain(key)
    expect(listed.text).not.toMatch(/hash/)
  })

  test('is not shown again: a repeated answer has the record and no key, and there is one', async () => {
    const idempotencyKey = { 'idempotency-key': randomUUID() }
    const body = { name: 'repeated', scopes: ['read'] }
    const second = own.copy(house.servers[1].http)
    const answers = await Promise.all(
      [own, second, own].map((browser) => browser.post('/api-keys', body, idempotencyKey)),
    )
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(answers.filter(({ body: { key } }) => key !== null)).toHaveLength(1)
    const { rows } = await house.office.owner.query(`select from api_keys where name = 'repeated'`)
    expect(rows).toHaveLength(1)
  })

  test('is in the answer alone: the database has its hash, the log nothing', async () => {
    const { key } = await make()
    await program(key).get('/contacts')
    await program(`${key}x`).get('/contacts')
    const dump = await dumpDatabase(house.office)
    expect(dump).toContain('api_key.create')
    expect(dump).not.toContain(key)
    expect(dump).not.toContain(key.slice('einmal_'.length))
    expect(house.logged.join('')).not.toContain(key)
    expect((await own.get('/audit-entries')).text).not.toContain(key)
  })

  test.each([
    [['read'], { contacts: 200, write: 403, events: 200, reserve: 403, resolve: 403 }],
    [['register'], { contacts: 403, write: 403, events: 403, reserve: 422, resolve: 403 }],
    [['register', 'resolve'], { contacts: 403, write: 403, events: 403, reserve: 422, resolve: 422 }],
    [['full'], { contacts: 200, write: 201, events: 200, reserve: 422, resolve: 422 }],
  ])('with the scopes %j may do what they say and no more', async (scopes, statuses) => {
    const at = program((await make({ scopes })).key)
    expect({
      contacts: (await at.get('/contacts')).status,
      write: (await at.post('/contacts', { type: 'company', name: 'X' })).status,
      events: (await at.get('/events')).status,
      reserve: (await at.post('/register/reserve', {})).status,
      resolve: (await at.post('/register/resolve', {})).status,
    }).toEqual(statuses)
    for (const path of ['/api-keys', '/members', '/invitations', '/me', '/me/sessions']) {
      expect([path, (await at.get(path)).status]).toEqual([path, 403])
    }
    expect((await at.post('/api-keys', { name: 'another', scopes: ['full'] })).status).toBe(403)
  })

  test('has a name, a scope of ours, and a time that is not over', async () => {
    for (const wrong of [
      { name: '' },
      { name: 'x'.repeat(101) },
      { scopes: [] },
      { scopes: ['everything'] },
      { expiresAt: later(now(), -1).toISOString() },
      { expiresAt: 'tomorrow' },
    ]) {
      expect([wrong, (await own.post('/api-keys', { name: 'till', scopes: ['full'], ...wrong })).status]).toEqual([
        wrong,
        422,
      ])
    }
  })

  test('is made by owners and admins alone, and for their own organisation', async () => {
    for (const role of ['accountant', 'agent', 'viewer'] as const) {
      const browser = await house.signedIn(await house.addMember(owner.organizationId, role))
      expect((await browser.post('/api-keys', { name: 'till', scopes: ['full'] })).status).toBe(403)
      expect((await browser.get('/api-keys')).status).toBe(403)
    }
    const { id } = await make()
    const stranger = await house.signedIn(await house.addOwner())
    expect((await stranger.post(`/api-keys/${id}/revoke`)).status).toBe(404)
    expect((await stranger.get('/api-keys')).text).not.toContain(id)
  })
})

describe('a key that is revoked', () => {
  test('is nobody on any server after five seconds, for good, and the first time stands', async () => {
    const { id, key } = await make()
    const at = [program(key), program(key, 1)]
    for (const each of at) expect((await each.get('/contacts')).status).toBe(200)
    expect(await own.post(`/api-keys/${id}/revoke`)).toMatchObject({ status: 200, body: { id, state: 'revoked' } })
    house.pass(5_000)
    for (const each of at)
      expect(await each.get('/contacts')).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    expect(await own.post(`/api-keys/${id}/revoke`)).toMatchObject({ status: 200, body: { id, state: 'revoked' } })
    const { body } = await own.get(`/audit-entries?subjectId=${id}`)
    expect((body['items'] as { action: string }[]).map(({ action }) => action)).toEqual([
      'api_key.revoke',
      'api_key.create',
    ])
  })

  test('names who made it, also when they have left', async () => {
    const admin = await house.addMember(owner.organizationId, 'admin', await house.addPerson('Adam Admin'))
    const { id } = await make({}, await house.signedIn(admin))
    await own.post(`/members/${admin.memberId}/remove`)
    const createdBy = { id: admin.memberId, name: 'Adam Admin' }
    expect(await own.post(`/api-keys/${id}/revoke`)).toMatchObject({ status: 200, body: { createdBy } })
    expect((await own.get('/api-keys?limit=200')).body['items']).toContainEqual(
      expect.objectContaining({ id, createdBy }),
    )
  })

  test('costs one look in five seconds until then, and takes no longer', async () => {
    const { id, key } = await make()
    const db = countingDb()
    const at = now()
    await findApiKey(db, key, at)
    await own.post(`/api-keys/${id}/revoke`)
    expect(await findApiKey(db, key, later(at, 4_999))).not.toBeNull()
    expect(db.asked()).toBe(1)
    expect(await findApiKey(db, key, later(at, 5_000))).toBeNull()
    expect(db.asked()).toBe(2)
  })
})

describe('a key with an end', () => {
  test('is nobody from that moment on, even while it is remembered', async () => {
    const expiresAt = later(now(), 60_000)
    const { id, key } = await make({ expiresAt: expiresAt.toISOString() })
    const db = countingDb()
    expect(await findApiKey(db, key, later(expiresAt, -1))).toMatchObject({
      apiKeyId: id,
      organizationId: owner.organizationId,
    })
    expect(await findApiKey(db, key, expiresAt)).toBeNull()
    expect(db.asked()).toBe(1)
    expect(await findApiKey(countingDb(), key, expiresAt)).toBeNull()
    house.pass(60_000)
    expect((await program(key).get('/contacts')).status).toBe(401)
    expect((await own.get('/api-keys?limit=200')).body['items']).toContainEqual(
      expect.objectContaining({ id, state: 'expired' }),
    )
  })
})

describe('a token that is no key', () => {
  test('is nobody: of another organisation, cut, made up, empty, endless', async () => {
    const { key } = await make()
    const stranger = await house.addOwner()
    const secret = Buffer.from(key.slice('einmal_'.length), 'base64url').subarray(0, 32)
    const idOf = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex')
    const named = (organizationId: string, bytes = secret) =>
      `einmal_${Buffer.concat([bytes, idOf(organizationId)]).toString('base64url')}`
    expect(named(owner.organizationId)).toBe(key)
    for (const token of [
      named(stranger.organizationId),
      named(randomUUID()),
      named(owner.organizationId, randomBytes(32)),
      key.slice('einmal_'.length),
      key.slice(0, -1),
      `${key}A`,
      key.replace('einmal_', 'EINMAL_'),
      `einmal_${'A'.repeat(64)}`,
      `einmal_${'='.repeat(64)}`,
      'einmal_',
      'x'.repeat(10_000),
    ]) {
      const { status, body } = await program(token).get('/contacts')
      expect([token.slice(0, 80), status, body['code']]).toEqual([token.slice(0, 80), 401, 'unauthorized'])
    }
    for (const token of ['', '\0\uD800', `einmal_${'\u00fc'.repeat(64)}`]) {
      expect(await findApiKey(countingDb(), token, now())).toBeNull()
    }
    expect((await program(key).get('/contacts')).status).toBe(200)
  })

  test('that is guessed does not push out a key that is in use, and old guesses are forgotten', async () => {
    const { key } = await make()
    const db = countingDb()
    const at = now()
    const guesses = Array.from(
      { length: 1_001 },
      () =>
        `einmal_${Buffer.concat([randomBytes(32), Buffer.from(owner.organizationId.replaceAll('-', ''), 'hex')]).toString('base64url')}`,
    )
    await findApiKey(db, key, at)
    for (const guess of guesses) await findApiKey(db, guess, at)
    expect(db.asked()).toBe(1_002)
    await findApiKey(db, key, at)
    await findApiKey(db, guesses.at(-1) ?? '', at)
    expect(db.asked()).toBe(1_002)
    await findApiKey(db, guesses[0] ?? '', at)
    expect(db.asked()).toBe(1_003)
  })

  test('is not remembered after the clock was set back', async () => {
    const { key } = await make()
    const db = countingDb()
    await findApiKey(db, key, later(now(), 60_000))
    await findApiKey(db, key, now())
    expect(db.asked()).toBe(2)
  })
})

describe('making a key', () => {
  test('that is rolled back leaves none', async () => {
    const [{ db }] = house.servers
    const { organizationId } = owner
    let key = ''
    const context = { organizationId, now: now(), newId: house.office.newId }
    const input = { name: 'never', scopes: ['full'] as const, expiresAt: null, createdBy: null }
    const rolledBack = db.transaction(organizationId, async (tx) => {
      key = (await createApiKey(tx, context, input)).key
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await findApiKey(countingDb(), key, now())).toBeNull()
  })
})
