import { afterAll, beforeAll, expect } from 'vitest'
import { setUpLink } from '../../src/modules/members/index.ts'
import type { Clock } from '../../src/platform/clock.ts'
import { type BookedPayment, type Books, readBooks } from './books.ts'
import { createInProcessApp, type InProcessAnswer, type InProcessApp } from './in-process-app.ts'
import { addIntegration } from './integrations.ts'
import { createTestOffice, type Sender, type TestOffice, type TestOrganization } from './office.ts'
import { type SignedIn, signIn } from './signed-in.ts'

/** What the cases of one file share: an office, and two applications on it that know nothing of each other. */
export interface CaseFixture {
  readonly office: TestOffice
  readonly app: InProcessApp
  readonly otherApp: InProcessApp
  /** What stands in the link of the first start. */
  readonly setUpToken: string
  /** An organisation of its own for one case, with one open invoice: `RE-00001`. */
  openCase(total?: number, currency?: string): Promise<Case>
  /** Another case in an organisation that is there: with an open invoice of its own, the next of the series. */
  openAnother(organization: TestOrganization, total?: number, currency?: string): Promise<Case>
}

export interface Case {
  readonly organization: TestOrganization
  readonly invoice: { readonly id: string; readonly number: string }
  books(): Promise<Books>
  /** A delivery of the sandbox. Without an `id` it is a new event. */
  sandbox(event: SandboxEvent, app?: InProcessApp): Promise<InProcessAnswer>
  stripe(event: Record<string, unknown>, app?: InProcessApp): Promise<InProcessAnswer>
  /** A further address of the sandbox, with settings of its own. */
  addSandbox(settings: Readonly<Record<string, unknown>>): Promise<Sender>
  /** A call of the API with an `Idempotency-Key` of its own, unless it is given. */
  call(path: string, body?: unknown, key?: string, app?: InProcessApp): Promise<InProcessAnswer>
  get(path: string): Promise<InProcessAnswer>
  /** The same as its owner, signed in on one of our pages: for what takes no key. */
  asOwner(
    method: 'GET' | 'PATCH' | 'POST',
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    app?: InProcessApp,
  ): Promise<InProcessAnswer>
  /** The button: records a payment by hand on the invoice. */
  pay(key: string, amountMinor?: number, app?: InProcessApp): Promise<InProcessAnswer>
  /** What the desk shows to a person who looks at it. */
  desk(): Promise<readonly DeskItem[]>
}

export interface DeskItem {
  readonly id: string
  readonly eventId: string
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
  readonly decisions: readonly string[]
}

export interface SandboxEvent {
  readonly id?: string
  readonly type?: string
  readonly data: Readonly<Record<string, unknown>>
}

export function createCaseFixture(clock?: Clock): CaseFixture {
  const opened: { office?: TestOffice; apps: InProcessApp[] } = { apps: [] }
  let caseCount = 0

  beforeAll(async () => {
    opened.office = await createTestOffice(clock)
    opened.apps.push(await createInProcessApp(opened.office), await createInProcessApp(opened.office))
  })
  afterAll(async () => {
    for (const app of opened.apps) await app.close()
    await opened.office?.close()
  })

  function there<T>(value: T | undefined): T {
    if (value === undefined) throw new Error('the office opens before the first test')
    return value
  }

  const owners = new Map<string, Promise<SignedIn>>()
  function ownerOf({ organizationId, owner }: TestOrganization): Promise<SignedIn> {
    const known = owners.get(organizationId) ?? signIn(fixture.app.http, owner)
    owners.set(organizationId, known)
    return known
  }

  const fixture: CaseFixture = {
    get office() {
      return there(opened.office)
    },
    get app() {
      return there(opened.apps[0])
    },
    get otherApp() {
      return there(opened.apps[1])
    },
    get setUpToken() {
      return setUpLink(fixture.office.door).split('#').at(-1) ?? ''
    },
    async openCase(total, currency) {
      caseCount += 1
      const organization = await fixture.office.addOrganization(`Case${caseCount}`)
      return fixture.openAnother(organization, total, currency)
    },
    async openAnother(organization, total = 10_000, currency = 'EUR') {
      const invoice = await organization.issueInvoice({ amountMinor: BigInt(total), currency })
      return {
        organization,
        invoice,
        books: () => readBooks(fixture.office, organization.organizationId),
        sandbox({ id, type = 'payment.paid', data }, app = fixture.app) {
          const body = JSON.stringify({ type, data })
          const headers = organization.sandbox.sign(body, id === undefined ? {} : { id })
          return app.deliver(organization.sandbox, body, headers)
        },
        stripe: (event, app = fixture.app) =>
          app.deliver(organization.stripe, JSON.stringify({ object: 'event', livemode: true, ...event })),
        pay(key, amountMinor, app = fixture.app) {
          const body = amountMinor === undefined ? {} : { amount: { amountMinor, currency } }
          return app.post(organization, `/invoices/${invoice.id}/pay`, body, { 'idempotency-key': key })
        },
        addSandbox: (settings) => addIntegration(fixture.office, organization, 'sandbox', settings),
        call: (path, body, key = fixture.office.newId(), app = fixture.app) =>
          app.post(organization, path, body, { 'idempotency-key': key }),
        get: (path) => fixture.app.get(organization, path),
        async asOwner(method, path, body, headers = {}, app = fixture.app) {
          return app.request(method, `/api/v1${path}`, { ...(await ownerOf(organization)), ...headers }, body)
        },
        async desk() {
          const { status, body } = await fixture.app.get(organization, '/review-items')
          expect(status).toBe(200)
          return body['items'] as DeskItem[]
        },
      }
    },
  }
  return fixture
}

/** The answer to what was booked through this very arrival. */
export function booked(amountMinor: number, currency = 'EUR') {
  return { status: 200, body: { duplicate: false, applied: { amountMinor, currency } } }
}

/** The answer to a copy: success, and nothing moved. */
export function duplicate(currency = 'EUR') {
  return { status: 200, body: { duplicate: true, applied: { amountMinor: 0, currency } } }
}

export const ignored = { status: 200, body: { duplicate: false, ignored: true } }

export function kept(reason: string) {
  return { status: 200, body: { duplicate: false, kept: true, reason } }
}

/** A payment in the books with all that belongs to it, once. `addOrganization` makes three members. */
export function paymentRow(
  externalId: string,
  amountMinor: number,
  appliedMinor = amountMinor,
): Partial<BookedPayment> {
  return {
    externalId,
    amountMinor,
    appliedMinor,
    allocatedMinor: appliedMinor,
    unappliedMinor: amountMinor - appliedMinor,
    activities: 1,
    notifications: 3,
    notifiedMembers: 3,
    receivedEvents: 1,
  }
}

/** The same after so much of it went back; what did not lies on invoices. */
export function returnedRow(externalId: string, amountMinor: number, returnedMinor: number): Partial<BookedPayment> {
  const appliedMinor = amountMinor - returnedMinor
  return { ...paymentRow(externalId, amountMinor, appliedMinor), returnedMinor, unappliedMinor: 0 }
}

export function settledInvoice(totalMinor: number) {
  return { paymentState: 'settled', paidMinor: totalMinor, openMinor: 0, allocatedMinor: totalMinor, paidEvents: 1 }
}

export function openInvoice(totalMinor: number, paidMinor = 0) {
  return {
    paymentState: paidMinor === 0 ? 'open' : 'partial',
    paidMinor,
    openMinor: totalMinor - paidMinor,
    allocatedMinor: paidMinor,
    paidEvents: 0,
  }
}

/** An invoice that was paid, once, and is open again. */
export function reopenedInvoice(totalMinor: number, paidMinor = 0) {
  return { ...openInvoice(totalMinor, paidMinor), paidEvents: 1, reopenedEvents: 1 }
}
