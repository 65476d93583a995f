import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createMailer } from '../../src/platform/mail.ts'
import type { Browser, PageAnswer } from '../support/cookie-browser.ts'
import { holdInvitation } from '../support/held-invoice.ts'
import { countStatuses, createHouse, dumpDatabase, type House, PASSWORD, type TestMember } from '../support/house.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'

const DAY = 24 * 60 * 60_000

let house: House
let owner: TestMember
let own: Browser
let guests = 0

beforeAll(async () => {
  house = await createHouse()
  owner = await house.addOwner('Olga Owner')
  own = await house.signedIn(owner)
})

afterAll(() => house.close())

const newAddress = () => `guest-${++guests}@example.org`
const tokenIn = (text: unknown) => /\/invitation#([\w-]+)/.exec(String(text))?.[1] ?? ''
const idOf = (answer: PageAnswer) => (answer.body['invitation'] as { id: string }).id
const newAccount = { name: 'Gina Guest', password: PASSWORD }
const accept = (token: string, body: object = newAccount, browser: Browser = house.browser()) =>
  browser.post('/invitations/accept', { token, ...body })
const read = (token: string) => house.browser().post('/invitations/read', { token })

/** Invites and reads the link in the letter. */
async function invite(email: string, role = 'agent', by: Browser = own): Promise<{ id: string; token: string }> {
  const before = house.letters.length
  const answer = await by.post('/invitations', { email, role })
  expect(answer).toMatchObject({ status: 201, body: { isSent: true, link: null } })
  const [letter] = house.letters.slice(before)
  expect(letter?.to).toBe(email.toLowerCase())
  return { id: idOf(answer), token: tokenIn(letter?.text) }
}

async function membersOf(organizationId: string, email: string) {
  const { rows } = await house.office.owner.query<{ id: string; role: string; removed: boolean }>(
    `select m.id, m.role, m.removed_at is not null as removed from members as m join auth."user" as u on u.id = m.user_id
     where m.organization_id = $1 and u.email = $2`,
    [organizationId, email],
  )
  return rows
}

async function stateOf(id: string): Promise<string | undefined> {
  const { body } = await own.get('/invitations?limit=200')
  return (body['items'] as { id: string; state: string }[]).find((item) => item.id === id)?.state
}

describe('an invitation', () => {
  test('is accepted by a new person, who is a member with that role and signs in with what they chose', async () => {
    const email = newAddress()
    const { id, token } = await invite(email, 'accountant')
    expect(await read(token)).toMatchObject({
      status: 200,
      body: {
        email,
        role: 'accountant',
        hasAccount: false,
        isAccepted: false,
        organizationName: expect.stringMatching(/^House/),
      },
    })
    expect(await accept(token)).toMatchObject({ status: 200, body: { organizationId: owner.organizationId } })
    const browser = house.browser()
    await browser.auth('sign-in/email', { email, password: PASSWORD })
    expect((await browser.get('/me')).body).toMatchObject({
      user: { name: 'Gina Guest', email },
      organization: { id: owner.organizationId, role: 'accountant' },
    })
    expect(await stateOf(id)).toBe('accepted')
  })

  test('is accepted by somebody who has an account when they are signed in, and they keep their other organisation', async () => {
    const guest = await house.addOwner()
    const { token } = await invite(guest.email)
    expect((await read(token)).body).toMatchObject({ hasAccount: true, isAccepted: false })
    expect(await accept(token, {})).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    const browser = await house.signedIn(guest)
    expect((await accept(token, {}, browser)).status).toBe(200)
    expect((await browser.get('/me')).body).toMatchObject({
      organization: { id: guest.organizationId },
      organizations: [{ id: guest.organizationId }, { id: owner.organizationId, role: 'agent' }],
    })
  })

  test('is for the invited address alone', async () => {
    const email = newAddress()
    const { token } = await invite(email)
    const stranger = await house.addOwner()
    const answer = await accept(token, {}, await house.signedIn(stranger))
    expect(answer).toMatchObject({ status: 403, body: { code: 'link_invalid' } })
    expect(await membersOf(owner.organizationId, stranger.email)).toEqual([])
    expect((await accept(token)).status).toBe(200)
  })

  test('takes no new account over one that is there: then its owner signs in', async () => {
    const guest = await house.addPerson()
    const { token } = await invite(guest.email)
    const answer = await accept(token, { name: 'Eve', password: 'the password of a thief' })
    expect(answer).toMatchObject({ status: 409, body: { code: 'account_exists' } })
    expect(await membersOf(owner.organizationId, guest.email)).toEqual([])
    expect((await house.signedIn(guest)).cookie('einmal.session_token')).toBeDefined()
  })

  test('accepted again by the same person is the same answer, and they are one member', async () => {
    const guest = await house.addPerson()
    const { token } = await invite(guest.email)
    const browser = await house.signedIn(guest)
    const answers = [await accept(token, {}, browser), await accept(token, {}, browser)]
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, { organizationId: owner.organizationId }],
      [200, { organizationId: owner.organizationId }],
    ])
    expect((await read(token)).body).toMatchObject({ isAccepted: true, hasAccount: true })
    expect(await membersOf(owner.organizationId, guest.email)).toHaveLength(1)
    const other = await accept(token, {}, await house.signedIn(await house.addPerson()))
    expect(other).toMatchObject({ status: 403, body: { code: 'link_invalid' } })
  })

  test('accepted again with a new account makes nothing twice, and says that they may sign in', async () => {
    const email = newAddress()
    const { token } = await invite(email)
    expect((await accept(token)).status).toBe(200)
    expect(await accept(token)).toMatchObject({ status: 409, body: { code: 'account_exists' } })
    expect(await membersOf(owner.organizationId, email)).toHaveLength(1)
  })

  test('makes one person and one member of eight acceptances at once over two servers', async () => {
    const email = newAddress()
    const { token } = await invite(email)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        accept(
          token,
          { name: `Guest ${index}`, password: PASSWORD },
          house.browser({ server: index % 2 === 0 ? 0 : 1 }),
        ),
      ),
    )
    expect(countStatuses(answers)).toEqual({ 200: 1, 409: 7 })
    expect(await membersOf(owner.organizationId, email)).toHaveLength(1)
    const { rows } = await house.office.owner.query('select from auth."user" where email = $1', [email])
    expect(rows).toHaveLength(1)
  })

  test('accepted at once from two browsers of one person is the same answer in both', async () => {
    const guest = await house.addPerson()
    const { id, token } = await invite(guest.email)
    const browsers = [await house.signedIn(guest), await house.signedIn(guest, { server: 1 })]
    await using held = await holdInvitation(house.office, id)
    const accepting = browsers.map((browser) => accept(token, {}, browser))
    await held.waiting(2)
    await held.release()
    const answers = await Promise.all(accepting)
    expect(countStatuses(answers)).toEqual({ 200: 2 })
    const members = await membersOf(owner.organizationId, guest.email)
    expect(members).toHaveLength(1)
    const { body } = await own.get(`/audit-entries?subjectId=${members[0]?.id}`)
    expect(body['items']).toHaveLength(1)
  })

  test('of two organisations, accepted at once with a new account, makes one person and no half membership', async () => {
    const email = newAddress()
    const boss = await house.addOwner()
    const tokens = [(await invite(email)).token, (await invite(email, 'agent', await house.signedIn(boss))).token]
    const answers = await Promise.all(tokens.map((token) => accept(token)))
    expect(countStatuses(answers)).toEqual({ 200: 1, 409: 1 })
    const { rows } = await house.office.owner.query('select from auth."user" where email = $1', [email])
    expect(rows).toHaveLength(1)
    const lost = tokens[answers.findIndex(({ status }) => status === 409)] ?? ''
    const browser = house.browser()
    await browser.auth('sign-in/email', { email, password: PASSWORD })
    expect((await accept(lost, {}, browser)).status).toBe(200)
  })
})

describe('a link', () => {
  test('opens nothing when it was cancelled, and cancelling it again is refused', async () => {
    const { id, token } = await invite(newAddress())
    expect(await own.post(`/invitations/${id}/cancel`)).toMatchObject({ status: 200, body: { id, state: 'cancelled' } })
    for (const answer of [await read(token), await accept(token)]) {
      expect(answer).toMatchObject({ status: 403, body: { code: 'link_invalid' } })
    }
    for (const act of ['cancel', 'send']) {
      const again = await own.post(`/invitations/${id}/${act}`)
      expect([act, again.status, again.body['code']]).toEqual([act, 409, 'invitation_ended'])
    }
  })

  test('that was accepted is not cancelled and not sent again', async () => {
    const { id, token } = await invite(newAddress())
    await accept(token)
    for (const act of ['cancel', 'send']) {
      const answer = await own.post(`/invitations/${id}/${act}`)
      expect([act, answer.status, answer.body['code']]).toEqual([act, 409, 'invitation_ended'])
    }
    expect(await stateOf(id)).toBe('accepted')
  })

  test('is good for seven days, and a new invitation takes the place of one whose time is over', async () => {
    const email = newAddress()
    const { id, token } = await invite(email)
    house.pass(7 * DAY - 60_000)
    expect((await read(token)).status).toBe(200)
    house.pass(60_000)
    for (const answer of [await read(token), await accept(token)]) {
      expect(answer).toMatchObject({ status: 403, body: { code: 'link_invalid' } })
    }
    expect(await stateOf(id)).toBe('expired')
    const next = await invite(email)
    expect([await stateOf(id), await stateOf(next.id)]).toEqual(['cancelled', 'open'])
    expect((await accept(next.token)).status).toBe(200)
  })

  test('is dead when a new one was sent, which is good for seven days from then', async () => {
    const { id, token } = await invite(newAddress())
    house.pass(8 * DAY)
    const before = house.letters.length
    expect(await own.post(`/invitations/${id}/send`)).toMatchObject({ status: 200, body: { isSent: true, link: null } })
    const renewed = tokenIn(house.letters[before]?.text)
    expect(renewed).not.toBe(token)
    expect((await accept(token)).status).toBe(403)
    house.pass(6 * DAY)
    expect((await accept(renewed)).status).toBe(200)
  })

  test('that is none, or belongs to nobody, is refused before a password is hashed', async () => {
    const { token } = await invite(newAddress())
    const foreign = Buffer.concat([Buffer.from(token, 'base64url').subarray(0, 32), randomBytes(16)]).toString(
      'base64url',
    )
    const other = await house.addOwner()
    const ofOther = Buffer.concat([
      Buffer.from(token, 'base64url').subarray(0, 32),
      Buffer.from(other.organizationId.replaceAll('-', ''), 'hex'),
    ]).toString('base64url')
    let hashes = 0
    const { password } = await house.servers[0].door.auth.$context
    const { hash } = password
    password.hash = (given) => {
      hashes += 1
      return hash(given)
    }
    try {
      for (const wrong of [foreign, ofOther, 'x', 'A'.repeat(64), `${token}A`, `${token.slice(0, -1)}!`]) {
        for (const answer of [await read(wrong), await accept(wrong)]) {
          expect([wrong, answer.status, answer.body['code']]).toEqual([wrong, 403, 'link_invalid'])
        }
      }
      expect(hashes).toBe(0)
    } finally {
      password.hash = hash
    }
  })

  test('cancelled or renewed while it is being accepted is what came first, and the other is refused', async () => {
    for (const act of ['cancel', 'send']) {
      for (const isAcceptedFirst of [true, false]) {
        const email = newAddress()
        const { id, token } = await invite(email)
        const accepting = () => accept(token, {}, guest)
        const guest = await house.signedIn(await house.addPerson('Gina Guest', email), { server: 1 })
        const ending = () => own.post(`/invitations/${id}/${act}`)
        await using held = await holdInvitation(house.office, id)
        const first = isAcceptedFirst ? accepting() : ending()
        await held.waiting(1)
        const second = isAcceptedFirst ? ending() : accepting()
        await held.waiting(2)
        await held.release()
        const outcome = [
          (await first).status,
          (await second).status,
          (await membersOf(owner.organizationId, email)).length,
        ]
        expect([act, ...outcome]).toEqual(isAcceptedFirst ? [act, 200, 409, 1] : [act, 200, 403, 0])
      }
    }
  })
})

describe('nobody is invited', () => {
  test('who is a member, or has an open invitation', async () => {
    const email = newAddress()
    const { token } = await invite(email)
    expect(await own.post('/invitations', { email: email.toUpperCase(), role: 'viewer' })).toMatchObject({
      status: 409,
      body: { code: 'already_invited' },
    })
    await accept(token)
    expect(await own.post('/invitations', { email, role: 'viewer' })).toMatchObject({
      status: 409,
      body: { code: 'already_member' },
    })
  })

  test('twice by eight at once over two servers', async () => {
    const email = newAddress()
    const second = await house.signedIn(owner, { server: 1 })
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 === 0 ? own : second).post('/invitations', { email, role: 'agent' }),
      ),
    )
    expect(countStatuses(answers)).toEqual({ 201: 1, 409: 7 })
    expect(new Set(answers.filter(({ status }) => status === 409).map(({ body }) => body['code']))).toEqual(
      new Set(['already_invited']),
    )
  })

  test('anew while they accept: they are a member with the role of the first', async () => {
    const email = newAddress()
    const { id, token } = await invite(email, 'owner')
    await using held = await holdInvitation(house.office, id)
    const accepting = accept(token, newAccount, house.browser({ server: 1 }))
    await held.waiting(1)
    const inviting = own.post('/invitations', { email, role: 'viewer' })
    await held.waiting(2)
    await held.release()
    expect((await accepting).status).toBe(200)
    expect(await inviting).toMatchObject({ status: 409, body: { code: 'already_member' } })
    expect(await membersOf(owner.organizationId, email)).toMatchObject([{ role: 'owner' }])
  })

  test('as an owner by an admin, who can invite everybody else', async () => {
    const admin = await house.signedIn(await house.addMember(owner.organizationId, 'admin'))
    const answer = await admin.post('/invitations', { email: newAddress(), role: 'owner' })
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    const { id } = await invite(newAddress(), 'owner')
    for (const act of ['cancel', 'send']) {
      expect([act, (await admin.post(`/invitations/${id}/${act}`)).status]).toEqual([act, 403])
    }
    await invite(newAddress(), 'admin', admin)
  })

  test('by anybody else, nor by a key, nor into another organisation', async () => {
    const { id } = await invite(newAddress())
    for (const role of ['accountant', 'agent', 'viewer'] as const) {
      const browser = await house.signedIn(await house.addMember(owner.organizationId, role))
      expect((await browser.post('/invitations', { email: newAddress(), role: 'viewer' })).status).toBe(403)
      expect((await browser.get('/invitations')).status).toBe(403)
    }
    const stranger = await house.signedIn(await house.addOwner())
    for (const act of ['cancel', 'send']) expect((await stranger.post(`/invitations/${id}/${act}`)).status).toBe(404)
    expect((await own.post(`/invitations/${randomUUID()}/cancel`)).status).toBe(404)
    expect(await stateOf(id)).toBe('open')
  })
})

describe('somebody who was removed', () => {
  test('comes back by a new invitation as the same member, with the new role, and not by the old link', async () => {
    const email = newAddress()
    const first = await invite(email, 'agent')
    await accept(first.token)
    const [member] = await membersOf(owner.organizationId, email)
    await own.post(`/members/${member?.id}/remove`)
    const browser = house.browser()
    await browser.auth('sign-in/email', { email, password: PASSWORD })
    expect(await accept(first.token, {}, browser)).toMatchObject({ status: 403, body: { code: 'link_invalid' } })
    const second = await invite(email, 'viewer')
    expect((await accept(second.token, {}, browser)).status).toBe(200)
    expect(await membersOf(owner.organizationId, email)).toEqual([{ id: member?.id, role: 'viewer', removed: false }])
  })
})

describe('the letter of an invitation', () => {
  let mailServer: MailServer | undefined
  let other: House | undefined

  afterEach(async () => {
    await other?.close()
    await mailServer?.close()
    other = undefined
    mailServer = undefined
  })

  test.each([
    ['de-DE,de;q=0.9', 'Einladung zu'],
    ['en-GB', 'Invitation to'],
    ['fr', 'Invitation to'],
    ['en;q=0.4, de;q=0.6', 'Einladung zu'],
  ])('is in the language of whoever invites (%s: “%s”)', async (language, subject) => {
    const before = house.letters.length
    await own.post('/invitations', { email: newAddress(), role: 'agent' }, { 'accept-language': language })
    expect(house.letters[before]?.subject).toMatch(new RegExp(`^${subject} House`))
  })

  test('has no header and no recipient that a name or an address has smuggled in', async () => {
    mailServer = await startMailServer()
    other = await createHouse({ sendMail: createMailer({ url: mailServer.url, from: 'Office <office@example.org>' }) })
    const inviter = await other.addOwner('Olga\r\nBcc: thief@example.org')
    await other.office.owner.query('update organizations set name = $2 where id = $1', [
      inviter.organizationId,
      'Müller\r\nBcc: thief@example.org\r\n\r\nOther text',
    ])
    const browser = await other.signedIn(inviter)
    const answer = await browser.post('/invitations', { email: 'guest@example.org', role: 'agent' })
    expect(answer).toMatchObject({ status: 201, body: { isSent: true, link: null } })
    const [mail] = mailServer.received
    expect(mail?.to).toEqual(['guest@example.org'])
    expect(mail?.headers).not.toMatch(/^Bcc:/im)
    expect(mail?.body).not.toMatch(/^Bcc:/im)
    expect(tokenIn(mail?.body)).not.toBe('')
    for (const email of [
      'a@example.org, b@example.org',
      'a@example.org\r\nBcc: b@example.org',
      '<a@example.org>',
      'a b@example.org',
    ]) {
      expect([email, (await browser.post('/invitations', { email, role: 'agent' })).status]).toEqual([email, 422])
    }
  })

  test.each([
    ['there is no mail server', null],
    [
      'the mail server fails',
      async () => {
        throw new Error('the mail server is away')
      },
    ],
  ])('gives way to the link in the answer where %s, once: a repetition has none', async (_why, sendMail) => {
    other = await createHouse({ sendMail })
    const browser = await other.signedIn(await other.addOwner())
    const key = { 'idempotency-key': randomUUID() }
    const body = { email: 'guest@example.org', role: 'agent' }
    const first = await browser.post('/invitations', body, key)
    expect(first).toMatchObject({ status: 201, body: { isSent: false, link: expect.stringContaining('/invitation#') } })
    const second = await browser.post('/invitations', body, key)
    expect(second).toMatchObject({ status: 201, body: { isSent: false, link: null } })
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(idOf(second)).toBe(idOf(first))
    const token = tokenIn(first.body['link'])
    expect((await other.browser().post('/invitations/accept', { token, ...newAccount })).status).toBe(200)
    expect(await dumpDatabase(other.office)).not.toContain(token)
    expect(other.logged.join('')).not.toContain(token)
  })

  test('is sent once for one Idempotency-Key, however often and wherever it comes', async () => {
    const before = house.letters.length
    const key = { 'idempotency-key': randomUUID() }
    const body = { email: newAddress(), role: 'agent' }
    const second = own.copy(house.servers[1].http)
    const answers = await Promise.all(
      [own, second, own, second].map((browser) => browser.post('/invitations', body, key)),
    )
    expect(countStatuses(answers)).toEqual({ 201: 4 })
    expect(house.letters.slice(before)).toHaveLength(1)
    expect(new Set(answers.map(idOf)).size).toBe(1)
  })

  test('alone has the link: neither the answer nor the database nor the log', async () => {
    const { token } = await invite(newAddress())
    const dump = await dumpDatabase(house.office)
    expect(dump).toContain('invitation.create')
    expect(dump).not.toContain(token)
    expect(house.logged.join('')).not.toContain(token)
    expect((await own.get('/invitations')).text).not.toContain(token)
    expect((await own.get('/audit-entries')).text).not.toContain(token)
  })
})
