import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import {
  createDoor,
  createOrganizationWithOwner,
  type Door,
  hashPassword,
  type Role,
} from '../../src/modules/members/index.ts'
import type { Clock } from '../../src/platform/clock.ts'
import { createDatabase, createPool, type Db } from '../../src/platform/database.ts'
import type { Mail, SendMail } from '../../src/platform/mail.ts'
import { Browser, type BrowserOptions, type PageAnswer } from './cookie-browser.ts'
import { testAddress } from './door.ts'
import { createTestOffice, type TestOffice } from './office.ts'
import { insertAccount, insertMembership } from './signed-in.ts'
import { totp } from './totp.ts'

export const PASSWORD = 'correct horse battery staple'

/** Somebody with an account, whose password is `PASSWORD`. */
export interface TestPerson {
  readonly userId: string
  readonly name: string
  readonly email: string
}

export interface TestMember extends TestPerson {
  readonly organizationId: string
  readonly memberId: string
}

/** One server of the house: an application and a door on connections of their own. */
export interface Server {
  readonly http: FastifyInstance
  readonly door: Door
  readonly db: Db
}

export interface HouseOptions {
  readonly address?: { readonly baseUrl: string; readonly trustedOrigins: readonly string[] }
  /** Gets the letters; `null` where there is no mail server. Without it, they are kept in `letters`. */
  readonly sendMail?: SendMail | null
}

/** An office with two servers and people who come to it. */
export interface House {
  readonly office: TestOffice
  /** Two servers: like two processes, they share nothing but the database. */
  readonly servers: readonly [Server, Server]
  readonly letters: Mail[]
  /** Every line of the servers' logs. */
  readonly logged: string[]
  browser(options?: BrowserOptions & { readonly server?: 0 | 1 }): Browser
  /** Lets so much time pass for everything that asks our clock. */
  pass(ms: number): void
  addPerson(name?: string, email?: string): Promise<TestPerson>
  /** A new organisation and its owner. */
  addOwner(name?: string): Promise<TestMember>
  /** A member of the organisation: a new person, unless one is given. */
  addMember(organizationId: string, role: Role, person?: TestPerson): Promise<TestMember>
  /** A browser in which the person has just signed in. */
  signedIn(person: TestPerson, options?: BrowserOptions & { readonly server?: 0 | 1 }): Promise<Browser>
  close(): Promise<void>
}

export async function createHouse(options: HouseOptions = {}): Promise<House> {
  let passedMs = 0
  const clock: Clock = { now: () => new Date(Date.now() + passedMs) }
  const office = await createTestOffice(clock)
  const letters: Mail[] = []
  const logged: string[] = []
  const log = pino({ level: 'debug' }, { write: (line) => logged.push(line) })
  const keep: SendMail = async (mail) => {
    letters.push(mail)
  }
  const { sendMail = keep, address = testAddress } = options
  const { newId, secretKey, owner } = office

  async function startServer(): Promise<Server & { close(): Promise<void> }> {
    const url = office.database.ownerUrl
    const db = createDatabase({ url, role: 'einmal_office', maxConnections: 4 })
    const pool = createPool({ url, role: 'einmal_auth', maxConnections: 4 })
    const door = createDoor({ pool, secretKey, address, sendMail, log })
    const { http, pipeline } = await createApp({ db, door, clock, newId, secretKey, log })
    return {
      http,
      door,
      db,
      async close() {
        await pipeline.drain()
        await door.drain()
        await http.close()
        await db.close()
        await door.db.close()
      },
    }
  }
  const servers = [await startServer(), await startServer()] as const
  const passwordHash = await hashPassword(servers[0].door, PASSWORD)
  let people = 0

  async function addPerson(name = 'Petra Person', address?: string): Promise<TestPerson> {
    people += 1
    const email = address ?? `person-${people}@example.org`
    const userId = await insertAccount(owner, { name, email, passwordHash })
    return { userId, name, email }
  }

  return {
    office,
    servers,
    letters,
    logged,
    browser: ({ server = 0, ...further } = {}) => new Browser(servers[server].http, further),
    pass(ms) {
      passedMs += ms
    },
    addPerson,
    async addOwner(name = 'Olga Owner') {
      people += 1
      const email = `owner-${people}@example.org`
      const input = { organizationName: `House ${people}`, name, email, password: PASSWORD }
      const parts = { door: servers[0].door, newId }
      const made = await createOrganizationWithOwner(parts, input, { now: clock.now() })
      return { ...made, name, email }
    },
    async addMember(organizationId, role, given) {
      const person = given ?? (await addPerson())
      const memberId = newId()
      const { userId } = person
      await insertMembership(owner, { id: memberId, organizationId, userId, role, joinedAt: clock.now() })
      return { ...person, organizationId, memberId }
    },
    async signedIn({ email }, { server = 0, ...further } = {}) {
      const browser = new Browser(servers[server].http, further)
      const answer = await browser.auth('sign-in/email', { email, password: PASSWORD })
      if (answer.status !== 200) throw new Error(`${email} was not let in: ${answer.status} ${answer.text}`)
      return browser
    },
    async close() {
      for (const server of servers) await server.close()
      await office.close()
    },
  }
}

/** The session, as the office calls its cookie where it is not served over TLS. */
export const SESSION_COOKIE = 'einmal.session_token'
export const DEVICE_COOKIE = 'einmal.device'

/** The code that an authenticator shows for the address of its secret, `steps` of half a minute from now. */
export function totpOf(totpUri: string, steps = 0): string {
  const secret = new URL(totpUri).searchParams.get('secret') ?? ''
  return totp(secret, new Date(Date.now() + steps * 30_000))
}

/** Turns the second factor on, and returns what the authenticator and the person keep of it. Uses up the code of this moment. */
export async function turnTwoFactorOn(browser: Browser): Promise<{ totpUri: string; recoveryCodes: string[] }> {
  const enabled = await browser.auth('two-factor/enable', { password: PASSWORD })
  const { totpURI: totpUri, backupCodes } = enabled.body as { totpURI: string; backupCodes: string[] }
  const verified = await browser.auth('two-factor/verify-totp', { code: totpOf(totpUri) })
  if (verified.status !== 200)
    throw new Error(`the second factor was not turned on: ${verified.status} ${verified.text}`)
  return { totpUri, recoveryCodes: backupCodes }
}

/** How often each status was answered. */
export function countStatuses(answers: readonly PageAnswer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Every row of the office's own tables as text: what a thief of the database would read. */
export async function dumpDatabase({ owner }: Pick<TestOffice, 'owner'>): Promise<string> {
  const { rows: tables } = await owner.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await owner.query<{ row: string }>(`select t::text as row from ${name} as t`)
    texts.push(...rows.map(({ row }) => `${name} ${row}`))
  }
  return texts.join('\n')
}
