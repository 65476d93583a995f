import { signSandboxDelivery, signStripeDelivery } from '../../src/providers/index.ts'
import type { InProcessApp } from './in-process-app.ts'
import type { TestOffice, TestOrganization } from './office.ts'

/**
 * Every way in which money reaches the books or moves in them, as data: what holds for one has to hold for all. A new entrance is a
 * line in one of the lists of `every-entrance.ts`, and the matrix then plays every scenario on it.
 */
export interface Entrance {
  /** For the titles of tests. */
  readonly name: string
  /** Its key in the registry of providers; `null` where no provider sends, but a person or a program of the house. */
  readonly provider: string | null
  /**
   * Lays the ground for so many arrivals: the payment that goes back, the question that is decided. Says what each of them is
   * about.
   */
  readonly lay?: (ground: Ground, count: number) => Promise<readonly About[]>
  /** The request by which this money comes in. One `id`, one event. */
  request(organization: TestOrganization, money: SentMoney): Outgoing
  /** The same request from somebody who has no right to send it. */
  forge(organization: TestOrganization, money: SentMoney): Outgoing
  /** Whether an answer says that nothing happened through this arrival, because it had happened before. */
  isCopy(answer: Answer): boolean
  /** How other content under a known id is answered. */
  readonly otherContent: { readonly status: number; readonly body: Readonly<Record<string, unknown>> }
  /** What one of them moves, in amounts sent; below nothing where it takes away. */
  readonly moves: Partial<Sums>
  /** What its first answer says was applied, in amounts sent; `null` where it says something else. */
  readonly applied: 1 | -1 | null
}

/** What each arrival brings. One that brings another amount has other content. */
export const AMOUNT = 10_000

/** What the books add up to. `open` to `adjusted` are of the one invoice, `elsewhere` is what is paid on others. */
export interface Sums {
  readonly received: number
  readonly applied: number
  readonly unapplied: number
  readonly returned: number
  readonly open: number
  readonly paid: number
  readonly credited: number
  readonly adjusted: number
  readonly elsewhere: number
}

/** The names that a request needs of what was laid before. */
export type About = Readonly<Record<string, string>>

/** What an entrance may use to lay its ground: an application that books, and an invoice with as much open as shall be sent. */
export interface Ground {
  readonly office: TestOffice
  readonly organization: TestOrganization
  readonly invoice: { readonly id: string; readonly number: string }
  readonly app: InProcessApp
  /** What each of the arrivals will bring. */
  readonly amountMinor: number
}

export interface SentMoney {
  readonly id: string
  readonly amountMinor: number
  readonly invoice: { readonly id: string; readonly number: string }
  readonly about: About
  /** Counts the sender's attempts: a later one has another signature and, where the sender writes it anew, other bytes. */
  readonly attempt?: number
}

export interface Outgoing {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export async function send(serverUrl: string, outgoing: Outgoing): Promise<Answer> {
  const { path, headers, body } = outgoing
  const response = await fetch(`${serverUrl}${path}`, { method: 'POST', headers, body })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

const SECONDS_BETWEEN_ATTEMPTS = 7

/** Attempts lie in the past, so that the last one is the freshest and none is too old to be believed. */
function signedAtMs(attempt: number): number {
  return Date.now() - 60_000 + attempt * SECONDS_BETWEEN_ATTEMPTS * 1000
}

const webhookAnswers = {
  isCopy: ({ body }: Answer) => body['duplicate'] === true,
  otherContent: { status: 200, body: { duplicate: false, kept: true, reason: 'content_differs' } },
}

type Moving = Pick<Entrance, 'moves' | 'applied'> & Partial<Pick<Entrance, 'lay'>>

/** An event of Stripe with the object that it carries. */
export function byStripe(
  type: string,
  objectOf: (money: SentMoney) => Record<string, unknown>,
  moving: Moving,
): Entrance {
  const bodyOf = (money: SentMoney) => {
    const object = { currency: 'eur', ...objectOf(money) }
    const event = { id: `evt_${money.id}`, object: 'event', type, created: 1_773_136_797, livemode: true }
    // Stripe counts the addresses that have not answered yet, so that its repetition has other bytes.
    return JSON.stringify({ ...event, pending_webhooks: 9 - (money.attempt ?? 0), data: { object } })
  }
  const request = (organization: TestOrganization, money: SentMoney, secret: string) => {
    const body = bodyOf(money)
    const headers = signStripeDelivery({ body, secret, nowMs: signedAtMs(money.attempt ?? 0) })
    return { path: organization.stripe.path, headers, body }
  }
  return {
    ...webhookAnswers,
    ...moving,
    name: `stripe ${type}`,
    provider: 'stripe',
    request: (organization, money) => request(organization, money, organization.stripe.secret),
    forge: (organization, money) => request(organization, money, organization.sandbox.secret),
  }
}

/** An event of the sandbox with its data, but for the amount. */
export function bySandbox(
  type: string,
  dataOf: (money: SentMoney) => Record<string, unknown>,
  moving: Moving,
): Entrance {
  const request = (organization: TestOrganization, money: SentMoney, secret: string) => {
    const { id, amountMinor, attempt = 0 } = money
    const body = JSON.stringify({ type, data: { amountMinor, currency: 'EUR', ...dataOf(money) } })
    const headers = signSandboxDelivery({ id: `msg_${id}`, body, secret, nowMs: signedAtMs(attempt) })
    return { path: organization.sandbox.path, headers, body }
  }
  return {
    ...webhookAnswers,
    ...moving,
    name: `sandbox ${type}`,
    provider: 'sandbox',
    request: (organization, money) => request(organization, money, organization.sandbox.secret),
    forge: (organization, money) =>
      request(organization, money, `whsec_${Buffer.from(organization.stripe.secret).toString('base64')}`),
  }
}

/** A request of a person or a program of the house, named by its `Idempotency-Key`. */
export function byRequest(
  name: string,
  of: { readonly path: (money: SentMoney) => string; readonly body: (money: SentMoney) => object | null },
  moving: Moving,
): Entrance {
  const request = (money: SentMoney, apiKey: string): Outgoing => {
    const body = of.body(money)
    return {
      path: `/api/v1${of.path(money)}`,
      headers: {
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...{ authorization: `Bearer ${apiKey}`, 'idempotency-key': money.id },
      },
      body: body === null ? '' : writtenBy(money.attempt ?? 0, body),
    }
  }
  return {
    ...moving,
    name,
    provider: null,
    request: (organization, money) => request(money, organization.apiKey),
    forge: (organization, money) => request(money, `${organization.apiKey}x`),
    isCopy: ({ headers }) => headers.get('idempotent-replayed') === 'true',
    otherContent: { status: 422, body: { code: 'content_differs' } },
  }
}

/** A program that builds the request anew may write its fields in another order; it is the same request. */
function writtenBy(attempt: number, body: object): string {
  if (attempt % 2 === 0) return JSON.stringify(body)
  const backwards = (_key: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toReversed())
      : value
  return JSON.stringify(body, backwards, 1)
}

/** What a payment moves that names an invoice with enough open. */
const paid: Moving = { moves: { received: 1, applied: 1, paid: 1, open: -1 }, applied: 1 }

const named = ({ invoice }: SentMoney) => ({ metadata: { invoice: invoice.number } })

/** The Stripe types that book a payment, each with the object that it carries. */
const stripeEntrances: readonly Entrance[] = [
  byStripe(
    'payment_intent.succeeded',
    (money) => ({
      ...named(money),
      id: `pi_${money.id}`,
      object: 'payment_intent',
      status: 'succeeded',
      amount: money.amountMinor,
      amount_received: money.amountMinor,
    }),
    paid,
  ),
  byStripe('charge.succeeded', (money) => ({ ...chargeOf(money), payment_intent: `pi_${money.id}` }), paid),
  // Books only for a charge of old without a payment intent; otherwise the intent's own event does.
  byStripe('charge.captured', (money) => ({ ...chargeOf(money), payment_intent: null }), paid),
  ...['checkout.session.completed', 'checkout.session.async_payment_succeeded'].map((type) =>
    byStripe(
      type,
      (money) => ({
        ...named(money),
        id: `cs_${money.id}`,
        object: 'checkout.session',
        payment_intent: `pi_${money.id}`,
        payment_status: 'paid',
        amount_total: money.amountMinor,
      }),
      paid,
    ),
  ),
]

function chargeOf(money: SentMoney) {
  const { id, amountMinor } = money
  return {
    ...named(money),
    id: `ch_${id}`,
    object: 'charge',
    status: 'succeeded',
    paid: true,
    captured: true,
    amount: amountMinor,
    amount_captured: amountMinor,
  }
}

export const payments: readonly Entrance[] = [
  ...stripeEntrances,
  bySandbox('payment.paid', ({ id, invoice }) => ({ payment: `pay_${id}`, invoice: invoice.number }), paid),
  byRequest(
    'the button "record a payment"',
    {
      path: ({ invoice }) => `/invoices/${invoice.id}/pay`,
      body: ({ amountMinor }) => ({ amount: { amountMinor, currency: 'EUR' } }),
    },
    paid,
  ),
  byRequest(
    'POST /payments',
    {
      path: () => '/payments',
      body: ({ id, amountMinor, invoice }) => ({
        source: 'bank',
        externalId: `b_${id}`,
        amount: { amountMinor, currency: 'EUR' },
        invoice: invoice.number,
      }),
    },
    paid,
  ),
]
