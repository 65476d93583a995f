import { z } from 'zod'

/** Shapes of the API that server and web agree on. camelCase; times ISO 8601 with zone; ids are UUIDs. */

export const currencyCode = z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code in capitals, such as EUR')

export const amount = z
  .object({
    amountMinor: z.int().describe('Integer of minor units: 10000 with EUR is 100.00 euros'),
    currency: currencyCode,
  })
  .meta({ id: 'Amount' })

export const id = z.uuid()
export const time = z.iso.datetime({ offset: true })

export const pageQuery = z.object({
  cursor: z.uuid().optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
})

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: z.uuid().nullable() })
}

export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    requestId: z.string(),
  })
  .loose()
  .meta({ id: 'Problem' })

export const contactInput = z.object({ name: z.string().trim().min(1).max(200), email: z.email().nullish() })
export const contact = z
  .object({ id, name: z.string(), email: z.string().nullable(), version: z.int(), createdAt: time })
  .meta({ id: 'Contact' })

const decimalText = (pattern: RegExp, message: string) => z.string().regex(pattern, message)

export const invoiceLineInput = z.object({
  description: z.string().trim().min(1).max(1000),
  quantity: decimalText(/^\d{1,11}(\.\d{1,4})?$/, 'must be a decimal with a point and at most four places').default(
    '1',
  ),
  unitPriceMinor: decimalText(/^\d{1,15}(\.\d{1,4})?$/, 'must be minor units, with a point and at most four places')
    .or(z.int().nonnegative().transform(String))
    .describe('Net price of one unit, in minor units; may have decimals, for prices below a cent'),
  taxPercent: decimalText(/^\d{1,3}(\.\d{1,4})?$/, 'must be a percentage such as 19 or 7.5').default('0'),
})

export const invoiceInput = z.object({
  contactId: id.nullish(),
  currency: currencyCode,
  dueOn: z.iso.date().nullish(),
  lines: z.array(invoiceLineInput).min(1).max(500),
})

export const invoiceLine = z.object({
  description: z.string(),
  quantity: z.string(),
  unitPriceMinor: z.string(),
  taxPercent: z.string(),
  net: amount,
})

export const invoice = z
  .object({
    id,
    number: z.string().nullable(),
    type: z.enum(['invoice', 'credit_note']),
    lifecycle: z.enum(['draft', 'issued', 'void']),
    paymentState: z.enum(['open', 'partial', 'settled']),
    contactId: id.nullable(),
    currency: currencyCode,
    total: amount,
    paid: amount,
    credited: amount,
    adjusted: amount,
    open: amount,
    issuedAt: time.nullable(),
    dueOn: z.iso.date().nullable(),
    version: z.int(),
    createdAt: time,
    lines: z.array(invoiceLine),
  })
  .meta({ id: 'Invoice' })

export const payInput = z.object({
  amount: amount.optional().describe('Left out: the open rest, whatever it is at that moment'),
})

/** Answer to anything that moves money: a repetition says `duplicate` and moves nothing. */
export const moneyAnswer = z
  .object({
    duplicate: z.boolean(),
    applied: amount.or(z.array(amount)).optional(),
    ignored: z.literal(true).optional(),
    kept: z.literal(true).optional().describe('Safely stored, nothing booked: a person decides'),
    reason: z.string().optional(),
    eventId: id.optional(),
    target: z.object({ type: z.string(), id: z.string() }).optional(),
  })
  .meta({ id: 'MoneyAnswer' })

export const payment = z
  .object({
    id,
    source: z.string(),
    externalId: z.string(),
    kind: z.string(),
    amount,
    applied: amount,
    unapplied: amount,
    returned: amount,
    invoiceIds: z.array(id),
    contactId: id.nullable(),
    occurredAt: time.nullable(),
    recordedAt: time,
    eventId: id,
    deliveries: z.int().describe('How often news of this payment arrived'),
  })
  .meta({ id: 'Payment' })

export const delivery = z.object({
  id,
  receivedAt: time,
  outcome: z.string(),
  verdict: z.string(),
  reason: z.string().nullable(),
  answerStatus: z.int(),
})

export const effect = z.object({ type: z.string(), id: z.string(), data: z.record(z.string(), z.unknown()) })

export const event = z
  .object({
    id,
    source: z.string(),
    kind: z.string(),
    externalId: z.string(),
    state: z.enum(['in_progress', 'completed', 'failed', 'unknown']),
    attempt: z.int(),
    copies: z.int().describe('How often it arrived, the first time included'),
    startedAt: time,
    leaseUntil: time.nullable(),
    firstArrivedAt: time,
    lastArrivedAt: time,
    finishedAt: time.nullable(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    target: z.object({ type: z.string(), id: z.string() }).nullable(),
    answer: z.unknown(),
  })
  .meta({ id: 'Event' })

export const eventDetail = event
  .extend({ deliveries: z.array(delivery), effects: z.array(effect) })
  .meta({ id: 'EventDetail' })

export const reviewItem = z
  .object({
    id,
    key: z.string(),
    kind: z.enum(['unclear', 'conflict', 'unapplied', 'failed']),
    state: z.enum(['open', 'decided']),
    eventId: id,
    deliveryId: id.nullable(),
    data: z.unknown(),
    createdAt: time,
  })
  .meta({ id: 'ReviewItem' })
