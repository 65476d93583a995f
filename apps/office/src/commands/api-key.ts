import type { Config } from '../config.ts'
import { recordAudit } from '../modules/audit/index.ts'
import {
  type ApiKeySummary,
  type ApiScope,
  type Auth,
  createApiKey,
  createAuth,
  findOwner,
  listApiKeys,
  revokeApiKey,
} from '../modules/members/index.ts'
import { createPool, type Db } from '../platform/database.ts'
import { isId } from '../platform/ids.ts'
import { deriveSecret, loadOrCreateSecretKey } from '../platform/secrets.ts'
import { type Command, exitCodes, type Given, Refusal, type Surroundings, UsageError } from './command.ts'
import { organizationOption, selectOrganization, selectOrganizations, withDatabase } from './office-database.ts'
import type { OrganizationName } from './queries.ts'
import { moment, table, toJson } from './table.ts'

/** What a key may do, in the words of the command line. */
const scopes = {
  full: ['full'],
  register: ['register'],
  'register+resolve': ['register', 'resolve'],
} as const satisfies Record<string, readonly ApiScope[]>
const scopeNames = Object.keys(scopes) as (keyof typeof scopes)[]

export const command: Command = {
  name: 'api-key',
  usage: [
    'create --name <text> [--scope <scope>] [--organization <id or name>]',
    'list [--organization <id or name>] [--json]',
    'revoke <key id>',
  ],
  about: [
    'Makes, lists and revokes keys of the API. A key acts for one organisation.',
    '`create` prints the key, once: only its hash is kept. `revoke` takes effect within five seconds, and cannot be undone.',
  ],
  options: {
    organization: { ...organizationOption, about: 'whose keys; needed to make one where there are several' },
    name: { type: 'string', value: '<text>', about: 'what the key is for, in your words' },
    scope: {
      type: 'string',
      value: '<scope>',
      about: `what the key may do: ${scopeNames.join(', ')}; full if not said`,
    },
    json: { type: 'boolean', about: 'one line of JSON for a program, instead of text' },
  },
  wordsMax: 2,
  async run(given, surroundings) {
    const [verb, ...words] = given.words
    const act = verb === undefined ? undefined : verbs[verb]
    if (act === undefined || words.length !== act.words) {
      throw new UsageError('Say what to do: create, list, or revoke with the id of a key.')
    }
    return act.run(given, surroundings)
  },
}

const verbs: Readonly<Record<string, { readonly words: number; readonly run: Command['run'] }>> = {
  create: { words: 0, run: create },
  list: { words: 0, run: list },
  revoke: { words: 1, run: revoke },
}

interface KeyDesk {
  readonly db: Db
  readonly auth: Auth
}

function withKeys<T>(surroundings: Surroundings, work: (desk: KeyDesk) => Promise<T>): Promise<T> {
  return withDatabase(surroundings, async ({ db, url, config }) => {
    const pool = createPool({ url, role: 'einmal_auth', maxConnections: 2 })
    try {
      return await work({ db, auth: await openAuth(pool, config, surroundings) })
    } finally {
      await pool.end()
    }
  })
}

async function openAuth(pool: ReturnType<typeof createPool>, config: Config, { note }: Surroundings): Promise<Auth> {
  const secretKey = config.secretKey ?? (await loadOrCreateSecretKey(config.dataDir))
  return createAuth({
    pool,
    baseUrl: config.baseUrl,
    secret: deriveSecret(secretKey, 'sessions'),
    trustedOrigins: [],
    log: { info: () => undefined, warn: note, error: note },
  })
}

async function create(given: Given, surroundings: Surroundings): Promise<number> {
  const name = given.text('name')?.trim()
  if (name === undefined || name === '') throw new UsageError('Say what the key is for: --name <text>.')
  const scope = given.choice('scope', scopeNames) ?? 'full'
  const made = await withKeys(surroundings, async ({ db, auth }) => {
    const organization = await selectOrganization(db, given.text('organization'))
    const owner = await findOwner(auth, organization.id)
    if (owner === null) throw new Refusal(`${organization.name} has no owner, and a key is made in an owner’s name.`)
    const key = await createApiKey(auth, {
      organizationId: organization.id,
      userId: owner.userId,
      name,
      scopes: scopes[scope],
    })
    await writeAudit({ db, auth }, surroundings, organization.id, 'api_key.create', key.apiKeyId, name)
    return { ...key, organization }
  })
  surroundings.note(
    `A key for ${made.organization.name}, with the id ${made.apiKeyId}. It is shown once; keep it safe:`,
  )
  surroundings.print(made.apiKey)
  return exitCodes.done
}

async function list(given: Given, surroundings: Surroundings): Promise<number> {
  const { print } = surroundings
  const keys = await withKeys(surroundings, async ({ db, auth }) => {
    const organizations = await selectOrganizations(db, given.text('organization'))
    const found: { organization: OrganizationName; key: ApiKeySummary }[] = []
    for (const organization of organizations) {
      for (const key of await listApiKeys(auth, organization.id)) found.push({ organization, key })
    }
    return found
  })
  if (given.has('json')) print(toJson({ keys: keys.map(({ key }) => key) }))
  else if (keys.length === 0) print('There is no key.')
  else {
    const heads = ['Organisation', 'Name', 'Begins with', 'May', 'State', 'Made', 'Key id']
    const rows = keys.map(({ organization, key }) => [
      organization.name,
      key.name,
      key.start,
      key.scopes.join(', '),
      stateOf(key, surroundings.clock.now()),
      moment(key.createdAt),
      key.id,
    ])
    for (const line of table(heads, rows)) print(line)
  }
  return exitCodes.done
}

function stateOf({ isEnabled, expiresAt }: ApiKeySummary, now: Date): string {
  if (!isEnabled) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid'
}

async function revoke(given: Given, surroundings: Surroundings): Promise<number> {
  const { clock, print } = surroundings
  const id = given.words[1] ?? ''
  if (!isId(id)) throw new UsageError(`"${id}" is no id of a key. The ids stand in: api-key list.`)
  const key = await withKeys(surroundings, async (desk) => {
    const found = await revokeApiKey(desk.auth, id, clock.now())
    if (found?.isEnabled === true) {
      await writeAudit(desk, surroundings, found.organizationId, 'api_key.revoke', id, found.name)
    }
    return found
  })
  if (key === null) throw new Refusal(`There is no key ${id}. The ids stand in: api-key list.`)
  print(key.isEnabled ? `The key "${key.name}" is revoked.` : `The key "${key.name}" had been revoked before.`)
  return exitCodes.done
}

/** Who has this machine is no member; the audit says so. */
async function writeAudit(
  { db }: KeyDesk,
  { clock, newId }: Surroundings,
  organizationId: string,
  action: string,
  keyId: string,
  name: string,
): Promise<void> {
  const actor = { type: 'system', id: 'command line' } as const
  const entry = { actor, action, subject: { type: 'api_key', id: keyId }, data: { name } }
  await db.transaction(organizationId, async (tx) => recordAudit(tx, organizationId, entry, clock.now(), newId))
}
