import { createHash } from 'node:crypto'
import { type App, createApp } from '../../src/app.ts'
import type { ReceivedEvent } from '../../src/facts/index.ts'
import { createContact } from '../../src/modules/contacts/index.ts'
import { createIntegration } from '../../src/modules/integrations/index.ts'
import { registerPayments } from '../../src/modules/money/index.ts'
import { createPipeline, type EventOutcome, factKind, type ToldEvent } from '../../src/pipeline/index.ts'
import type { Db } from '../../src/platform/database.ts'
import { createLog } from '../../src/platform/log.ts'
import type { GrownOffice } from '../support/grow-office.ts'
import { stripePaid, type TestOffice, type TestOrganization } from '../support/office.ts'
import { workOnContacts } from './contact-work.ts'
import { doHousework } from './housework.ts'
import { workOnMoney } from './money-work.ts'
import { workOnPeople } from './people-work.ts'
import { workOnRegister } from './register-work.ts'

/** An office at work over one connection of its own, whose plans live as long as it does. */
export interface Desk {
  readonly office: TestOffice
  readonly db: Db
  readonly app: App
}

export async function openDesk(office: TestOffice, db: Db): Promise<Desk> {
  const { door, clock, newId, secretKey } = office
  const log = createLog('silent')
  const app = await createApp({ db, door, clock, newId, secretKey, log })
  return { office, db, app }
}

/** Events of a group: enough that work per row shows, and few enough that all is measured in seconds. */
const GROUP = 40

/** Does everything that the office can do, in one organisation, with what is on record there, and reads it in every way. */
export async function workThrough(desk: Desk, organization: TestOrganization, grown?: GrownOffice): Promise<void> {
  await readEverything(desk, organization, await writeEverything(desk, organization, grown), grown)
  await workOnContacts(desk.app, organization.apiKey, desk.office.newId(), grown)
  await workOnMoney(desk.app, organization, desk.office.newId(), grown)
  await workOnRegister(desk, organization, desk.office.newId())
  await workOnPeople(desk, organization, desk.office.newId())
  await doHousework(desk.db, organization.organizationId, desk.office.clock.now())
}

interface Written {
  readonly contactId: string
  readonly invoiceId: string
  /** One event of each sort. */
  readonly eventIds: readonly string[]
}

export async function writeEverything(
  desk: Desk,
  organization: TestOrganization,
  grown?: GrownOffice,
): Promise<Written> {
  const api = apiOf(desk.app, organization.apiKey)
  await setUpSender(desk, organization)
  const contact = await api.post('/contacts', { name: 'Muster GmbH', email: `kontakt@${desk.office.newId()}.example` })
  const lines = [{ description: 'Work', unitPriceMinor: '500000' }]
  const draft = await api.post('/invoices', { contactId: contact.id, currency: 'EUR', lines })
  const other = await api.post('/invoices', { currency: 'EUR', lines })
  await api.post(`/invoices/${other.id}/issue`, undefined)
  await payInFull(api, String(other.id), desk.office.newId())
  const eventIds = await sendGroups(desk, organization, String(draft.id), grown)
  await api.post(`/invoices/${draft.id}/issue`, undefined)
  await failAndComeAgain(desk, organization)
  await loseTheAnswer(desk, organization)
  await receiveWebhooks(desk, organization)
  return { contactId: String(contact.id), invoiceId: String(draft.id), eventIds }
}

async function readEverything(
  { office, app }: Desk,
  { apiKey }: TestOrganization,
  { contactId, invoiceId, eventIds }: Written,
  grown: GrownOffice | undefined,
): Promise<void> {
  const api = apiOf(app, apiKey)
  await readLists(api, grown, office.newId)
  for (const id of [...eventIds, ...(grown?.eventIds.slice(0, 3) ?? [])]) await api.get(`/events/${id}`)
  const { items } = (await api.get('/payments?limit=200')) as { items: { id: string }[] }
  for (const id of [items[0]?.id, grown?.paymentIds[7]]) if (id !== undefined) await api.get(`/payments/${id}`)
  for (const id of [invoiceId, grown?.invoiceIds[7]]) if (id !== undefined) await api.get(`/invoices/${id}`)
  await api.get(`/contacts/${contactId}`)
}

interface Api {
  get(path: string): Promise<Record<string, unknown>>
  post(path: string, body: object | undefined, headers?: Record<string, string>): Promise<Record<string, unknown>>
  /** A post that has to be refused. */
  refused(path: string, body: object): Promise<void>
}

export function apiOf(app: App, apiKey: string): Api {
  const authorization = `Bearer ${apiKey}`
  const read = (path: string, response: { statusCode: number; body: string }) => {
    if (response.statusCode >= 300) throw new Error(`${path} answered ${response.statusCode}: ${response.body}`)
    return JSON.parse(response.body) as Record<string, unknown>
  }
  return {
    async get(path) {
      return read(path, await app.http.inject({ method: 'GET', url: `/api/v1${path}`, headers: { authorization } }))
    },
    async post(path, body, headers = {}) {
      const request = { method: 'POST', url: `/api/v1${path}`, headers: { authorization, ...headers } } as const
      return read(path, await app.http.inject(body === undefined ? request : { ...request, payload: body }))
    },
    async refused(path, body) {
      const request = { method: 'POST', url: `/api/v1${path}`, headers: { authorization }, payload: body } as const
      const { statusCode } = await app.http.inject(request)
      if (statusCode < 400 || statusCode >= 500) throw new Error(`${path} answered ${statusCode}`)
    },
  }
}

async function setUpSender({ office, db }: Desk, { organizationId }: TestOrganization): Promise<void> {
  const { secretKey, clock, newId } = office
  const context = { organizationId, secretKey, now: clock.now(), newId }
  await db.transaction(organizationId, async (tx) => {
    await createIntegration(tx, context, { provider: 'stripe', label: 'Stripe', settings: { webhookSecrets: [] } })
    await createContact(tx, context, { type: 'company', name: 'Probe AG' })
  })
}

/** The button twice: the second time is answered from the register. */
async function payInFull(api: Api, invoiceId: string, key: string): Promise<void> {
  for (const _ of [1, 2]) await api.post(`/invoices/${invoiceId}/pay`, undefined, { 'idempotency-key': key })
}

/** Payments of all sorts, in groups. Returns the ids of some of their events, one of each sort. */
async function sendGroups(
  { office, app }: Desk,
  organization: TestOrganization,
  draftId: string,
  grown: GrownOffice | undefined,
): Promise<string[]> {
  const { newId } = office
  const issued = await Promise.all(
    [400_000n, 400_000n, 100n].map((amountMinor) => organization.issueInvoice({ amountMinor, currency: 'EUR' })),
  )
  const references = [...issued.map((invoice) => invoice.number), ...(grown?.numbers ?? [])]
  const run = newId()
  const told = (name: string, reference: string | null, change: Partial<Told> = {}) =>
    toldPayment(office, organization, {
      eventId: `evt_${run}_${name}`,
      paymentId: `pi_${run}_${name}`,
      reference,
      ...change,
    })
  const submit = (events: readonly ToldEvent[]) => Promise.all(events.map((event) => app.pipeline.submit(event)))
  const names = Array.from({ length: GROUP }, (_, index) => String(index))

  // Booked at once, and one that is more than its invoice takes.
  const booked = await submit(names.map((name, index) => told(name, references[index % references.length] ?? null)))
  // Copies of them, and the same events about them under other ids.
  await submit(names.map((name, index) => told(name, references[index % references.length] ?? null)))
  const mentioned = await submit(names.map((name) => told(name, null, { eventId: `evt_${run}_${name}_again` })))
  // Without an invoice, with one nobody knows and with one that has no number yet; then some learn their invoice.
  const waiting = await submit(
    names.map((name, index) =>
      told(`w${name}`, [null, `PO-${name}`, draftId, draftId.toUpperCase()][index % 4] ?? null),
    ),
  )
  await submit(names.map((name) => told(`w${name}`, references[1] ?? null, { eventId: `evt_${run}_w${name}_again` })))
  // Other content under a known event, and under a known payment.
  const conflicts = await submit(names.map((name) => told(name, null, { amountMinor: 7n })))
  await submit(names.map((name) => told(name, null, { amountMinor: 8n, eventId: `evt_${run}_${name}_other` })))
  const unclear = await submit([unclearEvent(told('unclear', null)), unclearEvent(told('unclear2', null))])
  const alone = await submit([told('alone', references[0] ?? null)])
  return [booked, mentioned, waiting, conflicts, unclear, alone].flatMap(([first]) => (first ? [first.eventId] : []))
}

interface Told {
  readonly eventId: string
  readonly paymentId: string
  readonly reference: string | null
  readonly amountMinor: bigint
}

function toldPayment(
  { clock, newId }: TestOffice,
  { organizationId, stripe }: TestOrganization,
  { eventId, paymentId, reference, amountMinor = 1_000n }: Partial<Told> & Omit<Told, 'amountMinor'>,
): ToldEvent {
  const holder = newId()
  const body = Buffer.from(`${eventId}${amountMinor}`)
  const event: ReceivedEvent = {
    source: 'stripe',
    kind: 'payment.paid',
    id: eventId,
    fingerprint: `v1:${amountMinor}:EUR`,
    content: {
      facts: [
        {
          type: 'payment',
          kind: 'payment',
          source: 'stripe',
          externalId: paymentId,
          amount: { amountMinor, currency: 'EUR' },
          invoiceReference: reference,
          payer: { name: 'Muster', email: null },
          occurredAt: clock.now(),
        },
      ],
    },
  }
  const delivery = {
    id: holder,
    endpointId: stripe.path.split('/').at(-1) ?? '',
    source: 'stripe',
    receivedAt: clock.now(),
    headers: { 'content-type': 'application/json' },
    body,
    bodyHash: createHash('sha256').update(body).digest(),
  }
  return { organizationId, event, delivery, holder, arrivedAt: clock.now() }
}

function unclearEvent(told: ToldEvent): ToldEvent {
  const unclear = { code: 'amount_unreadable', detail: 'amount: x', subject: null } as const
  return { ...told, event: { ...told.event, kind: 'payment.unclear', content: { unclear } } }
}

/** A fault of ours, as often as it takes for a person to be asked, and one that the next arrival mends. */
async function failAndComeAgain({ office, db }: Desk, organization: TestOrganization): Promise<void> {
  const { clock, newId } = office
  let isBroken = true
  const kind = factKind<Parameters<typeof registerPayments.load>[2][number]['fact'], Loaded, Rows>({
    ...registerPayments,
    decide(facts, state, context) {
      if (isBroken) throw new Error('a fault of ours')
      return registerPayments.decide(facts, state, context)
    },
  })
  const pipeline = createPipeline({ db, clock, newId, kinds: [kind] })
  const run = newId()
  const told = (name: string) =>
    toldPayment(office, organization, {
      eventId: `evt_${run}_${name}`,
      paymentId: `pi_${run}_${name}`,
      reference: null,
    })
  for (let attempt = 1; attempt <= 5; attempt += 1) await pipeline.submit(told('kept'))
  const names = Array.from({ length: 5 }, (_, index) => String(index))
  for (const name of names) await pipeline.submit(told(name))
  isBroken = false
  expectAll('done', await Promise.all(names.map((name) => pipeline.submit(told(name)))), ['kept'])
}

type Loaded = Parameters<typeof registerPayments.decide>[1]
type Rows = Parameters<typeof registerPayments.write>[2]

/** The commit is done and its answer gets lost: the group runs again and finds what it did. */
async function loseTheAnswer({ office, db }: Desk, organization: TestOrganization): Promise<void> {
  const { clock, newId } = office
  let isLost = false
  const losing: Db = {
    ...db,
    async transaction(organizationId, work) {
      const value = await db.transaction(organizationId, work)
      if (isLost) return value
      isLost = true
      throw new Error('Connection terminated unexpectedly')
    },
  }
  const pipeline = createPipeline({ db: losing, clock, newId, kinds: [factKind(registerPayments)] })
  const run = newId()
  const events = Array.from({ length: GROUP }, (_, index) =>
    toldPayment(office, organization, {
      eventId: `evt_${run}_${index}`,
      paymentId: `pi_${run}_${index}`,
      reference: null,
    }),
  )
  expectAll('done', await Promise.all(events.map((event) => pipeline.submit(event))), ['kept'])
}

function expectAll(outcome: EventOutcome['outcome'], outcomes: readonly EventOutcome[], also: readonly string[]): void {
  for (const found of outcomes) {
    if (found.outcome !== outcome && !also.includes(found.outcome)) {
      throw new Error(`an event ended as ${found.outcome}: ${found.reason}`, { cause: found.cause })
    }
  }
}

async function receiveWebhooks({ office, app }: Desk, { stripe }: TestOrganization): Promise<void> {
  const run = office.newId()
  const bodies = [
    stripePaid({ eventId: `evt_${run}`, paymentId: `pi_${run}`, amount: 1_000 }),
    JSON.stringify({
      id: `evt_${run}_interim`,
      object: 'event',
      type: 'payment_intent.processing',
      created: 1_773_136_797,
      livemode: true,
      data: {
        object: { id: `pi_${run}`, object: 'payment_intent', status: 'processing', amount: 1_000, currency: 'eur' },
      },
    }),
  ]
  for (const payload of bodies) {
    const headers = { 'content-type': 'application/json', ...stripe.sign(payload) }
    const { statusCode, body } = await app.http.inject({ method: 'POST', url: stripe.path, headers, payload })
    if (statusCode !== 200) throw new Error(`the webhook answered ${statusCode}: ${body}`)
  }
}

/** Every list from its beginning and from the middle; the register with every filter. */
async function readLists(api: Api, grown: GrownOffice | undefined, newId: () => string): Promise<void> {
  const { middleIds } = grown ?? {}
  const lists = {
    contacts: middleIds?.contact,
    invoices: middleIds?.invoice,
    payments: middleIds?.payment,
    events: middleIds?.event,
    'review-items': middleIds?.reviewItem,
  }
  for (const [path, middle] of Object.entries(lists)) {
    await api.get(`/${path}`)
    await api.get(`/${path}?cursor=${middle ?? newId()}`)
  }
  const filters = [
    'state=completed',
    'state=failed',
    'state=unknown',
    'source=stripe',
    'source=nobody',
    'kind=payment.paid',
    'kind=nothing',
    'q=pi_1',
    'q=evt_1',
    'q=evt_1&source=stripe&kind=payment.paid&state=completed',
  ]
  for (const filter of filters) {
    await api.get(`/events?${filter}`)
    await api.get(`/events?${filter}&cursor=${middleIds?.event ?? newId()}`)
  }
}
