import { contact, invoice, pageOf, payment } from '@einmal/contract'
import type { z } from 'zod'
import type { Clock } from '../platform/clock.ts'
import { findCurrency } from '../platform/currencies.ts'
import type { NewId } from '../platform/ids.ts'
import { signSandboxDelivery, signStripeDelivery } from '../providers/index.ts'
import type { DemoFile } from './demo-file.ts'
import { type Delivery, DemoError, type OfficeClient, type Press } from './office-client.ts'

export interface SceneParts {
  readonly demo: DemoFile
  readonly office: OfficeClient
  readonly clock: Clock
  readonly newId: NewId
}

type Invoice = z.infer<typeof invoice>

/** What happens, round by round: all of a round travels at once. */
export interface Scene {
  readonly title: string
  readonly rounds: readonly (readonly Step[])[]
  /** What is to be seen afterwards, read back from the office. */
  outcome(): Promise<string>
}

export type Step =
  /** A delivery of an event, by the source's id of it. */
  | { readonly eventId: string; readonly delivery: Delivery }
  /** A button; it may need what earlier rounds have made. */
  | { readonly press: () => Promise<Press> }

/** Writes the invoices that the scenes are about, and says what will happen to them. */
export async function prepareScenes(parts: SceneParts): Promise<Scene[]> {
  const { office } = parts
  const { id: contactId } = await office.post('/contacts', { name: 'Demo GmbH' }, contact)
  const issue = async (totalMinor: number): Promise<Invoice> => {
    const lines = [{ description: 'Demo', unitPriceMinor: totalMinor }]
    const draft = await office.post('/invoices', { contactId, currency: 'EUR', lines }, invoice)
    return office.post(`/invoices/${draft.id}/issue`, {}, invoice)
  }
  return [
    atOnce(await issue(10_000), parts),
    partPayment(await issue(45_000), parts),
    twoAlike(await issue(20_000), parts),
    badSignature(await issue(5_000), parts),
    overpayment(await issue(10_000), parts),
    refundBeforePayment(await issue(10_000), parts),
    conflict(await issue(8_000), parts),
    move(await issue(10_000), await issue(10_000), parts),
    creditNote(await issue(10_000), parts),
  ]
}

function atOnce(target: Invoice, parts: SceneParts): Scene {
  const sent = stripePayment(target, 10_000, parts)
  return {
    title: 'A payment of 100.00 EUR, 16 times at once',
    rounds: [Array.from({ length: 16 }, () => sent.step())],
    outcome: () => paidOf(target, parts),
  }
}

function partPayment(target: Invoice, parts: SceneParts): Scene {
  const sent = stripePayment(target, 15_000, parts)
  return {
    title: 'A part payment of 150.00 EUR, 3 times',
    rounds: Array.from({ length: 3 }, () => [sent.step()]),
    outcome: () => paidOf(target, parts),
  }
}

function twoAlike(target: Invoice, parts: SceneParts): Scene {
  const sent = [sandboxPayment(target, 10_000, parts), sandboxPayment(target, 10_000, parts)]
  return {
    title: 'Two payments of 100.00 EUR, alike, not the same',
    rounds: [sent.map((payment) => payment.step())],
    outcome: () => paidOf(target, parts),
  }
}

function badSignature(target: Invoice, parts: SceneParts): Scene {
  const sent = stripePayment(target, 5_000, parts, 'whsec_not_the_secret_of_this_address')
  return {
    title: 'A payment with a bad signature',
    rounds: [[sent.step()]],
    outcome: () => paidOf(target, parts),
  }
}

function overpayment(target: Invoice, parts: SceneParts): Scene {
  const sent = sandboxPayment(target, 12_000, parts)
  return {
    title: 'An overpayment of 120.00 EUR, twice',
    rounds: [[sent.step()], [sent.step()]],
    outcome: async () => `${await paidOf(target, parts)}; ${await creditOf(sent.paymentId, parts)}`,
  }
}

function refundBeforePayment(target: Invoice, parts: SceneParts): Scene {
  const { newId } = parts
  const payment = sandboxPayment(target, 10_000, parts)
  const data = { refund: newId(), payment: payment.paymentId, amountMinor: 3_000, currency: 'EUR' }
  const refund = sandboxEvent('payment.refunded', data, parts)
  return {
    title: 'A refund of 30.00 EUR before its payment, both twice',
    rounds: [[refund.step()], [payment.step()], [refund.step()], [payment.step()]],
    outcome: () => paidOf(target, parts),
  }
}

function conflict(target: Invoice, parts: SceneParts): Scene {
  const first = sandboxPayment(target, 5_000, parts)
  const data = { payment: first.paymentId, invoice: target.number, amountMinor: 6_000, currency: 'EUR' }
  const other = sandboxEvent('payment.paid', data, parts)
  return {
    title: 'A payment of 50.00 EUR, then told as 60.00 EUR',
    rounds: [[first.step()], [other.step()], [other.step()]],
    outcome: async () => `${await paidOf(target, parts)}; a person is asked`,
  }
}

function move(from: Invoice, to: Invoice, parts: SceneParts): Scene {
  const { newId } = parts
  const sent = sandboxPayment(from, 10_000, parts)
  const key = newId()
  const press = async (): Promise<Press> => {
    const { id } = await findPayment(sent.paymentId, parts)
    return { path: `/payments/${id}/move`, body: { toInvoiceId: to.id }, key }
  }
  return {
    title: 'A payment moved to another invoice, the button twice',
    rounds: [[sent.step()], [{ press }], [{ press }]],
    outcome: async () => `${await paidOf(from, parts)}; ${await paidOf(to, parts)}`,
  }
}

function creditNote(target: Invoice, parts: SceneParts): Scene {
  const { newId } = parts
  const sent = sandboxPayment(target, 10_000, parts)
  const key = newId()
  const press = async (): Promise<Press> => ({ path: `/invoices/${target.id}/credit-note`, body: {}, key })
  return {
    title: 'A credit note for a paid invoice, the button twice',
    rounds: [[sent.step()], [{ press }], [{ press }]],
    outcome: async () => {
      const after = await parts.office.get(`/invoices/${target.id}`, invoice)
      return `${after.number}: ${text(after.credited)} ${after.currency} credited; ${await creditOf(sent.paymentId, parts)}`
    },
  }
}

interface Sent {
  /** The source's id of the payment. */
  readonly paymentId: string
  /** Signed at the moment of sending, as a sender signs each attempt anew. */
  step(): Step
}

function stripePayment(target: Invoice, amount: number, parts: SceneParts, wrongSecret?: string): Sent {
  const { clock, newId } = parts
  const { path, secret } = addressOf(parts.demo, 'stripe')
  const eventId = `evt_${newId().replaceAll('-', '')}`
  const object = {
    id: `pi_${newId().replaceAll('-', '')}`,
    object: 'payment_intent',
    status: 'succeeded',
    amount,
    amount_received: amount,
    currency: 'eur',
    metadata: { invoice: target.number },
  }
  const created = Math.floor(clock.now().getTime() / 1000)
  const type = 'payment_intent.succeeded'
  const body = JSON.stringify({ id: eventId, object: 'event', type, created, livemode: true, data: { object } })
  return {
    paymentId: object.id,
    step: () => {
      const headers = signStripeDelivery({ body, secret: wrongSecret ?? secret, nowMs: clock.now().getTime() })
      return { eventId, delivery: { path, headers, body } }
    },
  }
}

function sandboxPayment(target: Invoice, amountMinor: number, parts: SceneParts): Sent {
  const paymentId = parts.newId()
  const data = { payment: paymentId, invoice: target.number, amountMinor, currency: 'EUR' }
  return { paymentId, step: sandboxEvent('payment.paid', data, parts).step }
}

function sandboxEvent(type: string, data: object, { demo, clock, newId }: SceneParts): { step(): Step } {
  const { path, secret } = addressOf(demo, 'sandbox')
  const eventId = newId()
  const body = JSON.stringify({ type, timestamp: clock.now().toISOString(), data })
  return {
    step: () => {
      const headers = signSandboxDelivery({ id: eventId, body, secret, nowMs: clock.now().getTime() })
      return { eventId, delivery: { path, headers, body } }
    },
  }
}

function addressOf(demo: DemoFile, provider: string): { path: string; secret: string } {
  const address = demo.webhooks[provider]
  if (address === undefined)
    throw new DemoError(`demo.json has no address for ${provider}; start with a new data folder`)
  return address
}

async function paidOf(target: Invoice, { office }: SceneParts): Promise<string> {
  const { number, paid, total, currency } = await office.get(`/invoices/${target.id}`, invoice)
  return `${number}: ${text(paid)} of ${text(total)} ${currency} paid`
}

async function creditOf(externalId: string, parts: SceneParts): Promise<string> {
  const { unapplied } = await findPayment(externalId, parts)
  return `${text(unapplied)} ${unapplied.currency} to the customer's credit`
}

/** What a scene has sent is among the newest. */
async function findPayment(externalId: string, { office }: SceneParts) {
  const { items } = await office.get('/payments', pageOf(payment))
  const found = items.find((each) => each.externalId === externalId)
  if (found === undefined) throw new DemoError(`The office has no payment ${externalId}.`)
  return found
}

function text({ amountMinor, currency }: { amountMinor: number; currency: string }): string {
  const decimals = findCurrency(currency)?.exponent ?? 0
  if (decimals === 0) return String(amountMinor)
  const digits = String(amountMinor).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
