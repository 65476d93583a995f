import { getMigrations } from 'better-auth/db/migration'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { type AuthSettings, authOptions, createAuth } from '../../src/modules/members/auth.ts'
import { createLog } from '../../src/platform/log.ts'
import { Browser } from '../support/cookie-browser.ts'
import { createTestDoor } from '../support/door.ts'
import { createHouse, type House, PASSWORD } from '../support/house.ts'

let house: House
let office: pg.Pool
let settings: AuthSettings
const logged: string[] = []

beforeAll(async () => {
  house = await createHouse()
  office = openPool(house.office.database.officeUrl)
  settings = {
    pool: openPool(house.office.database.authUrl),
    address: { baseUrl: 'http://localhost:3000', trustedOrigins: ['http://localhost:3000'] },
    secret: 'a secret that only this test knows, 0123456789',
    sendResetLink: () => undefined,
    onPasswordReset: async () => undefined,
    mayUseCode: async () => true,
    log: {
      info: () => undefined,
      warn: (message) => logged.push(message),
      error: (message) => logged.push(message),
    },
  }
})

afterAll(async () => {
  await Promise.all([office.end(), settings.pool.end()])
  await house.close()
})

describe('the schema', () => {
  test('has every table, column and index that better-auth wants', async () => {
    const { toBeCreated, toBeAdded, toBeAddedIndexes, unsafeChanges, schemaProblems } = await getMigrations(
      authOptions(settings),
    )
    expect({ toBeCreated, toBeAdded, toBeAddedIndexes, unsafeChanges, schemaProblems }).toEqual({
      toBeCreated: [],
      toBeAdded: [],
      toBeAddedIndexes: [],
      unsafeChanges: [],
      schemaProblems: [],
    })
    await createAuth(settings).$context
    expect(logged).toEqual([])
  })

  test('lets the server’s role read these columns of schema auth and no others, and write nothing', async () => {
    const { rows: readable } = await office.query<{ name: string }>(
      `select c.relname || '.' || a.attname as name
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       where c.relnamespace = 'auth'::regnamespace and c.relkind = 'r' and a.attnum > 0
         and has_column_privilege(c.oid, a.attnum, 'select')`,
    )
    expect(readable.map((column) => column.name).sort()).toEqual([
      'user.email',
      'user.id',
      'user.name',
      'user.twoFactorEnabled',
    ])
    const { rows: writable } = await office.query(
      `select relname from pg_class
       where relnamespace = 'auth'::regnamespace and relkind = 'r'
         and (has_any_column_privilege(oid, 'insert, update') or has_table_privilege(oid, 'delete, truncate'))`,
    )
    expect(writable).toEqual([])
  })

  test.each([
    ['password hashes', 'select password from auth.account'],
    ['sessions', 'select token from auth.session'],
    ['links for new passwords', 'select value from auth.verification'],
    ['second factors', 'select secret from auth."twoFactor"'],
    ['attempts to sign in', 'delete from auth.sign_in_attempts'],
    [
      'new people',
      `insert into auth."user" (name, email, "emailVerified", "updatedAt") values ('x', 'x', true, now())`,
    ],
    ['new members', 'insert into members (id) values (gen_random_uuid())'],
    [
      'new organisations',
      `insert into organizations (id, name, slug, created_at) values (gen_random_uuid(), 'x', 'x', now())`,
    ],
  ])('refuses the server’s role %s', async (_what, text) => {
    await expect(office.query(text)).rejects.toMatchObject({ code: '42501' })
  })

  test.each([
    ['tables of its own', 'create table auth.more (id int)'],
    ['money', 'select from payments'],
    ['contacts', 'select from contacts'],
    ['keys', 'select hash from api_keys'],
    ['what was audited', 'select from audit_entries'],
    ['the end of an organisation', 'delete from organizations'],
  ])('refuses the door’s role %s', async (_what, text) => {
    await expect(settings.pool.query(text)).rejects.toMatchObject({ code: '42501' })
  })

  test('has a person in an organisation at most once', async () => {
    const { organizationId, userId } = await house.addOwner()
    const { owner, newId } = house.office
    const again = owner.query(
      `insert into members (id, organization_id, user_id, role, joined_at) values ($1, $2, $3, 'viewer', now())`,
      [newId(), organizationId, userId],
    )
    await expect(again).rejects.toMatchObject({ code: '23505', constraint: 'members_user_key' })
  })
})

describe('a fault of the database', () => {
  const signIn = () => house.browser().auth('sign-in/email', { email: 'a@example.org', password: PASSWORD })

  test('is a fault of ours, put on the log, and its answer says nothing of it', async () => {
    const { owner } = house.office
    await owner.query('revoke select on auth."user" from einmal_auth')
    try {
      const answer = await signIn()
      expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } })
      expect(answer.text).not.toContain('permission')
      expect(house.logged.join('')).toContain('42501')
    } finally {
      await owner.query('grant select on auth."user" to einmal_auth')
    }
    expect((await signIn()).status).toBe(401)
  })

  test('that is away is told as that: come again', async () => {
    const { clock, newId, secretKey } = house.office
    const door = createTestDoor('postgres://nobody@127.0.0.1:1/nowhere', secretKey)
    const { http } = await createApp({
      db: house.servers[0].db,
      door,
      clock,
      newId,
      secretKey,
      log: createLog('silent'),
    })
    const browser = new Browser(http)
    for (const answer of [
      await browser.auth('sign-in/email', { email: 'a@example.org', password: PASSWORD }),
      await browser.auth('two-factor/verify-totp', { code: '000000' }, { cookie: 'einmal.session_token=x.y' }),
      await browser.post('/invitations/read', { token: 'A'.repeat(64) }),
    ]) {
      expect([answer.status, answer.body['code']]).toEqual([503, 'unavailable'])
      expect(answer.headers['retry-after']).toBeDefined()
    }
    await http.close()
    await door.db.close()
  })
})

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString })
  // Without a listener, a connection that is ended from outside would end the process.
  pool.on('error', () => undefined)
  return pool
}
