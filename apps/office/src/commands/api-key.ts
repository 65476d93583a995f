import { apiScopes } from '@einmal/contract'
import { recordAudit } from '../modules/audit/index.ts'
import {
  type ApiKeyRow,
  apiKeyState,
  createApiKey,
  findApiKeyById,
  listApiKeys,
  revokeApiKey,
} from '../modules/members/index.ts'
import type { Db, Tx } from '../platform/database.ts'
import { isId } from '../platform/ids.ts'
import { type Command, exitCodes, type Given, Refusal, type Surroundings, UsageError } from './command.ts'
import { organizationOption, selectOrganization, selectOrganizations, withDatabase } from './office-database.ts'
import { listOrganizations, type OrganizationName } from './queries.ts'
import { moment, table, toJson } from './table.ts'

/** An organisation has a handful. */
const KEYS_MAX = 1_000

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
      about: `what the key may do: ${apiScopes.join(', ')}, or several as in register+resolve; full if not said`,
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

async function create(given: Given, surroundings: Surroundings): Promise<number> {
  const name = given.text('name')?.trim()
  if (name === undefined || name === '') throw new UsageError('Say what the key is for: --name <text>.')
  const scopes = scopesOf(given.text('scope') ?? 'full')
  const { clock, newId, note, print } = surroundings
  const { key, row, organization } = await withDatabase(surroundings, async ({ db }) => {
    const organization = await selectOrganization(db, given.text('organization'))
    const made = await db.transaction(organization.id, async (tx) => {
      const context = { organizationId: organization.id, now: clock.now(), newId }
      const key = await createApiKey(tx, context, { name, scopes, expiresAt: null, createdBy: null })
      writeAudit(tx, surroundings, 'api_key.create', key.row)
      return key
    })
    return { ...made, organization }
  })
  note(`A key for ${organization.name}, with the id ${row.id}. It is shown once; keep it safe:`)
  print(key)
  return exitCodes.done
}

function scopesOf(text: string) {
  const words = text.split('+')
  const scopes = apiScopes.filter((scope) => words.includes(scope))
  if (scopes.length === words.length) return scopes
  throw new UsageError(`--scope takes ${apiScopes.join(', ')}, or several as in register+resolve, and not "${text}".`)
}

async function list(given: Given, surroundings: Surroundings): Promise<number> {
  const { print } = surroundings
  const now = surroundings.clock.now()
  const keys = await withDatabase(surroundings, async ({ db }) => {
    const found: { organization: OrganizationName; key: ApiKeyRow }[] = []
    for (const organization of await selectOrganizations(db, given.text('organization'))) {
      const rows = await db.transaction(organization.id, (tx) => listApiKeys(tx, organization.id, null, KEYS_MAX))
      for (const key of rows) found.push({ organization, key })
    }
    return found
  })
  if (given.has('json')) print(toJson({ keys: keys.map(({ key }) => toListed(key, now)) }))
  else if (keys.length === 0) print('There is no key.')
  else {
    const heads = ['Organisation', 'Name', 'Begins with', 'May', 'State', 'Made', 'Key id']
    const rows = keys.map(({ organization, key }) => [
      organization.name,
      key.name,
      key.start,
      key.scopes.join(', '),
      apiKeyState(key, now),
      moment(key.created_at),
      key.id,
    ])
    for (const line of table(heads, rows)) print(line)
  }
  return exitCodes.done
}

/** What may be seen of a key: never its hash. */
function toListed(row: ApiKeyRow, now: Date) {
  return {
    id: row.id,
    organizationId: row.organization_id,
    name: row.name,
    start: row.start,
    scopes: row.scopes,
    state: apiKeyState(row, now),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

async function revoke(given: Given, surroundings: Surroundings): Promise<number> {
  const { print } = surroundings
  const id = given.words[1] ?? ''
  if (!isId(id)) throw new UsageError(`"${id}" is no id of a key. The ids stand in: api-key list.`)
  const { row, isNew } = await withDatabase(surroundings, ({ db }) => revokeWherever(db, surroundings, id))
  print(isNew ? `The key "${row.name}" is revoked.` : `The key "${row.name}" had been revoked before.`)
  return exitCodes.done
}

/** Whose key it is does not stand in its id, so all organisations are asked. */
async function revokeWherever(db: Db, surroundings: Surroundings, id: string) {
  for (const { id: organizationId } of await listOrganizations(db)) {
    const revoked = await db.transaction(organizationId, async (tx) => {
      if ((await findApiKeyById(tx, organizationId, id)) === undefined) return null
      const result = await revokeApiKey(tx, { organizationId, now: surroundings.clock.now() }, id)
      if (result.isNew) writeAudit(tx, surroundings, 'api_key.revoke', result.row)
      return result
    })
    if (revoked !== null) return revoked
  }
  throw new Refusal(`There is no key ${id}. The ids stand in: api-key list.`)
}

/** Who has this machine is no member; the audit says so. */
function writeAudit(tx: Tx, { clock, newId }: Surroundings, action: string, key: ApiKeyRow): void {
  const actor = { type: 'system', id: 'command line' } as const
  const entry = { actor, action, subject: { type: 'api_key', id: key.id }, data: { name: key.name } }
  recordAudit(tx, key.organization_id, entry, clock.now(), newId)
}
