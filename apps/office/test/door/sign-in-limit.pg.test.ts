import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, PageAnswer } from '../support/cookie-browser.ts'
import {
  countStatuses,
  createHouse,
  DEVICE_COOKIE,
  dumpDatabase,
  type House,
  PASSWORD,
  type Server,
  type TestMember,
} from '../support/house.ts'

const WRONG = 'a wrong password'
const MINUTE = 60_000

let house: House

beforeAll(async () => {
  house = await createHouse()
})

afterAll(() => house.close())

const guess = (browser: Browser, email: string, password = WRONG) => browser.auth('sign-in/email', { email, password })

/** From an address of its own each time, and from both servers in turns. */
function guessFromEverywhere(count: number, email: string): Promise<PageAnswer[]> {
  const servers = [0, 1] as const
  return Promise.all(
    Array.from({ length: count }, (_, index) => guess(house.browser({ server: servers[index % 2] ?? 0 }), email)),
  )
}

/** How often the servers look at a password while `work` runs; of an account that is not there, the work alone is done. */
async function countLooks(
  servers: readonly Server[],
  work: () => Promise<unknown>,
  does: 'verify' | 'hash' = 'verify',
): Promise<number> {
  let looks = 0
  const restores: (() => void)[] = []
  for (const { door } of servers) {
    const { password } = await door.auth.$context
    const { verify, hash } = password
    if (does === 'verify') {
      password.verify = (given) => {
        looks += 1
        return verify(given)
      }
    } else {
      password.hash = (given) => {
        looks += 1
        return hash(given)
      }
    }
    restores.push(() => Object.assign(password, { verify, hash }))
  }
  try {
    await work()
  } finally {
    for (const restore of restores) restore()
  }
  return looks
}

/** An account that is being guessed at from everywhere, so that no new device gets a look any more. */
async function addAttacked(): Promise<TestMember> {
  const owner = await house.addOwner()
  expect(countStatuses(await guessFromEverywhere(12, owner.email))).toEqual({ 401: 10, 429: 2 })
  return owner
}

describe('an account', () => {
  test('is guessed at ten times by 40 at once over two servers: the other passwords are not even looked at', async () => {
    const { email } = await house.addOwner()
    let answers: PageAnswer[] = []
    const looks = await countLooks(house.servers, async () => {
      answers = await guessFromEverywhere(40, email)
    })
    expect(looks).toBe(10)
    expect(countStatuses(answers)).toEqual({ 401: 10, 429: 30 })
  })

  test('that nobody has is guessed at as often, so that the limit tells nobody which there are', async () => {
    const guessAll = async () => {
      expect(countStatuses(await guessFromEverywhere(12, 'not-here@example.org'))).toEqual({ 401: 10, 429: 2 })
    }
    const looks = await countLooks(house.servers, guessAll, 'hash')
    expect(looks).toBe(10)
  })

  test('is one, however its address is spelled', async () => {
    const { email } = await house.addOwner()
    await guessFromEverywhere(10, email.toUpperCase())
    expect((await guess(house.browser(), email)).status).toBe(429)
  })

  test('refuses the right password as well, and says when it makes sense again; then it is let in', async () => {
    const owner = await addAttacked()
    house.pass(5 * MINUTE)
    const refused = await guess(house.browser(), owner.email, PASSWORD)
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_attempts', status: 429 } })
    const seconds = Number(refused.headers['retry-after'])
    expect(seconds).toBeGreaterThan(9 * 60)
    expect(seconds).toBeLessThanOrEqual(10 * 60)
    house.pass(seconds * 1_000)
    expect((await guess(house.browser(), owner.email, PASSWORD)).status).toBe(200)
  })

  test('lets somebody in as often as they like: who gives the right password has not guessed', async () => {
    const owner = await house.addOwner()
    for (let visit = 0; visit < 12; visit += 1) await house.signedIn(owner)
    await guessFromEverywhere(9, owner.email)
    await house.signedIn(owner)
    expect(countStatuses(await guessFromEverywhere(10, owner.email))).toEqual({ 401: 10 })
  })

  test('has its password guessed no more often by who has stolen a session', async () => {
    const owner = await house.addOwner()
    const stolen = await house.signedIn(owner)
    stolen.forget(DEVICE_COOKIE)
    const answers: PageAnswer[] = []
    const looks = await countLooks(house.servers, async () => {
      for (let index = 0; index < 12; index += 1) {
        const browser = stolen.copy(house.servers[index % 2 === 0 ? 0 : 1].http, { address: `203.0.113.${index}` })
        const body = { currentPassword: WRONG, newPassword: 'whatever they like' }
        answers.push(
          index % 3 === 0
            ? await browser.auth('change-password', body)
            : await browser.auth('two-factor/enable', { password: WRONG }),
        )
      }
    })
    expect(countStatuses(answers)).toEqual({ 400: 10, 429: 2 })
    expect(looks).toBe(10)
  })

  test('is not guessed at more often with an account of one’s own', async () => {
    const [owner, thief] = [await house.addOwner(), await house.addOwner()]
    const formType = { 'content-type': 'application/x-www-form-urlencoded' }
    const bodies = [
      (email: string, password: string) => [new URLSearchParams({ email, password }).toString(), formType] as const,
      (email: string, password: string) => [`\uFEFF${JSON.stringify({ email, password })}`, {}] as const,
      (email: string, password: string) =>
        [`{"email":"x@example.org","email":"${email}","password":"${password}"}`, {}] as const,
    ]
    const guesses: PageAnswer[] = []
    for (let index = 0; index < 36; index += 1) {
      const body = bodies[index % 3]
      if (body === undefined) continue
      const browser = house.browser()
      // What the thief has of their own account must be no help.
      if (index % 2 === 0) await browser.auth('sign-in/email', ...body(thief.email, PASSWORD))
      guesses.push(await browser.auth('sign-in/email', ...body(owner.email, WRONG)))
    }
    expect(guesses.filter(({ status }) => status === 401)).toHaveLength(10)
    expect(guesses.filter(({ status }) => status < 400)).toEqual([])
    expect((await guess(house.browser(), owner.email, PASSWORD)).status).toBe(429)
  })
})

describe('a device that was let in before', () => {
  test('lets the owner in while the account is guessed at from everywhere', async () => {
    const owner = await house.addOwner()
    const own = await house.signedIn(owner)
    await own.auth('sign-out')
    await guessFromEverywhere(12, owner.email)
    expect((await guess(house.browser(), owner.email, PASSWORD)).status).toBe(429)
    expect((await guess(own, owner.email, PASSWORD)).status).toBe(200)
  })

  test('has a count of its own: ten guesses, and no new one for an address that has changed', async () => {
    const owner = await house.addOwner()
    const own = await house.signedIn(owner)
    const statuses: number[] = []
    for (let index = 0; index < 11; index += 1) {
      statuses.push((await guess(own.copy(undefined, { address: `203.0.113.${index}` }), owner.email)).status)
    }
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429])
    expect((await guess(house.browser(), owner.email, PASSWORD)).status).toBe(200)
  })

  test('of another account, or made up, is an unknown one', async () => {
    const owner = await addAttacked()
    const foreign = await house.signedIn(await house.addOwner())
    const value = foreign.cookie(DEVICE_COOKIE) ?? ''
    const [nonce] = value.split('.')
    for (const kept of [value, `${nonce}.`, `.${value.split('.')[1]}`, 'x.y', '.', '', `${nonce}.${'A'.repeat(43)}`]) {
      const browser = house.browser()
      browser.keep(DEVICE_COOKIE, kept)
      expect([kept, (await guess(browser, owner.email, PASSWORD)).status]).toEqual([kept, 429])
    }
  })

  test('keeps a cookie that no script reads and that is sent to the door alone', async () => {
    const { email } = await house.addOwner()
    const answer = await guess(house.browser(), email, PASSWORD)
    const cookie = answer.cookies.find((each) => each.startsWith(`${DEVICE_COOKIE}=`))
    expect(cookie).toMatch(/; Path=\/api\/auth;/)
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/)
    const wrong = await guess(house.browser(), email)
    expect(wrong.cookies.filter((each) => each.startsWith(DEVICE_COOKIE))).toEqual([])
  })
})

describe('an address', () => {
  /** One guess at each of so many accounts that nobody has. */
  const guessAround = (address: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        guess(house.browser({ address, server: index % 2 === 0 ? 0 : 1 }), `nobody-${index}-at-${address}@example.org`),
      ),
    )

  test('gets 50 guesses at whatever accounts, and others get theirs', async () => {
    expect(countStatuses(await guessAround('192.0.2.10', 60))).toEqual({ 401: 50, 429: 10 })
    const owner = await house.addOwner()
    expect((await guess(house.browser({ address: '192.0.2.10' }), owner.email, PASSWORD)).status).toBe(429)
    expect((await guess(house.browser({ address: '192.0.2.11' }), owner.email, PASSWORD)).status).toBe(200)
  })
})

describe('what is counted', () => {
  test('is stored as a hash: what was typed into the wrong field stays nobody’s', async () => {
    const typed = 'my-secret-pass-phrase@example.org'
    await guess(house.browser({ address: '192.0.2.77' }), typed)
    const { rows } = await house.office.owner.query<{ bucket: string }>('select bucket from auth.sign_in_attempts')
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter(({ bucket }) => !/^(account|device|address|reset|code):[\w-]{43}$/.test(bucket))).toEqual([])
    const dump = await dumpDatabase(house.office)
    expect(dump).not.toContain('my-secret-pass-phrase')
    expect(house.logged.join('')).not.toContain('my-secret-pass-phrase')
  })
})
