import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from '../support/cookie-browser.ts'
import { countStatuses, createHouse, type House, PASSWORD, SESSION_COOKIE, type TestMember } from '../support/house.ts'

const OTHER_PASSWORD = 'another long enough password'

let house: House
let anna: TestMember

beforeAll(async () => {
  house = await createHouse()
  anna = await house.addOwner('Anna')
})

afterAll(() => house.close())

const isSignedIn = async (browser: Browser) => (await browser.get('/me')).status === 200

async function listSessions(browser: Browser) {
  const { body } = await browser.get('/me/sessions')
  return body['items'] as { id: string; isCurrent: boolean; address: string; userAgent: string }[]
}

describe('the session of somebody who signs in', () => {
  test('is a cookie that no script reads and no other site sends, and the person is known by it', async () => {
    const browser = house.browser({ address: '192.0.2.2', headers: { 'user-agent': 'A browser' } })
    const answer = await browser.auth('sign-in/email', { email: anna.email, password: PASSWORD })
    const cookie = answer.cookies.find((each) => each.startsWith(`${SESSION_COOKIE}=`))
    expect(cookie).toMatch(/; HttpOnly(;|$)/)
    expect(cookie).toMatch(/; SameSite=Strict(;|$)/i)
    expect(cookie).not.toMatch(/; Secure/i)
    expect((await browser.get('/me')).body).toMatchObject({
      user: { id: anna.userId, email: anna.email, name: 'Anna', hasTwoFactor: false },
      organization: { id: anna.organizationId, role: 'owner', memberId: anna.memberId },
      organizations: [{ id: anna.organizationId }],
    })
    expect(await listSessions(browser)).toMatchObject([
      { isCurrent: true, address: '192.0.2.2', userAgent: 'A browser' },
    ])
  })

  test('is made for TLS alone where the office is served by it', async () => {
    const address = { baseUrl: 'https://office.example', trustedOrigins: ['https://office.example'] }
    const secured = await createHouse({ address })
    try {
      const owner = await secured.addOwner()
      const browser = secured.browser({ headers: { origin: 'https://office.example' } })
      const answer = await browser.auth('sign-in/email', { email: owner.email, password: PASSWORD })
      expect(answer.status).toBe(200)
      const names = answer.cookies.map((cookie) => cookie.split('=')[0])
      expect(names).toContain(`__Secure-${SESSION_COOKIE}`)
      for (const cookie of answer.cookies) expect(cookie).toMatch(/; Secure(;|$)/)
      expect(await isSignedIn(browser)).toBe(true)
    } finally {
      await secured.close()
    }
  })

  test('takes the place of the one that the browser had, which opens nothing any more', async () => {
    const browser = await house.signedIn(anna)
    const old = browser.copy()
    await browser.auth('sign-in/email', { email: anna.email, password: PASSWORD })
    expect(browser.cookie(SESSION_COOKIE)).not.toBe(old.cookie(SESSION_COOKIE))
    expect([await isSignedIn(old), await isSignedIn(browser)]).toEqual([false, true])
  })

  test('of another person takes its place too', async () => {
    const browser = await house.signedIn(anna)
    const old = browser.copy()
    const other = await house.addOwner()
    await browser.auth('sign-in/email', { email: other.email, password: PASSWORD })
    expect(await isSignedIn(old)).toBe(false)
    expect((await browser.get('/me')).body).toMatchObject({ user: { id: other.userId } })
  })

  test('is never one that somebody has put into the browser', async () => {
    const planted = await house.signedIn(anna)
    const victim = await house.addOwner()
    const browser = house.browser()
    browser.keep(SESSION_COOKIE, planted.cookie(SESSION_COOKIE) ?? '')
    await browser.auth('sign-in/email', { email: victim.email, password: PASSWORD })
    expect(browser.cookie(SESSION_COOKIE)).not.toBe(planted.cookie(SESSION_COOKIE))
    expect(await isSignedIn(planted)).toBe(false)
    for (const value of ['made-up', 'made-up.c2lnbmF0dXJl', `${planted.cookie(SESSION_COOKIE)}x`, '']) {
      browser.keep(SESSION_COOKIE, value)
      expect(await isSignedIn(browser)).toBe(false)
    }
  })

  test('is nobody when its time is over', async () => {
    const browser = await house.signedIn(anna)
    await house.office.owner.query(
      `update auth.session set "expiresAt" = now() - interval '1 second' where "userId" = $1`,
      [anna.userId],
    )
    expect((await browser.get('/me')).status).toBe(401)
  })

  test('ends with sign-out, for whoever copied it too', async () => {
    const browser = await house.signedIn(anna)
    const copy = browser.copy()
    expect((await browser.auth('sign-out')).status).toBe(200)
    expect([await isSignedIn(browser), await isSignedIn(copy)]).toEqual([false, false])
  })
})

describe('a wrong password', () => {
  test('lets nobody in, and the answer is the same for an address that nobody has', async () => {
    const [known, unknown] = [house.browser(), house.browser()]
    const refused = await known.auth('sign-in/email', { email: anna.email, password: 'something else' })
    const missing = await unknown.auth('sign-in/email', { email: 'nobody@example.org', password: 'something else' })
    expect([refused.status, refused.body]).toEqual([401, missing.body])
    expect(missing.status).toBe(401)
    expect([refused.cookies, missing.cookies]).toEqual([[], []])
    expect(await isSignedIn(known)).toBe(false)
  })
})

describe('sessions are ended', () => {
  test('everywhere at once, here too', async () => {
    const person = await house.addOwner()
    const browsers = [await house.signedIn(person), await house.signedIn(person, { server: 1 })]
    expect((await browsers[0]?.auth('revoke-sessions'))?.status).toBe(200)
    expect(await Promise.all(browsers.map(isSignedIn))).toEqual([false, false])
  })

  test('in one place, and the others stay', async () => {
    const person = await house.addOwner()
    const [here, there] = [await house.signedIn(person), await house.signedIn(person)]
    const foreign = (await listSessions(here)).find(({ isCurrent }) => !isCurrent)
    expect((await here.post(`/me/sessions/${foreign?.id}/end`)).status).toBe(204)
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([true, false])
    expect((await here.post(`/me/sessions/${foreign?.id}/end`)).status).toBe(404)
  })

  test('by their owner alone: another person’s is not found, and lives on', async () => {
    const [mine, theirs] = [await house.signedIn(anna), await house.signedIn(await house.addOwner())]
    const [own] = await listSessions(theirs)
    expect(await mine.post(`/me/sessions/${own?.id}/end`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await isSignedIn(theirs)).toBe(true)
  })

  test.each([{ revokeOtherSessions: true }, { revokeOtherSessions: false }, {}])(
    'with a new password, all but a new one here, whatever the page asked for: %j',
    async (asked) => {
      const person = await house.addOwner()
      const [here, there] = [await house.signedIn(person), await house.signedIn(person, { server: 1 })]
      const old = here.copy()
      const change = { currentPassword: PASSWORD, newPassword: OTHER_PASSWORD, ...asked }
      expect((await here.auth('change-password', change)).status).toBe(200)
      expect(await Promise.all([here, old, there].map(isSignedIn))).toEqual([true, false, false])
      const again = await house.browser().auth('sign-in/email', { email: person.email, password: OTHER_PASSWORD })
      expect(again.status).toBe(200)
    },
  )

  test('and stay where the password was not changed', async () => {
    const person = await house.addOwner()
    const [here, there] = [await house.signedIn(person), await house.signedIn(person)]
    const wrong = { currentPassword: 'a wrong password', newPassword: OTHER_PASSWORD, revokeOtherSessions: true }
    const short = { currentPassword: PASSWORD, newPassword: 'short', revokeOtherSessions: true }
    expect(await here.auth('change-password', wrong)).toMatchObject({ status: 400, body: { code: 'INVALID_PASSWORD' } })
    expect(await here.auth('change-password', short)).toMatchObject({
      status: 400,
      body: { code: 'PASSWORD_TOO_SHORT' },
    })
    expect(await Promise.all([here, there].map(isSignedIn))).toEqual([true, true])
  })

  test('and no answer about them has the token', async () => {
    const person = await house.addOwner()
    const browser = await house.signedIn(person)
    const { rows } = await house.office.owner.query<{ token: string }>(
      'select token from auth.session where "userId" = $1',
      [person.userId],
    )
    const listed = await browser.get('/me/sessions')
    expect(rows).toHaveLength(1)
    expect(listed.text).not.toContain(rows[0]?.token)
    expect(Object.keys((listed.body['items'] as object[])[0] ?? {}).sort()).toEqual([
      'address',
      'createdAt',
      'id',
      'isCurrent',
      'lastSeenAt',
      'userAgent',
    ])
  })
})

describe('a page of the door', () => {
  test('takes JSON as its contract says, and nothing in another form', async () => {
    const browser = house.browser()
    const form = `email=${encodeURIComponent(anna.email)}&password=${encodeURIComponent(PASSWORD)}`
    const formType = { 'content-type': 'application/x-www-form-urlencoded' }
    const answers = [
      await browser.auth('sign-in/email', form, formType),
      await browser.auth('sign-in/email', 'half of {'),
      await browser.auth('sign-in/email', { email: [anna.email], password: PASSWORD }),
      await browser.auth('sign-in/email', { password: PASSWORD }),
    ]
    expect(answers.every(({ status }) => status >= 400 && status < 500)).toBe(true)
    expect(countStatuses(answers)[200]).toBeUndefined()
    expect(await isSignedIn(browser)).toBe(false)
  })

  test('lets nobody sign up uninvited, and has nothing of better-auth but what the pages need', async () => {
    const browser = await house.signedIn(anna)
    for (const path of [
      'sign-up/email',
      'change-email',
      'delete-user',
      'set-password',
      'update-session',
      'list-sessions',
      'two-factor/get-totp-uri',
      'two-factor/send-otp',
    ]) {
      expect([path, (await browser.auth(path, {})).status]).toEqual([path, 404])
    }
    expect((await browser.get('/api/auth/get-session')).status).toBe(404)
  })

  test('lets a person change what they are called, and nothing else of themselves', async () => {
    const person = await house.addOwner('Before')
    const browser = await house.signedIn(person)
    expect((await browser.auth('update-user', { name: ' After ' })).status).toBe(200)
    expect((await browser.get('/me')).body).toMatchObject({ user: { name: 'After' } })
    for (const wrong of [{ name: '' }, { name: 'x'.repeat(201) }, { name: 7 }, { name: null }, {}]) {
      expect([wrong, (await browser.auth('update-user', wrong)).status]).toEqual([wrong, 422])
    }
    await browser.auth('update-user', {
      name: 'After',
      emailVerified: true,
      twoFactorEnabled: true,
      image: 'https://x.example',
    })
    const { rows } = await house.office.owner.query('select * from auth."user" where id = $1', [person.userId])
    expect(rows).toMatchObject([
      { name: 'After', emailVerified: false, twoFactorEnabled: false, image: null, email: person.email },
    ])
  })
})
