import { beforeAll, describe, expect, test } from 'vitest'
import { type Case, createCaseFixture } from '../support/case-fixture.ts'
import { steps, writes } from '../support/every-write.ts'
import type { InProcessAnswer, InProcessApp } from '../support/in-process-app.ts'
import { createRowReader, type OrganizationRows, type RowReader } from '../support/organization-rows.ts'

/**
 * Every call that writes, one by one. The list is compared with the contract, so that a new call cannot do without what all of
 * them promise: with an `Idempotency-Key` it happens once, and its repetition is told what the first was told.
 */
const fixture = createCaseFixture()
let rowsOf: RowReader

beforeAll(async () => {
  rowsOf = await createRowReader(fixture.office.owner)
})

function send(
  opened: Case,
  call: string,
  path: string,
  body: object | undefined,
  key: string | null,
  app: InProcessApp = fixture.app,
): Promise<InProcessAnswer> {
  const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key }
  const method = call.startsWith('PATCH') ? 'PATCH' : 'POST'
  const sent = body ?? (method === 'PATCH' ? {} : undefined)
  if (writes[call]?.asOwner === true) return opened.asOwner(method, path, sent, headers, app)
  if (method === 'PATCH') return app.patch(opened.organization, path, sent, headers)
  return app.post(opened.organization, path, sent, headers)
}

/** The rows of the case's organisation, but for its events: they count copies. */
async function readRest({ organization }: Case): Promise<OrganizationRows> {
  const { events: _events, ...rest } = await rowsOf.read(organization.organizationId)
  return rest
}

async function prepare(call: string) {
  const write = writes[call]
  if (write === undefined) throw new Error(`${call} is not in the list`)
  const opened = await fixture.openCase()
  const path = await write.path(opened)
  return { opened, path, body: await write.body(opened), other: write.other?.(opened) ?? { and: 'more' } }
}

/** Of people at the door and of whoever is signed in: no caller is known by whom a key could be kept, and each is once by itself. */
const withoutKey = [
  'POST /api/v1/set-up',
  'POST /api/v1/invitations/read',
  'POST /api/v1/invitations/accept',
  'POST /api/v1/me/organization',
  'POST /api/v1/me/sessions/{id}/end',
]

test('every call of the contract that writes is in this list', async () => {
  const url = await fixture.app.listen()
  const { paths } = (await (await fetch(`${url}/api/docs/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>
  }
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const writing = calls.filter((call) => /^(?!GET )\S+ \/api\/v1\//.test(call))
  expect([...Object.keys({ ...writes, ...steps }), ...withoutKey].toSorted()).toEqual(writing.toSorted())
})

test.each([
  ['half a surrogate pair', '/name', { name: 'a\ud800' }],
  ['a number that may have lost digits', '/size', { name: 'a', size: 2 ** 53 + 2 }],
])('a body with %s is refused at %s, since no repetition could be compared with it', async (_what, place, body) => {
  const opened = await fixture.openCase()
  const refused = await opened.call('/contacts', body)
  expect(refused).toMatchObject({
    status: 422,
    body: { code: 'invalid', detail: expect.stringContaining(`${place}: `) },
  })
})

test('what a program says of its work is once for its token: said again, it is said again', async () => {
  const opened = await fixture.openCase()
  const say = (step: string, body: object, app = fixture.app) =>
    app.post(opened.organization, `/register/${step}`, body)
  const reserved = await say('reserve', { source: 'shop', kind: 'label.print', id: 'order-1' })
  const token = reserved.body['token']
  const ends = [
    ['complete', { token, target: { type: 'label', id: 'L-1' } }],
    ['complete', { token, target: { type: 'label', id: 'L-1' } }],
  ] as const
  for (const [step, body] of ends) {
    for (const app of [fixture.app, fixture.otherApp]) expect(await say(step, body, app)).toMatchObject({ status: 200 })
  }
  expect(await say('fail', { token, error: { code: 'late' } })).toMatchObject({
    status: 409,
    body: { code: 'lease_lost' },
  })
})

describe.each(Object.keys(writes))('%s', (call) => {
  test('happens once for its Idempotency-Key, and the repetition is told what the first was told', async () => {
    const { opened, path, body } = await prepare(call)
    const first = await send(opened, call, path, body, 'key-1')
    expect([200, 201], JSON.stringify(first.body)).toContain(first.status)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
    const after = await readRest(opened)
    for (const app of [fixture.app, fixture.otherApp]) {
      const again = await send(opened, call, path, body, 'key-1', app)
      expect(again).toMatchObject({ status: first.status, headers: { 'idempotent-replayed': 'true' } })
      expect(again.body).toEqual(toldAgain(call, first.body))
    }
    expect(await readRest(opened)).toEqual(after)
  })

  test('refuses other content under a key that was used', async () => {
    const { opened, path, body, other } = await prepare(call)
    const first = await send(opened, call, path, body, 'key-1')
    const after = await readRest(opened)
    const differs = await send(opened, call, path, other, 'key-1', fixture.otherApp)
    expect(differs).toMatchObject({ status: 422, body: { code: 'content_differs' } })
    expect(await readRest(opened)).toEqual(after)
    expect(await send(opened, call, path, body, 'key-1')).toMatchObject({ body: toldAgain(call, first.body) })
  })
})

/** What the first answer shows and no other is `null` in a repetition. */
function toldAgain(call: string, first: InProcessAnswer['body']): InProcessAnswer['body'] {
  const shownOnce = writes[call]?.shownOnce
  return shownOnce === undefined ? first : { ...first, [shownOnce]: null }
}

const withSecrets = Object.entries(writes).flatMap(([call, { shownOnce }]): [string, string][] =>
  shownOnce === undefined ? [] : [[call, shownOnce]],
)

test.each(withSecrets)(
  '%s shows its %s in the first answer alone, and the database does not have it',
  async (call, name) => {
    const { opened, path, body } = await prepare(call)
    const first = await send(opened, call, path, body, 'key-1')
    const secret = String(first.body[name]).split('#').at(-1) ?? ''
    expect(secret.length).toBeGreaterThanOrEqual(64)
    const again = await send(opened, call, path, body, 'key-1', fixture.otherApp)
    expect(again.body).toMatchObject({ [name]: null })
    expect(JSON.stringify(await rowsOf.read(opened.organization.organizationId))).not.toContain(secret)
  },
)

describe.each(Object.keys(writes).filter((call) => writes[call]?.needsKey === true))(
  '%s moves money, or has a thing done again',
  (call) => {
    test('and without the header it is refused, and nothing of it happens', async () => {
      const { opened, path, body } = await prepare(call)
      const before = await rowsOf.read(opened.organization.organizationId)
      const refused = await send(opened, call, path, body, null)
      expect(refused).toMatchObject({ status: 400, body: { code: 'idempotency_key_missing' } })
      expect(await rowsOf.read(opened.organization.organizationId)).toEqual(before)
    })
  },
)
