import { getMigrations } from 'better-auth/db/migration'
import fastify, { type FastifyInstance } from 'fastify'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/test-database.ts'
import { readScopes } from './api-keys.ts'
import { authOptions } from './auth.ts'
import {
  type Auth,
  type AuthSettings,
  authRoutes,
  createApiKey,
  createAuth,
  createOrganizationWithOwner,
  findApiKey,
  type MembersDatabase,
} from './index.ts'

const BASE_URL = 'http://127.0.0.1:3000'
const PASSWORD = 'correct horse battery staple'
const NOW = new Date('2026-11-30T10:00:00Z')
const later = (ms: number) => new Date(NOW.getTime() + ms)

let database: Awaited<ReturnType<typeof createTestDatabase>>
let owner: pg.Pool
let office: pg.Pool
let settings: AuthSettings
let auth: Auth
let app: FastifyInstance
const logged: string[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  owner = openPool(database.ownerUrl)
  office = openPool(database.officeUrl)
  settings = {
    pool: openPool(database.authUrl),
    baseUrl: BASE_URL,
    secret: 'a secret that only this test knows, 0123456789',
    trustedOrigins: [BASE_URL],
    log: {
      info: () => undefined,
      warn: (message) => logged.push(message),
      error: (message) => logged.push(message),
    },
  }
  auth = createAuth(settings)
  app = fastify()
  await app.register(authRoutes, { auth })
})

afterAll(async () => {
  await app.close()
  await Promise.all([owner.end(), office.end(), settings.pool.end()])
  await database.drop()
})

describe('schema', () => {
  test('better-auth finds every table, column and index it wants in a migrated database', async () => {
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
    await auth.$context
    expect(logged).toEqual([])
  })

  test('a person is a member of an organisation at most once', async () => {
    const { organizationId, userId } = await newOrganization()
    await expect(
      owner.query(
        `insert into auth.member ("organizationId", "userId", role, "createdAt") values ($1, $2, 'viewer', now())`,
        [organizationId, userId],
      ),
    ).rejects.toMatchObject({ code: '23505', constraint: 'member_organizationId_userId_key' })
  })

  test('the server role reads these columns of schema auth and no others, and writes nothing', async () => {
    const { rows: readable } = await office.query<{ name: string }>(
      `select c.relname || '.' || a.attname as name
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       where c.relnamespace = 'auth'::regnamespace and c.relkind = 'r' and a.attnum > 0
         and has_column_privilege(c.oid, a.attnum, 'select')`,
    )
    expect(readable.map((column) => column.name).sort()).toEqual([
      'apikey.enabled',
      'apikey.expiresAt',
      'apikey.id',
      'apikey.key',
      'apikey.name',
      'apikey.permissions',
      'apikey.referenceId',
      'member.id',
      'member.organizationId',
      'member.role',
      'member.userId',
      'organization.id',
      'organization.name',
      'organization.slug',
      'user.email',
      'user.id',
      'user.name',
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
    ['reset codes', 'select value from auth.verification'],
    ['its own role', `update auth.member set role = 'owner'`],
    ['new keys', `insert into auth.apikey (key) values ('forged')`],
  ])('the server role is refused %s', async (_what, text) => {
    await expect(office.query(text)).rejects.toMatchObject({ code: '42501' })
  })

  test('the role of better-auth makes no tables', async () => {
    await expect(settings.pool.query('create table auth.more (id int)')).rejects.toMatchObject({ code: '42501' })
  })
})

describe('organisations', () => {
  test('an address that is taken is refused, however it is spelled', async () => {
    const { email } = await newOrganization()
    await expect(newOrganization({ email: email.toUpperCase() })).rejects.toMatchObject({
      code: '23505',
      constraint: 'user_email_key',
    })
  })

  test('an organisation that cannot be made leaves no owner behind, so the address stays free', async () => {
    const email = 'second-try@example.org'
    // PostgreSQL refuses the zero byte when person and password are already written.
    await expect(newOrganization({ email, name: 'M\0bel' })).rejects.toMatchObject({ code: '22021' })
    await expect(newOrganization({ email })).resolves.toMatchObject({ email })
  })

  test('a password that sign-in would not take is refused', async () => {
    await expect(newOrganization({ password: 'short' })).rejects.toThrow(RangeError)
  })

  test('two organisations may bear the same name', async () => {
    const [one, other] = [await newOrganization(), await newOrganization()]
    expect(one.organizationId).not.toBe(other.organizationId)
  })
})

describe('API keys', () => {
  test('a new key speaks for its organisation', async () => {
    const { organizationId, apiKey } = await newKey('till')
    expect(await findApiKey(newDb(), apiKey, NOW)).toEqual({
      organizationId,
      apiKeyId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'till',
      scopes: ['full'],
    })
  })

  test.each([
    [null, ['full']],
    ['{"einmal":["register","resolve"]}', ['register', 'resolve']],
    ['{"einmal":["everything"]}', []],
    ['{"other":["full"]}', []],
    ['{"einmal":"full"}', []],
    ['half of {', []],
    ['null', []],
  ])('of which %s is on record may do %j, and what cannot be read allows nothing', (permissions, scopes) => {
    expect(readScopes(permissions)).toEqual(scopes)
  })

  test('the key itself is not in the database', async () => {
    const { apiKey } = await newKey()
    const { rows } = await owner.query('select from auth.apikey k where strpos(k::text, $1) > 0', [apiKey])
    expect(rows).toEqual([])
  })

  test('an outsider makes no key for an organisation', async () => {
    const { organizationId } = await newOrganization()
    const { userId } = await newOrganization()
    await expect(createApiKey(auth, { organizationId, userId, name: 'foreign' })).rejects.toMatchObject({
      status: 'FORBIDDEN',
    })
  })

  test.each([
    ['an unknown', `einmal_${'x'.repeat(64)}`],
    ['an empty', ''],
    ['an endless', 'x'.repeat(100_000)],
    ['a binary', '\0\uD800'],
  ])('%s key is nobody', async (_what, token) => {
    expect(await findApiKey(newDb(), token, NOW)).toBeNull()
  })

  test('a disabled key is nobody', async () => {
    const { apiKey, apiKeyId } = await newKey()
    await owner.query('update auth.apikey set enabled = false where id = $1', [apiKeyId])
    expect(await findApiKey(newDb(), apiKey, NOW)).toBeNull()
  })

  test('a key expires at its moment, even while it is remembered', async () => {
    const { apiKey, apiKeyId } = await newKey()
    await owner.query('update auth.apikey set "expiresAt" = $2 where id = $1', [apiKeyId, later(1_000)])
    const db = newDb()
    expect(await findApiKey(db, apiKey, later(999))).not.toBeNull()
    expect(await findApiKey(db, apiKey, later(1_000))).toBeNull()
    expect(await findApiKey(newDb(), apiKey, later(1_000))).toBeNull()
  })

  test('a known key costs one select in five seconds, and disabling it takes no longer than that', async () => {
    const { apiKey, apiKeyId } = await newKey()
    const db = newDb()
    await findApiKey(db, apiKey, NOW)
    await owner.query('update auth.apikey set enabled = false where id = $1', [apiKeyId])
    expect(await findApiKey(db, apiKey, later(4_999))).not.toBeNull()
    expect(db.selects).toBe(1)
    expect(await findApiKey(db, apiKey, later(5_000))).toBeNull()
    expect(db.selects).toBe(2)
  })

  test('an entry from the future is not believed after the clock was set back', async () => {
    const { apiKey } = await newKey()
    const db = newDb()
    await findApiKey(db, apiKey, later(60_000))
    await findApiKey(db, apiKey, NOW)
    expect(db.selects).toBe(2)
  })

  test('guesses do not push out a key that is in use, and old guesses are forgotten', async () => {
    const { apiKey } = await newKey()
    const db = newDb()
    await findApiKey(db, apiKey, NOW)
    await findApiKey(db, 'guess', NOW)
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => findApiKey(db, `guess ${index}`, NOW)))
    expect(db.selects).toBe(1_002)
    await findApiKey(db, apiKey, NOW)
    await findApiKey(db, 'guess 999', NOW)
    expect(db.selects).toBe(1_002)
    await findApiKey(db, 'guess', NOW)
    expect(db.selects).toBe(1_003)
  })
})

describe('sign-in over HTTP', () => {
  test('the owner signs in, and the session knows the organisation and the true address at once', async () => {
    const { email, organizationId, userId } = await newOrganization()
    const signIn = await post(
      '/api/auth/sign-in/email',
      { email, password: PASSWORD },
      { 'x-client-ip': '203.0.113.9' },
      '192.0.2.2',
    )
    expect(signIn.statusCode).toBe(200)
    const cookie = signIn.cookies.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`).join('; ')
    const session = await app.inject({ url: '/api/auth/get-session', headers: { cookie } })
    expect(session.json()).toMatchObject({
      user: { id: userId },
      session: { activeOrganizationId: organizationId, ipAddress: '192.0.2.2' },
    })
  })

  test('a wrong password is refused', async () => {
    const { email } = await newOrganization()
    const answer = await post('/api/auth/sign-in/email', { email, password: 'something else' })
    expect(answer.statusCode).toBe(401)
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  test('nobody signs up uninvited', async () => {
    const answer = await post('/api/auth/sign-up/email', { name: 'Eve', email: 'eve@example.org', password: PASSWORD })
    expect(answer.statusCode).toBe(400)
    expect((await owner.query(`select from auth."user" where email = 'eve@example.org'`)).rows).toEqual([])
  })

  test('a foreign site cannot sign somebody in', async () => {
    const { email } = await newOrganization()
    const answer = await post(
      '/api/auth/sign-in/email',
      { email, password: PASSWORD },
      { origin: 'https://evil.example', cookie: 'anything=1' },
    )
    expect(answer.statusCode).toBe(403)
  })

  test('guessing passwords is slowed down by address, whatever address the client claims', async () => {
    const statuses: number[] = []
    for (const claimed of ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4']) {
      const answer = await post(
        '/api/auth/sign-in/email',
        { email: 'nobody@example.org', password: 'a guess of many' },
        { 'x-client-ip': claimed, 'x-forwarded-for': claimed },
        '192.0.2.1',
      )
      statuses.push(answer.statusCode)
    }
    expect(statuses).toEqual([401, 401, 401, 429])
  })

  test('a database that is away is a fault for our error handler', async () => {
    const dead = openPool('postgres://nobody@127.0.0.1:1/nowhere')
    expect(await faultsAtSignIn(createAuth({ ...settings, pool: dead }))).toMatchObject([{ code: 'ECONNREFUSED' }])
    await dead.end()
  })

  test('a failing statement is a fault for our error handler', async () => {
    await owner.query('revoke select on auth."user" from einmal_auth')
    try {
      expect(await faultsAtSignIn(auth)).toMatchObject([{ code: '42501' }])
    } finally {
      await owner.query('grant select on auth."user" to einmal_auth')
    }
  })
})

/** What reaches the server's own error handler, where "database away" and a bug are told apart. */
async function faultsAtSignIn(failing: Auth): Promise<Error[]> {
  const faults: Error[] = []
  const server = fastify()
  server.setErrorHandler((error: Error, _request, reply) => {
    faults.push(error)
    return reply.status(500).send()
  })
  await server.register(authRoutes, { auth: failing })
  await server.inject({
    method: 'POST',
    url: '/api/auth/sign-in/email',
    remoteAddress: nextAddress(),
    payload: { email: 'a@example.org', password: PASSWORD },
  })
  await server.close()
  return faults
}

let organizations = 0
let addresses = 0

async function newOrganization(given: { name?: string; email?: string; password?: string } = {}) {
  organizations += 1
  const email = given.email ?? `owner-${organizations}@example.org`
  const made = await createOrganizationWithOwner(auth, {
    organizationName: given.name ?? 'Möbel Müller',
    ownerName: 'Olga Müller',
    email,
    password: given.password ?? PASSWORD,
  })
  return { ...made, email }
}

async function newKey(name = 'key') {
  const { organizationId, userId } = await newOrganization()
  const { apiKey } = await createApiKey(auth, { organizationId, userId, name })
  const { rows } = await owner.query<{ id: string }>('select id from auth.apikey where "referenceId" = $1', [
    organizationId,
  ])
  return { organizationId, apiKey, apiKeyId: rows[0]?.id ?? '' }
}

/** The office's pool as the module sees it; each has a memory of its own, so a test chooses what is remembered. */
function newDb(): MembersDatabase & { readonly selects: number } {
  let selects = 0
  return {
    get selects() {
      return selects
    },
    async query<R>(text: string, values: unknown[]) {
      selects += 1
      const { rows } = await office.query(text, values)
      return rows as R[]
    },
  }
}

/** From an address of its own each time, because better-auth counts sign-ins by address. */
function post(
  url: string,
  payload: Record<string, string>,
  headers: Record<string, string> = {},
  remoteAddress = nextAddress(),
) {
  return app.inject({ method: 'POST', url, payload, remoteAddress, headers: { origin: BASE_URL, ...headers } })
}

function nextAddress(): string {
  addresses += 1
  return `198.51.100.${addresses}`
}

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString })
  // Without a listener, a connection that is ended from outside would end the process.
  pool.on('error', () => undefined)
  return pool
}
