/**
 * `npm run demo`: delivers to a running office over HTTP as real senders do, and shows what counted.
 *
 * It knows the office only as a program outside of it does: the addresses and keys of `demo.json`, signed deliveries, and
 * the API. Every figure behind the number of requests sent is read back.
 */
import { contact, eventDetail, invoice, pageOf, event as registerEvent } from '@einmal/contract'
import type { z } from 'zod'
import type { Clock } from '../platform/clock.ts'
import { findCurrency } from '../platform/currencies.ts'
import type { NewId } from '../platform/ids.ts'
import { signSandboxDelivery, signStripeDelivery } from '../providers/index.ts'
import type { DemoFile } from './demo-file.ts'

export interface DeliverParts {
  readonly clock: Clock
  readonly newId: NewId
  readonly print: (line: string) => void
}

/** No office answers; the message says what to do. */
export class DemoError extends Error {
  override readonly name = 'DemoError'
}

type Invoice = z.infer<typeof invoice>

/** One request: bytes with headers that were signed for them. */
interface Request {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface Scene {
  readonly title: string
  readonly invoice: Invoice
  /** The source's ids of the events that are sent. */
  readonly eventIds: readonly string[]
  /** Requests in rounds: those of a round travel at once, the next round follows. */
  readonly rounds: readonly (readonly Request[])[]
}

interface Row {
  readonly title: string
  readonly arrived: number
  readonly answers: string
  readonly onRecord: number
  readonly counted: number
  readonly moved: string
}

/** Sends the four scenes and prints the table. Throws `DemoError` where no office answers. */
export async function deliverDemo(demo: DemoFile, parts: DeliverParts): Promise<void> {
  const office = connect(demo, parts)
  await office.checkAlive()
  const scenes = await prepareScenes(demo, office, parts)
  const rows: Row[] = []
  for (const scene of scenes) rows.push(await play(scene, office))
  for (const line of table(rows)) parts.print(line)
  parts.print('')
  parts.print(`Arrivals that the office has on record: ${rows.reduce((sum, row) => sum + row.onRecord, 0)}.`)
  parts.print(`Look at one yourself: ${demo.url}/api/docs/ (the key stands in demo.json).`)
}

interface Office {
  checkAlive(): Promise<void>
  deliver(request: Request): Promise<number>
  get<Shape extends z.ZodType>(path: string, shape: Shape): Promise<z.infer<Shape>>
  post<Shape extends z.ZodType>(path: string, body: unknown, shape: Shape): Promise<z.infer<Shape>>
}

function connect({ url, apiKey }: DemoFile, { newId }: DeliverParts): Office {
  async function call<Shape extends z.ZodType>(path: string, init: RequestInit, shape: Shape): Promise<z.infer<Shape>> {
    const headers = { authorization: `Bearer ${apiKey}`, ...init.headers }
    const response = await fetch(`${url}/api/v1${path}`, { ...init, headers })
    if (!response.ok) throw new DemoError(`The office answered ${response.status} to ${path}: ${await response.text()}`)
    return shape.parse(await response.json())
  }
  return {
    async checkAlive() {
      try {
        await fetch(`${url}/healthz`)
      } catch {
        throw new DemoError(`No office answers at ${url}. Start it in another terminal with: npm start`)
      }
    },
    async deliver({ path, headers, body }) {
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response.status
    },
    get: (path, shape) => call(path, {}, shape),
    post(path, body, shape) {
      const headers = { 'content-type': 'application/json', 'idempotency-key': newId() }
      return call(path, { method: 'POST', headers, body: JSON.stringify(body) }, shape)
    },
  }
}

async function prepareScenes(demo: DemoFile, office: Office, parts: DeliverParts): Promise<Scene[]> {
  const { id: contactId } = await office.post('/contacts', { name: 'Demo GmbH' }, contact)
  const issue = async (totalMinor: number): Promise<Invoice> => {
    const lines = [{ description: 'Demo', unitPriceMinor: totalMinor }]
    const draft = await office.post('/invoices', { contactId, currency: 'EUR', lines }, invoice)
    return office.post(`/invoices/${draft.id}/issue`, {}, invoice)
  }
  return [
    atOnce(await issue(10_000), demo, parts),
    partPayment(await issue(45_000), demo, parts),
    twoAlike(await issue(20_000), demo, parts),
    badSignature(await issue(5_000), demo, parts),
  ]
}

function atOnce(target: Invoice, demo: DemoFile, parts: DeliverParts): Scene {
  const sent = stripePayment(target, 10_000, demo, parts)
  const round = Array.from({ length: 16 }, () => sent.sign())
  return { title: 'A payment of 100.00 EUR, 16 times at once', invoice: target, eventIds: [sent.id], rounds: [round] }
}

function partPayment(target: Invoice, demo: DemoFile, parts: DeliverParts): Scene {
  const sent = stripePayment(target, 15_000, demo, parts)
  const rounds = Array.from({ length: 3 }, () => [sent.sign()])
  return { title: 'A part payment of 150.00 EUR, 3 times', invoice: target, eventIds: [sent.id], rounds }
}

function twoAlike(target: Invoice, demo: DemoFile, parts: DeliverParts): Scene {
  const sent = [sandboxPayment(target, 10_000, demo, parts), sandboxPayment(target, 10_000, demo, parts)]
  return {
    title: 'Two payments of 100.00 EUR, alike, not the same',
    invoice: target,
    eventIds: sent.map((payment) => payment.id),
    rounds: [sent.map((payment) => payment.sign())],
  }
}

function badSignature(target: Invoice, demo: DemoFile, parts: DeliverParts): Scene {
  const sent = stripePayment(target, 5_000, demo, parts, 'whsec_not_the_secret_of_this_address')
  return { title: 'A payment with a bad signature', invoice: target, eventIds: [sent.id], rounds: [[sent.sign()]] }
}

interface Payment {
  readonly id: string
  /** Signed at the moment of sending, as a sender signs each attempt anew. */
  sign(): Request
}

function stripePayment(
  target: Invoice,
  amount: number,
  demo: DemoFile,
  { clock, newId }: DeliverParts,
  wrongSecret?: string,
): Payment {
  const { path, secret } = addressOf(demo, 'stripe')
  const id = `evt_${newId().replaceAll('-', '')}`
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
  const body = JSON.stringify({ id, object: 'event', type, created, livemode: true, data: { object } })
  return {
    id,
    sign: () => {
      const headers = signStripeDelivery({ body, secret: wrongSecret ?? secret, nowMs: clock.now().getTime() })
      return { path, headers, body }
    },
  }
}

function sandboxPayment(target: Invoice, amountMinor: number, demo: DemoFile, { clock, newId }: DeliverParts): Payment {
  const { path, secret } = addressOf(demo, 'sandbox')
  const id = newId()
  const data = { payment: newId(), invoice: target.number, amountMinor, currency: 'EUR' }
  const body = JSON.stringify({ type: 'payment.paid', timestamp: clock.now().toISOString(), data })
  return {
    id,
    sign: () => ({ path, body, headers: signSandboxDelivery({ id, body, secret, nowMs: clock.now().getTime() }) }),
  }
}

function addressOf(demo: DemoFile, provider: string): { path: string; secret: string } {
  const address = demo.webhooks[provider]
  if (address === undefined)
    throw new DemoError(`demo.json has no address for ${provider}; start with a new data folder`)
  return address
}

async function play(scene: Scene, office: Office): Promise<Row> {
  const statuses: number[] = []
  for (const round of scene.rounds) statuses.push(...(await Promise.all(round.map(office.deliver))))
  const payments = new Set<string>()
  let onRecord = 0
  for (const externalId of scene.eventIds) {
    const found = await office.get(`/events?q=${encodeURIComponent(externalId)}`, pageOf(registerEvent))
    for (const { id } of found.items) {
      const detail = await office.get(`/events/${id}`, eventDetail)
      onRecord += detail.deliveries.length
      for (const effect of detail.effects) if (effect.type === 'payment') payments.add(effect.id)
    }
  }
  const after = await office.get(`/invoices/${scene.invoice.id}`, invoice)
  return {
    title: scene.title,
    arrived: statuses.length,
    answers: [...Map.groupBy(statuses, (status) => status)]
      .map(([status, all]) => `${all.length} × ${status}`)
      .join(', '),
    onRecord,
    counted: payments.size,
    moved: `${after.number}: ${amountText(after.paid)} of ${amountText(after.total)} ${after.currency} paid, ${after.paymentState}`,
  }
}

function amountText({ amountMinor, currency }: { amountMinor: number; currency: string }): string {
  const decimals = findCurrency(currency)?.exponent ?? 0
  if (decimals === 0) return String(amountMinor)
  const digits = String(amountMinor).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

function table(rows: readonly Row[]): string[] {
  const head = ['What was sent', 'Arrived', 'Answered', 'Counted', 'What it moved']
  const cells = rows.map((row) => [row.title, String(row.arrived), row.answers, String(row.counted), row.moved])
  const widths = head.map((title, column) =>
    Math.max(...[head, ...cells].map((row) => row[column]?.length ?? title.length)),
  )
  const isNumber = (column: number) => column === 1 || column === 3
  const lines = [head, widths.map((width) => '─'.repeat(width)), ...cells].map((row) =>
    row.map((cell, column) =>
      isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    ),
  )
  return lines.map((row) => row.join('  ').trimEnd())
}
