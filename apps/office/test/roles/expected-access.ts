import type { ApiScope, Role } from '../../src/modules/members/index.ts'

/** Who may use a route: everybody, whoever is signed in, whoever can sign, or members with a role and keys with a scope. */
export type Expected =
  | 'anybody'
  | 'person'
  | 'sender'
  | { readonly roles: readonly Role[]; readonly scopes: readonly ApiScope[] }

const everyone: readonly Role[] = ['owner', 'admin', 'accountant', 'agent', 'viewer']

/**
 * Written by hand, and on purpose a second time: what a route declares by mistake stands in docs/roles.md as well, and not here.
 */
const groups: readonly (readonly [Expected, readonly string[]])[] = [
  [
    'anybody',
    [
      ...['GET /*', 'GET /assets/*', 'GET /healthz', 'GET /readyz', 'GET /metrics'],
      ...['GET /api/docs', 'GET /api/docs/', 'GET /api/docs/js/scalar.js'],
      ...['GET /api/docs/openapi.json', 'GET /api/docs/openapi.yaml'],
      ...[
        'GET /api/v1/door',
        'POST /api/v1/set-up',
        'POST /api/v1/invitations/read',
        'POST /api/v1/invitations/accept',
      ],
      ...['POST /api/auth/sign-in/email', 'POST /api/auth/sign-out'],
      ...['POST /api/auth/request-password-reset', 'POST /api/auth/reset-password'],
      ...['POST /api/auth/two-factor/verify-totp', 'POST /api/auth/two-factor/verify-backup-code'],
    ],
  ],
  ['sender', ['POST /webhooks/:provider/:endpointId']],
  [
    'person',
    [
      ...['GET /api/v1/me', 'POST /api/v1/me/organization'],
      ...['GET /api/v1/me/sessions', 'POST /api/v1/me/sessions/:id/end'],
      ...['POST /api/auth/revoke-sessions', 'POST /api/auth/change-password', 'POST /api/auth/update-user'],
      ...['POST /api/auth/two-factor/enable', 'POST /api/auth/two-factor/disable'],
      'POST /api/auth/two-factor/generate-backup-codes',
    ],
  ],
  [
    { roles: everyone, scopes: ['full', 'read'] },
    [
      ...['GET /api/v1/contacts', 'GET /api/v1/contacts/:id', 'GET /api/v1/contacts/:id/activity'],
      ...['GET /api/v1/companies', 'GET /api/v1/companies/:id', 'GET /api/v1/companies/:id/activity'],
      ...['GET /api/v1/deals', 'GET /api/v1/deals/:id', 'GET /api/v1/deals/:id/activity'],
      ...['GET /api/v1/invoices', 'GET /api/v1/invoices/:id', 'GET /api/v1/payments', 'GET /api/v1/payments/:id'],
      ...['GET /api/v1/review-items', 'GET /api/v1/review-items/:id'],
    ],
  ],
  [{ roles: everyone, scopes: ['full'] }, ['GET /api/v1/notifications', 'POST /api/v1/notifications/:id/read']],
  [
    { roles: ['owner', 'admin', 'accountant', 'agent'], scopes: ['full'] },
    [
      ...['POST /api/v1/contacts', 'PATCH /api/v1/contacts/:id', 'POST /api/v1/contacts/:id/notes'],
      ...['POST /api/v1/contacts/:id/points', 'POST /api/v1/contacts/:id/points/:pointId/remove'],
      ...['POST /api/v1/companies', 'PATCH /api/v1/companies/:id'],
      ...['POST /api/v1/deals', 'PATCH /api/v1/deals/:id', 'POST /api/v1/deals/:id/notes'],
      ...['POST /api/v1/invoices', 'PATCH /api/v1/invoices/:id', 'POST /api/v1/invoices/:id/duplicate'],
    ],
  ],
  [
    { roles: ['owner', 'admin', 'accountant'], scopes: ['full'] },
    [
      ...['POST /api/v1/invoices/:id/issue', 'POST /api/v1/invoices/:id/void', 'POST /api/v1/invoices/:id/pay'],
      ...['POST /api/v1/invoices/:id/credit-note', 'POST /api/v1/invoices/:id/adjustments'],
      'POST /api/v1/invoices/:id/adjustments/:adjustmentId/reverse',
      ...['POST /api/v1/payments', 'POST /api/v1/payments/:id/apply', 'POST /api/v1/payments/:id/move'],
      ...['POST /api/v1/payments/:id/refund', 'POST /api/v1/payments/:id/chargeback'],
      'POST /api/v1/payments/:id/returns/:returnId/reverse',
      ...['POST /api/v1/review-items/:id/decide', 'POST /api/v1/review-items/:id/reopen'],
    ],
  ],
  [
    { roles: ['owner', 'admin', 'accountant'], scopes: ['full', 'read'] },
    ['GET /api/v1/events', 'GET /api/v1/events/:id', 'GET /api/v1/audit-entries'],
  ],
  [
    { roles: ['owner', 'admin'], scopes: ['full'] },
    [
      ...['GET /api/v1/integrations', 'POST /api/v1/integrations', 'PATCH /api/v1/integrations/:id'],
      'POST /api/v1/events/:id/retry',
    ],
  ],
  [
    { roles: ['owner', 'admin'], scopes: [] },
    [
      ...['GET /api/v1/members', 'PATCH /api/v1/members/:id', 'POST /api/v1/members/:id/remove'],
      ...['GET /api/v1/invitations', 'POST /api/v1/invitations'],
      ...['POST /api/v1/invitations/:id/send', 'POST /api/v1/invitations/:id/cancel'],
      ...['GET /api/v1/api-keys', 'POST /api/v1/api-keys', 'POST /api/v1/api-keys/:id/revoke'],
    ],
  ],
  [
    { roles: ['owner', 'admin'], scopes: ['full', 'register'] },
    ['reserve', 'heartbeat', 'complete', 'fail', 'unknown'].map((step) => `POST /api/v1/register/${step}`),
  ],
  [
    { roles: ['owner', 'admin'], scopes: ['full', 'resolve'] },
    ['POST /api/v1/register/resolve', 'POST /api/v1/register/repeat', 'POST /api/v1/events/:id/resolve'],
  ],
]

/** By method and path; `HEAD` is what `GET` is. */
export const expectedAccess: ReadonlyMap<string, Expected> = new Map(
  groups.flatMap(([expected, routes]) => routes.map((route): [string, Expected] => [route, expected])),
)
