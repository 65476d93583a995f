import type { Case, CaseFixture } from './case-fixture.ts'
import { deal, madeByOwner, pay, question, steps, to, type Write, writes } from './every-write.ts'
import { signIn } from './signed-in.ts'

/** How a route is called about things of one case. */
export interface Call {
  /** Below the address of the server, with ids of things that are there. */
  readonly url: (opened: Case) => Promise<string>
  readonly body: (opened: Case) => Promise<object | undefined>
  /** The code of the best answer that anybody gets, where nobody can be given what it takes. */
  readonly ends?: string
  /** Ends sessions of whoever calls it. */
  readonly endsSessions?: true
}

const nothing = async () => undefined
const at = (url: string, more: Partial<Call> = {}): Call => ({ url: async () => url, body: nothing, ...more })

/** Lists and single things, by method and path as the server has them. */
const reads: Readonly<Record<string, (opened: Case) => Promise<string>>> = {
  'GET /api/v1/api-keys': to('/api-keys'),
  'GET /api/v1/audit-entries': to('/audit-entries'),
  'GET /api/v1/companies': to('/companies'),
  'GET /api/v1/companies/:id': ofContact('/companies'),
  'GET /api/v1/companies/:id/activity': ofContact('/companies', '/activity'),
  'GET /api/v1/contacts': to('/contacts'),
  'GET /api/v1/contacts/:id': ofContact('/contacts'),
  'GET /api/v1/contacts/:id/activity': ofContact('/contacts', '/activity'),
  'GET /api/v1/deals': to('/deals'),
  'GET /api/v1/deals/:id': deal,
  'GET /api/v1/deals/:id/activity': async (opened) => `${await deal(opened)}/activity`,
  'GET /api/v1/events': to('/events'),
  async 'GET /api/v1/events/:id'(opened) {
    await pay(opened)
    return `/events/${(await opened.books()).events.at(-1)?.id}`
  },
  'GET /api/v1/integrations': to('/integrations'),
  'GET /api/v1/invitations': to('/invitations'),
  'GET /api/v1/invoices': to('/invoices'),
  'GET /api/v1/invoices/:id': async ({ invoice }) => `/invoices/${invoice.id}`,
  'GET /api/v1/members': to('/members'),
  'GET /api/v1/me': to('/me'),
  'GET /api/v1/me/sessions': to('/me/sessions'),
  'GET /api/v1/notifications': to('/notifications'),
  'GET /api/v1/payments': to('/payments'),
  'GET /api/v1/payments/:id': async (opened) => `/payments/${await pay(opened, opened.invoice.number)}`,
  'GET /api/v1/review-items': to('/review-items'),
  'GET /api/v1/review-items/:id': question,
}

function ofContact(list: string, rest = '') {
  return async ({ organization }: Case) => `${list}/${organization.contactId}${rest}`
}

/** What is for everybody, for whoever is signed in, or for senders. */
function otherCalls({ app, setUpToken }: Pick<CaseFixture, 'app' | 'setUpToken'>): Readonly<Record<string, Call>> {
  const pages = ['/healthz', '/readyz', '/metrics', '/api/docs', '/api/docs/', '/api/docs/js/scalar.js']
  const contracts = ['/api/docs/openapi.json', '/api/docs/openapi.yaml']
  const invited = async (opened: Case) => {
    const email = `${opened.invoice.number}-guest@${opened.organization.name}.example`.toLowerCase()
    const { link } = await madeByOwner(opened, '/invitations', { email, role: 'viewer' })
    return String(link).split('#').at(-1)
  }
  return {
    ...Object.fromEntries([...pages, ...contracts, '/api/v1/door'].map((url) => [`GET ${url}`, at(url)])),
    // Whether or not the screens are built: one that a program asks for, and a file that no build has.
    'GET /*': at('/settings/members', { ends: 'not_found' }),
    'GET /assets/*': at('/assets/of-no-build.js', { ends: 'not_found' }),
    'POST /api/v1/set-up': at('/api/v1/set-up', {
      body: async () => ({
        token: setUpToken,
        organizationName: 'Second',
        name: 'Kim',
        email: 'kim@second.example',
        password: 'a second long password',
      }),
      ends: 'set_up_done',
    }),
    'POST /api/v1/invitations/read': at('/api/v1/invitations/read', {
      body: async (opened) => ({ token: await invited(opened) }),
    }),
    'POST /api/v1/invitations/accept': at('/api/v1/invitations/accept', {
      body: async (opened) => ({ token: await invited(opened), name: 'Kim', password: 'a guest’s long password' }),
    }),
    'POST /api/v1/me/organization': at('/api/v1/me/organization', {
      body: async ({ organization }) => ({ organizationId: organization.organizationId }),
    }),
    'POST /api/v1/me/sessions/:id/end': {
      async url(opened) {
        await signIn(app.http, opened.organization.owner)
        const { body } = await opened.asOwner('GET', '/me/sessions')
        const sessions = body['items'] as { id: string; isCurrent: boolean }[]
        return `/api/v1/me/sessions/${sessions.find(({ isCurrent }) => !isCurrent)?.id}/end`
      },
      body: nothing,
    },
    ...authCalls,
    'POST /webhooks/:provider/:endpointId': {
      url: async ({ organization }) => organization.sandbox.path,
      body: async ({ invoice }) => ({
        type: 'payment.paid',
        data: { payment: 'p_webhook', amountMinor: 100, currency: 'EUR', invoice: invoice.number },
      }),
      ends: 'signature_invalid',
    },
  }
}

const ownersPassword = async ({ organization: { owner } }: Case) => ({ password: owner.password })

function auth(path: string, body: Call['body'], more: Partial<Call> = {}): [string, Call] {
  return [`POST /api/auth/${path}`, at(`/api/auth/${path}`, { body, ...more })]
}

const authCalls = Object.fromEntries([
  auth('sign-in/email', async ({ organization: { owner } }) => owner, { endsSessions: true }),
  auth('sign-out', async () => ({}), { endsSessions: true }),
  auth('revoke-sessions', async () => ({}), { endsSessions: true }),
  auth(
    'change-password',
    async ({ organization: { owner } }) => ({
      currentPassword: owner.password,
      newPassword: owner.password,
      revokeOtherSessions: true,
    }),
    { endsSessions: true },
  ),
  auth('request-password-reset', async () => ({ email: 'nobody@nowhere.example' })),
  auth('reset-password', async () => ({ token: 'of nobody', newPassword: 'a new long password' }), {
    ends: 'INVALID_TOKEN',
  }),
  auth('update-user', async ({ organization }) => ({ name: `Somebody of ${organization.name}` })),
  auth('two-factor/enable', ownersPassword),
  auth('two-factor/disable', ownersPassword, { endsSessions: true }),
  auth('two-factor/generate-backup-codes', ownersPassword, { ends: 'TWO_FACTOR_NOT_ENABLED' }),
  auth('two-factor/verify-totp', async () => ({ code: '000000' }), { ends: 'INVALID_TWO_FACTOR_COOKIE' }),
  auth('two-factor/verify-backup-code', async () => ({ code: 'aaaaa-bbbbb' }), { ends: 'INVALID_TWO_FACTOR_COOKIE' }),
])

/**
 * How to call each route. Throws for a route that nobody has described, and says where to: an undescribed one would be tried by no
 * test of roles and tenancy.
 */
export function createCalls(fixture: Pick<CaseFixture, 'app' | 'setUpToken'>) {
  const others = otherCalls(fixture)
  return function callOf(route: { readonly method: string; readonly path: string }): Call {
    const name = `${route.method === 'HEAD' ? 'GET' : route.method} ${route.path}`
    const write = [writes, steps]
      .map((list) => list[name.replaceAll(/:(\w+)/g, '{$1}')])
      .find((each) => each !== undefined)
    const read = reads[name]
    const call = others[name] ?? (read === undefined ? toCall(write) : { url: below(read), body: nothing })
    if (call !== undefined) return call
    const place = route.method === 'GET' ? '`reads` of every-call.ts' : '`writes` of every-write.ts'
    throw new Error(
      `Say in ${place} (apps/office/test/support) how ${name} is called, with ids of things that are there.`,
    )
  }
}

function toCall(write: Write | undefined): Call | undefined {
  return write && { url: below(write.path), body: async (opened) => write.body(opened) }
}

function below(path: (opened: Case) => Promise<string>): Call['url'] {
  return async (opened) => `/api/v1${await path(opened)}`
}
