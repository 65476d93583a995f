import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createMailer } from '../../src/platform/mail.ts'
import type { Browser } from '../support/cookie-browser.ts'
import {
  countStatuses,
  createHouse,
  dumpDatabase,
  type House,
  PASSWORD,
  type TestMember,
  totpOf,
  turnTwoFactorOn,
} from '../support/house.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'

const NEW_PASSWORD = 'a new and longer password'
const tokenIn = (text: string) => /\/reset-password#([\w-]+)/.exec(text)?.[1] ?? ''

let house: House

beforeAll(async () => {
  house = await createHouse()
})

afterAll(() => house.close())

/** Asks for a link and reads it in the letter. */
async function askForToken({ email }: { email: string }): Promise<string> {
  const before = house.letters.length
  const answer = await house.browser().auth('request-password-reset', { email })
  expect(answer.status).toBe(200)
  const [letter] = house.letters.slice(before)
  expect(letter?.to).toBe(email)
  return tokenIn(letter?.text ?? '')
}

const reset = (token: string, newPassword = NEW_PASSWORD, browser = house.browser()) =>
  browser.auth('reset-password', { token, newPassword })
const signIn = ({ email }: { email: string }, password: string, browser: Browser = house.browser()) =>
  browser.auth('sign-in/email', { email, password })

describe('a link for a new password', () => {
  test('sets one, once, and signs the person out everywhere', async () => {
    const owner = await house.addOwner()
    const browser = await house.signedIn(owner)
    const token = await askForToken(owner)
    expect((await reset(token)).status).toBe(200)
    expect((await browser.get('/me')).status).toBe(401)
    expect((await signIn(owner, PASSWORD)).status).toBe(401)
    expect((await signIn(owner, NEW_PASSWORD)).status).toBe(200)
    expect(await reset(token, 'yet another password')).toMatchObject({ status: 400, body: { code: 'INVALID_TOKEN' } })
    expect((await signIn(owner, NEW_PASSWORD)).status).toBe(200)
  })

  test('is used by one of two who have it at the same moment', async () => {
    const owner = await house.addOwner()
    const token = await askForToken(owner)
    const browsers = [house.browser(), house.browser({ server: 1 })]
    const answers = await Promise.all(
      browsers.map((browser, index) => reset(token, `${NEW_PASSWORD} ${index}`, browser)),
    )
    expect(countStatuses(answers)).toEqual({ 200: 1, 400: 1 })
    const winner = answers.findIndex(({ status }) => status === 200)
    expect((await signIn(owner, `${NEW_PASSWORD} ${winner}`)).status).toBe(200)
  })

  test('ends with the first that is used: older ones open nothing any more', async () => {
    const owner = await house.addOwner()
    const [older, newer] = [await askForToken(owner), await askForToken(owner)]
    expect((await reset(newer)).status).toBe(200)
    expect(await reset(older, 'the password of a thief')).toMatchObject({
      status: 400,
      body: { code: 'INVALID_TOKEN' },
    })
    expect((await signIn(owner, NEW_PASSWORD)).status).toBe(200)
  })

  test('is its owner’s, whoever is signed in where it is opened', async () => {
    const [owner, other] = [await house.addOwner(), await house.addOwner()]
    const [older, newer] = [await askForToken(owner), await askForToken(owner)]
    const ofOther = await askForToken(other)
    const browser = await house.signedIn(other)
    expect((await reset(newer, NEW_PASSWORD, browser)).status).toBe(200)
    expect((await browser.get('/me')).body).toMatchObject({ user: { id: other.userId } })
    expect((await browser.get('/audit-entries')).text).not.toContain('password.reset')
    expect((await reset(older)).status).toBe(400)
    expect((await reset(ofOther)).status).toBe(200)
  })

  test('is good for an hour', async () => {
    const owner = await house.addOwner()
    const token = await askForToken(owner)
    const { rows } = await house.office.owner.query<{ left: string }>(
      `select extract(epoch from "expiresAt" - "createdAt")::int as left from auth.verification where value = $1`,
      [owner.userId],
    )
    expect(rows).toEqual([{ left: 3600 }])
    await house.office.owner.query(
      `update auth.verification set "expiresAt" = now() - interval '1 second' where value = $1`,
      [owner.userId],
    )
    expect(await reset(token)).toMatchObject({ status: 400, body: { code: 'INVALID_TOKEN' } })
    expect((await signIn(owner, PASSWORD)).status).toBe(200)
  })

  test('is in the letter alone: the database has its hash, the log nothing', async () => {
    const token = await askForToken(await house.addOwner())
    expect(token).toMatch(/^[\w-]{20,}$/)
    expect(await dumpDatabase(house.office)).not.toContain(token)
    expect(house.logged.join('')).not.toContain(token)
  })

  test('takes a password that sign-in takes, and is good for another try', async () => {
    const token = await askForToken(await house.addOwner())
    expect(await reset(token, 'short')).toMatchObject({ status: 400, body: { code: 'PASSWORD_TOO_SHORT' } })
    expect(await reset(token, 'x'.repeat(129))).toMatchObject({ status: 400, body: { code: 'PASSWORD_TOO_LONG' } })
    expect((await reset(token)).status).toBe(200)
  })

  test('lets a locked account in at once, from a device that is known from then on', async () => {
    const owner = await house.addOwner()
    await Promise.all(Array.from({ length: 12 }, () => signIn(owner, 'a wrong password')))
    expect((await signIn(owner, PASSWORD)).status).toBe(429)
    const own = house.browser()
    expect((await reset(await askForToken(owner), NEW_PASSWORD, own)).status).toBe(200)
    await Promise.all(Array.from({ length: 12 }, () => signIn(owner, 'a wrong password')))
    expect((await signIn(owner, NEW_PASSWORD)).status).toBe(429)
    expect((await signIn(owner, NEW_PASSWORD, own)).status).toBe(200)
  })

  test('does not replace the second factor, not even on a device that it trusted', async () => {
    const owner = await house.addOwner()
    const { totpUri } = await turnTwoFactorOn(await house.signedIn(owner))
    const own = house.browser()
    await signIn(owner, PASSWORD, own)
    expect((await own.auth('two-factor/verify-totp', { code: totpOf(totpUri, 1), trustDevice: true })).status).toBe(200)
    await own.auth('sign-out')
    expect((await signIn(owner, PASSWORD, own)).body).not.toHaveProperty('twoFactorRedirect')
    await reset(await askForToken(owner))
    expect(await signIn(owner, NEW_PASSWORD, own)).toMatchObject({ status: 200, body: { twoFactorRedirect: true } })
    expect((await own.get('/me')).status).toBe(401)
  })
})

describe('whoever asks for a link', () => {
  test('hears the same for an address that nobody has, and nobody gets a letter', async () => {
    const known = await house.browser().auth('request-password-reset', { email: (await house.addOwner()).email })
    const before = house.letters.length
    const unknown = await house.browser().auth('request-password-reset', { email: 'nobody@example.org' })
    expect([unknown.status, unknown.body]).toEqual([known.status, known.body])
    expect(house.letters.length).toBe(before)
  })

  test('does not wait for the mail server, so that the time tells nobody who has an account', async () => {
    const started: (() => void)[] = []
    const slow = await createHouse({ sendMail: () => new Promise((resolve) => started.push(resolve)) })
    try {
      const owner = await slow.addOwner()
      const answer = await slow.browser().auth('request-password-reset', { email: owner.email })
      expect(answer.status).toBe(200)
      expect(started).toHaveLength(1)
    } finally {
      for (const resolve of started) resolve()
      await slow.close()
    }
  })

  test('gets five in a quarter of an hour, whoever asks and on whatever server, and hears the same every time', async () => {
    const owner = await house.addOwner()
    const before = house.letters.length
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        house
          .browser({ server: index % 2 === 0 ? 0 : 1 })
          .auth('request-password-reset', { email: owner.email.toUpperCase() }),
      ),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(house.letters.slice(before).map(({ to }) => to)).toEqual(Array<string>(5).fill(owner.email))
    house.pass(15 * 60_000)
    await askForToken(owner)
  })
})

describe('the letter', () => {
  let mailServer: MailServer | undefined
  let other: House | undefined

  afterEach(async () => {
    await other?.close()
    await mailServer?.close()
  })

  async function ask(to: House, headers: Record<string, string> = {}): Promise<TestMember> {
    const owner = await to.addOwner()
    expect((await to.browser().auth('request-password-reset', { email: owner.email }, headers)).status).toBe(200)
    await to.servers[0].door.drain()
    return owner
  }

  test('goes over SMTP, in the language of the browser, and its link opens the account', async () => {
    mailServer = await startMailServer()
    other = await createHouse({ sendMail: createMailer({ url: mailServer.url, from: 'Office <office@example.org>' }) })
    const owner = await ask(other, { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' })
    await ask(other)
    const [german, english] = mailServer.received
    expect(german?.to).toEqual([owner.email])
    expect(german?.headers).toMatch(/^From: Office <office@example.org>$/m)
    expect(german?.body).toContain('ein einziges Mal')
    expect(english?.headers).toMatch(/^Subject: A new password for Einmal$/m)
    const token = tokenIn(german?.body ?? '')
    expect((await other.browser().auth('reset-password', { token, newPassword: NEW_PASSWORD })).status).toBe(200)
    expect(other.logged.join('')).not.toContain(token)
  })

  test('that the mail server does not take leaves a line in the log, and no link in it', async () => {
    mailServer = await startMailServer({ refuses: true })
    other = await createHouse({ sendMail: createMailer({ url: mailServer.url, from: 'office@example.org' }) })
    await ask(other)
    expect(other.logged.join('')).toContain('the mail server did not take a mail')
    expect(other.logged.join('')).not.toContain('reset-password#')
  })

  test('stands in the log where there is no mail server, for whoever runs the office, and opens the account', async () => {
    other = await createHouse({ sendMail: null })
    await ask(other)
    const lines = other.logged.filter((line) => line.includes('reset-password#'))
    expect(lines).toHaveLength(1)
    const token = tokenIn(lines[0] ?? '')
    expect((await other.browser().auth('reset-password', { token, newPassword: NEW_PASSWORD })).status).toBe(200)
  })
})
