import { describe, expect, test } from 'vitest'
import { listImbalances } from './support/books.ts'
import { booked, type Case, createCaseFixture, duplicate, settledInvoice } from './support/case-fixture.ts'
import { holdSeries } from './support/held-invoice.ts'
import type { InProcessAnswer } from './support/in-process-app.ts'

/** What invoices, credit notes and adjustments promise to whoever writes them, through the API. */
const fixture = createCaseFixture()

const euros = (amountMinor: number) => ({ amountMinor, currency: 'EUR' })
const refused = (status: number, code: string) => ({ status, body: { code } })

interface Line {
  readonly description?: string
  readonly quantity?: string
  readonly unitPriceMinor: string | number
  readonly discountPercent?: string
  readonly taxPercent?: string
}

function draft(opened: Case, lines: readonly Line[], further: object = {}): Promise<InProcessAnswer> {
  const described = lines.map((line) => ({ description: 'Work', ...line }))
  return opened.call('/invoices', { currency: 'EUR', lines: described, ...further })
}

async function issue(opened: Case, total: number, further: object = {}): Promise<{ id: string; number: string }> {
  const { body } = await draft(opened, [{ unitPriceMinor: total }], further)
  const issued = await opened.call(`/invoices/${body['id']}/issue`)
  expect(issued.status).toBe(200)
  return { id: String(issued.body['id']), number: String(issued.body['number']) }
}

async function read(opened: Case, id = opened.invoice.id): Promise<Readonly<Record<string, unknown>>> {
  return (await fixture.app.get(opened.organization, `/invoices/${id}`)).body
}

function change(opened: Case, id: unknown, body: object, ifMatch?: string): Promise<InProcessAnswer> {
  const headers = ifMatch === undefined ? {} : { 'if-match': ifMatch }
  return fixture.app.patch(opened.organization, `/invoices/${String(id)}`, body, headers)
}

function arrive(opened: Case, payment: string, amountMinor: number, invoice = opened.invoice.number) {
  return opened.sandbox({ id: `evt_${payment}`, data: { payment, ...euros(amountMinor), invoice } })
}

async function expectBalanced({ organization }: Case): Promise<void> {
  expect(await listImbalances(fixture.office, organization.organizationId)).toEqual([])
}

describe('a total', () => {
  test('is the sum of its rates, each taxed once on what the discounts leave, and rounds half away from zero', async () => {
    const opened = await fixture.openCase()
    const { status, body } = await draft(
      opened,
      [
        { quantity: '3', unitPriceMinor: '33.335', taxPercent: '19' },
        { quantity: '2.5', unitPriceMinor: '1999', discountPercent: '10', taxPercent: '19' },
        { quantity: '1', unitPriceMinor: 4_995, taxPercent: '7' },
        { quantity: '1', unitPriceMinor: 800 },
      ],
      { discountPercent: '12.5' },
    )
    expect(status).toBe(201)
    // 100.005 and 4497.75 round up; of the sums by rate 12.5 % go off, 574.75 and 624.375 and 100, rounded.
    expect(body).toMatchObject({
      lines: [{ net: euros(100) }, { net: euros(4_498) }, { net: euros(4_995) }, { net: euros(800) }],
      taxes: [
        { percent: '19', net: euros(4_598 - 575), tax: euros(764) },
        { percent: '7', net: euros(4_995 - 624), tax: euros(306) },
        { percent: '0', net: euros(700), tax: euros(0) },
      ],
      net: euros(9_094),
      total: euros(10_164),
      discountPercent: '12.5',
    })
  })

  test('counts prices below a cent and below nothing as they are written', async () => {
    const opened = await fixture.openCase()
    const { body } = await draft(opened, [
      { description: 'Messages', quantity: '12345', unitPriceMinor: '0.4' },
      { description: 'Rebate', unitPriceMinor: '-1000.5' },
    ])
    expect(body).toMatchObject({
      lines: [
        { quantity: '12345', unitPriceMinor: '0.4', net: euros(4_938) },
        { unitPriceMinor: '-1000.5', net: euros(-1_001) },
      ],
      total: euros(3_937),
    })
  })

  test.each([
    ['below nothing', [{ unitPriceMinor: -1 }]],
    ['larger than any that can be shown exactly', [{ quantity: '99999999999', unitPriceMinor: '999999999' }]],
    ['with more than four places', [{ unitPriceMinor: '0.00001' }]],
    ['with a discount of more than everything', [{ unitPriceMinor: 1, discountPercent: '101' }]],
  ])('%s is refused', async (_title, lines) => {
    const opened = await fixture.openCase()
    expect(await draft(opened, lines)).toMatchObject(refused(422, 'invalid'))
  })
})

describe('a draft', () => {
  test('is changed by who has seen it last; whoever comes second is shown what it is now', async () => {
    const opened = await fixture.openCase()
    const { body: first } = await draft(opened, [{ unitPriceMinor: 100 }], { notes: 'Thank you.' })
    expect(first).toMatchObject({ version: 1, lifecycle: 'draft', number: null })
    const lines = [{ description: 'Other work', unitPriceMinor: 700 }]
    expect(await change(opened, first['id'], { lines }, '"1"')).toMatchObject({
      status: 200,
      body: { version: 2, total: euros(700), notes: 'Thank you.', lines: [{ description: 'Other work' }] },
    })
    const stale = await change(opened, first['id'], { notes: null }, '"1"')
    expect(stale).toMatchObject(refused(409, 'version_stale'))
    expect(stale.body).toMatchObject({ version: 2, current: { version: 2, total: euros(700), notes: 'Thank you.' } })
    // Bare, weak and by now stale, and left out.
    for (const [ifMatch, status] of [
      ['2', 200],
      ['W/"2"', 409],
      [undefined, 200],
    ] as const) {
      expect((await change(opened, first['id'], { currency: 'EUR' }, ifMatch)).status).toBe(status)
    }
    expect(await change(opened, first['id'], { notes: 'x' }, 'latest')).toMatchObject(refused(400, 'if_match_invalid'))
  })

  test('is changed once by two people who have both seen it', async () => {
    const opened = await fixture.openCase()
    const { body } = await draft(opened, [{ unitPriceMinor: 100 }])
    const headers = { 'if-match': '"1"' }
    const path = `/invoices/${body['id']}`
    const answers = await Promise.all([
      fixture.app.patch(opened.organization, path, { notes: 'one' }, headers),
      fixture.otherApp.patch(opened.organization, path, { notes: 'other' }, headers),
    ])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const winner = answers.find(({ status }) => status === 200)?.body['notes']
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ current: { version: 2, notes: winner } })
  })

  test('is refused what it cannot be, and stays as it was', async () => {
    const opened = await fixture.openCase()
    const { body } = await draft(opened, [{ unitPriceMinor: 100 }])
    for (const wrong of [{ contactId: fixture.office.newId() }, { currency: 'XXQ' }, { lines: [] }]) {
      expect(await change(opened, body['id'], wrong)).toMatchObject({ status: 422, body: { code: 'invalid' } })
    }
    expect(await read(opened, String(body['id']))).toMatchObject({ version: 1, currency: 'EUR', contactId: null })
    expect(await change(opened, fixture.office.newId(), {})).toMatchObject(refused(404, 'not_found'))
  })

  test('that was issued is changed by nobody', async () => {
    const opened = await fixture.openCase()
    expect(await change(opened, opened.invoice.id, { notes: 'x' })).toMatchObject(refused(409, 'invoice_not_draft'))
    expect(await opened.call(`/invoices/${opened.invoice.id}/issue`)).toMatchObject(refused(409, 'invoice_not_draft'))
  })

  test('is issued by who has seen it last', async () => {
    const opened = await fixture.openCase()
    const { body } = await draft(opened, [{ unitPriceMinor: 100 }])
    await change(opened, body['id'], { notes: 'x' })
    const path = `/invoices/${body['id']}/issue`
    const stale = await fixture.app.post(opened.organization, path, undefined, { 'if-match': '"1"' })
    expect(stale).toMatchObject({ status: 409, body: { code: 'version_stale', current: { version: 2, number: null } } })
    const issued = await fixture.app.post(opened.organization, path, undefined, { 'if-match': '"2"' })
    expect(issued).toMatchObject({ status: 200, body: { number: 'RE-00002', version: 3 } })
  })
})

describe('a copy', () => {
  // REC-04: the copy of a paid invoice is a new document, and the provider's resend belongs to the first.
  test('has the lines and nothing else: no number, no date, no payment, and the resend of the payment stays where it was', async () => {
    const opened = await fixture.openCase()
    expect(await arrive(opened, 'pay_1', 10_000)).toMatchObject(booked(10_000))
    const { body: copy, status } = await opened.call(`/invoices/${opened.invoice.id}/duplicate`)
    expect(status).toBe(201)
    expect(copy).toMatchObject({
      ...{ lifecycle: 'draft', number: null, issuedAt: null, dueOn: null, version: 1 },
      ...{ copiedFromId: opened.invoice.id, total: euros(10_000), open: euros(10_000), paid: euros(0) },
      ...{ paymentState: 'open', contactId: opened.organization.contactId },
    })
    expect(await opened.call(`/invoices/${copy['id']}/issue`)).toMatchObject({ body: { number: 'RE-00002' } })
    expect(await arrive(opened, 'pay_1', 10_000)).toMatchObject(duplicate())
    expect(await opened.books()).toMatchObject({
      invoices: [settledInvoice(10_000), { paymentState: 'open', openMinor: 10_000, paidEvents: 0 }],
    })
  })
})

describe('a credit note', () => {
  const credit = (opened: Case, body?: object, id = opened.invoice.id) =>
    opened.call(`/invoices/${id}/credit-note`, body)
  const lines = (amount: number) => ({ lines: [{ description: 'Not done', unitPriceMinor: amount }] })

  test('of the whole has its own number, takes all of it off, and is no invoice that could be paid, adjusted, credited or void', async () => {
    const opened = await fixture.openCase()
    const { status, body } = await credit(opened, { notes: 'Sorry.' })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      ...{ type: 'credit_note', number: 'GS-00001', total: euros(10_000), notes: 'Sorry.' },
      ...{ correctsId: opened.invoice.id, open: euros(0), credited: euros(10_000) },
    })
    expect(await read(opened)).toMatchObject({
      ...{ paymentState: 'settled', open: euros(0), credited: euros(10_000), paid: euros(0) },
      credits: [{ creditNoteId: body['id'], number: 'GS-00001', amount: euros(10_000) }],
    })
    const of = (verb: string, sent?: object) => opened.call(`/invoices/${body['id']}/${verb}`, sent)
    expect(await of('pay')).toMatchObject(refused(409, 'invoice_not_open'))
    expect(await of('credit-note')).toMatchObject(refused(409, 'invoice_not_open'))
    expect(await of('adjustments', { kind: 'fee', amount: euros(1) })).toMatchObject(refused(409, 'invoice_not_open'))
    expect(await of('void')).toMatchObject(refused(409, 'invoice_not_voidable'))
    await expectBalanced(opened)
  })

  test('of a part leaves the rest, and what is left can be credited and not a cent more', async () => {
    const opened = await fixture.openCase()
    expect(await credit(opened, { ...lines(4_000), discountPercent: '25' })).toMatchObject({
      status: 201,
      body: { total: euros(3_000) },
    })
    expect(await credit(opened)).toMatchObject(refused(422, 'invalid'))
    expect(await credit(opened, lines(7_001))).toMatchObject({
      status: 409,
      body: { code: 'credit_exceeds', creditable: euros(7_000) },
    })
    expect(await credit(opened, lines(7_000))).toMatchObject({ status: 201, body: { number: 'GS-00002' } })
    expect(await credit(opened, lines(1))).toMatchObject({ body: { code: 'credit_exceeds', creditable: euros(0) } })
    expect(await credit(opened, lines(0))).toMatchObject(refused(422, 'invalid'))
    expect(await read(opened)).toMatchObject({ open: euros(0), credited: euros(10_000), paymentState: 'settled' })
  })

  test('after payments releases what they brought, newest first, and a person is asked about it', async () => {
    const opened = await fixture.openCase()
    await arrive(opened, 'older', 4_000)
    await arrive(opened, 'newer', 6_000)
    expect(await credit(opened, lines(5_000))).toMatchObject({ status: 201 })
    const payments = async () =>
      (await opened.books()).payments.map(({ externalId, appliedMinor, unappliedMinor }) => [
        externalId,
        appliedMinor,
        unappliedMinor,
      ])
    expect(await payments()).toEqual([
      ['newer', 1_000, 5_000],
      ['older', 4_000, 0],
    ])
    expect(await opened.desk()).toMatchObject([
      { kind: 'unapplied', data: { reason: 'released', unappliedMinor: 5_000 } },
    ])
    expect(await credit(opened, lines(3_000))).toMatchObject({ status: 201 })
    expect(await payments()).toEqual([
      ['newer', 0, 6_000],
      ['older', 2_000, 2_000],
    ])
    expect(await opened.desk()).toHaveLength(2)
    expect(await read(opened)).toMatchObject({ paid: euros(2_000), credited: euros(8_000), open: euros(0) })
    const { allocations } = await read(opened)
    const reasons = (allocations as { reversalReason: string | null }[]).map(({ reversalReason }) => reversalReason)
    expect(reasons.filter((reason) => reason !== null)).toEqual(['credited', 'credited', 'credited'])
    await expectBalanced(opened)
  })

  test('of a draft or of a void invoice is refused, also where it becomes void at that moment', async () => {
    const opened = await fixture.openCase()
    const { body } = await draft(opened, [{ unitPriceMinor: 100 }])
    expect(await credit(opened, undefined, String(body['id']))).toMatchObject(refused(409, 'invoice_not_open'))
    const other = await issue(opened, 500)
    expect(await credit(opened, lines(100), other.id)).toMatchObject({ body: { number: 'GS-00001' } })
    // The credit note has seen an issued invoice, and stops before it has its number.
    await using held = await holdSeries(fixture.office, opened.organization.organizationId, 'credit_note')
    const credited = opened.call(`/invoices/${opened.invoice.id}/credit-note`, undefined, 'credit', fixture.otherApp)
    await held.waiting(1)
    expect(await opened.call(`/invoices/${opened.invoice.id}/void`)).toMatchObject({ body: { lifecycle: 'void' } })
    await held.release()
    expect(await credited).toMatchObject(refused(409, 'invoice_not_open'))
    // Its number was taken, and given back.
    expect(await credit(opened, lines(100), other.id)).toMatchObject({ body: { number: 'GS-00002' } })
    await expectBalanced(opened)
  })
})

describe('an adjustment', () => {
  const adjust = (opened: Case, body: object) => opened.call(`/invoices/${opened.invoice.id}/adjustments`, body)
  const adjustmentOf = async (opened: Case) => ((await read(opened))['adjustments'] as { id: string }[])[0]?.id
  const reverse = async (opened: Case) =>
    opened.call(`/invoices/${opened.invoice.id}/adjustments/${await adjustmentOf(opened)}/reverse`, {
      reason: 'Too late.',
    })

  test.each(['cash_discount', 'fee', 'bad_debt'])(
    'as %s settles what nobody owes any more, and is taken back once',
    async (kind) => {
      const opened = await fixture.openCase()
      await arrive(opened, 'pay_1', 9_800)
      expect(await adjust(opened, { kind, note: 'Two percent.' })).toMatchObject({
        status: 201,
        body: { adjusted: euros(200), open: euros(0), paymentState: 'settled' },
      })
      expect(await opened.books()).toMatchObject({ told: { 'domain_event invoice.paid': 1 } })
      expect(await adjust(opened, { kind })).toMatchObject(refused(409, 'adjustment_exceeds'))
      expect(await reverse(opened)).toMatchObject({ status: 200, body: { adjusted: euros(0), open: euros(200) } })
      expect(await reverse(opened)).toMatchObject(refused(409, 'reversed_already'))
      expect(await read(opened)).toMatchObject({
        adjustments: [{ kind, amount: euros(200), note: 'Two percent.', reversalReason: 'Too late.' }],
      })
      expect(await opened.books()).toMatchObject({ told: { 'domain_event invoice.reopened': 1 } })
      await expectBalanced(opened)
    },
  )

  test('is at most what is open, in the currency of the invoice', async () => {
    const opened = await fixture.openCase()
    expect(await adjust(opened, { kind: 'fee', amount: euros(10_001) })).toMatchObject(
      refused(409, 'adjustment_exceeds'),
    )
    const dollars = { amountMinor: 1, currency: 'USD' }
    expect(await adjust(opened, { kind: 'fee', amount: dollars })).toMatchObject(refused(422, 'invalid'))
    expect(await adjust(opened, { kind: 'fee', amount: euros(0) })).toMatchObject(refused(422, 'invalid'))
    expect(await read(opened)).toMatchObject({ adjusted: euros(0), adjustments: [] })
  })

  test('that is taken back lets the money in that waited for the invoice', async () => {
    const opened = await fixture.openCase()
    await adjust(opened, { kind: 'bad_debt' })
    expect(await arrive(opened, 'late', 3_000)).toMatchObject(booked(0))
    expect(await opened.desk()).toMatchObject([{ kind: 'unapplied', data: { reason: 'invoice_settled' } }])
    expect(await reverse(opened)).toMatchObject({ status: 200, body: { paid: euros(3_000), open: euros(7_000) } })
    expect(await opened.desk()).toEqual([])
    await expectBalanced(opened)
  })
})

describe('a void invoice', () => {
  const void_ = (opened: Case, id = opened.invoice.id) => opened.call(`/invoices/${id}/void`)

  test('is a draft that nobody wants, or an issued one on which nothing lies; its number stays used', async () => {
    const opened = await fixture.openCase()
    const { body } = await draft(opened, [{ unitPriceMinor: 100 }])
    expect(await void_(opened, String(body['id']))).toMatchObject({
      status: 200,
      body: { lifecycle: 'void', number: null },
    })
    expect(await opened.call(`/invoices/${body['id']}/issue`)).toMatchObject(refused(409, 'invoice_not_draft'))
    expect(await void_(opened)).toMatchObject({ status: 200, body: { lifecycle: 'void', number: 'RE-00001' } })
    expect(await void_(opened)).toMatchObject(refused(409, 'invoice_not_voidable'))
    expect(await issue(opened, 500)).toMatchObject({ number: 'RE-00002' })
    expect(await opened.books()).toMatchObject({ told: { 'domain_event invoice.voided': 2 } })
  })

  test('cannot be one that is paid, credited or adjusted; a payment that is moved away sets it free', async () => {
    const opened = await fixture.openCase()
    const other = await issue(opened, 10_000)
    const { body } = await arrive(opened, 'pay_1', 10)
    expect(await void_(opened)).toMatchObject(refused(409, 'invoice_not_voidable'))
    const move = `/payments/${(body['target'] as { id: string }).id}/move`
    expect(await opened.call(move, { toInvoiceId: other.id })).toMatchObject({ status: 200 })
    expect(await void_(opened)).toMatchObject({ status: 200 })
    const adjusted = await issue(opened, 700)
    await opened.call(`/invoices/${adjusted.id}/adjustments`, { kind: 'fee', amount: euros(1) })
    expect(await void_(opened, adjusted.id)).toMatchObject(refused(409, 'invoice_not_voidable'))
    await opened.call(`/invoices/${other.id}/credit-note`, { lines: [{ description: 'x', unitPriceMinor: 1 }] })
    expect(await void_(opened, other.id)).toMatchObject(refused(409, 'invoice_not_voidable'))
  })

  test('takes no money: people are refused with the reason, and what arrives for it lies on no invoice', async () => {
    const opened = await fixture.openCase()
    await void_(opened)
    const { id } = opened.invoice
    const refusal = refused(409, 'invoice_not_open')
    expect(await opened.call(`/invoices/${id}/pay`)).toMatchObject(refusal)
    expect(await opened.call(`/invoices/${id}/adjustments`, { kind: 'fee' })).toMatchObject(refusal)
    expect(await opened.call(`/invoices/${id}/credit-note`)).toMatchObject(refusal)
    const { body } = await arrive(opened, 'pay_1', 4_000)
    expect(await opened.desk()).toMatchObject([{ kind: 'unapplied', data: { reason: 'invoice_void' } }])
    const apply = `/payments/${(body['target'] as { id: string }).id}/apply`
    expect(await opened.call(apply, { invoiceId: id })).toMatchObject(refusal)
    await expectBalanced(opened)
  })
})

describe('a payment by hand', () => {
  test('without an amount is the open rest; with one it may be more, and the surplus lies on no invoice', async () => {
    const opened = await fixture.openCase()
    await arrive(opened, 'part', 6_000)
    expect(await opened.pay('rest')).toMatchObject(booked(4_000))
    expect(await opened.pay('again')).toMatchObject(booked(0))
    const other = await issue(opened, 500)
    const more = await opened.call(`/invoices/${other.id}/pay`, { amount: euros(800) })
    expect(more).toMatchObject({ status: 200, body: { applied: euros(500), reason: 'overpaid' } })
    expect(await opened.desk()).toMatchObject([{ kind: 'unapplied', data: { unappliedMinor: 300 } }])
    await expectBalanced(opened)
  })

  test('is refused on a draft, in another currency, and by who has not seen the invoice as it is', async () => {
    const opened = await fixture.openCase()
    const { body } = await draft(opened, [{ unitPriceMinor: 100 }])
    expect(await opened.call(`/invoices/${body['id']}/pay`)).toMatchObject(refused(409, 'invoice_not_open'))
    const pay = `/invoices/${opened.invoice.id}/pay`
    const dollars = { amount: { amountMinor: 1, currency: 'USD' } }
    expect(await opened.call(pay, dollars)).toMatchObject(refused(422, 'invalid'))
    await arrive(opened, 'part', 6_000)
    const headers = { 'idempotency-key': 'stale', 'if-match': '"2"' }
    const stale = await fixture.app.post(opened.organization, pay, {}, headers)
    expect(stale).toMatchObject({ status: 409, body: { code: 'version_stale', current: { open: euros(4_000) } } })
    const fresh = { ...headers, 'if-match': `"${(stale.body['current'] as { version: number }).version}"` }
    expect(await fixture.app.post(opened.organization, pay, {}, fresh)).toMatchObject(booked(4_000))
  })
})

test('what an invoice said when it was issued stays, whatever becomes of its contact', async () => {
  const opened = await fixture.openCase()
  const { organizationId, contactId } = opened.organization
  const lines = [{ description: 'Work', quantity: '2', unitPriceMinor: '50', taxPercent: '19' }]
  const { body } = await opened.call('/invoices', { currency: 'EUR', contactId, notes: 'Thank you.', lines })
  await opened.call(`/invoices/${body['id']}/issue`)
  const content = async () => {
    const { rows } = await fixture.office.owner.query<{ content: object; total: string; number: string }>(
      `select content, total_minor as total, number from issued_documents where organization_id = $1 and invoice_id = $2`,
      [organizationId, body['id']],
    )
    return rows
  }
  const issued = await content()
  expect(issued).toMatchObject([
    {
      ...{ number: 'RE-00002', total: '119' },
      content: {
        ...{ notes: 'Thank you.', netMinor: 100, lines: [{ description: 'Work', taxPercent: '19.0000' }] },
        ...{ taxes: [{ percent: '19', netMinor: 100, taxMinor: 19 }], contact: { id: contactId, name: 'Muster GmbH' } },
      },
    },
  ])
  expect(
    await fixture.app.patch(opened.organization, `/contacts/${contactId}`, { name: 'Other AG', taxId: 'DE1' }),
  ).toMatchObject({ status: 200 })
  expect(await opened.call(`/invoices/${body['id']}/credit-note`)).toMatchObject({ status: 201 })
  expect(await content()).toEqual(issued)
})
