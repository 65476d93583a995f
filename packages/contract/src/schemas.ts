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

export const text = (max: number) => z.string().trim().min(1).max(max)
export const countryCode = z.string().regex(/^[A-Z]{2}$/, 'must be an ISO 3166-1 code in capitals, such as DE')

export const addressInput = z.object({
  street: text(200).nullish(),
  postalCode: text(20).nullish(),
  city: text(100).nullish(),
  country: countryCode.nullish(),
})

export const address = z
  .object({
    street: z.string().nullable(),
    postalCode: z.string().nullable(),
    city: z.string().nullable(),
    country: z.string().nullable(),
  })
  .meta({ id: 'Address' })

export const contactPointKind = z.enum(['email', 'phone', 'iban', 'messenger'])

export const contactPointInput = z.object({
  kind: contactPointKind,
  value: z
    .string()
    .min(1)
    .max(320)
    .describe('As people write it; it is kept normalised. A messenger id is `<network>:<id>`'),
  label: text(100).nullish(),
  isShared: z
    .boolean()
    .default(false)
    .describe('Names nobody, such as the number of a switchboard: as many contacts as like may have it'),
  country: countryCode.nullish().describe('Of a phone number that is written without a + and its country’s number'),
})

export const contactPoint = z
  .object({
    id,
    kind: contactPointKind,
    value: z.string().describe('Normalised: an e-mail address in small letters, a phone number as E.164'),
    label: z.string().nullable(),
    isShared: z.boolean(),
    createdAt: time,
  })
  .meta({ id: 'ContactPoint' })

const contactFields = {
  name: text(200),
  taxId: text(50).nullish(),
  address: addressInput.nullish().describe('As a whole: what is left out of it is empty'),
}

export const companyInput = z.object({
  ...contactFields,
  email: z.string().max(320).nullish().describe('The first contact point, for short'),
  points: z.array(contactPointInput).max(50).default([]),
})

export const contactInput = companyInput.extend({
  type: z.enum(['person', 'company']).default('person'),
  companyId: id.nullish().describe('The company that a person belongs to'),
})

/** What is left out stays; `null` empties. */
export const companyChange = z.strictObject({ ...contactFields, name: contactFields.name.optional() })
export const contactChange = companyChange.extend({ companyId: id.nullish() })

export const contactQuery = pageQuery.extend({
  q: text(320)
    .optional()
    .describe(
      'An e-mail address, phone number with +, IBAN or messenger id, exactly; where nobody has it, the beginning of a name. Names come in their order',
    ),
})

export const contact = z
  .object({
    id,
    type: z.enum(['person', 'company']),
    name: z.string(),
    companyId: id.nullable(),
    taxId: z.string().nullable(),
    address: address.nullable(),
    email: z.string().nullable().describe('The first e-mail address of its points'),
    points: z.array(contactPoint),
    version: z.int(),
    createdAt: time,
  })
  .meta({ id: 'Contact' })

export const balance = z
  .object({
    currency: currencyCode,
    open: amount.describe('What it owes'),
    credit: amount.describe('What of its payments lies on no invoice'),
  })
  .meta({ id: 'Balance' })

export const contactDetail = contact
  .extend({
    company: z.object({ id, name: z.string() }).nullable(),
    balances: z.array(balance).describe('One for each currency in which there is anything'),
  })
  .meta({ id: 'ContactDetail' })

export const dealStage = z.enum(['new', 'qualified', 'proposal', 'won', 'lost'])

const dealFields = {
  title: text(200),
  contactId: id,
  amount: amount.describe('What it may bring; zero while nobody knows'),
  expectedOn: z.iso.date().nullish(),
}

export const dealInput = z.object({
  ...dealFields,
  stage: dealStage.exclude(['won', 'lost']).default('new').describe('A deal is won or lost by a change'),
})

/** What is left out stays; `null` empties. */
export const dealChange = z.strictObject({ ...dealFields, stage: dealStage }).partial()

export const dealQuery = pageQuery.extend({ stage: dealStage.optional(), contactId: id.optional() })

export const deal = z
  .object({
    id,
    title: z.string(),
    contactId: id,
    stage: dealStage,
    amount,
    expectedOn: z.iso.date().nullable(),
    version: z.int(),
    createdAt: time,
    closedAt: time.nullable().describe('When it was won or lost'),
  })
  .meta({ id: 'Deal' })

export const noteInput = z.object({ text: text(10_000) })

/** A line of a time line. */
export const activity = z
  .object({
    id,
    type: z.string().describe('What happened, such as `payment.received`, `deal.stage_changed` or `note`'),
    subject: z.object({ type: z.string(), id }),
    data: z.unknown(),
    eventId: id,
    recordedAt: time,
  })
  .meta({ id: 'Activity' })

export const auditQuery = pageQuery.extend({ subjectId: id.optional() })

export const auditEntry = z
  .object({
    id,
    actor: z.object({
      type: z.enum(['member', 'api_key', 'assistant', 'system']),
      id: z.string(),
      name: z.string().nullable().describe('What a person or a key is called now'),
    }),
    action: z.string().describe('Noun and verb, such as `contact.change`'),
    subject: z.object({ type: z.string(), id }),
    data: z.unknown().describe('Of a change: the fields that changed, `before` and `after`'),
    recordedAt: time,
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.output<typeof auditEntry>

const decimalText = (pattern: RegExp, message: string) => z.string().regex(pattern, message)

const percent = decimalText(/^\d{1,3}(\.\d{1,4})?$/, 'must be a percentage such as 19 or 7.5')
const discountPercent = percent.refine((text) => Number(text) <= 100, 'must be at most 100')

export const invoiceLineInput = z.object({
  description: text(1000),
  quantity: decimalText(/^\d{1,11}(\.\d{1,4})?$/, 'must be a decimal with a point and at most four places').default(
    '1',
  ),
  unitPriceMinor: decimalText(/^-?\d{1,15}(\.\d{1,4})?$/, 'must be minor units, with a point and at most four places')
    .or(z.int().transform(String))
    .describe('Net price of one unit, in minor units; may have decimals, for prices below a cent, and be negative'),
  discountPercent: discountPercent.default('0').describe('Off this line'),
  taxPercent: percent.default('0'),
})

const invoiceFields = {
  contactId: id.nullish(),
  currency: currencyCode,
  dueOn: z.iso.date().nullish(),
  discountPercent: discountPercent.default('0').describe('Off the whole document, rate by rate'),
  notes: z.string().trim().max(5000).nullish(),
  lines: z.array(invoiceLineInput).min(1).max(500),
}

export const invoiceInput = z.object(invoiceFields)

export const invoiceChange = z
  .object({
    ...invoiceFields,
    currency: currencyCode.optional(),
    discountPercent: discountPercent.optional(),
    lines: invoiceFields.lines.optional(),
  })
  .describe('Only what is given changes; lines are replaced as a whole')

export const creditNoteInput = z.object({
  lines: invoiceFields.lines
    .optional()
    .describe('With positive amounts. Left out: everything that the invoice says, where nothing was credited yet'),
  discountPercent: discountPercent.default('0'),
  notes: z.string().trim().max(5000).nullish(),
})

export const adjustmentKind = z.enum(['cash_discount', 'fee', 'bad_debt'])

export const adjustmentInput = z.object({
  kind: adjustmentKind,
  amount: amount.optional().describe('Left out: all that is open'),
  note: z.string().trim().max(1000).nullish(),
})

export const reversalInput = z.object({ reason: text(1000) })

export const invoiceLine = z.object({
  description: z.string(),
  quantity: z.string(),
  unitPriceMinor: z.string(),
  discountPercent: z.string(),
  taxPercent: z.string(),
  net: amount.describe('After the discount of the line, before that of the document'),
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
    discountPercent: z.string(),
    notes: z.string().nullable(),
    copiedFromId: id.nullable(),
    correctsId: id.nullable().describe('The invoice that this credit note takes back'),
    version: z.int(),
    createdAt: time,
    net: amount,
    taxes: z.array(z.object({ percent: z.string(), net: amount, tax: amount })),
    lines: z.array(invoiceLine),
  })
  .meta({ id: 'Invoice' })

export const allocation = z
  .object({
    id,
    paymentId: id,
    invoiceId: id,
    amount,
    eventId: id,
    createdAt: time,
    reversedAt: time.nullable(),
    reversalReason: z.string().nullable(),
  })
  .meta({ id: 'Allocation' })

export const adjustment = z
  .object({
    id,
    kind: adjustmentKind,
    amount,
    note: z.string().nullable(),
    createdAt: time,
    reversedAt: time.nullable(),
    reversalReason: z.string().nullable(),
  })
  .meta({ id: 'Adjustment' })

export const invoiceDetail = invoice
  .extend({
    allocations: z.array(allocation).describe('What lies and what lay on this invoice'),
    credits: z.array(z.object({ creditNoteId: id, number: z.string().nullable(), amount })),
    adjustments: z.array(adjustment),
  })
  .meta({ id: 'InvoiceDetail' })

export const payInput = z.object({
  amount: amount.optional().describe('Left out: the open rest, whatever it is at that moment'),
})

/** Names that stand for what people enter here; no source outside may have them. */
const reservedSources = ['api', 'manual', 'correction', 'entered']

const moneySource = z
  .string()
  .trim()
  .regex(/^[a-z][a-z0-9._-]{0,62}(\/[^\s/]{1,62})?$/, 'must be a name in small letters such as stripe or bank/main')
  .refine(
    (source) => !reservedSources.includes(source.split('/')[0] ?? ''),
    'is a name that this office keeps for itself',
  )

export const paymentInput = z.object({
  source: moneySource.describe('Who names the payment, such as stripe; the same word as on its webhooks'),
  externalId: text(1024).describe('The id of the payment at its source, such as pi_123'),
  amount,
  invoice: text(200).nullish().describe('Id or number of the invoice that it is for'),
  payer: z
    .object({ name: z.string().trim().max(300).nullish(), email: z.string().trim().max(254).nullish() })
    .nullish(),
  occurredAt: time.nullish(),
})

export const applyInput = z.object({
  invoiceId: id,
  amount: amount.optional().describe('Left out: all that is unapplied. At most what is open is applied'),
})

export const moveInput = z.object({
  toInvoiceId: id,
  fromInvoiceId: id.optional().describe('Left out: from wherever the payment lies'),
})

export const returnInput = z
  .object({
    amount: amount.optional().describe('Left out: all that has not gone back yet'),
    source: moneySource.optional(),
    externalId: text(1024).optional(),
    dispute: text(1024)
      .optional()
      .describe(
        "Of a chargeback with the provider's name: the id of its dispute, by which what comes back later finds it",
      ),
  })
  .refine(({ source, externalId }) => (source === undefined) === (externalId === undefined), {
    message: 'source and externalId name it together, or neither is given',
  })
  .describe("With the provider's own name for it, the provider's message is a repetition; without, it is another one")

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
    version: z.int(),
  })
  .meta({ id: 'Payment' })

export const paymentReturn = z
  .object({
    id,
    source: z.string(),
    externalId: z.string(),
    kind: z.enum(['refund', 'refund_reversal', 'refund_total', 'chargeback', 'chargeback_reversal', 'correction']),
    returnId: z.string().describe('The refund or dispute that this movement belongs to'),
    amount,
    occurredAt: time.nullable(),
    recordedAt: time,
    eventId: id,
  })
  .meta({ id: 'PaymentReturn' })

export const paymentDetail = payment
  .extend({ returns: z.array(paymentReturn), allocations: z.array(allocation) })
  .meta({ id: 'PaymentDetail' })

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
    isFinal: z.boolean().describe('Failed, and nobody tries again'),
    copies: z.int().describe('How often it arrived, the first time included'),
    startedAt: time,
    leaseUntil: time.nullable().describe('Of work outside that is in progress: nobody else may take it before'),
    nextAttemptAt: time.nullable().describe('Of work outside that failed: when it may be tried again'),
    isStuck: z.boolean().describe('In progress beyond its lease: whoever was at it fell silent'),
    firstArrivedAt: time,
    lastArrivedAt: time,
    finishedAt: time.nullable(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    target: z.object({ type: z.string(), id: z.string() }).nullable(),
    answer: z.unknown(),
  })
  .meta({ id: 'Event' })

export const eventNote = z
  .object({
    id,
    type: z.string().describe('Such as `late_completed`, `unknown`, `resolved_as_completed` or `repeated`'),
    attempt: z.int().nullable(),
    author: z.string().nullable().describe('Who decided, where somebody did'),
    note: z.string().nullable(),
    data: z.unknown(),
    recordedAt: time,
  })
  .meta({ id: 'EventNote' })

export const eventDetail = event
  .extend({
    deliveries: z.array(delivery),
    effects: z.array(effect),
    notes: z.array(eventNote).describe('Words that came too late, decisions, repetitions on purpose'),
  })
  .meta({ id: 'EventDetail' })

export const reviewItem = z
  .object({
    id,
    key: z.string(),
    kind: z.enum(['unclear', 'conflict', 'unapplied', 'failed', 'waiting', 'excess', 'unknown', 'stuck', 'given_up']),
    state: z.enum(['open', 'decided']),
    eventId: id,
    deliveryId: id.nullable(),
    data: z.unknown(),
    createdAt: time,
    decisions: z.array(z.string()).describe('How this item can be decided'),
    decidedAt: time.nullable(),
    decidedBy: z.string().nullable(),
    decision: z.string().nullable(),
    note: z.string().nullable(),
  })
  .meta({ id: 'ReviewItem' })

export const notification = z
  .object({
    id,
    type: z.string().describe('Such as payment.received or review.conflict'),
    data: z.unknown(),
    eventId: id,
    recordedAt: time,
    readAt: time.nullable(),
  })
  .meta({ id: 'Notification' })

const note = z.string().trim().max(1000).nullish()

export const workTarget = z.object({ type: text(200), id: text(1_000) }).describe('What it led to in the other system')

/** How work outside ended, as a person or a look-up found out. */
export const workDecision = z
  .object({
    outcome: z
      .enum(['completed', 'failed', 'retry'])
      .describe('It happened; it did not and shall not; it did not, and the next reservation is the next attempt'),
    target: workTarget.optional(),
    answer: z.unknown().optional().describe('What every later copy is told'),
    note: text(1_000).describe('How it was found out'),
  })
  .meta({
    id: 'WorkDecision',
    examples: [{ outcome: 'completed', note: 'Found it in the print queue', target: { type: 'label', id: 'L-1' } }],
  })

export const reviewDecision = z
  .discriminatedUnion('decision', [
    z.object({ decision: z.literal('dismiss'), note }).describe('Nothing has to happen'),
    z
      .object({ decision: z.literal('retry'), note })
      .describe('Read what arrived again, with what this version understands'),
    z
      .object({
        decision: z.literal('enter'),
        note,
        kind: z.enum(['payment', 'refund', 'chargeback']).default('payment'),
        amount,
        externalId: text(1024).optional().describe("The source's id of the money, where it could not be read"),
        invoice: text(200).nullish().describe('For a payment: id or number of the invoice'),
        payment: text(1024).optional().describe("Otherwise: the source's id of the payment"),
        dispute: text(1024).optional().describe("For a chargeback: the source's id of its dispute"),
      })
      .describe('Enter what could not be read, under the key of the money itself'),
    z.object({ decision: z.literal('book_difference'), note }).describe('Book what a contradiction says more or less'),
    z
      .object({ decision: z.literal('apply'), note, invoiceId: id, amount: amount.optional() })
      .describe('Apply unapplied money to an invoice'),
    workDecision.extend({ decision: z.literal('resolve') }).describe('Say how work outside ended'),
  ])
  .meta({ id: 'ReviewDecision' })

export const decidedItem = z
  .object({ item: reviewItem, outcome: moneyAnswer.nullable().describe('What was booked through the decision') })
  .meta({ id: 'DecidedItem' })
