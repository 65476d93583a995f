import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type App, createApp } from '../src/app.ts'
import { createLog } from '../src/platform/log.ts'
import { createTestOffice, type TestOffice } from './support/office.ts'

type Schema = Extract<Parameters<typeof z.fromJSONSchema>[0], object>

interface Body {
  readonly content?: { readonly 'application/json'?: { readonly schema: Schema } }
}

interface Operation {
  readonly security?: unknown
  readonly summary?: string
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body>>
}

let office: TestOffice
let app: App
let operations: { readonly call: string; readonly operation: Operation }[]
let named: Readonly<Record<string, Schema>>
let schemes: unknown

beforeAll(async () => {
  office = await createTestOffice()
  app = await createApp({ ...office, log: createLog('silent') })
  const answer = await app.http.inject({ method: 'GET', url: '/api/docs/openapi.json' })
  const { paths, components } = answer.json<{
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Record<string, Schema>; securitySchemes: unknown }
  }>()
  named = components.schemas
  schemes = components.securitySchemes
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ call: `${method.toUpperCase()} ${path}`, operation })),
  )
})

afterAll(async () => {
  await app.http.close()
  await office.close()
})

test('the contract shows every call that there is', () => {
  expect(operations.map(({ call }) => call).toSorted()).toEqual([
    'GET /api/v1/api-keys',
    'GET /api/v1/audit-entries',
    'GET /api/v1/companies',
    'GET /api/v1/companies/{id}',
    'GET /api/v1/companies/{id}/activity',
    'GET /api/v1/contacts',
    'GET /api/v1/contacts/{id}',
    'GET /api/v1/contacts/{id}/activity',
    'GET /api/v1/deals',
    'GET /api/v1/deals/{id}',
    'GET /api/v1/deals/{id}/activity',
    'GET /api/v1/door',
    'GET /api/v1/events',
    'GET /api/v1/events/{id}',
    'GET /api/v1/integrations',
    'GET /api/v1/invitations',
    'GET /api/v1/invoices',
    'GET /api/v1/invoices/{id}',
    'GET /api/v1/me',
    'GET /api/v1/me/sessions',
    'GET /api/v1/members',
    'GET /api/v1/notifications',
    'GET /api/v1/payments',
    'GET /api/v1/payments/{id}',
    'GET /api/v1/review-items',
    'GET /api/v1/review-items/{id}',
    'PATCH /api/v1/companies/{id}',
    'PATCH /api/v1/contacts/{id}',
    'PATCH /api/v1/deals/{id}',
    'PATCH /api/v1/integrations/{id}',
    'PATCH /api/v1/invoices/{id}',
    'PATCH /api/v1/members/{id}',
    'POST /api/v1/api-keys',
    'POST /api/v1/api-keys/{id}/revoke',
    'POST /api/v1/companies',
    'POST /api/v1/contacts',
    'POST /api/v1/contacts/{id}/notes',
    'POST /api/v1/contacts/{id}/points',
    'POST /api/v1/contacts/{id}/points/{pointId}/remove',
    'POST /api/v1/deals',
    'POST /api/v1/deals/{id}/notes',
    'POST /api/v1/events/{id}/resolve',
    'POST /api/v1/events/{id}/retry',
    'POST /api/v1/integrations',
    'POST /api/v1/invitations',
    'POST /api/v1/invitations/accept',
    'POST /api/v1/invitations/read',
    'POST /api/v1/invitations/{id}/cancel',
    'POST /api/v1/invitations/{id}/send',
    'POST /api/v1/invoices',
    'POST /api/v1/invoices/{id}/adjustments',
    'POST /api/v1/invoices/{id}/adjustments/{adjustmentId}/reverse',
    'POST /api/v1/invoices/{id}/credit-note',
    'POST /api/v1/invoices/{id}/duplicate',
    'POST /api/v1/invoices/{id}/issue',
    'POST /api/v1/invoices/{id}/pay',
    'POST /api/v1/invoices/{id}/void',
    'POST /api/v1/me/organization',
    'POST /api/v1/me/sessions/{id}/end',
    'POST /api/v1/members/{id}/remove',
    'POST /api/v1/notifications/{id}/read',
    'POST /api/v1/payments',
    'POST /api/v1/payments/{id}/apply',
    'POST /api/v1/payments/{id}/chargeback',
    'POST /api/v1/payments/{id}/move',
    'POST /api/v1/payments/{id}/refund',
    'POST /api/v1/payments/{id}/returns/{returnId}/reverse',
    'POST /api/v1/register/complete',
    'POST /api/v1/register/fail',
    'POST /api/v1/register/heartbeat',
    'POST /api/v1/register/repeat',
    'POST /api/v1/register/reserve',
    'POST /api/v1/register/resolve',
    'POST /api/v1/register/unknown',
    'POST /api/v1/review-items/{id}/decide',
    'POST /api/v1/review-items/{id}/reopen',
    'POST /api/v1/set-up',
    'POST /webhooks/{provider}/{endpointId}',
  ])
})

/** For whoever is not in yet: the link in the body proves itself, or there is no secret. */
const openCalls = [
  'GET /api/v1/door',
  'POST /api/v1/invitations/accept',
  'POST /api/v1/invitations/read',
  'POST /api/v1/set-up',
]

/** For people alone: a key that leaked must not make itself another one. */
const forPeopleAlone = /\/api\/v1\/(me|members|invitations|api-keys)(\/|$)/

test('every call under /api/v1 takes an API key or a session, those about people a session alone, and four of the door nothing', async () => {
  for (const { call, operation } of operations.filter((each) => each.call.includes('/api/v1/'))) {
    const isOpen = openCalls.includes(call)
    const ways = forPeopleAlone.test(call) ? [{ session: [] }] : [{ apiKey: [] }, { session: [] }]
    const security = isOpen ? [] : ways
    expect(operation, call).toMatchObject({ security, responses: { '4XX': {}, '5XX': {} } })
    const answer = await callWithNothing(call)
    if (isOpen) expect(answer.json(), call).not.toMatchObject({ code: 'unauthorized' })
    else expect(answer.json(), call).toMatchObject({ status: 401, code: 'unauthorized' })
    if (answer.statusCode >= 400) expect(answer.headers['content-type'], call).toContain('application/problem+json')
  }
})

/** Without a key, a session or a body, about ids that nobody has. */
function callWithNothing(call: string) {
  const [, method = '', path = ''] = /^(GET|PATCH|POST) (\S+)$/.exec(call) ?? []
  const url = path.replaceAll(/\{\w+\}/g, office.newId())
  return app.http.inject({ method: method as 'GET' | 'PATCH' | 'POST', url })
}

test('both ways to say who one is are described: a key as a bearer token, a session as the cookie of signing in', () => {
  expect(schemes).toEqual({
    apiKey: { type: 'http', scheme: 'bearer' },
    session: { type: 'apiKey', in: 'cookie', name: 'einmal.session_token' },
  })
})

test('every call says in a sentence what it does', () => {
  expect(operations.filter(({ operation }) => !operation.summary)).toEqual([])
})

test('every call of the register has examples of what is sent and answered, and each is of its own shape', () => {
  const calls = operations.filter(({ call }) => call.startsWith('POST /api/v1/register/'))
  expect(calls).toHaveLength(7)
  for (const { call, operation } of calls) {
    const { requestBody = {}, responses } = operation
    const answers = Object.entries(responses).filter(([status]) => /^2\d\d$/.test(status))
    expect(answers.length, call).toBeGreaterThan(0)
    for (const [what, body] of [['request', requestBody] as const, ...answers]) {
      const schema = schemaOf(body)
      const examples: readonly unknown[] = schema.examples ?? []
      expect(examples.length, `${call} ${what}`).toBeGreaterThan(0)
      const { error } = z.array(z.fromJSONSchema(withoutExamples(schema))).safeParse(examples)
      expect(error?.issues ?? [], `${call} ${what}`).toEqual([])
    }
  }
})

function schemaOf({ content }: Body): Schema {
  const schema = content?.['application/json']?.schema ?? {}
  return named[schema.$ref?.replace('#/components/schemas/', '') ?? ''] ?? schema
}

function withoutExamples({ examples: _examples, ...schema }: Schema): Schema {
  return schema
}
