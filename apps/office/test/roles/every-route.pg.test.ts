/**
 * Who may use which route: each route of the server, asked by everybody there is. The routes come from the server itself, what is
 * expected from a list written by hand.
 */
import { type ErrorCode, errors } from '@einmal/contract'
import { beforeAll, describe, expect, test } from 'vitest'
import { readRoutes } from '../../../../scripts/roles-page.ts'
import type { Route } from '../../src/app.ts'
import { type ApiScope, apiScopes, createApiKey, type Role, roles } from '../../src/modules/members/index.ts'
import { createCaseFixture } from '../support/case-fixture.ts'
import { type Call, createCalls } from '../support/every-call.ts'
import type { TestOrganization } from '../support/office.ts'
import { addPerson, nextAddress, signIn } from '../support/signed-in.ts'
import { type Expected, expectedAccess } from './expected-access.ts'

const fixture = createCaseFixture()
const routes = await readRoutes()

type Headers = Readonly<Record<string, string>>

/** What refuses a caller because of who they are; every other answer is about what was asked for. */
const refusals = ['unauthorized', 'forbidden', 'no_organization', 'origin_refused', 'signature_invalid'] as const
type Verdict = 'may' | (typeof refusals)[number]

type Who =
  | { readonly kind: 'nobody' | 'stranger' | 'dead key' }
  | { readonly kind: 'member'; readonly role: Role; readonly isElsewhere?: true }
  | { readonly kind: 'key'; readonly scope: ApiScope }

interface Caller {
  readonly name: string
  readonly who: Who
  /** Signs in anew, or is what the key says for ever. */
  readonly enter: () => Promise<Headers>
}

let ours: TestOrganization
let callOf: ReturnType<typeof createCalls>
let callers: readonly Caller[]
let headers: Map<string, Headers>

beforeAll(async () => {
  ours = await fixture.office.addOrganization('Ours')
  callOf = createCalls(fixture)
  callers = [...(await people()), ...(await programs())]
  await enterAll()
})

async function enterAll(): Promise<void> {
  headers = new Map()
  for (const { name, enter } of callers) headers.set(name, await enter())
}

async function people(): Promise<Caller[]> {
  const { office, app } = fixture
  const { organizationId, owner } = ours
  const theirs = await office.addOrganization('Theirs')
  const others = roles.filter((role) => role !== 'owner')
  const enter = (person: TestOrganization['owner']) => () => signIn(app.http, person)
  const add = (name: string, membership: Parameters<typeof addPerson>[2]) =>
    addPerson(office, { name, email: `${name}@ours.example`, password: owner.password }, membership)
  const members = await Promise.all(
    others.map(async (role): Promise<Caller> => {
      const person = await add(role, { organizationId, role })
      return { name: role, who: { kind: 'member', role }, enter: enter(person) }
    }),
  )
  const asOwner = { kind: 'member', role: 'owner' } as const
  return [
    { name: 'owner', who: asOwner, enter: enter(owner) },
    ...members,
    {
      name: 'an owner, from the page of another site',
      who: { ...asOwner, isElsewhere: true },
      enter: async () => ({ ...(await signIn(app.http, owner)), origin: 'https://elsewhere.example' }),
    },
    { name: 'the owner of another organisation', who: asOwner, enter: enter(theirs.owner) },
    { name: 'somebody without an organisation', who: { kind: 'stranger' }, enter: enter(await add('stranger', null)) },
    { name: 'nobody', who: { kind: 'nobody' }, enter: async () => ({}) },
  ]
}

async function programs(): Promise<Caller[]> {
  const { office } = fixture
  const { db, clock, newId, owner } = office
  const bearer = (key: string) => async () => ({ authorization: `Bearer ${key}` })
  const make = (scopes: readonly ApiScope[], expiresAt: Date | null = null) =>
    db.transaction(ours.organizationId, (tx) =>
      createApiKey(
        tx,
        { organizationId: ours.organizationId, now: clock.now(), newId },
        { name: scopes.join(), scopes, expiresAt, createdBy: null },
      ),
    )
  const withScope = await Promise.all(
    apiScopes.map(async (scope): Promise<Caller> => {
      const { key } = await make([scope])
      return { name: `a key: ${scope}`, who: { kind: 'key', scope }, enter: bearer(key) }
    }),
  )
  const expired = await make(['full'], new Date(clock.now().getTime() - 1))
  const revoked = await make(['full'])
  await owner.query('update api_keys set revoked_at = now() where id = $1', [revoked.row.id])
  const { apiKey } = await office.addOrganization('Foreign')
  return [
    ...withScope,
    { name: 'a key of another organisation', who: { kind: 'key', scope: 'full' }, enter: bearer(apiKey) },
    { name: 'a key that was revoked', who: { kind: 'dead key' }, enter: bearer(revoked.key) },
    { name: 'a key whose time is over', who: { kind: 'dead key' }, enter: bearer(expired.key) },
  ]
}

const nameOf = ({ method, path }: Route) => `${method === 'HEAD' ? 'GET' : method} ${path}`

function expectedOf(route: Route): Expected {
  const expected = expectedAccess.get(nameOf(route))
  if (expected !== undefined) return expected
  throw new Error(`Say in apps/office/test/roles/expected-access.ts who may use ${nameOf(route)}.`)
}

function verdictOf(route: Route, expected: Expected, who: Who): Verdict {
  const isAuth = route.path.startsWith('/api/auth/')
  const isApi = route.path.startsWith('/api/v1/')
  if (expected === 'sender') return 'signature_invalid'
  if (who.kind === 'member' && who.isElsewhere && (isAuth || isApi) && !['GET', 'HEAD'].includes(route.method)) {
    return 'origin_refused'
  }
  if (who.kind === 'dead key' && isApi) return 'unauthorized'
  if (expected === 'anybody') return 'may'
  // Who signs in or out is a person: keys are nobody there.
  if (who.kind === 'nobody' || (isAuth && /key$/.test(who.kind))) return 'unauthorized'
  if (who.kind === 'key') return expected !== 'person' && expected.scopes.includes(who.scope) ? 'may' : 'forbidden'
  if (expected === 'person') return 'may'
  if (who.kind === 'member') return expected.roles.includes(who.role) ? 'may' : 'forbidden'
  return 'no_organization'
}

async function send(route: Route, url: string, body: object | undefined, own: Headers) {
  const answer = await fixture.app.http.inject({
    method: route.method as 'GET' | 'HEAD' | 'PATCH' | 'POST',
    url,
    remoteAddress: nextAddress(),
    headers: { ...own, 'idempotency-key': fixture.office.newId() },
    ...(body === undefined ? {} : { payload: body }),
  })
  const isJson = String(answer.headers['content-type']).includes('json') && answer.body !== ''
  const code = isJson ? String(answer.json<Record<string, unknown>>()['code']) : ''
  return { status: answer.statusCode, code }
}

type Answer = Awaited<ReturnType<typeof send>>

function verdictFrom({ status, code }: Answer): Verdict | number {
  if (status >= 500) return status
  return refusals.find((refusal) => refusal === code) ?? 'may'
}

/** `HEAD` has no body to say why. */
function statusOf(verdict: Verdict): number | 'may' {
  return verdict === 'may' ? 'may' : errors[verdict satisfies ErrorCode].status
}

function succeeded({ ends }: Call, answers: readonly Answer[]): boolean {
  return answers.some(({ status, code }) => (ends === undefined ? status < 400 : code === ends))
}

test('the list written by hand has every route of the server, and no other', () => {
  expect(fixture.app.routes).toEqual(routes)
  const named = [...new Set(routes.map(nameOf))]
  expect([...expectedAccess.keys()].toSorted(), 'change apps/office/test/roles/expected-access.ts').toEqual(
    named.toSorted(),
  )
})

describe.each(routes.map((route) => ({ name: `${route.method} ${route.path}`, route })))('$name', ({ route }) => {
  test('lets in whom it is for, refuses everybody else and says why, and fails for nobody', async () => {
    const expected = expectedOf(route)
    const call = callOf(route)
    const opened = await fixture.openAnother(ours)
    const [url, body] = [await call.url(opened), await call.body(opened)]
    const answers = new Map<string, Answer>()
    for (const { name } of callers) answers.set(name, await send(route, url, body, headers.get(name) ?? {}))
    if (call.endsSessions) await enterAll()

    const isHead = route.method === 'HEAD'
    const found = callers.map(({ name }) => {
      const answer = answers.get(name) ?? { status: 0, code: '' }
      const verdict = isHead && [401, 403].includes(answer.status) ? answer.status : verdictFrom(answer)
      return `${name}: ${verdict}`
    })
    const wanted = callers.map(({ name, who }) => {
      const verdict = verdictOf(route, expected, who)
      return `${name}: ${isHead ? statusOf(verdict) : verdict}`
    })
    expect(found).toEqual(wanted)
    const told = JSON.stringify(Object.fromEntries(answers))
    const isTried = isHead || succeeded(call, [...answers.values()])
    expect(isTried, `nobody could do it, so the call is wrong: ${told}`).toBe(true)
  })
})

test('a delivery is let in by its signature, whoever brings it', async () => {
  const opened = await fixture.openAnother(ours)
  const payload = JSON.stringify({ type: 'payment.paid', data: { payment: 'p_1', amountMinor: 1, currency: 'EUR' } })
  for (const { name } of callers) {
    const signed = { ...headers.get(name), ...opened.organization.sandbox.sign(payload, { id: 'evt_1' }) }
    const answer = await fixture.app.http.inject({
      method: 'POST',
      url: opened.organization.sandbox.path,
      headers: signed,
      payload,
    })
    expect(answer.statusCode, name).toBe(200)
  }
})
