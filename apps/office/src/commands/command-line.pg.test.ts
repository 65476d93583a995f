/** The command line as real processes, on a database of their own with two organisations in it. */
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, runCommand } from '../../test/support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts'
import { type WrittenBooks, writeBooks } from '../../test/support/written-books.ts'
import { findApiKey } from '../modules/members/index.ts'
import { createDatabase } from '../platform/database.ts'

const EINMAL_SECRET_KEY = randomBytes(32).toString('base64')
const names = ['start', 'migrate', 'doctor', 'events', 'api-key', 'prune', 'demo']

let database: TestDatabase
let owner: pg.Pool
let first: WrittenBooks
let second: WrittenBooks

beforeAll(async () => {
  database = await createTestDatabase()
  owner = new pg.Pool({ connectionString: database.ownerUrl, max: 2 })
  owner.on('error', () => undefined)
  first = await writeBooks(owner, 'Anna GmbH')
  second = await writeBooks(owner, 'Berta KG')
})

afterAll(async () => {
  await owner?.end()
  await database?.drop()
})

function run(...args: string[]): Promise<Ended> {
  return runCommand(args, { DATABASE_URL: database.ownerUrl, EINMAL_SECRET_KEY })
}

/** Books that are broken while `work` looks at them. */
async function whileBroken(work: () => Promise<void>): Promise<void> {
  const change = (minor: number) =>
    owner.query('update invoices set paid_minor = paid_minor + $1 where id = $2', [minor, second.invoices['RE-00002']])
  await change(-1)
  try {
    await work()
  } finally {
    await change(1)
  }
}

describe('called in a way that it does not have', () => {
  test.each([
    { what: 'without a command', args: [], words: /^Usage: npm run einmal -- <command>/ },
    {
      what: 'with a command that there is not',
      args: ['docter'],
      words: /^There is no command "docter"\.[\s\S]*doctor/,
    },
    { what: 'with a word of JavaScript', args: ['constructor'], words: /^There is no command "constructor"/ },
    {
      what: 'with an option that there is not',
      args: ['doctor', '--jsn'],
      words: /^Unknown option '--jsn'\.[\s\S]*--json/,
    },
    { what: 'with an id that is none', args: ['events', 'evt_1'], words: /^"evt_1" is no id.*--id/ },
    { what: 'without a verb', args: ['api-key'], words: /^Say what to do: create, list, or revoke/ },
    { what: 'for a key without a name', args: ['api-key', 'create', '--organization', 'Anna GmbH'], words: /--name/ },
    {
      what: 'for one organisation where there are two',
      args: ['events'],
      words: /^Say which organisation: --organization .*\n {2}\S{36} {2}Anna GmbH\n {2}\S{36} {2}Berta KG\n/,
    },
  ])('$what: ends with 2 and says what would be right', async ({ args, words }) => {
    const { code, printed, said } = await run(...args)
    expect({ code, printed }).toEqual({ code: 2, printed: '' })
    expect(said).toMatch(words)
    expect(said).toContain('Usage: npm run einmal -- ')
    expect(said).not.toMatch(/\n\s+at /)
  })

  test('an organisation that there is not: ends with 2 and names those there are', async () => {
    const { code, said } = await run('doctor', '--organization', 'Caesar AG')
    expect(code).toBe(2)
    expect(said).toContain(`There is no organisation "Caesar AG". There are:\n  ${first.organizationId}  Anna GmbH\n`)
  })
})

describe('--help', () => {
  test('names every command', async () => {
    const { code, printed, said } = await run('--help')
    expect({ code, said }).toEqual({ code: 0, said: '' })
    for (const name of names) expect(printed).toMatch(new RegExp(`^ {2}${name} +\\S`, 'm'))
  })

  test('behind a command says how it is called', async () => {
    const { code, printed, said } = await run('doctor', '--help')
    expect({ code, said }).toEqual({ code: 0, said: '' })
    expect(printed).toMatch(/^Usage: npm run einmal -- doctor \[--organization/)
  })
})

describe('without a database that it can use', () => {
  const refused: readonly { what: string; env: Record<string, string>; words: RegExp }[] = [
    {
      what: 'none answers',
      env: { DATABASE_URL: 'postgres://office:hidden@127.0.0.1:1/office', EINMAL_SECRET_KEY },
      words: /^The database cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1\. .*DATABASE_URL/,
    },
    {
      what: 'the common key is missing',
      env: { DATABASE_URL: 'postgres://office:hidden@127.0.0.1:1/office' },
      words: /^EINMAL_SECRET_KEY is missing/,
    },
    {
      what: 'the data folder holds no office',
      env: { EINMAL_DATA_DIR: join(tmpdir(), 'einmal-there-is-no-such-folder') },
      words: /^There is no office in \S+\. Start one with npm start, .*EINMAL_DATA_DIR/,
    },
  ]
  test.each(refused)('because $what: ends with 2, in words', async ({ env, words }) => {
    const { code, printed, said } = await runCommand(['doctor'], env)
    expect({ code, printed }).toEqual({ code: 2, printed: '' })
    expect(said).toMatch(words)
    expect(said).not.toContain('hidden')
    expect(said).not.toMatch(/\n\s+at /)
  })
})

describe('migrate', () => {
  test('says from where to where; before, other commands say that it has to be done', async () => {
    const empty = await createTestDatabase('template1')
    const env = { DATABASE_URL: empty.ownerUrl, EINMAL_SECRET_KEY }
    try {
      const early = await runCommand(['doctor'], env)
      expect(early).toMatchObject({ code: 2, printed: '' })
      expect(early.said).toMatch(/^The database has not been brought to this version.*npm run einmal -- migrate\n$/)
      const migrated = await runCommand(['migrate'], env)
      expect(migrated).toMatchObject({ code: 0, said: '' })
      expect(migrated.printed).toMatch(/The database went from an empty database to \d{4}_\w+\.\n$/)
      const again = await runCommand(['migrate'], env)
      expect(again.printed).toMatch(/^The database is at \d{4}_\w+ already; there was nothing to do\.\n$/)
      expect(await runCommand(['doctor'], env)).toMatchObject({ code: 0 })
    } finally {
      await empty.drop()
    }
  })
})

describe('doctor', () => {
  test('books in order: ends with 0, and says which organisation it looks at', async () => {
    const { code, printed, said } = await run('doctor')
    expect({ code, said }).toEqual({ code: 0, said: '' })
    expect(printed).toMatch(
      /^Anna GmbH \(organisation 1 of 2\): .*\nBerta KG \(organisation 2 of 2\): .*\n2 organisations looked at: nothing is wrong\.\n$/,
    )
  })

  test('a sum that does not hold: ends with 1, and names the id, how it could have come about and what to do', async () => {
    await whileBroken(async () => {
      const { code, printed } = await run('doctor')
      expect(code).toBe(1)
      expect(printed).toContain('WRONG  invoice.paid')
      expect(printed).toContain(
        `${second.invoices['RE-00002']}  number RE-00002, currency EUR, found 11499, expected 11500`,
      )
      expect(printed).toMatch(/How it could have come about: \S[\s\S]*What to do: \S/)
      expect(printed).toMatch(/2 organisations looked at: one check does not hold\./)
    })
  })

  test('--organization looks at that one alone, by id or by name', async () => {
    await whileBroken(async () => {
      expect(await run('doctor', '--organization', first.organizationId)).toMatchObject({ code: 0 })
      expect(await run('doctor', '--organization', 'Berta KG')).toMatchObject({ code: 1 })
    })
  })

  test('--json is one document for a program', async () => {
    const whole = await run('doctor', '--json')
    expect(whole).toMatchObject({ code: 0, said: '' })
    expect(JSON.parse(whole.printed)).toMatchObject({
      healthy: true,
      organizations: [
        { id: first.organizationId, name: 'Anna GmbH', findings: [] },
        { id: second.organizationId, name: 'Berta KG', findings: [] },
      ],
    })
    await whileBroken(async () => {
      const broken = await run('doctor', '--json')
      expect(broken.code).toBe(1)
      const row = { subject: second.invoices['RE-00002'], number: 'RE-00002', found: 11_499, expected: 11_500 }
      expect(JSON.parse(broken.printed)).toMatchObject({
        healthy: false,
        organizations: [{ findings: [] }, { findings: [{ check: 'invoice.paid', severity: 'wrong', rows: [row] }] }],
      })
    })
  })

  test('what waits for a person is shown, and is no fault', async () => {
    const id = first.events['evt_unclear']
    const set = (change: string) => owner.query(`update events set ${change} where id = $1`, [id])
    await set(`state = 'failed', error_code = 'fault', error_message = 'no luck'`)
    try {
      const { code, printed } = await run('doctor')
      expect(code).toBe(0)
      expect(printed).toMatch(/note {3}register\.failed/)
      expect(printed).toContain(`${id}  source stripe`)
      expect(printed).toMatch(/nothing is wrong\. One thing waits for a person/)
    } finally {
      await set(`state = 'completed', error_code = null, error_message = null`)
    }
  })
})

describe('events', () => {
  const list = (...args: string[]) => run('events', '--organization', 'Anna GmbH', ...args)

  test('lists the newest first, as a table and for a program', async () => {
    const { code, printed } = await list('--limit', '3')
    expect(code).toBe(0)
    expect(printed.trimEnd().split('\n')).toHaveLength(5)
    const { events } = JSON.parse((await list('--limit', '3', '--json')).printed)
    const ids = events.map((event: { id: string }) => event.id)
    expect(ids).toEqual(ids.toSorted().toReversed())
    for (const id of ids) expect(printed).toContain(id)
  })

  test('finds by the source’s id, by source, kind and state', async () => {
    const found = async (...args: string[]) => {
      const { events } = JSON.parse((await list(...args, '--limit', '1000', '--json')).printed)
      return events.map((event: { externalId: string }) => event.externalId)
    }
    expect(await found('--id', 'evt_pi_settled')).toEqual(['evt_pi_settled'])
    expect(await found('--kind', 'unreadable')).toEqual(['evt_unclear'])
    expect(await found('--source', 'api', '--kind', 'invoice.pay')).toEqual(['evt_key-button'])
    expect(await found('--state', 'failed')).toEqual([])
    expect((await list('--state', 'failed')).printed).toBe('Anna GmbH has no such event.\n')
  })

  test('shows one with every delivery and its answer, whosever it is', async () => {
    const id = first.events['evt_pi_settled'] ?? ''
    const { code, printed } = await run('events', id)
    expect(code).toBe(0)
    expect(printed).toMatch(/^Organisation {2}Anna GmbH\n/)
    expect(printed).toMatch(/Arrived {7}4 ×/)
    expect(printed.match(/ accepted /g)).toHaveLength(3)
    const event = JSON.parse((await run('events', id, '--json')).printed)
    expect(event).toMatchObject({
      id,
      organizationId: first.organizationId,
      copies: 4,
      answer: { applied: [] },
      target: { type: 'payment', id: first.payments['pi_settled'] },
    })
    const outcomes = event.deliveries.map(({ outcome, answerStatus }: Record<string, unknown>) => [
      outcome,
      answerStatus,
    ])
    expect(outcomes.toSorted()).toEqual([
      ['done', 200],
      ['duplicate', 200],
      ['duplicate', 200],
    ])
  })

  test('shows work outside that is under way with its start, and what was said beside it', async () => {
    const id = first.events['shop-1'] ?? ''
    const rows = await owner.query('select state, finished_at, lease_until from events where id = $1', [id])
    const { state, finished_at, lease_until } = rows.rows[0]
    await owner.query(
      `update events set state = 'in_progress', finished_at = null, lease_until = '2026-01-02T10:00:00Z' where id = $1`,
      [id],
    )
    await owner.query(
      `insert into events_notes (event_id, organization_id, type, attempt, author, note, recorded_at)
        values ($1, $2, 'late_completed', 1, null, 'printed after all', now())`,
      [id, first.organizationId],
    )
    const { printed } = await run('events', id)
    expect(printed).toMatch(/^Under way {5}since \S+, lease until 2026-01-02T10:00:00Z$/m)
    expect(printed).toMatch(/late_completed +1 +printed after all/)
    const event = JSON.parse((await run('events', id, '--json')).printed)
    expect(event).toMatchObject({ state: 'in_progress', notes: [{ type: 'late_completed' }] })
    await owner.query('delete from events_notes where event_id = $1', [id])
    await owner.query('update events set state = $2, finished_at = $3, lease_until = $4 where id = $1', [
      ...[id, state, finished_at, lease_until],
    ])
  })

  test('one that there is not: ends with 1', async () => {
    const id = '00000000-0000-7000-8000-000000000000'
    expect(await run('events', id)).toEqual({ code: 1, printed: '', said: `There is no event ${id}.\n` })
    // Another organisation's is none of this one.
    const other = second.events['evt_pi_settled'] ?? ''
    expect(await run('events', other, '--organization', 'Anna GmbH')).toMatchObject({ code: 1 })
  })
})

describe('api-key', () => {
  const whose = async (key: string) => {
    // A memory of its own each time: what a server remembers for seconds is tried elsewhere.
    const fresh = createDatabase({ url: database.ownerUrl, role: 'einmal_office', maxConnections: 1 })
    try {
      return await findApiKey(fresh, key, new Date())
    } finally {
      await fresh.close()
    }
  }

  test('makes a key that works and is printed once; lists it; and revokes it for good', async () => {
    const made = await run('api-key', 'create', '--organization', 'Anna GmbH', '--name', 'Shop')
    expect(made.code).toBe(0)
    expect(made.printed).toMatch(/^einmal_\S+\n$/)
    const key = made.printed.trim()
    const known = await whose(key)
    expect(known).toMatchObject({ organizationId: first.organizationId, name: 'Shop' })
    const id = known?.apiKeyId ?? ''

    const listed = await run('api-key', 'list')
    expect(listed.printed).toMatch(new RegExp(`^Anna GmbH +Shop +${key.slice(0, 12)} +full +valid +\\S+ +${id}$`, 'm'))
    expect(listed.printed + listed.said).not.toContain(key)
    const { keys } = JSON.parse((await run('api-key', 'list', '--organization', 'Anna GmbH', '--json')).printed)
    expect(keys).toMatchObject([{ id, name: 'Shop', state: 'valid' }])
    expect((await run('api-key', 'list', '--organization', 'Berta KG')).printed).toBe('There is no key.\n')

    expect(await run('api-key', 'revoke', id)).toMatchObject({ code: 0, printed: 'The key "Shop" is revoked.\n' })
    expect(await whose(key)).toBeNull()
    expect((await run('api-key', 'revoke', id)).printed).toBe('The key "Shop" had been revoked before.\n')
    expect((await run('api-key', 'list')).printed).toMatch(/ Shop .* revoked /)
    const { rows } = await owner.query(
      `select action, actor_id, data from audit_entries where subject_id = $1 order by id`,
      [id],
    )
    expect(rows).toEqual([
      { action: 'api_key.create', actor_id: 'command line', data: { name: 'Shop' } },
      { action: 'api_key.revoke', actor_id: 'command line', data: { name: 'Shop' } },
    ])
  })

  test('a key that there is not: ends with 1', async () => {
    const { code, said } = await run('api-key', 'revoke', '00000000-0000-7000-8000-000000000000')
    expect(code).toBe(1)
    expect(said).toMatch(/^There is no key \S+\. .*api-key list/)
  })
})

describe('prune', () => {
  test('says how many it removed, how many it kept and why, and leaves books in order', async () => {
    await owner.query(`update delivery_bodies set first_received_at = now() - interval '91 days'`)
    await owner.query(
      `update delivery_bodies set first_received_at = now() - interval '89 days'
        where hash = (select d.body_hash from delivery_events as l join deliveries as d on d.id = l.delivery_id
          where l.event_id = $1)`,
      [first.events['evt_pi_part']],
    )
    const { code, printed } = await run('prune', '--organization', 'Anna GmbH')
    expect(code).toBe(0)
    const [, removed, kept] =
      /^Anna GmbH: (\d+) bodies removed; kept (\d+) because a question is open\n$/.exec(printed) ?? []
    const { rows } = await owner.query(
      `select organization_id as id, count(*)::int as rows, count(body)::int as there from delivery_bodies group by 1`,
    )
    const all = Number(removed) + Number(kept) + 1
    expect(rows).toContainEqual({ id: first.organizationId, rows: all, there: Number(kept) + 1 })
    expect(rows).toContainEqual({ id: second.organizationId, rows: all, there: all })
    expect(await run('doctor')).toMatchObject({ code: 0 })
    expect((await run('prune')).printed).toMatch(/^Anna GmbH: 0 bodies removed; kept .*\nBerta KG: \d+ bodies removed/)
  })
})
