/** What docs/register.md shows is what happens: its recipes, its requests and its answers, against a real office. */
import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import { errors } from '@einmal/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runCommand } from './support/command-line.ts'
import { createForgetfulProxy } from './support/forgetful-proxy.ts'
import { createLabelPrinter, type LabelPrinter } from './support/label-printer.ts'
import {
  createTestOffice,
  startServer,
  type TestOffice,
  type TestOrganization,
  type TestServer,
} from './support/office.ts'
import { readRecipePage } from './support/recipe-page.ts'
import {
  functionRecipe,
  makeRecipe,
  n8nRecipe,
  type Recipe,
  type RunEnd,
  type Surroundings,
  shellRecipe,
  zapierRecipe,
} from './support/recipes.ts'
import { playExchanges } from './support/wire-exchanges.ts'

const page = readRecipePage('docs/register.md')

let office: TestOffice
let organization: TestOrganization
let server: TestServer
let printer: LabelPrinter
let surroundings: Surroundings

/** What Zapier's app has: tasks, each found by its reference. */
const tasks = new Map<string, unknown>()
let losesAnswers = false

beforeAll(async () => {
  office = await createTestOffice()
  organization = await office.addOrganization('Recipes')
  server = await startServer(office)
  printer = await createLabelPrinter()
  surroundings = { officeUrl: server.url, apiKey: await makeKey('In one minute'), printerUrl: printer.url }
})

afterAll(async () => {
  await printer.close()
  await server.stop()
  await office.close()
})

beforeEach(() => {
  printer.mood = 'well'
  printer.release()
  losesAnswers = false
})

/** A key of the API, made by the command that stands below the heading. */
async function makeKey(heading: string, of: TestOrganization = organization): Promise<string> {
  const shown = /npm run (?:-s )?einmal -- (api-key create [^\n`]+)/.exec(page.section(heading))?.[1] ?? ''
  const args = [...shown.trim().split(' '), '--organization', of.organizationId]
  const { printed, said } = await runCommand(args, {
    DATABASE_URL: office.database.ownerUrl,
    EINMAL_SECRET_KEY: office.secretKey.toString('base64'),
  })
  expect(printed.trim(), said).not.toBe('')
  return printed.trim()
}

/** Both are asked for, because a minimal machine may have neither; what needs them is left out there. */
function hasShell(): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v bash && command -v curl'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function findOrCreate(reference: string, order: unknown): Promise<string> {
  if (!tasks.has(reference)) tasks.set(reference, order)
  if (losesAnswers) throw new Error('the connection was lost')
  return `task of ${String(order)}`
}

const taskCount = (order: unknown) => [...tasks.values()].filter((each) => each === order).length

/** The time goes by after which a lease of this thing ends, or its next attempt is due. */
async function letTimePass(order: string): Promise<void> {
  await office.owner.query(
    `update events set lease_until = lease_until - interval '1 day', next_attempt_at = next_attempt_at - interval '1 day'
      where organization_id = $1 and external_id = $2`,
    [organization.organizationId, order],
  )
}

async function read(path: string): Promise<Readonly<Record<string, unknown>>> {
  const headers = { authorization: `Bearer ${organization.apiKey}` }
  const response = await fetch(`${server.url}/api/v1${path}`, { headers })
  return (await response.json()) as Readonly<Record<string, unknown>>
}

const eventsOf = async (order: string) =>
  (await read(`/events?q=${encodeURIComponent(order)}`))['items'] as readonly Readonly<Record<string, unknown>>[]

/** The recipes that print a label, each made anew for the surroundings of a test. */
const printing: readonly (readonly [string, (around?: Surroundings) => Recipe])[] = [
  ['the shell script', (around = surroundings) => shellRecipe(page, around)],
  ['the workflow of n8n', (around = surroundings) => n8nRecipe(page, around)],
  ['the modules of Make', (around = surroundings) => makeRecipe(page, around)],
  [
    'the function, with a target that takes the key',
    (around = surroundings) => functionRecipe(page, around, 'accepts_key'),
  ],
  [
    'the function, with a target that can do neither',
    (around = surroundings) => functionRecipe(page, around, 'neither'),
  ],
]
const isShell = ([name]: readonly [string, unknown]) => name === 'the shell script'
const runnable = printing.filter((each) => !isShell(each) || hasShell())

const did: RunEnd = { ended: 'did' }
const knew: RunEnd = { ended: 'knew' }

let orders = 0
/** An id that no other test has. */
function newOrder(): string {
  orders += 1
  return `order-${orders}`
}

describe.each(runnable)('%s', (_name, make) => {
  test('does the work once, and stops with success the second time', async () => {
    const [run, order] = [make(), newOrder()]
    expect(await run(order)).toEqual(did)
    expect(await run(order)).toEqual(knew)
    expect(printer.labelsOf(order)).toBe(1)
    expect(await eventsOf(order)).toMatchObject([{ state: 'completed', copies: 2, attempt: 1 }])
  })

  test('does the work once where two runs start together', async () => {
    const [run, order] = [make(), newOrder()]
    const bothArePrinting = printer.holdTwo()
    const runs = [run(order), run(order)]
    // The one that works is held at the printer, so the one that ends is the other.
    const first = await Promise.race([...runs, bothArePrinting])
    expect(first).toMatchObject({ ended: 'stopped', why: expect.stringContaining('in_progress') })
    printer.release()
    expect(await Promise.all(runs)).toEqual(expect.arrayContaining([first, did]))
    expect(printer.keysOf(order)).toHaveLength(1)
  })

  test('does it the next time, where the work was refused', async () => {
    const [run, order] = [make(), newOrder()]
    printer.mood = 'refuses'
    expect(await run(order)).toMatchObject({ ended: 'stopped' })
    expect(await eventsOf(order)).toMatchObject([{ state: 'failed', isFinal: false }])
    printer.mood = 'well'
    await letTimePass(order)
    expect(await run(order)).toEqual(did)
    expect(printer.labelsOf(order)).toBe(1)
  })
})

describe.each(runnable.filter(([name]) => /shell|Make|takes the key/.test(name)))('%s', (_name, make) => {
  test.each(['hangs up', 'fails after printing'] as const)(
    'goes on with the same key, where the printer %s, and nothing is printed twice',
    async (mood) => {
      const [run, order] = [make(), newOrder()]
      printer.mood = mood
      expect(await run(order)).toMatchObject({ ended: 'stopped' })
      printer.mood = 'well'
      await letTimePass(order)
      expect(await run(order)).toEqual(did)
      expect(await run(order)).toEqual(knew)
      const [key, second] = printer.keysOf(order)
      expect(key).toMatch(/label/)
      expect(second).toBe(key)
      expect(printer.labelsOf(order)).toBe(1)
    },
  )
})

describe.each(runnable.filter(([name]) => /n8n|do neither/.test(name)))('%s', (_name, make) => {
  test.each(['hangs up', 'fails after printing'] as const)(
    'leaves it unknown, where the printer %s: nobody prints again, and a person is asked',
    async (mood) => {
      const [run, order] = [make(), newOrder()]
      printer.mood = mood
      expect(await run(order)).toMatchObject({ ended: 'stopped' })
      printer.mood = 'well'
      await letTimePass(order)
      expect(await run(order)).toMatchObject({ ended: 'stopped', why: expect.stringMatching(/outcome_unknown/) })
      expect(printer.labelsOf(order)).toBe(1)
      const desk = (await read('/review-items?limit=200'))['items']
      expect(desk).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ kind: 'unknown', data: expect.objectContaining({ externalId: order }) }),
        ]),
      )
    },
  )
})

describe.each(runnable.filter(([name]) => /shell|n8n/.test(name)))('%s', (_name, make) => {
  test.each(['reserve', 'complete'])('asks again where the answer to %s got lost, and goes on', async (step) => {
    const proxy = await createForgetfulProxy(server.url)
    try {
      const [run, order] = [make({ ...surroundings, officeUrl: proxy.url }), newOrder()]
      proxy.loseNext(step)
      expect(await run(order)).toEqual(did)
      expect(proxy.lost()).toBe(true)
      expect(printer.labelsOf(order)).toBe(1)
      expect(await eventsOf(order)).toMatchObject([{ state: 'completed', attempt: 1, copies: 1 }])
    } finally {
      await proxy.close()
    }
  })
})

describe('the steps of Zapier', () => {
  const make = () => zapierRecipe(page, surroundings, findOrCreate)

  test('do the work once, and stop with success the second time', async () => {
    const [run, order] = [make(), newOrder()]
    expect(await run(order)).toEqual(did)
    expect(await run(order)).toEqual(knew)
    expect(taskCount(order)).toBe(1)
  })

  test('do the work once where two runs start together', async () => {
    const order = newOrder()
    const opening = Promise.withResolvers<void>()
    let searches = 0
    const run = zapierRecipe(page, surroundings, async (reference, of) => {
      searches += 1
      await opening.promise
      return findOrCreate(reference, of)
    })
    const runs = [run(order), run(order)]
    const first = await Promise.race(runs)
    expect(first).toMatchObject({ ended: 'stopped', why: expect.stringContaining('in_progress') })
    opening.resolve()
    expect(await Promise.all(runs)).toEqual(expect.arrayContaining([first, did]))
    expect(searches).toBe(1)
  })

  test('find what an earlier run has created, where its answer was lost', async () => {
    const [run, order] = [make(), newOrder()]
    losesAnswers = true
    expect(await run(order)).toMatchObject({ ended: 'stopped' })
    losesAnswers = false
    expect(await run(order)).toMatchObject({ ended: 'stopped', why: expect.stringContaining('in_progress') })
    await letTimePass(order)
    expect(await run(order)).toEqual(did)
    expect(taskCount(order)).toBe(1)
  })
})

describe('an id', () => {
  const awkward = 'order "7" \\ {{1.id}} ü'

  test.each(runnable.filter(([name]) => /shell|n8n|takes the key/.test(name)))(
    'with quotation marks is one id for %s',
    async (name, make) => {
      const order = `${awkward} ${name}`
      expect(await make()(order)).toEqual(did)
      expect(await make()(order)).toEqual(knew)
      expect(await eventsOf(order)).toMatchObject([{ state: 'completed', externalId: order }])
    },
  )

  test('with quotation marks makes no JSON in Make, and nothing is done', async () => {
    const order = 'order "8"'
    expect(await makeRecipe(page, surroundings)(order)).toMatchObject({
      ended: 'stopped',
      why: expect.stringMatching(/bad_request/),
    })
    expect(printer.labelsOf(order)).toBe(0)
  })

  test('that got lost on its way is refused, and nothing is done', async () => {
    const refused = { ended: 'stopped', why: expect.stringContaining('key_unusable') }
    expect(await n8nRecipe(page, surroundings)(undefined)).toMatchObject(refused)
    expect(await makeRecipe(page, surroundings)('')).toMatchObject(refused)
    expect(await zapierRecipe(page, surroundings, findOrCreate)('undefined')).toMatchObject(refused)
    expect(await functionRecipe(page, surroundings, 'neither')(null)).toMatchObject(refused)
  })
})

test.skipIf(!hasShell())('the minute with curl prints what the page prints', async () => {
  const [, script = ''] = page.blocks('sh', 'In one minute')
  const env = { PATH: process.env['PATH'], EINMAL_URL: surroundings.officeUrl, EINMAL_KEY: surroundings.apiKey }
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env })
  expect(withoutFresh(stdout)).toBe(withoutFresh(page.block('', 'In one minute')))
})

/** Ids, tokens and times are new each time, and everything else must be as printed. */
function withoutFresh(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/"token":"[\w-]{54}"/g, '"token":"<token>"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .trim()
}

test('every request of the page is answered as the page says', async () => {
  const alone = await office.addOrganization('Alone')
  const apiKey = await makeKey('Not knowing', alone)
  const played = await playExchanges(page.blocks('http'), async ({ method, path, headers: shown, body }) => {
    const key = method === 'GET' ? alone.apiKey : apiKey
    const headers = { ...shown, authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const payload = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`${server.url}${path}`, { method, headers, ...payload })
    return { status: response.status, body: await response.json() }
  })
  expect(played.answers).toBeGreaterThan(0)
  expect(played.requests + played.answers).toBe(page.blocks('http').length)
})

test('the table of answers has the statuses of the contract', () => {
  const rows = [...page.section('What the answers mean').matchAll(/^\| (\d{3}) \| (?:`(\w+)`)? *\|/gm)]
  const known = Object.entries(errors).map(([code, { status }]) => `${status} ${code}`)
  const shown = rows.flatMap(([, status, code]) => (code === undefined ? [] : [`${status} ${code}`]))
  expect(shown).toHaveLength(13)
  expect(known).toEqual(expect.arrayContaining(shown))
})

describe('the name of a run', () => {
  const reserve = async (order: string, run: string) => {
    const headers = { authorization: `Bearer ${surroundings.apiKey}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ source: 'shop', kind: 'label.print', id: order })
    const url = `${server.url}/api/v1/register/reserve`
    const response = await fetch(url, { method: 'POST', headers: { ...headers, 'idempotency-key': run }, body })
    return { status: response.status, ...((await response.json()) as object) }
  }

  test('that is a constant makes two runs one, and both are told that the thing is theirs', async () => {
    const order = newOrder()
    expect(await reserve(order, 'label workflow')).toMatchObject({ status: 201, attempt: 1 })
    expect(await reserve(order, 'label workflow')).toMatchObject({ status: 201, attempt: 1, copies: 1 })
  })

  test.each(['undefined', 'null', '2026-12-01T10:00:00Z', '[object Object]'])(
    'that many runs send alike is refused: %s',
    async (run) => {
      expect(await reserve(newOrder(), run)).toMatchObject({ status: 400, code: 'idempotency_key_invalid' })
    },
  )
})

test('a thing is named by the key of its answer, for whoever decides about it', async () => {
  const apiKey = await makeKey('Not knowing')
  const say = async (step: string, body: object) => {
    const wish = step === 'repeat' ? { 'idempotency-key': office.newId() } : {}
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...wish }
    const url = `${server.url}/api/v1/register/${step}`
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> }
  }
  const window = { seconds: 300, reason: 'a double click', reviewOn: '2030-01-01' }
  const named = { fields: { email: 'kim@example.com' }, window }
  for (const how of [{ id: newOrder() }, { id: { contact: newOrder(), version: 7 } }, named]) {
    const { body } = await say('reserve', { source: 'crm', kind: 'contact.updated', ...how })
    await say('unknown', { token: body['token'] })
    const decided = await say('resolve', { key: body['key'], outcome: 'completed', note: 'seen it' })
    expect(decided).toMatchObject({ status: 200, body: { id: body['eventId'], state: 'completed' } })
    const repeated = await say('repeat', { key: body['key'], reason: 'once more' })
    expect(repeated).toMatchObject({ status: 201, body: { generation: 2 } })
  }
})
