import { signSandboxDelivery, signStripeDelivery } from '../../src/providers/index.ts'
import type { TestOrganization } from './office.ts'

/**
 * Every way in which money reaches the books, as data: what holds for one has to hold for all. A new entrance is a line
 * in `entrances`, and the matrix then plays every scenario on it.
 */
export interface Entrance {
  /** For the titles of tests. */
  readonly name: string
  /** Its key in the registry of providers; `null` where no provider sends, but a person or a program of the house. */
  readonly provider: string | null
  /** The request by which this money comes in. One `id`, one event. */
  request(organization: TestOrganization, money: SentMoney): Outgoing
  /** The same request from somebody who has no right to send it. */
  forge(organization: TestOrganization, money: SentMoney): Outgoing
  /** Whether an answer says that nothing happened through this arrival, because it had happened before. */
  isCopy(answer: Answer): boolean
  /** How other content under a known id is answered. */
  readonly otherContent: { readonly status: number; readonly body: Readonly<Record<string, unknown>> }
}

export interface SentMoney {
  readonly id: string
  readonly amountMinor: number
  readonly invoice: { readonly id: string; readonly number: string }
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

function stripe(type: string, objectOf: (money: SentMoney) => Record<string, unknown>): Entrance {
  const bodyOf = (money: SentMoney) => {
    const metadata = { invoice: money.invoice.number }
    const object = { ...objectOf(money), currency: 'eur', metadata }
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
    name: `stripe ${type}`,
    provider: 'stripe',
    request: (organization, money) => request(organization, money, organization.stripe.secret),
    forge: (organization, money) => request(organization, money, organization.sandbox.secret),
  }
}

function sandboxRequest(organization: TestOrganization, money: SentMoney, secret: string): Outgoing {
  const { id, amountMinor, invoice, attempt = 0 } = money
  const data = { payment: `pay_${id}`, amountMinor, currency: 'EUR', invoice: invoice.number }
  const body = JSON.stringify({ type: 'payment.paid', data })
  const headers = signSandboxDelivery({ id: `msg_${id}`, body, secret, nowMs: signedAtMs(attempt) })
  return { path: organization.sandbox.path, headers, body }
}

function buttonRequest(money: SentMoney, apiKey: string): Outgoing {
  const { id, amountMinor, invoice, attempt = 0 } = money
  return {
    path: `/api/v1/invoices/${invoice.id}/pay`,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}`, 'idempotency-key': id },
    // A program that builds the request anew may write its fields in another order; it is the same request.
    body:
      attempt % 2 === 0
        ? `{"amount":{"amountMinor":${amountMinor},"currency":"EUR"}}`
        : `{ "amount": { "currency": "EUR", "amountMinor": ${amountMinor} } }`,
  }
}

/** The Stripe types that book, each with the object that it carries. */
const stripeEntrances: readonly Entrance[] = [
  stripe('payment_intent.succeeded', ({ id, amountMinor }) => ({
    id: `pi_${id}`,
    object: 'payment_intent',
    status: 'succeeded',
    amount: amountMinor,
    amount_received: amountMinor,
  })),
  stripe('charge.succeeded', ({ id, amountMinor }) => ({
    id: `ch_${id}`,
    object: 'charge',
    payment_intent: `pi_${id}`,
    status: 'succeeded',
    paid: true,
    captured: true,
    amount: amountMinor,
    amount_captured: amountMinor,
  })),
  // Books only for a charge of old without a payment intent; otherwise the intent's own event does.
  stripe('charge.captured', ({ id, amountMinor }) => ({
    id: `ch_${id}`,
    object: 'charge',
    payment_intent: null,
    status: 'succeeded',
    paid: true,
    captured: true,
    amount: amountMinor,
    amount_captured: amountMinor,
  })),
  ...['checkout.session.completed', 'checkout.session.async_payment_succeeded'].map((type) =>
    stripe(type, ({ id, amountMinor }) => ({
      id: `cs_${id}`,
      object: 'checkout.session',
      payment_intent: `pi_${id}`,
      payment_status: 'paid',
      amount_total: amountMinor,
    })),
  ),
]

export const entrances: readonly Entrance[] = [
  ...stripeEntrances,
  {
    ...webhookAnswers,
    name: 'sandbox payment.paid',
    provider: 'sandbox',
    request: (organization, money) => sandboxRequest(organization, money, organization.sandbox.secret),
    forge: (organization, money) =>
      sandboxRequest(organization, money, `whsec_${Buffer.from(organization.stripe.secret).toString('base64')}`),
  },
  {
    name: 'the button "record a payment"',
    provider: null,
    request: (organization, money) => buttonRequest(money, organization.apiKey),
    forge: (organization, money) => buttonRequest(money, `${organization.apiKey}x`),
    isCopy: ({ headers }) => headers.get('idempotent-replayed') === 'true',
    otherContent: { status: 422, body: { code: 'content_differs' } },
  },
]
