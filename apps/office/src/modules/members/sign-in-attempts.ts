import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Db } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import { countAttempt, deleteAttempts, uncountAttempt } from './door-queries.ts'

/**
 * How often a password may be guessed: so often in a quarter of an hour per device, and per account from all devices that were
 * never let in. An address may be a whole office behind one router.
 */
const WINDOW_MS = 15 * 60 * 1_000
const PER_ACCOUNT = 10
const PER_ADDRESS = 50
/** Of links for a new password, per account: more are no help to anybody. */
const RESETS_PER_ACCOUNT = 5
/** So long, and a little longer, an authenticator's code is taken: its own half minute, and the ones beside it. */
const CODE_MS = 2 * 60 * 1_000

export interface SignInAttempt {
  /** They were let in: nothing of it counts. Returns what the device shall keep to be known next time. */
  succeed(): Promise<string>
}

export interface SignInGuard {
  /**
   * Counts a try before the password is looked at, so that many at once cannot pass together. Throws `too_many_attempts` with the
   * time after which it makes sense again.
   *
   * A device that was let in before has a count of its own, by what it keeps: whoever guesses elsewhere cannot lock out the owner.
   */
  begin(email: string, address: string, kept: string | undefined, now: Date): Promise<SignInAttempt>
  /** Counts a wish for a new password. Returns false where there were enough. */
  mayReset(email: string, now: Date): Promise<boolean>
  /** Uses a right code of an authenticator up. Returns false where somebody has come in with it already. */
  mayUseCode(userId: string, code: string, now: Date): Promise<boolean>
  /** Somebody has proved that the mailbox is theirs: the account's count ends, and their device is known from now on. */
  trust(email: string): Promise<string>
}

/** Device cookies, as OWASP describes them ("Slow Down Online Guessing Attacks with Device Cookies"); counts in the database. */
export function createSignInGuard(door: Db, secret: string): SignInGuard {
  const sign = (email: string, nonce: string) =>
    createHmac('sha256', secret)
      .update(`${accountOf(email)}\0${nonce}`)
      .digest('base64url')

  function deviceOf(email: string, kept: string | undefined): string | null {
    const [nonce = '', signature = ''] = (kept ?? '').split('.')
    const [given, right] = [Buffer.from(signature), Buffer.from(sign(email, nonce))]
    return given.length === right.length && timingSafeEqual(given, right) ? nonce : null
  }

  function newDevice(email: string): string {
    const nonce = randomBytes(16).toString('base64url')
    return `${nonce}.${sign(email, nonce)}`
  }

  async function count(bucket: string, max: number, now: Date): Promise<void> {
    const { attempts, startedAt } = await countAttempt(door, bucket, now, new Date(now.getTime() - WINDOW_MS))
    if (attempts <= max) return
    const seconds = Math.max(1, Math.ceil((startedAt.getTime() + WINDOW_MS - now.getTime()) / 1_000))
    throw new AppError('too_many_attempts', 'Try again later, or let us send you a link for a new password.', {
      retryAfterSeconds: seconds,
    })
  }

  return {
    async begin(email, address, kept, now) {
      const device = deviceOf(email, kept)
      const account = bucketOf(device === null ? 'account' : 'device', `${accountOf(email)}\0${device ?? ''}`)
      const place = bucketOf('address', networkOf(address))
      await count(place, PER_ADDRESS, now)
      await count(account, PER_ACCOUNT, now)
      return {
        async succeed() {
          await uncountAttempt(door, place)
          await deleteAttempts(door, [account], new Date(now.getTime() - WINDOW_MS))
          return device === null ? newDevice(email) : (kept ?? '')
        },
      }
    },
    async mayReset(email, now) {
      const since = new Date(now.getTime() - WINDOW_MS)
      const { attempts } = await countAttempt(door, bucketOf('reset', accountOf(email)), now, since)
      return attempts <= RESETS_PER_ACCOUNT
    },
    async mayUseCode(userId, code, now) {
      const since = new Date(now.getTime() - CODE_MS)
      const { attempts } = await countAttempt(door, bucketOf('code', `${userId}\0${code}`), now, since)
      return attempts === 1
    },
    async trust(email) {
      await deleteAttempts(door, [bucketOf('account', `${accountOf(email)}\0`)], new Date(0))
      return newDevice(email)
    },
  }
}

/** One account, however its address is spelled. */
function accountOf(email: string): string {
  return email.trim().toLowerCase()
}

/** An address of IPv4; of IPv6 the first 64 bits, of which one customer has all. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  const [head = '', tail] = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string | undefined) => (text === undefined || text === '' ? [] : text.split(':'))
  const [front, back] = [groups(head), groups(tail)]
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length
  return [...front, ...Array<string>(zeros).fill('0'), ...back].slice(0, 4).join(':')
}

/** Hashed: what somebody typed into the field of the address may have been their password. */
function bucketOf(kind: 'account' | 'device' | 'address' | 'reset' | 'code', text: string): string {
  return `${kind}:${createHash('sha256').update(text).digest('base64url')}`
}
