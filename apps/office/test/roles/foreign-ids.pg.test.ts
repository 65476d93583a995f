/**
 * Two organisations, and every route of the server called by one with ids of the other: in its path, in its query, and in every
 * field of its body that names a thing. Made from the routes and from the contract, so that a new one is tried by itself.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { readRoutes } from '../../../../scripts/roles-page.ts'
import type { Route } from '../../src/app.ts'
import { type Case, createCaseFixture } from '../support/case-fixture.ts'
import { createCalls } from '../support/every-call.ts'
import { reservedToken } from '../support/every-write.ts'
import { type Contract, type NamedField, namedFields, withValue } from '../support/named-ids.ts'
import type { TestOrganization } from '../support/office.ts'
import { createRowReader, type RowReader } from '../support/organization-rows.ts'
import { nextAddress, signIn } from '../support/signed-in.ts'

const fixture = createCaseFixture()
/** Each trial may remove one of them. */
const MEMBERS = 12

const routes = (await readRoutes()).filter(
  ({ method, path, access }) => method !== 'HEAD' && path.startsWith('/api/v1/') && access.who !== 'anybody',
)

const directions = [
  ['Alpha', 'Beta'],
  ['Beta', 'Alpha'],
] as const
type Name = (typeof directions)[number][number]

let organizations: Record<Name, TestOrganization>
let callOf: ReturnType<typeof createCalls>
let contract: Contract
let rowsOf: RowReader
/** Whatever was put into a request: it may come back, today or from a record that was made of it. */
const everSent: string[] = []
const askers = ['owner', 'key: full'] as const
const headers = new Map<string, Readonly<Record<string, string>>>()

beforeAll(async () => {
  const { office, app } = fixture
  organizations = {
    Alpha: await office.addOrganization('Alpha', MEMBERS),
    Beta: await office.addOrganization('Beta', MEMBERS),
  }
  callOf = createCalls(fixture)
  rowsOf = await createRowReader(office.owner)
  contract = (await app.http.inject('/api/docs/openapi.json')).json<Contract>()
  for (const organization of Object.values(organizations)) {
    headers.set(`${organization.name} owner`, await signIn(app.http, organization.owner))
    headers.set(`${organization.name} key: full`, { authorization: `Bearer ${organization.apiKey}` })
  }
})

/** What a field names, as the other organisation has it. */
const theirThings: Readonly<Record<string, (theirs: Case) => string | Promise<string>>> = {
  contactId: ({ organization }) => organization.contactId,
  companyId: ({ organization }) => organization.contactId,
  subjectId: ({ organization }) => organization.contactId,
  recipientId: ({ organization }) => organization.userIds[0] ?? '',
  organizationId: ({ organization }) => organization.organizationId,
  invoice: ({ invoice }) => invoice.id,
  invoiceId: ({ invoice }) => invoice.id,
  toInvoiceId: ({ invoice }) => invoice.id,
  fromInvoiceId: ({ invoice }) => invoice.id,
  cursor: ({ invoice }) => invoice.id,
  token: reservedToken,
}
/** Fields whose names look as if they named one of our things. */
const namesOfOthers = ['externalId', 'taxId']
/** What a payment says it is for may be an invoice that nobody knows: then the money waits for a person. */
const mayBeUnknown = ['invoice']

interface Sent {
  readonly url: string
  readonly body: object | undefined
}

interface Trial {
  readonly what: string
  readonly sent: Sent
  readonly isRight: (status: number, code: string) => boolean
}

const isNotFound = (status: number, code: string) => status === 404 && code === 'not_found'
const isRefused = (status: number) => status >= 400 && status < 500
const isNoFault = (status: number) => status < 500

/** The parameters of a path as the server has it, and what stands for them in this URL. */
function parametersOf(path: string, url: string): { readonly name: string; readonly value: string }[] {
  const values = (url.split('?')[0] ?? '').split('/')
  return path.split('/').flatMap((part, index) => {
    return part.startsWith(':') ? [{ name: part.slice(1), value: values[index] ?? '' }] : []
  })
}

/** Each way to put at least one of their ids into the path. */
function foreignUrls(path: string, own: string, theirs: string): string[] {
  const [ours, others] = [parametersOf(path, own), parametersOf(path, theirs)]
  const count = 2 ** ours.length
  return Array.from({ length: count - 1 }, (_, index) =>
    ours.reduce((url, { name, value }, position) => {
      const isTheirs = ((index + 1) >> position) & 1
      return url.replace(`:${name}`, isTheirs ? (others[position]?.value ?? '') : value)
    }, path),
  )
}

async function inField(sent: Sent, field: NamedField, theirs: Case): Promise<Trial[]> {
  if (namesOfOthers.includes(field.name)) return []
  const find = theirThings[field.name]
  if (find === undefined) {
    throw new Error(
      `Say in \`theirThings\` of apps/office/test/roles/foreign-ids.pg.test.ts what ${field.name} names, or in \`namesOfOthers\` that it names nothing of ours.`,
    )
  }
  const value = await find(theirs)
  const what = `their ${field.path.join('.')} in the ${field.place}`
  if (field.place === 'query') {
    const url = `${sent.url}${sent.url.includes('?') ? '&' : '?'}${field.name}=${value}`
    return [{ what, sent: { ...sent, url }, isRight: isNoFault }]
  }
  const put = field.name.endsWith('Ids') ? [value] : value
  const body = withValue(sent.body, field.path, put) as object
  return [{ what, sent: { ...sent, body }, isRight: mayBeUnknown.includes(field.name) ? isNoFault : isRefused }]
}

async function trialsOf(route: Route, own: Case, theirs: Case): Promise<Trial[]> {
  const call = callOf(route)
  const sent = { url: await call.url(own), body: await call.body(own) }
  const foreign =
    parametersOf(route.path, sent.url).length === 0 ? [] : foreignUrls(route.path, sent.url, await call.url(theirs))
  const named = (await Promise.all(namedFields(contract, route).map((field) => inField(sent, field, theirs)))).flat()
  const { organizationId } = theirs.organization
  const claimed: Sent = {
    url: `${sent.url}${sent.url.includes('?') ? '&' : '?'}organizationId=${organizationId}&organization_id=${organizationId}`,
    body: sent.body && { ...sent.body, organizationId, organization_id: organizationId },
  }
  return [
    ...foreign.map(
      (url): Trial => ({ what: `${url} with ids of theirs`, sent: { ...sent, url }, isRight: isNotFound }),
    ),
    ...named,
    // Last, because it may well be done: in the organisation of whoever asks.
    { what: 'the other organisation named in query, body and header', sent: claimed, isRight: isNoFault },
  ]
}

/** Ids and names of theirs in an answer, but for what was sent. */
async function shownOf({ organizationId, name }: TestOrganization, answer: string): Promise<string[]> {
  const sent = everSent.join(' ')
  const ids = [...new Set(answer.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g))]
  const shown = await rowsOf.known(
    organizationId,
    ids.filter((id) => !sent.includes(id)),
  )
  return new RegExp(`\\b${name}\\b`, 'i').test(answer) ? [...shown, name] : shown
}

describe.each(directions)('%s asks for what is of %s', (asking, asked) => {
  test.each(routes.map((route) => ({ name: `${route.method} ${route.path}`, route })))(
    '$name finds, shows and changes nothing of another organisation',
    async ({ route }) => {
      const own = await fixture.openAnother(organizations[asking])
      const theirs = await fixture.openAnother(organizations[asked])
      const { organizationId } = theirs.organization
      const trials = await trialsOf(route, own, theirs)
      const before = await rowsOf.digest(organizationId)
      for (const { what, sent, isRight } of trials) {
        for (const asker of askers) {
          const who = { ...headers.get(`${asking} ${asker}`), 'x-organization-id': organizationId }
          const answer = await send(route, sent, who)
          const label = `${asker}, ${what}: ${answer.statusCode} ${answer.body.slice(0, 300)}`
          const code = answer.statusCode >= 400 ? String(answer.json<Record<string, unknown>>()['code']) : ''
          const isForOthers = asker === 'key: full' && !takesKeys(route)
          expect(isForOthers ? code === 'forbidden' : isRight(answer.statusCode, code), label).toBe(true)
          expect(await shownOf(theirs.organization, answer.body), label).toEqual([])
          expect(await rowsOf.digest(organizationId), label).toEqual(before)
        }
      }
    },
  )
})

function send({ method }: Route, { url, body }: Sent, own: Readonly<Record<string, string>>) {
  everSent.push(`${url} ${JSON.stringify(body)}`)
  return fixture.app.http.inject({
    method: method as 'GET' | 'PATCH' | 'POST',
    url,
    remoteAddress: nextAddress(),
    headers: { ...own, 'idempotency-key': fixture.office.newId() },
    ...(body === undefined ? {} : { payload: body }),
  })
}

function takesKeys({ access }: Route): boolean {
  return access.who === 'member' && access.scope !== null
}

test('a delivery signed with one secret is no delivery at the address of another organisation', async () => {
  for (const [asking, asked] of directions) {
    const [own, theirs] = [organizations[asking], organizations[asked]]
    const payload = JSON.stringify({ type: 'payment.paid', data: { payment: 'p_1', amountMinor: 1, currency: 'EUR' } })
    const before = await rowsOf.digest(theirs.organizationId)
    const answer = await fixture.app.http.inject({
      method: 'POST',
      url: theirs.sandbox.path,
      remoteAddress: nextAddress(),
      headers: own.sandbox.sign(payload),
      payload,
    })
    expect(answer.json()).toMatchObject({ status: 401, code: 'signature_invalid' })
    expect(await rowsOf.digest(theirs.organizationId)).toEqual(before)
  }
})
