import { compositeId, KeyError } from 'einmal'
import { z } from 'zod'
import { parseDecimal, parseMinorUnits } from '../../platform/money.ts'
import {
  type Envelope,
  type Field,
  ignored,
  type MovementClaim,
  movementsEvent,
  PAID_KIND,
  type ParseAmount,
  paidEvent,
  rejected,
  totalEvent,
  UNREADABLE_KIND,
  unclear,
  unusable,
} from '../events.ts'
import {
  fieldAt,
  isObject,
  type JsonObject,
  objectAt,
  readEmail,
  readIsoTime,
  readName,
  readReference,
  show,
} from '../fields.ts'
import { bodyId, readId } from '../ids.ts'
import { parseJson } from '../json.ts'
import type { Delivery, PaymentProvider, Received } from '../provider.ts'
import { isSameText, signBody } from '../signature.ts'

/**
 * The neutral way in: Standard Webhooks 1.0.0 (https://www.standardwebhooks.com) with a body of our own. It is tutorial,
 * demo and test double, and what anybody's own sender speaks: `{type, timestamp, data}`. The types are our own words, so
 * they are the kinds of the events as well.
 *
 * | type | data, beside the amount and its currency |
 * | --- | --- |
 * | `payment.paid` | `payment`, `invoice`, `payer` |
 * | `payment.refunded`, `payment.refund_failed` | `refund`, `payment` |
 * | `payment.refund_total` | `payment`; the amount is what was refunded of it so far |
 * | `payment.charged_back`, `payment.chargeback_reversed` | `dispute`, `payment`, `movement` (if it can take twice) |
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
  toleranceSeconds: z.int().min(1).default(300).meta({
    title: 'Tolerance',
    description:
      'Seconds by which a signature may be older or newer than our clock. Make it as long as your sender repeats, if its repetitions keep the time of the event: what was booked once is not booked again, however late it comes.',
  }),
  account: z
    .string()
    .trim()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, { error: 'Small letters, digits and hyphens.' })
    .optional()
    .meta({
      title: 'Sender',
      description: 'Needed only if several senders of your own count by themselves, so that their ids never meet.',
    }),
  amounts: z.enum(['minor', 'decimal', 'decimal_grouped']).default('minor').meta({
    title: 'Amounts',
    description:
      'How the sender writes 1190 euros: minor as the integer amountMinor 119000, decimal as the text amount "1190.00", decimal_grouped as "1,190.00".',
  }),
  identityFields: z
    .array(
      z
        .string()
        .trim()
        .regex(/^[^\p{C}]+$/u, { error: 'A path such as data.payment.' }),
    )
    .min(1)
    .optional()
    .meta({
      title: 'Identity fields',
      description:
        'Only for a sender without ids of its own: the fields that together name an event and are the same in each of its repetitions, such as type and data.payment. The header webhook-id may then be missing, and the signed text begins with its point.',
    }),
})

export type SandboxSettings = z.infer<typeof sandboxSettings>

/** Interim steps; they neither book nor use up a key. */
const interimTypes: ReadonlySet<string> = new Set(['payment.created', 'payment.processing', 'payment.failed'])

/** What a type of a single movement means, and the fields of its data that may name it; the first that is there counts. */
interface MovementType {
  readonly kind: MovementClaim['kind']
  readonly movementFields: readonly string[]
  readonly belongsTo: string
}

const refund = { movementFields: ['refund'], belongsTo: 'refund' }
// Without a movement's id the dispute's has to do, and a second withdrawal would be taken for the first.
const dispute = { movementFields: ['movement', 'dispute'], belongsTo: 'dispute' }

const movementTypes: ReadonlyMap<string, MovementType> = new Map([
  ['payment.refunded', { kind: 'refund', ...refund }],
  ['payment.refund_failed', { kind: 'refund_reversal', ...refund }],
  ['payment.charged_back', { kind: 'chargeback', ...dispute }],
  ['payment.chargeback_reversed', { kind: 'chargeback_reversal', ...dispute }],
])

const TOTAL_KIND = 'payment.refund_total'

/** Genuine types that this version cannot book. */
const waitingTypes: ReadonlySet<string> = new Set(['message.received', 'message.edited', 'call.updated', 'bank.line'])

interface AmountForm {
  readonly field: string
  readonly parse: ParseAmount
}

const amountForms: Readonly<Record<SandboxSettings['amounts'], AmountForm>> = {
  minor: { field: 'amountMinor', parse: (value, currency) => parseMinorUnits(value, currency) },
  decimal: { field: 'amount', parse: (value, currency) => parseDecimal(value, currency) },
  decimal_grouped: {
    field: 'amount',
    parse: (value, currency) => parseDecimal(value, currency, { groupedByComma: true }),
  },
}

function receive(delivery: Delivery, settings: SandboxSettings, nowMs: number): Received {
  const refusal = verify(delivery, settings, nowMs)
  return refusal === null ? reread(delivery, settings) : rejected(refusal)
}

/**
 * Says why a delivery cannot be believed, or `null`.
 *
 * Not the package `standardwebhooks`: it reads the machine's clock, where ours is handed in, decodes the body to text
 * before it signs, and signs in plain JavaScript. The test compares the two.
 */
function verify(delivery: Delivery, settings: SandboxSettings, nowMs: number): string | null {
  const { headers } = delivery
  // A sender without ids signs an empty one.
  const id = headers['webhook-id'] ?? (settings.identityFields === undefined ? undefined : '')
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

function reread({ headers, body }: Delivery, settings: SandboxSettings): Received {
  const source = settings.account === undefined ? SOURCE : `${SOURCE}/${settings.account}`
  const parsed = parseJson(body)
  const event = 'value' in parsed ? parsed.value : null
  const id = isObject(event) ? identityOf(event, headers, settings) : webhookId(headers)
  const unreadable = { source, kind: UNREADABLE_KIND, id: readId(id.value) ?? bodyId(body) }
  if ('problem' in parsed) return unclear(unreadable, 'body_unreadable', parsed.problem)
  if (!isObject(event)) return unclear(unreadable, 'shape_unknown', 'The body is not an event object.')
  const { type, data } = event
  if (typeof type !== 'string') return unclear(unreadable, 'shape_unknown', `The type of the event is ${show(type)}.`)
  if (interimTypes.has(type)) return ignored(`${type} is a step on the way; no money has arrived.`)

  const movementType = movementTypes.get(type)
  if (type !== PAID_KIND && type !== TOTAL_KIND && movementType === undefined) {
    const isKnown = waitingTypes.has(type)
    // An unknown type may be a misspelled "payment.paid": it is kept, because ignoring it could lose money.
    const kept = isKnown ? { ...unreadable, kind: type } : unreadable
    if (readId(id.value) === null) return unclear(kept, 'id_unusable', unusable(id))
    const detail = isKnown ? `This version cannot book ${show(type)}.` : `The type ${show(type)} is unknown.`
    return unclear(kept, 'type_not_supported', detail)
  }
  if (!isObject(data)) return unclear(unreadable, 'shape_unknown', 'The event has no data.')

  const envelope: Envelope = { source, kind: type, id, fallbackId: unreadable.id }
  const claim = claimOf(event, data, amountForms[settings.amounts])
  if (movementType !== undefined) return movementsEvent(envelope, [{ ...claim, ...movementOf(data, movementType) }])
  if (type === TOTAL_KIND) return totalEvent(envelope, claim)
  const payer = objectAt(data, 'payer')
  return paidEvent(envelope, {
    ...claim,
    invoiceReference: readReference(data['invoice']),
    payer: { name: readName(payer['name']) ?? readName(data['payer']), email: readEmail(payer['email']) },
  })
}

function claimOf(event: JsonObject, data: JsonObject, form: AmountForm) {
  return {
    payment: dataField(data, 'payment'),
    amount: dataField(data, form.field),
    currency: dataField(data, 'currency'),
    parseAmount: form.parse,
    occurredAt: readIsoTime(event['timestamp']),
  }
}

function movementOf(data: JsonObject, { kind, movementFields, belongsTo }: MovementType) {
  return { kind, movement: dataField(data, presentOf(data, movementFields)), belongsTo: dataField(data, belongsTo) }
}

/** The first of the fields that is there, or the last of them. */
function presentOf(data: JsonObject, fields: readonly string[]): string {
  return fields.find((field) => data[field] !== undefined && data[field] !== null) ?? fields.at(-1) ?? ''
}

function dataField(data: JsonObject, field: string): Field {
  return { name: `data.${field}`, value: data[field] }
}

function webhookId(headers: Delivery['headers']): Field {
  return { name: 'webhook-id', value: headers['webhook-id'] }
}

/**
 * What names an event: its `webhook-id`, or for a sender without ids the values of the declared fields together.
 *
 * The name of the money is always one of them, so that two refunds of one payment stay two events even where only type and
 * payment were declared.
 */
function identityOf(event: JsonObject, headers: Delivery['headers'], settings: SandboxSettings): Field {
  if (settings.identityFields === undefined) return webhookId(headers)
  const declared = settings.identityFields.map((path) => ({ name: path, value: fieldAt(event, path) }))
  const fields = [...declared, ...moneyFields(event, amountForms[settings.amounts])]
  try {
    const value = compositeId(Object.fromEntries(fields.map(({ name, value }) => [name, value])))
    return { name: 'identityFields', value }
  } catch (error) {
    if (!(error instanceof KeyError)) throw error
    // Where nothing but times is there, no single field is to blame.
    return fields.find(({ name }) => name === error.part) ?? { name: 'identityFields', value: undefined }
  }
}

/** What names the money in each type. */
function moneyFields(event: JsonObject, form: AmountForm): Field[] {
  const data = objectAt(event, 'data')
  const { type } = event
  const movementType = typeof type === 'string' ? movementTypes.get(type) : undefined
  if (movementType !== undefined) return [dataField(data, presentOf(data, movementType.movementFields))]
  if (type === TOTAL_KIND) return [dataField(data, 'payment'), dataField(data, form.field)]
  return type === PAID_KIND ? [dataField(data, 'payment')] : []
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
    delivers: [PAID_KIND, TOTAL_KIND, ...movementTypes.keys()],
  },
  receive,
  reread,
} satisfies PaymentProvider<SandboxSettings>
