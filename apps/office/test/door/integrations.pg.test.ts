import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signStripeDelivery } from '../../src/providers/index.ts'
import type { Browser, PageAnswer } from '../support/cookie-browser.ts'
import { createHouse, dumpDatabase, type House, type TestMember } from '../support/house.ts'
import { makeApiKey, stripePaid } from '../support/office.ts'

const SECRET = 'whsec_the_first_secret_of_this_test'
const NEXT_SECRET = 'whsec_the_next_secret_of_this_test'

let house: House
let owner: TestMember
let own: Browser

beforeAll(async () => {
  house = await createHouse()
  owner = await house.addOwner()
  own = await house.signedIn(owner)
})

afterAll(() => house.close())

const stripe = { provider: 'stripe', label: 'Stripe', settings: { webhookSecrets: [SECRET] } }

async function make(body: object = {}, headers: Record<string, string> = {}): Promise<PageAnswer> {
  const answer = await own.post('/integrations', { ...stripe, ...body }, headers)
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
  return answer
}

/** How a delivery to the integration's address is answered that was signed with the secret. */
async function deliver({ body: { path } }: PageAnswer, secret: string): Promise<number> {
  const body = stripePaid({ eventId: `evt_${randomUUID()}`, paymentId: `pi_${randomUUID()}`, amount: 100 })
  const headers = signStripeDelivery({ body, secret, nowMs: house.office.clock.now().getTime() })
  const [{ http }] = house.servers
  return (await http.inject({ method: 'POST', url: String(path), headers, payload: body })).statusCode
}

describe('a sender', () => {
  test('is let in with its secret and the address it sends to, and what it sends is taken', async () => {
    const made = await make()
    expect(made.body).toMatchObject({
      provider: 'stripe',
      label: 'Stripe',
      isEnabled: true,
      secrets: ['webhookSecrets'],
      path: expect.stringMatching(/^\/webhooks\/stripe\/[0-9a-f-]{36}$/),
    })
    expect(made.body['settings']).not.toHaveProperty('webhookSecrets')
    expect(await deliver(made, SECRET)).toBe(200)
    expect(await deliver(made, NEXT_SECRET)).toBe(401)
  })

  test('keeps its secret where only another thing is changed, and has a new one two seconds after it was changed', async () => {
    const made = await make()
    const id = String(made.body['id'])
    const renamed = await own.patch(`/integrations/${id}`, { label: 'Renamed' })
    expect(renamed).toMatchObject({ status: 200, body: { id, label: 'Renamed', secrets: ['webhookSecrets'] } })
    house.pass(2_000)
    expect(await deliver(made, SECRET)).toBe(200)
    const changed = await own.patch(`/integrations/${id}`, { settings: { webhookSecrets: [NEXT_SECRET] } })
    expect(changed).toMatchObject({ status: 200, body: { label: 'Renamed', secrets: ['webhookSecrets'] } })
    house.pass(2_000)
    expect([await deliver(made, NEXT_SECRET), await deliver(made, SECRET)]).toEqual([200, 401])
  })

  test('that is switched off gets 404 two seconds later, and is taken again when it is switched on', async () => {
    const made = await make()
    const id = String(made.body['id'])
    expect(await deliver(made, SECRET)).toBe(200)
    await own.patch(`/integrations/${id}`, { isEnabled: false })
    house.pass(2_000)
    expect(await deliver(made, SECRET)).toBe(404)
    await own.patch(`/integrations/${id}`, { isEnabled: true })
    house.pass(2_000)
    expect(await deliver(made, SECRET)).toBe(200)
  })

  test('is refused with a secret that anybody knows, or as a provider that there is not', async () => {
    for (const body of [
      { settings: { webhookSecrets: [''] } },
      { settings: { webhookSecrets: ['   '] } },
      { settings: { webhookSecrets: [] } },
      { settings: {} },
      { provider: 'nobody' },
      { provider: 'constructor' },
      { provider: '__proto__' },
    ]) {
      const answer = await own.post('/integrations', { ...stripe, ...body })
      expect([body, answer.status, answer.body['code']]).toEqual([body, 422, 'invalid'])
    }
    const made = await make()
    const change = await own.patch(`/integrations/${made.body['id']}`, { settings: { webhookSecrets: [''] } })
    expect(change.status).toBe(422)
    expect(await deliver(made, SECRET)).toBe(200)
  })

  test('is changed by two at once without the one undoing the other', async () => {
    const made = await make()
    const path = `/integrations/${made.body['id']}`
    const second = own.copy(house.servers[1].http)
    const answers = await Promise.all([
      own.patch(path, { label: 'Two at once' }),
      second.patch(path, { isEnabled: false }),
      own.patch(path, { settings: { webhookSecrets: [NEXT_SECRET] } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    const listed = (await own.get('/integrations?limit=200')).body['items'] as { id: string }[]
    expect(listed.find(({ id }) => id === made.body['id'])).toMatchObject({ label: 'Two at once', isEnabled: false })
    await own.patch(path, { isEnabled: true })
    house.pass(2_000)
    expect(await deliver(made, NEXT_SECRET)).toBe(200)
  })

  test('is the business of owners and admins, and of a key that may do everything; of no other organisation', async () => {
    const made = await make()
    const path = `/integrations/${made.body['id']}`
    for (const role of ['accountant', 'agent', 'viewer'] as const) {
      const browser = await house.signedIn(await house.addMember(owner.organizationId, role))
      expect((await browser.get('/integrations')).status).toBe(403)
      expect((await browser.patch(path, { isEnabled: false })).status).toBe(403)
    }
    const reading = await makeApiKey(house.office, owner.organizationId, 'reading', ['read'])
    const program = house.browser({ headers: { authorization: `Bearer ${reading}` } })
    expect((await program.get('/integrations')).status).toBe(403)
    const stranger = await house.signedIn(await house.addOwner())
    expect((await stranger.patch(path, { isEnabled: false })).status).toBe(404)
    expect((await stranger.get('/integrations')).text).not.toContain(String(made.body['id']))
  })
})

describe('a secret', () => {
  test('goes in and never comes out: no answer, no list, no audit, no row, no log and no error has it', async () => {
    const key = { 'idempotency-key': randomUUID() }
    const made = await make({}, key)
    const repeated = await make({}, key)
    expect(repeated.headers['idempotent-replayed']).toBe('true')
    expect(repeated.body).toEqual(made.body)
    const path = `/integrations/${made.body['id']}`
    const texts = [
      made.text,
      repeated.text,
      (await own.patch(path, { settings: { webhookSecrets: [NEXT_SECRET] } })).text,
      (await own.patch(path, { settings: { webhookSecrets: SECRET } })).text,
      (await own.patch(path, { settings: { webhookSecrets: [NEXT_SECRET, 7] } })).text,
      (await own.post('/integrations', { ...stripe, settings: { webhookSecrets: SECRET } })).text,
      (await own.post('/integrations', { ...stripe, label: '' })).text,
      (await own.get('/integrations?limit=200')).text,
      (await own.get('/audit-entries?limit=200')).text,
      (await own.get('/events?limit=200')).text,
      await dumpDatabase(house.office),
      house.logged.join(''),
    ]
    for (const secret of [
      SECRET,
      NEXT_SECRET,
      Buffer.from(SECRET).toString('hex'),
      Buffer.from(NEXT_SECRET).toString('hex'),
    ]) {
      expect(texts.filter((text) => text.includes(secret))).toEqual([])
    }
  })
})
