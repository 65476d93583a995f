import { z } from 'zod'
import { ignored, PAID_KIND, paidEvent, rejected, UNREADABLE_KIND, unclear } from '../events.ts'
import { isObject, objectAt, readEmail, readIsoTime, readName, readReference, show } from '../fields.ts'
import { bodyId, readId } from '../ids.ts'
import { parseJson } from '../json.ts'
import type { Delivery, PaymentProvider, Received } from '../provider.ts'
import { isSameText, signBody } from '../signature.ts'

/**
 * The neutral way in: Standard Webhooks 1.0.0 (https://www.standardwebhooks.com) with a body of our own. It is tutorial,
 * demo and test double, and what anybody's own sender speaks.
 */
const SOURCE = 'sandbox'

/** The specification asks for 24 to 64 random bytes. */
const MIN_SECRET_BYTES = 24

const sandboxSettings = z.strictObject({
  webhookSecrets: z
    .array(
      z
        .string()
        .trim()
        .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/, { error: 'Must be whsec_ and base64.' })
        .refine((secret) => secretKey(secret).length >= MIN_SECRET_BYTES, {
          error: `Must hold at least ${MIN_SECRET_BYTES} bytes.`,
        }),
    )
    .min(1)
    .meta({
      secret: true,
      title: 'Signing secrets',
      description: 'whsec_ and base64. During a change both, old and new.',
    }),
  toleranceSeconds: z
    .int()
    .min(1)
    .default(300)
    .meta({ title: 'Tolerance', description: 'Seconds by which a signature may be older or newer than our clock.' }),
  account: z
    .string()
    .trim()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, { error: 'Small letters, digits and hyphens.' })
    .optional()
    .meta({
      title: 'Sender',
      description: 'Needed only if several senders of your own count by themselves, so that their ids never meet.',
    }),
})

export type SandboxSettings = z.infer<typeof sandboxSettings>

/** Interim steps; they neither book nor use up a key. */
const interimTypes: ReadonlySet<string> = new Set(['payment.created', 'payment.processing', 'payment.failed'])

/** Genuine types that this version cannot book; with the field that will be the key of their money. */
const waitingTypes: ReadonlyMap<string, string | null> = new Map([
  ['payment.refunded', 'refund'],
  // A dispute can take money more than once; its own id does not name one movement.
  ['payment.charged_back', null],
  ['payment.chargeback_reversed', null],
  ['message.received', null],
  ['message.edited', null],
  ['call.updated', null],
  ['bank.line', null],
])

function receive(delivery: Delivery, settings: SandboxSettings, nowMs: number): Received {
  const refusal = verify(delivery, settings, nowMs)
  if (refusal !== null) return rejected(refusal)
  return readEvent(delivery, settings.account === undefined ? SOURCE : `${SOURCE}/${settings.account}`)
}

/**
 * Says why a delivery cannot be believed, or `null`.
 *
 * Not the package `standardwebhooks`: it reads the machine's clock, where ours is handed in, decodes the body to text
 * before it signs, and signs in plain JavaScript. The test compares the two.
 */
function verify(delivery: Delivery, settings: SandboxSettings, nowMs: number): string | null {
  const { headers } = delivery
  const id = headers['webhook-id']
  const signedAt = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if (id === undefined || signedAt === undefined || signatures === undefined) {
    return 'One of the headers webhook-id, webhook-timestamp and webhook-signature is missing.'
  }
  if (!/^\d{1,12}$/.test(signedAt)) return 'The header webhook-timestamp is not a time in Unix seconds.'
  const isSigned = settings.webhookSecrets.some((secret) => {
    const key = secretKey(secret)
    // An empty key would make a signature that anybody can make, so it is skipped even if settings let it through.
    if (key.length === 0) return false
    const expected = `v1,${signBody(key, `${id}.${signedAt}.`, delivery.body, 'base64')}`
    // One entry per secret that is valid during a change; entries of other schemes (v1a) simply never fit.
    return signatures.split(' ').some((signature) => isSameText(signature, expected))
  })
  if (!isSigned) return 'No signature fits a secret of this integration.'
  const differenceSeconds = Math.abs(Math.floor(nowMs / 1000) - Number(signedAt))
  return differenceSeconds <= settings.toleranceSeconds ? null : 'The time of the signature is too far from our clock.'
}

/** The bytes of a secret: base64 behind the prefix, which itself is no part of the key. */
function secretKey(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
}

function readEvent(delivery: Delivery, source: string): Received {
  const { headers, body } = delivery
  const webhookId = headers['webhook-id']
  const id = readId(webhookId)
  const unreadable = { source, kind: UNREADABLE_KIND, id: id ?? bodyId(body) }
  const parsed = parseJson(body)
  if ('problem' in parsed) return unclear(unreadable, 'body_unreadable', parsed.problem)
  const event = parsed.value
  if (!isObject(event)) return unclear(unreadable, 'shape_unknown', 'The body is not an event object.')
  const { type } = event
  if (typeof type !== 'string') return unclear(unreadable, 'shape_unknown', `The type of the event is ${show(type)}.`)
  if (interimTypes.has(type)) return ignored(`${type} is a step on the way; no money has arrived.`)

  const data = event['data']
  if (type !== PAID_KIND) {
    const isKnown = waitingTypes.has(type)
    const subjectField = waitingTypes.get(type) ?? null
    const subject = subjectField !== null && isObject(data) ? readId(data[subjectField]) : null
    // The types of this provider are our own words, so they are the kinds as well. An unknown one may be a misspelled
    // "payment.paid": it is kept, because ignoring it could lose money.
    const kept = isKnown ? { ...unreadable, kind: type } : unreadable
    if (id === null)
      return unclear(kept, 'id_unusable', `webhook-id is ${show(webhookId)}, which cannot name anything.`, subject)
    const detail = isKnown ? `This version cannot book ${show(type)}.` : `The type ${show(type)} is unknown.`
    return unclear(kept, 'type_not_supported', detail, subject)
  }

  if (!isObject(data)) return unclear(unreadable, 'shape_unknown', 'The event has no data.')
  const payer = objectAt(data, 'payer')
  return paidEvent({
    source,
    event: { name: 'webhook-id', value: webhookId },
    fallbackId: unreadable.id,
    payment: { name: 'data.payment', value: data['payment'] },
    amount: { name: 'data.amountMinor', value: data['amountMinor'] },
    currency: { name: 'data.currency', value: data['currency'] },
    invoiceReference: readReference(data['invoice']),
    payer: { name: readName(payer['name']) ?? readName(data['payer']), email: readEmail(payer['email']) },
    occurredAt: readIsoTime(event['timestamp']),
  })
}

export const sandbox = {
  source: SOURCE,
  label: 'Sandbox (Standard Webhooks)',
  docsUrl: 'https://www.standardwebhooks.com',
  settings: sandboxSettings,
  keptHeaders: ['webhook-id', 'webhook-timestamp'],
  capabilities: {
    idsAreGlobal: false,
    acceptsIdempotencyKey: false,
    canLookUp: false,
    delivers: ['payment.paid'],
  },
  receive,
} satisfies PaymentProvider<SandboxSettings>
