import { armFault } from '../../src/platform/fault-points.ts'
import type { Case } from './case-fixture.ts'

/** Every call that writes, with what has to be there before: for tests that go through all of them. */

export interface Write {
  /** Where it is sent in a case, with what has to be there laid before. */
  readonly path: (opened: Case) => Promise<string>
  readonly body: (opened: Case) => object | undefined | Promise<object>
  /** Another content under the same key. Left out: a body where none belongs. */
  readonly other?: (opened: Case) => object
  /** Without the header it is refused. */
  readonly needsKey?: true
  /** For people alone: sent by the owner of the organisation, who is signed in. */
  readonly asOwner?: true
  /** What the first answer shows and no other: `null` in a repetition, and never stored. */
  readonly shownOnce?: string
}

const euros = (amountMinor: number) => ({ amountMinor, currency: 'EUR' })
const lines = (unitPriceMinor: number) => [{ description: 'Work', unitPriceMinor }]
const nothing = () => undefined

export const to = (path: string) => async () => path
const onContact = (rest: string) => async (opened: Case) => `/contacts/${opened.organization.contactId}${rest}`
const onInvoice = (rest: string) => async (opened: Case) => `/invoices/${opened.invoice.id}${rest}`

async function made(opened: Case, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
  const answer = await opened.call(path, body)
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

async function draft(opened: Case): Promise<string> {
  return String((await made(opened, '/invoices', { currency: 'EUR', lines: lines(500) }))['id'])
}

/** A payment on the invoice of the case, or on none. */
export async function pay(opened: Case, invoice?: string): Promise<string> {
  const { body } = await opened.sandbox({ data: { payment: nameOf(opened), ...euros(4_000), invoice } })
  return (body['target'] as { id: string }).id
}

const onPayment = (rest: string) => async (opened: Case) =>
  `/payments/${await pay(opened, opened.invoice.number)}${rest}`

export async function deal(opened: Case): Promise<string> {
  const body = {
    title: `Website of ${opened.organization.name}`,
    contactId: opened.organization.contactId,
    amount: euros(1),
  }
  return `/deals/${String((await made(opened, '/deals', body))['id'])}`
}

export async function question(opened: Case): Promise<string> {
  await pay(opened)
  return `/review-items/${(await opened.desk())[0]?.id}`
}

/** Each case of an organisation has an invoice of its own, and names other things by it. */
const nameOf = ({ invoice }: Case) => `of-${invoice.number}`

const phoneOf = ({ invoice }: Case) => `+49 30 12${invoice.number.slice(3)}`

const workOf = (opened: Case) => ({ source: 'shop', kind: 'label.print', id: nameOf(opened) })

export async function reservedToken(opened: Case): Promise<string> {
  return String((await made(opened, '/register/reserve', workOf(opened)))['token'])
}

/** Work of which nobody knows how it ended. */
async function unknownWork(opened: Case): Promise<string> {
  return String((await made(opened, '/register/unknown', { token: await reservedToken(opened) }))['eventId'])
}

const company = ({ organization }: Case) => ({ name: `Muster of ${organization.name}`, points: [] })

/** By the name that the contract gives the call. */
export const writes: Readonly<Record<string, Write>> = {
  'POST /api/v1/contacts': {
    path: to('/contacts'),
    body: ({ organization }) => ({ name: `Kim of ${organization.name}` }),
    other: ({ organization }) => ({ name: `Kay of ${organization.name}` }),
  },
  'PATCH /api/v1/contacts/{id}': { path: onContact(''), body: () => named('A'), other: () => named('B') },
  'POST /api/v1/contacts/{id}/points': {
    path: onContact('/points'),
    body: (opened) => ({ kind: 'phone', value: phoneOf(opened) }),
    other: (opened) => ({ kind: 'phone', value: `${phoneOf(opened)}7` }),
  },
  'POST /api/v1/contacts/{id}/points/{pointId}/remove': {
    async path(opened) {
      const at = `/contacts/${opened.organization.contactId}/points`
      const { points } = await made(opened, at, { kind: 'phone', value: phoneOf(opened) })
      return `${at}/${(points as { id: string }[]).at(-1)?.id}/remove`
    },
    body: nothing,
  },
  'POST /api/v1/contacts/{id}/notes': {
    path: onContact('/notes'),
    body: ({ organization }) => ({ text: `Called ${organization.name}.` }),
    other: () => ({ text: 'Called again.' }),
  },
  'POST /api/v1/companies': {
    path: to('/companies'),
    body: company,
    other: (opened) => ({ ...company(opened), name: 'Other' }),
  },
  'PATCH /api/v1/companies/{id}': {
    path: async (opened) => `/companies/${opened.organization.contactId}`,
    body: () => named('A'),
    other: () => named('B'),
  },
  'POST /api/v1/deals': {
    path: to('/deals'),
    body: ({ organization }) => ({ title: 'Website', contactId: organization.contactId, amount: euros(1) }),
    other: ({ organization }) => ({ title: 'Shop', contactId: organization.contactId, amount: euros(1) }),
  },
  'PATCH /api/v1/deals/{id}': { path: deal, body: () => ({ stage: 'won' }), other: () => ({ stage: 'lost' }) },
  'POST /api/v1/deals/{id}/notes': {
    path: async (opened) => `${await deal(opened)}/notes`,
    body: ({ organization }) => ({ text: `Called ${organization.name}.` }),
    other: () => ({ text: 'Called again.' }),
  },
  'POST /api/v1/invoices': {
    path: to('/invoices'),
    body: () => ({ currency: 'EUR', lines: lines(1) }),
    other: () => ({ currency: 'EUR', lines: lines(2) }),
  },
  'PATCH /api/v1/invoices/{id}': {
    path: async (opened) => `/invoices/${await draft(opened)}`,
    body: () => ({ notes: 'a' }),
    other: () => ({ notes: 'b' }),
  },
  'POST /api/v1/invoices/{id}/issue': {
    path: async (opened) => `/invoices/${await draft(opened)}/issue`,
    body: nothing,
  },
  'POST /api/v1/invoices/{id}/duplicate': { path: onInvoice('/duplicate'), body: nothing },
  'POST /api/v1/invoices/{id}/void': { path: onInvoice('/void'), body: nothing },
  'POST /api/v1/invoices/{id}/pay': {
    path: onInvoice('/pay'),
    body: () => ({ amount: euros(1_000) }),
    other: () => ({ amount: euros(1_001) }),
    needsKey: true,
  },
  'POST /api/v1/invoices/{id}/credit-note': {
    path: onInvoice('/credit-note'),
    body: () => ({ lines: lines(100) }),
    other: () => ({ lines: lines(101) }),
    needsKey: true,
  },
  'POST /api/v1/invoices/{id}/adjustments': {
    path: onInvoice('/adjustments'),
    body: () => ({ kind: 'fee', amount: euros(10) }),
    other: () => ({ kind: 'fee', amount: euros(11) }),
    needsKey: true,
  },
  'POST /api/v1/invoices/{id}/adjustments/{adjustmentId}/reverse': {
    async path(opened) {
      const at = `/invoices/${opened.invoice.id}`
      await made(opened, `${at}/adjustments`, { kind: 'fee', amount: euros(10) })
      const { body } = await opened.get(at)
      return `${at}/adjustments/${(body['adjustments'] as { id: string }[])[0]?.id}/reverse`
    },
    body: () => ({ reason: 'a' }),
    other: () => ({ reason: 'b' }),
    needsKey: true,
  },
  'POST /api/v1/payments': {
    path: to('/payments'),
    body: ({ invoice }) => ({
      source: 'bank',
      externalId: `b_${invoice.number}`,
      amount: euros(5),
      invoice: invoice.number,
    }),
    other: ({ invoice }) => ({
      source: 'bank',
      externalId: `c_${invoice.number}`,
      amount: euros(5),
      invoice: invoice.number,
    }),
    needsKey: true,
  },
  'POST /api/v1/payments/{id}/apply': {
    path: async (opened) => `/payments/${await pay(opened)}/apply`,
    body: ({ invoice }) => ({ invoiceId: invoice.id, amount: euros(1_000) }),
    other: ({ invoice }) => ({ invoiceId: invoice.id, amount: euros(1_001) }),
    needsKey: true,
  },
  'POST /api/v1/payments/{id}/move': {
    path: onPayment('/move'),
    body: ({ invoice }) => ({ toInvoiceId: invoice.id }),
    other: ({ invoice }) => ({ toInvoiceId: invoice.id, fromInvoiceId: invoice.id }),
    needsKey: true,
  },
  ...Object.fromEntries(
    ['refund', 'chargeback'].map((kind): [string, Write] => [
      `POST /api/v1/payments/{id}/${kind}`,
      {
        path: onPayment(`/${kind}`),
        body: () => ({ amount: euros(1_000) }),
        other: () => ({ amount: euros(1_001) }),
        needsKey: true,
      },
    ]),
  ),
  'POST /api/v1/payments/{id}/returns/{returnId}/reverse': {
    async path(opened) {
      const at = await onPayment('')(opened)
      const { target } = await made(opened, `${at}/refund`, { amount: euros(1_000) })
      return `${at}/returns/${(target as { id: string }).id}/reverse`
    },
    body: nothing,
    needsKey: true,
  },
  'POST /api/v1/review-items/{id}/decide': {
    path: async (opened) => `${await question(opened)}/decide`,
    body: ({ invoice }) => ({ decision: 'apply', invoiceId: invoice.id }),
    other: () => ({ decision: 'dismiss' }),
    needsKey: true,
  },
  'POST /api/v1/review-items/{id}/reopen': {
    async path(opened) {
      const at = await question(opened)
      await made(opened, `${at}/decide`, { decision: 'dismiss' })
      return `${at}/reopen`
    },
    body: nothing,
  },
  'POST /api/v1/events/{id}/retry': {
    async path(opened) {
      armFault({ at: 'pipeline.afterWrite', action: 'throw', times: 1 })
      await opened.sandbox({ data: { payment: nameOf(opened), ...euros(4_000), invoice: opened.invoice.number } })
      armFault(null)
      const event = (await opened.books()).events.find(({ state }) => state === 'failed')
      return `/events/${event?.id}/retry`
    },
    body: nothing,
  },
  'POST /api/v1/events/{id}/resolve': {
    path: async (opened) => `/events/${await unknownWork(opened)}/resolve`,
    body: () => ({ outcome: 'completed', note: 'found it' }),
    other: () => ({ outcome: 'failed', note: 'found nothing' }),
  },
  'POST /api/v1/register/resolve': {
    async path(opened) {
      await unknownWork(opened)
      return '/register/resolve'
    },
    body: (opened) => ({ key: workOf(opened), outcome: 'completed', note: 'found it' }),
    other: (opened) => ({ key: workOf(opened), outcome: 'failed', note: 'found nothing' }),
  },
  'POST /api/v1/register/repeat': {
    async path(opened) {
      await made(opened, '/register/complete', { token: await reservedToken(opened) })
      return '/register/repeat'
    },
    body: (opened) => ({ key: workOf(opened), reason: 'the label was torn' }),
    other: (opened) => ({ key: workOf(opened), reason: 'the label was lost' }),
    needsKey: true,
  },
  'POST /api/v1/notifications/{id}/read': {
    async path(opened) {
      await pay(opened)
      const { body } = await opened.get(`/notifications?recipientId=${recipientOf(opened)}`)
      return `/notifications/${(body['items'] as { id: string }[])[0]?.id}/read`
    },
    body: (opened) => ({ recipientId: recipientOf(opened) }),
    other: (opened) => ({ recipientId: opened.organization.userIds[1] }),
  },
  'POST /api/v1/integrations': {
    path: to('/integrations'),
    body: ({ organization }) => sandboxSender(`Shop of ${organization.name}`),
    other: () => sandboxSender('Till'),
  },
  'PATCH /api/v1/integrations/{id}': {
    path: async (opened) => `/integrations/${(await made(opened, '/integrations', sandboxSender('Shop')))['id']}`,
    body: () => ({ label: 'Till' }),
    other: () => ({ isEnabled: false }),
  },
  'PATCH /api/v1/members/{id}': {
    path: async (opened) => `/members/${await colleague(opened)}`,
    body: () => ({ role: 'viewer' }),
    other: () => ({ role: 'accountant' }),
    asOwner: true,
  },
  'POST /api/v1/members/{id}/remove': {
    path: async (opened) => `/members/${await colleague(opened)}/remove`,
    body: nothing,
    asOwner: true,
  },
  'POST /api/v1/invitations': {
    path: to('/invitations'),
    body: (opened) => ({ email: guestOf(opened), role: 'agent' }),
    other: (opened) => ({ email: guestOf(opened), role: 'viewer' }),
    asOwner: true,
    shownOnce: 'link',
  },
  'POST /api/v1/invitations/{id}/send': {
    path: async (opened) => `/invitations/${await invitation(opened)}/send`,
    body: nothing,
    asOwner: true,
    shownOnce: 'link',
  },
  'POST /api/v1/invitations/{id}/cancel': {
    path: async (opened) => `/invitations/${await invitation(opened)}/cancel`,
    body: nothing,
    asOwner: true,
  },
  'POST /api/v1/api-keys': {
    path: to('/api-keys'),
    body: ({ organization }) => ({ name: `Till of ${organization.name}`, scopes: ['read'] }),
    other: () => ({ name: 'Shop', scopes: ['read'] }),
    asOwner: true,
    shownOnce: 'key',
  },
  'POST /api/v1/api-keys/{id}/revoke': {
    async path(opened) {
      const { apiKey } = await madeByOwner(opened, '/api-keys', { name: 'Till', scopes: ['read'] })
      return `/api-keys/${(apiKey as { id: string }).id}/revoke`
    },
    body: nothing,
    asOwner: true,
  },
}

/** Steps of a program: they are named by the thing itself and by its token, and are once without a key. */
export const steps: Readonly<Record<string, Write>> = {
  'POST /api/v1/register/reserve': { path: to('/register/reserve'), body: workOf },
  'POST /api/v1/register/complete': step('complete', {}),
  'POST /api/v1/register/fail': step('fail', { error: { code: 'printer_offline' } }),
  'POST /api/v1/register/unknown': step('unknown', {}),
  'POST /api/v1/register/heartbeat': step('heartbeat', {}),
}

function step(name: string, more: object): Write {
  return {
    path: to(`/register/${name}`),
    body: async (opened) => ({ token: await reservedToken(opened), ...more }),
  }
}

function named(name: string) {
  return { name }
}

function recipientOf({ organization }: Case): string | undefined {
  return organization.userIds[0]
}

function sandboxSender(label: string) {
  return { provider: 'sandbox', label, settings: { webhookSecrets: [`whsec_${'c'.repeat(32)}`] } }
}

export async function madeByOwner(
  opened: Case,
  path: string,
  body: object,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await opened.asOwner('POST', path, body)
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

function guestOf(opened: Case): string {
  return `${nameOf(opened)}@${opened.organization.name}.example`.toLowerCase()
}

/** A member who is no owner. */
async function colleague(opened: Case): Promise<string> {
  const { body } = await opened.asOwner('GET', '/members')
  const members = body['items'] as { id: string; role: string }[]
  const found = members.find(({ role }) => role !== 'owner')
  if (found === undefined) throw new Error('this organisation has nobody left but its owner')
  return found.id
}

async function invitation(opened: Case): Promise<string> {
  const { invitation: row } = await madeByOwner(opened, '/invitations', { email: guestOf(opened), role: 'agent' })
  return (row as { id: string }).id
}
