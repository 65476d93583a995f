import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from '../support/cookie-browser.ts'
import {
  countStatuses,
  createHouse,
  type House,
  PASSWORD,
  SESSION_COOKIE,
  type TestMember,
  totpOf,
  turnTwoFactorOn,
} from '../support/house.ts'

let house: House

beforeAll(async () => {
  house = await createHouse()
})

afterAll(() => house.close())

const isSignedIn = async (browser: Browser) => (await browser.get('/me')).status === 200

async function addProtected(): Promise<{
  person: TestMember
  browser: Browser
  totpUri: string
  recoveryCodes: string[]
}> {
  const person = await house.addOwner()
  const browser = await house.signedIn(person)
  return { person, browser, ...(await turnTwoFactorOn(browser)) }
}

/** A browser that has given the right password, and is asked for the second factor. */
async function atSecondFactor({ email }: { email: string }, server: 0 | 1 = 0): Promise<Browser> {
  const browser = house.browser({ server })
  const answer = await browser.auth('sign-in/email', { email, password: PASSWORD })
  expect(answer).toMatchObject({ status: 200, body: { twoFactorRedirect: true } })
  return browser
}

describe('a second factor', () => {
  test('is on when a first code has proved it, in a new session, and the old one opens nothing any more', async () => {
    const person = await house.addOwner()
    const browser = await house.signedIn(person)
    const old = browser.copy()
    const enabled = await browser.auth('two-factor/enable', { password: PASSWORD })
    expect(enabled.status).toBe(200)
    expect((await browser.get('/me')).body).toMatchObject({ user: { hasTwoFactor: false } })
    const code = totpOf(String(enabled.body['totpURI']))
    expect((await browser.auth('two-factor/verify-totp', { code })).status).toBe(200)
    expect(browser.cookie(SESSION_COOKIE)).not.toBe(old.cookie(SESSION_COOKIE))
    expect((await browser.get('/me')).body).toMatchObject({ user: { hasTwoFactor: true } })
    expect(await isSignedIn(old)).toBe(false)
  })

  test('that was begun and not proved asks nobody for a code', async () => {
    const person = await house.addOwner()
    const browser = await house.signedIn(person)
    await browser.auth('two-factor/enable', { password: PASSWORD })
    expect(await browser.auth('two-factor/verify-totp', { code: '000000' })).toMatchObject({ status: 401 })
    expect(await isSignedIn(await house.signedIn(person))).toBe(true)
  })

  test('is turned on, renewed and turned off by whoever knows the password alone', async () => {
    const { browser } = await addProtected()
    const plain = await house.signedIn(await house.addOwner())
    for (const [at, path] of [
      [plain, 'two-factor/enable'],
      [browser, 'two-factor/generate-backup-codes'],
      [browser, 'two-factor/disable'],
    ] as const) {
      const answer = await at.auth(path, { password: 'a wrong password' })
      expect([path, answer.status, answer.body['code']]).toEqual([path, 400, 'INVALID_PASSWORD'])
    }
    expect((await browser.get('/me')).body).toMatchObject({ user: { hasTwoFactor: true } })
  })

  test('is asked for after the password, which alone opens nothing and ends the session there was', async () => {
    const { person, totpUri, browser: old } = await addProtected()
    const browser = old.copy()
    const answer = await browser.auth('sign-in/email', { email: person.email, password: PASSWORD })
    expect(answer).toMatchObject({ status: 200, body: { twoFactorRedirect: true } })
    expect([await isSignedIn(browser), await isSignedIn(old)]).toEqual([false, false])
    expect(await browser.auth('two-factor/verify-totp', { code: '000000' })).toMatchObject({
      status: 401,
      body: { code: 'INVALID_CODE' },
    })
    expect(await isSignedIn(browser)).toBe(false)
    expect((await browser.auth('two-factor/verify-totp', { code: totpOf(totpUri, 1) })).status).toBe(200)
    expect(await isSignedIn(browser)).toBe(true)
  })

  test('is worth nothing without the password', async () => {
    const { totpUri, recoveryCodes } = await addProtected()
    const browser = house.browser()
    for (const [path, code] of [
      ['two-factor/verify-totp', totpOf(totpUri, 1)],
      ['two-factor/verify-backup-code', recoveryCodes[0]],
    ] as const) {
      expect((await browser.auth(path, { code })).status).toBe(401)
    }
    expect(await isSignedIn(browser)).toBe(false)
  })

  test('is not asked for again by who begins to sign in with a password that was changed meanwhile', async () => {
    const { person, totpUri, browser } = await addProtected()
    const thief = await atSecondFactor(person)
    const change = { currentPassword: PASSWORD, newPassword: 'a quite different password' }
    expect((await browser.auth('change-password', change)).status).toBe(200)
    expect(await thief.auth('two-factor/verify-totp', { code: totpOf(totpUri, 1) })).toMatchObject({
      status: 401,
      body: { code: 'INVALID_TWO_FACTOR_COOKIE' },
    })
    expect(await isSignedIn(thief)).toBe(false)
  })

  test('is off for whoever turned it off, in a new session', async () => {
    const { person, browser } = await addProtected()
    const old = browser.copy()
    expect((await browser.auth('two-factor/disable', { password: PASSWORD })).status).toBe(200)
    expect([await isSignedIn(browser), await isSignedIn(old)]).toEqual([true, false])
    expect(await isSignedIn(await house.signedIn(person))).toBe(true)
  })
})

describe('a code of the authenticator', () => {
  test('lets somebody in once: whoever read it on the way is refused, on another server too', async () => {
    const { person, totpUri } = await addProtected()
    const code = totpOf(totpUri, 1)
    const [mine, theirs] = [await atSecondFactor(person), await atSecondFactor(person, 1)]
    expect((await mine.auth('two-factor/verify-totp', { code })).status).toBe(200)
    expect(await theirs.auth('two-factor/verify-totp', { code })).toMatchObject({
      status: 401,
      body: { code: 'INVALID_CODE' },
    })
    expect([await isSignedIn(mine), await isSignedIn(theirs)]).toEqual([true, false])
  })

  test('lets one of two in who come with it at the same moment', async () => {
    const { person, totpUri } = await addProtected()
    const code = totpOf(totpUri, 1)
    const browsers = [await atSecondFactor(person), await atSecondFactor(person, 1)]
    const answers = await Promise.all(browsers.map((browser) => browser.auth('two-factor/verify-totp', { code })))
    expect(countStatuses(answers)).toEqual({ 200: 1, 401: 1 })
    expect((await Promise.all(browsers.map(isSignedIn))).sort()).toEqual([false, true])
  })
})

describe('a recovery code', () => {
  test('lets somebody in once', async () => {
    const { person, recoveryCodes } = await addProtected()
    const code = recoveryCodes[3]
    const [first, second] = [await atSecondFactor(person), await atSecondFactor(person)]
    expect((await first.auth('two-factor/verify-backup-code', { code })).status).toBe(200)
    expect(await second.auth('two-factor/verify-backup-code', { code })).toMatchObject({
      status: 401,
      body: { code: 'INVALID_BACKUP_CODE' },
    })
    expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([true, false])
  })

  test('lets one of two in who come with it at the same moment', async () => {
    const { person, recoveryCodes } = await addProtected()
    const code = recoveryCodes[0]
    const browsers = [await atSecondFactor(person), await atSecondFactor(person, 1)]
    const answers = await Promise.all(
      browsers.map((browser) => browser.auth('two-factor/verify-backup-code', { code })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await Promise.all(browsers.map(isSignedIn))).sort()).toEqual([false, true])
  })

  test('counts no more when new ones were made, and none is in the database as it is', async () => {
    const { person, browser, recoveryCodes } = await addProtected()
    const renewed = await browser.auth('two-factor/generate-backup-codes', { password: PASSWORD })
    expect(renewed.status).toBe(200)
    const late = await atSecondFactor(person)
    expect((await late.auth('two-factor/verify-backup-code', { code: recoveryCodes[0] })).status).toBe(401)
    const [fresh = ''] = renewed.body['backupCodes'] as string[]
    const { rows } = await house.office.owner.query('select from auth."twoFactor" as t where strpos(t::text, $1) > 0', [
      fresh,
    ])
    expect(rows).toEqual([])
    expect((await late.auth('two-factor/verify-backup-code', { code: fresh })).status).toBe(200)
  })
})

describe('guesses of the second factor', () => {
  test('end the sign-in after five wrong codes', async () => {
    const { person, totpUri } = await addProtected()
    const browser = await atSecondFactor(person)
    for (let guess = 0; guess < 5; guess += 1) {
      const answer = await browser
        .copy(undefined, { address: `203.0.113.${guess}` })
        .auth('two-factor/verify-totp', { code: '000000' })
      expect(answer.status).toBe(401)
    }
    const late = browser.copy(undefined, { address: '203.0.113.9' })
    expect(await late.auth('two-factor/verify-totp', { code: totpOf(totpUri, 1) })).toMatchObject({
      status: 400,
      body: { code: 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE' },
    })
  })

  test('lock the account’s second factor after ten wrong codes, whatever sign-in they belong to', async () => {
    const { person, totpUri, recoveryCodes } = await addProtected()
    for (let guess = 0; guess < 10; guess += 1) {
      const browser = await atSecondFactor(person, guess % 2 === 0 ? 0 : 1)
      expect((await browser.auth('two-factor/verify-totp', { code: '000000' })).status).toBe(401)
    }
    const browser = await atSecondFactor(person)
    for (const [path, code] of [
      ['two-factor/verify-totp', totpOf(totpUri, 1)],
      ['two-factor/verify-backup-code', recoveryCodes[0]],
    ] as const) {
      const answer = await browser.auth(path, { code })
      expect([path, answer.status, answer.body['code']]).toEqual([path, 429, 'ACCOUNT_TEMPORARILY_LOCKED'])
    }
    expect(await isSignedIn(browser)).toBe(false)
  })
})
