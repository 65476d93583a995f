import type { App } from '../../src/app.ts'
import type { GrownOffice } from '../support/grow-office.ts'

type Body = Readonly<Record<string, unknown>>

/** Adds, changes and reads contacts, deals and notes through the API, in every way that there is. */
export async function workOnContacts(
  app: App,
  apiKey: string,
  run: string,
  grown: GrownOffice | undefined,
): Promise<void> {
  const send = async (method: 'GET' | 'PATCH' | 'POST', path: string, payload?: object): Promise<Body> => {
    const request = { method, url: `/api/v1${path}`, headers: { authorization: `Bearer ${apiKey}` } }
    const response = await app.http.inject(payload === undefined ? request : { ...request, payload })
    if (response.statusCode >= 300 && response.statusCode !== 409) {
      throw new Error(`${path} answered ${response.statusCode}: ${response.body}`)
    }
    return response.json<Body>()
  }
  const company = await send('POST', '/companies', { name: `Muster ${run}` })
  const points = [
    { kind: 'email', value: `kim@${run}.example` },
    { kind: 'messenger', value: `telegram:${run}` },
  ]
  const person = await send('POST', '/contacts', { name: 'Kim Roth', companyId: company['id'], points })
  await send('PATCH', `/contacts/${person['id']}`, { name: 'Kim Rot' })
  // Its own again, and somebody else's.
  for (const id of [person['id'], company['id']]) await send('POST', `/contacts/${id}/points`, points[0])
  const [point] = person['points'] as { id: string }[]
  await send('POST', `/contacts/${person['id']}/points/${point?.id}/remove`)
  const amount = { amountMinor: 100, currency: 'EUR' }
  const deal = await send('POST', '/deals', { title: 'Website', contactId: person['id'], amount })
  await send('PATCH', `/deals/${deal['id']}`, { stage: 'won' })
  await send('POST', `/deals/${deal['id']}/notes`, { text: 'Called.' })

  const middle = grown?.middleIds.contact
  const contacts = [person['id'], company['id'], middle].filter((id) => id !== undefined)
  for (const id of contacts) {
    await send('GET', `/contacts/${id}`)
    await send('GET', `/contacts/${id}/activity`)
    await send('GET', `/contacts/${id}/activity?cursor=${deal['id']}`)
    await send('GET', `/contacts?companyId=${id}`)
    await send('GET', `/deals?contactId=${id}`)
    await send('GET', `/audit-entries?subjectId=${id}`)
  }
  await send('GET', `/deals/${deal['id']}`)
  const cursors = [undefined, middle ?? String(person['id'])]
  const lists = [
    ...['/contacts', '/companies', '/deals', '/audit-entries', '/deals?stage=new', '/deals?stage=won'],
    ...['/contacts?q=contact', '/companies?q=contact', '/contacts?q=kim', `/companies?q=muster%20${run}`],
    ...['/contacts?q=%2B49301000007', '/contacts?q=contact14@grown.example', `/contacts?q=telegram:${run}`],
  ]
  for (const list of lists) {
    for (const cursor of cursors) {
      await send('GET', cursor === undefined ? list : `${list}${list.includes('?') ? '&' : '?'}cursor=${cursor}`)
    }
  }
}
