import type { App } from '../../src/app.ts'
import type { GrownOffice } from '../support/grow-office.ts'
import type { TestOrganization } from '../support/office.ts'

type Body = Readonly<Record<string, unknown>>

/** Does everything that the money desk and the review desk can do, through the API and by signed deliveries. */
export async function workOnMoney(
  app: App,
  organization: TestOrganization,
  run: string,
  grown: GrownOffice | undefined,
): Promise<void> {
  let keys = 0
  const send = async (method: 'GET' | 'PATCH' | 'POST', path: string, payload?: object): Promise<Body> => {
    keys += 1
    const headers = { authorization: `Bearer ${organization.apiKey}`, 'idempotency-key': `${run}-${keys}` }
    const request = { method, url: `/api/v1${path}`, headers }
    const response = await app.http.inject(payload === undefined ? request : { ...request, payload })
    if (response.statusCode >= 300 && response.statusCode !== 409)
      throw new Error(`${path} answered ${response.statusCode}: ${response.body}`)
    return response.json<Body>()
  }
  const deliver = async (event: object) => {
    const payload = JSON.stringify(event)
    const headers = { 'content-type': 'application/json', ...organization.sandbox.sign(payload) }
    const { statusCode, body } = await app.http.inject({
      method: 'POST',
      url: organization.sandbox.path,
      headers,
      payload,
    })
    if (statusCode !== 200) throw new Error(`the webhook answered ${statusCode}: ${body}`)
    return JSON.parse(body) as Body
  }
  const issue = async () => {
    const lines = [{ description: 'Work', unitPriceMinor: '10000' }]
    const draft = await send('POST', '/invoices', { currency: 'EUR', lines })
    await send('PATCH', `/invoices/${draft['id']}`, { notes: 'Thank you.', lines })
    return send('POST', `/invoices/${draft['id']}/issue`)
  }
  const [first, second, third] = [await issue(), await issue(), await issue()]
  const euros = (amountMinor: number) => ({ amountMinor, currency: 'EUR' })

  const payment = await send('POST', '/payments', {
    source: 'bank',
    externalId: `b_${run}`,
    amount: euros(12_000),
    invoice: first['number'],
  })
  const paymentId = (payment['target'] as { id: string }).id
  await send('POST', `/payments/${paymentId}/apply`, { invoiceId: second['id'] })
  await send('POST', `/payments/${paymentId}/move`, { toInvoiceId: third['id'] })
  const refund = await send('POST', `/payments/${paymentId}/refund`, { amount: euros(3_000) })
  const returnId = (refund['target'] as { id: string }).id
  await send('POST', `/payments/${paymentId}/returns/${returnId}/reverse`)
  await send('POST', `/payments/${paymentId}/chargeback`, { amount: euros(1_000) })

  const adjusted = await send('POST', `/invoices/${second['id']}/adjustments`, { kind: 'fee', amount: euros(50) })
  const { adjustments } = await send('GET', `/invoices/${adjusted['id']}`)
  const [adjustment] = adjustments as { id: string }[]
  await send('POST', `/invoices/${second['id']}/adjustments/${adjustment?.id}/reverse`, { reason: 'No fee.' })
  await send('POST', `/invoices/${second['id']}/void`)
  const creditNote = await send('POST', `/invoices/${third['id']}/credit-note`)
  await send('POST', `/invoices/${third['id']}/duplicate`)

  // Before its payment, with it, and after it; and what nobody can read.
  const data = { payment: `p_${run}`, currency: 'EUR', amountMinor: 500 }
  await deliver({ type: 'payment.refunded', data: { ...data, refund: `r_${run}`, amountMinor: 100 } })
  await deliver({ type: 'payment.paid', data: { ...data, invoice: first['number'] } })
  await deliver({ type: 'payment.charged_back', data: { ...data, dispute: `d_${run}`, amountMinor: 100 } })
  await deliver({ type: 'payment.paid', data: { ...data, amountMinor: 700 } })
  await deliver({ type: 'payment.paid', data: { ...data, payment: `q_${run}`, amountMinor: 'ten' } })
  const items = ((await send('GET', '/review-items'))['items'] ?? []) as { id: string; kind: string; data: Body }[]
  const itemOf = (kind: string) => items.find((item) => item.kind === kind)?.id
  await send('POST', `/review-items/${itemOf('conflict')}/decide`, { decision: 'book_difference' })
  await send('POST', `/review-items/${itemOf('unclear')}/decide`, { decision: 'retry' })
  await send('POST', `/review-items/${itemOf('unclear')}/decide`, { decision: 'enter', amount: euros(10) })
  await send('POST', `/review-items/${itemOf('unapplied')}/decide`, { decision: 'dismiss' })
  await send('POST', `/review-items/${itemOf('unapplied')}/reopen`)
  await send('GET', `/review-items/${itemOf('unapplied')}`)

  for (const id of [first['id'], third['id'], creditNote['id'], grown?.invoiceIds[10]]) {
    if (id !== undefined) await send('GET', `/invoices/${id}`)
  }
  for (const id of [paymentId, grown?.paymentIds[10]]) if (id !== undefined) await send('GET', `/payments/${id}`)
  for (const event of [refund, payment]) await send('GET', `/events/${event['eventId']}`)
  const { items: creating } = await send('GET', '/events?kind=invoice.credit&limit=1')
  const [credited] = creating as { id: string }[]
  await send('GET', `/events/${credited?.id}`)
  const [recipientId = ''] = organization.userIds
  const told = await send('GET', `/notifications?recipientId=${recipientId}`)
  const [news] = told['items'] as { id: string }[]
  await send('GET', `/notifications?recipientId=${recipientId}&cursor=${news?.id}`)
  await send('POST', `/notifications/${news?.id}/read`, { recipientId })

  for (const cursor of ['', `&cursor=${grown?.middleIds.reviewItem ?? itemOf('unapplied')}`]) {
    for (const state of ['open', 'decided']) await send('GET', `/review-items?state=${state}${cursor}`)
  }
}
