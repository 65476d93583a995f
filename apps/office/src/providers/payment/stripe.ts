import { z } from 'zod'
import {
  type EventName,
  type Field,
  ignored,
  PAID_KIND,
  paidEvent,
  rejected,
  UNREADABLE_KIND,
  unclear,
} from '../events.ts'
import {
  fieldAt,
  isObject,
  type JsonObject,
  objectAt,
  readEmail,
  readName,
  readReference,
  readUnixSeconds,
  show,
} from '../fields.ts'
import { bodyId, isPlaceholder, readId } from '../ids.ts'
import { parseJson } from '../json.ts'
import type { Delivery, PaymentProvider, Received } from '../provider.ts'
import { isSameText, signBody } from '../signature.ts'
import { idOf, isAbsent, parseAmount, paymentOf, SOURCE } from './stripe-objects.ts'
import { isReturnType, readReturn } from './stripe-returns.ts'

const stripeSettings = z.strictObject({
  webhookSecrets: z
    .array(
      z
        .string()
        .trim()
        .min(1)
        .refine((secret) => !isPlaceholder(secret), {
          error: 'This is the text a program prints for nothing, no secret.',
        }),
    )
    .min(1)
    .meta({
      secret: true,
      title: 'Signing secrets',
      description: 'Of the webhook endpoint (whsec_…). While a secret is being rolled, both the old and the new one.',
    }),
  livemode: z.boolean().default(true).meta({
    title: 'Live mode',
    description: 'Events of the other mode are ignored, so that a test never touches real invoices.',
  }),
  toleranceSeconds: z.int().min(1).default(300).meta({
    title: 'Tolerance',
    description: 'Seconds for which a signature is believed. Stripe signs every repetition anew.',
  }),
  invoiceReferenceFields: z.array(z.string().trim().min(1)).default(['metadata.invoice', 'client_reference_id']).meta({
    title: 'Invoice fields',
    description: 'Where a payment names its invoice (id or number); the first that is filled counts.',
  }),
})

export type StripeSettings = z.infer<typeof stripeSettings>

function receive(delivery: Delivery, settings: StripeSettings, nowMs: number): Received {
  const refusal = verify(delivery, settings, nowMs)
  return refusal === null ? reread(delivery, settings) : rejected(refusal)
}

/**
 * Says why a delivery cannot be believed, or `null`.
 *
 * Our own twenty lines, not `stripe.webhooks.signature.verifyHeader`: that one decodes the body to text and signs the
 * text, so bodies that differ in invalid UTF-8 or in a byte order mark count as equal; it takes one secret at a time and
 * throws an error with a stack for each that does not fit; and its module costs 60 to 100 ms at start. The test
 * compares the two on every sample.
 */
function verify(delivery: Delivery, settings: StripeSettings, nowMs: number): string | null {
  const header = delivery.headers['stripe-signature']
  if (header === undefined || header === '') return 'The header Stripe-Signature is missing.'
  let signedAt = ''
  const signatures: string[] = []
  for (const part of header.split(',')) {
    if (part.startsWith('t=')) signedAt = part.slice(2)
    // One v1 per secret that is valid during a rotation; other schemes (v0) are none that Stripe asks to check.
    else if (part.startsWith('v1=')) signatures.push(part.slice(3))
  }
  if (!/^\d{1,12}$/.test(signedAt) || signatures.length === 0) return 'The header Stripe-Signature cannot be read.'

  // An empty key would make a signature that anybody can make, so it is skipped even if settings let it through.
  const isSigned = settings.webhookSecrets.some((secret) => {
    if (secret.trim() === '') return false
    // The key is the secret as text with its prefix, unlike Standard Webhooks.
    const expected = signBody(secret, `${signedAt}.`, delivery.body, 'hex')
    return signatures.some((signature) => isSameText(signature, expected))
  })
  if (!isSigned) return 'No signature fits a secret of this integration.'
  // Only the past is limited, as in Stripe's own library: our clock may be slow, and a repetition has a fresh time.
  const ageSeconds = Math.floor(nowMs / 1000) - Number(signedAt)
  return ageSeconds <= settings.toleranceSeconds ? null : 'The signature is too old.'
}

function reread({ body }: Delivery, settings: StripeSettings): Received {
  const parsed = parseJson(body)
  const event = 'value' in parsed ? parsed.value : null
  const id = isObject(event) ? readId(event['id']) : null
  // The body is hashed only where the event names itself by nothing: `pending_webhooks` changes between repetitions.
  const named = { source: SOURCE, kind: UNREADABLE_KIND, id: id ?? bodyId(body) }
  if ('problem' in parsed) return unclear(named, 'body_unreadable', parsed.problem)
  if (!isObject(event)) return unclear(named, 'shape_unknown', 'The body is not an event object.')

  // Stripe always says the mode. A body that leaves it out is not of the other mode.
  const { type, livemode } = event
  if (livemode !== undefined && typeof livemode !== 'boolean') {
    return unclear(named, 'shape_unknown', `livemode is ${show(livemode)}, which is neither true nor false.`)
  }
  if (livemode !== undefined && livemode !== settings.livemode) {
    return ignored(
      livemode ? 'A live event at an integration in test mode.' : 'A test event at an integration in live mode.',
    )
  }
  if (typeof event['object'] === 'string' && event['object'].startsWith('v2.')) {
    // Thin events carry ids only; what they mean would have to be fetched, and an adapter has no network.
    return unclear(
      named,
      'shape_unknown',
      `A thin event (${show(event['object'])}) names no amount. Send snapshot events.`,
    )
  }
  if (typeof type !== 'string') return unclear(named, 'shape_unknown', `The type of the event is ${show(type)}.`)

  const isReturn = isReturnType(type)
  if (!isReturn && !paidTypes.has(type)) {
    return ignored(ignoredTypes.get(type) ?? `Events of type ${show(type)} move no money here.`)
  }
  const data = event['data']
  const object = isObject(data) ? data['object'] : undefined
  if (!isObject(object)) return unclear(named, 'shape_unknown', `The event of type ${show(type)} has no data.object.`)
  return isReturn ? readReturn({ type, event, object, named }) : readPaid(named, event, type, object, settings)
}

function readPaid(
  named: EventName,
  event: JsonObject,
  type: string,
  object: JsonObject,
  settings: StripeSettings,
): Received {
  const reading = readMoney(type, object)
  if ('ignored' in reading) return ignored(reading.ignored)
  const { payment, amountField, contradiction } = reading
  if (contradiction !== null) return unclear(named, 'shape_unknown', contradiction, readId(payment.value))
  const billing = objectAt(object, 'billing_details')
  const customer = objectAt(object, 'customer_details')
  const envelope = { source: SOURCE, kind: PAID_KIND, id: { name: 'id', value: event['id'] }, fallbackId: named.id }
  return paidEvent(envelope, {
    payment,
    amount: { name: amountField, value: object[amountField] },
    currency: { name: 'currency', value: object['currency'] },
    parseAmount,
    invoiceReference: readInvoiceReference(object, settings.invoiceReferenceFields),
    payer: {
      name: readName(billing['name']) ?? readName(customer['name']),
      email:
        readEmail(billing['email']) ??
        readEmail(customer['email']) ??
        readEmail(object['receipt_email']) ??
        readEmail(object['customer_email']),
    },
    occurredAt: readUnixSeconds(event['created']) ?? readUnixSeconds(object['created']),
  })
}

const PAYMENT_INTENT_BOOKS = 'The payment intent of this money has an event of its own, which books it.'

/** Types that say money arrived; whether it did is for `readMoney` to tell from the object. */
const paidTypes: ReadonlySet<string> = new Set([
  'payment_intent.succeeded',
  'charge.succeeded',
  'charge.captured',
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
])

/** Types we know and why each changes nothing. Types in no table are none of our business. */
const ignoredTypes: ReadonlyMap<string, string> = new Map([
  // Since API version 2025-03-31 an invoice no longer names its payment intent, so its event could only be booked under
  // a key of its own: a second time. payment_intent.succeeded of the same money names the key.
  ['invoice.paid', PAYMENT_INTENT_BOOKS],
  ['invoice.payment_succeeded', PAYMENT_INTENT_BOOKS],
  ['payment_intent.created', 'The payment has only begun.'],
  ['payment_intent.requires_action', 'The payer still has to act.'],
  ['payment_intent.processing', 'The payment is still in progress.'],
  ['payment_intent.amount_capturable_updated', 'The money is authorised and not captured.'],
  ['payment_intent.partially_funded', 'The payment is not complete.'],
  ['payment_intent.payment_failed', 'The attempt failed; another may follow.'],
  ['payment_intent.canceled', 'The payment was given up.'],
  ['charge.pending', 'The payment is still in progress.'],
  ['charge.failed', 'The attempt failed; another may follow.'],
  ['charge.expired', 'The authorisation ended without capture.'],
  ['checkout.session.expired', 'The checkout was given up.'],
  ['checkout.session.async_payment_failed', 'The payment failed after the checkout.'],
])

type MoneyReading =
  | { readonly ignored: string }
  | {
      readonly payment: Field
      readonly amountField: string
      /** A sentence where the object does not say that money arrived, although its event does. */
      readonly contradiction: string | null
    }

/**
 * What of a paid object names the money, and which field its amount.
 *
 * Payment intent, charge and checkout session describe the same money in events of their own. All name the payment
 * intent, so they meet in one money key whatever their order.
 */
function readMoney(type: string, object: JsonObject): MoneyReading {
  if (type.startsWith('checkout.session.')) return readSession(object)
  if (type.startsWith('charge.')) return readCharge(type, object)
  const payment = { name: 'id', value: object['id'] }
  return { payment, amountField: 'amount_received', contradiction: statusContradiction(object) }
}

function statusContradiction({ status }: JsonObject): string | null {
  return status === undefined || status === 'succeeded' ? null : `The status of the object is ${show(status)}.`
}

/** The type of the event says that money arrived; whatever the object says of it has to be a yes that Stripe is known to write. */
function readCharge(type: string, charge: JsonObject): MoneyReading {
  let contradiction = statusContradiction(charge)
  for (const field of ['paid', 'captured']) {
    // Stripe always sends both, as booleans. The text "false" must not count as true, whoever wrote it.
    const value = charge[field]
    if (value === false) return { ignored: `The charge is not ${field}.` }
    if (value !== undefined && value !== true) contradiction = `${field} is ${show(value)}, neither true nor false.`
  }
  const payment = paymentOf(charge, 'id')
  // With several captures this event holds a running total, while the intent's event holds the end result. Only the
  // old charges without an intent have no other event that says their authorised money was taken.
  if (type === 'charge.captured' && payment.name === 'payment_intent') return { ignored: PAYMENT_INTENT_BOOKS }
  return {
    payment,
    // `amount` is what was authorised; versions before `amount_captured` existed captured all of it.
    amountField: isAbsent(charge['amount_captured']) ? 'amount' : 'amount_captured',
    contradiction,
  }
}

function readSession(session: JsonObject): MoneyReading {
  const status = session['payment_status']
  // "completed" means that the payer finished the page; with slow methods the money comes days later.
  if (status === 'unpaid') return { ignored: 'The checkout is complete and not yet paid.' }
  if (status === 'no_payment_required') return { ignored: 'The checkout needed no payment.' }
  if (isAbsent(session['payment_intent'])) {
    // A subscription pays through an invoice whose payment intent has its own event; the session names only the invoice.
    if (typeof session['subscription'] === 'string' || typeof session['invoice'] === 'string') {
      return { ignored: PAYMENT_INTENT_BOOKS }
    }
    // An order that costs nothing has no payment intent, and there is no money to miss.
    if (session['amount_total'] === 0) return { ignored: 'The checkout cost nothing.' }
  }
  return {
    payment: { name: 'payment_intent', value: idOf(session['payment_intent']) },
    amountField: 'amount_total',
    contradiction: status === 'paid' ? null : `payment_status is ${show(status)}.`,
  }
}

function readInvoiceReference(object: JsonObject, paths: readonly string[]): string | null {
  for (const path of paths) {
    const reference = readReference(fieldAt(object, path))
    if (reference !== null) return reference
  }
  return null
}

export const stripe = {
  source: SOURCE,
  label: 'Stripe',
  docsUrl: 'https://docs.stripe.com/webhooks',
  settings: stripeSettings,
  keptHeaders: [],
  capabilities: {
    idsAreGlobal: true,
    acceptsIdempotencyKey: true,
    canLookUp: true,
    delivers: [PAID_KIND, 'payment.refunded', 'payment.refund_failed', 'payment.refund_total', 'payment.disputed'],
  },
  receive,
  reread,
} satisfies PaymentProvider<StripeSettings>
