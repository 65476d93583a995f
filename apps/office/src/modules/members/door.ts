import type { Pool } from 'pg'
import { type Db, databaseOn } from '../../platform/database.ts'
import { type Language, languageOf } from '../../platform/languages.ts'
import type { Log } from '../../platform/log.ts'
import type { Mail, SendMail } from '../../platform/mail.ts'
import { deriveSecret, type SecretKey } from '../../platform/secrets.ts'
import { type Auth, createAuth } from './auth.ts'
import { invitationLetter, resetLetter } from './letters.ts'
import type { OfficeAddress } from './office-address.ts'
import { createSignInGuard, type SignInGuard } from './sign-in-attempts.ts'

/** Everything with which people are let in. */
export interface Door {
  /** The database in the role `einmal_auth`. */
  readonly db: Db
  readonly auth: Auth
  readonly guard: SignInGuard
  readonly secretKey: SecretKey
  readonly address: OfficeAddress
  readonly sendsMail: boolean
  /** Whose mailbox a request has just proved to be theirs. */
  readonly proven: WeakMap<Request, MailboxOwner>
  /** Sends an invitation. Returns false where no mail could be sent: then the link has to be handed over. */
  sendInvitation(
    to: string,
    letter: { organizationName: string; inviterName: string; link: string },
    language: Language,
  ): Promise<boolean>
  /** Resolves when no mail is under way any more. */
  drain(): Promise<void>
}

interface MailboxOwner {
  readonly userId: string
  readonly email: string
}

export interface DoorParts {
  /** Connected as `einmal_auth`: no other role may read password hashes and sessions. */
  readonly pool: Pool
  readonly secretKey: SecretKey
  readonly address: OfficeAddress
  /** `null` where no mail server is set: then the links for new passwords stand in the log. */
  readonly sendMail: SendMail | null
  readonly log: Log
}

export function createDoor(parts: DoorParts): Door {
  const { pool, secretKey, address, sendMail, log } = parts
  const db = databaseOn(pool)
  const guard = createSignInGuard(db, deriveSecret(secretKey, 'devices'))
  const proven = new WeakMap<Request, MailboxOwner>()
  const underWay = new Set<Promise<void>>()

  async function send(mail: Mail): Promise<boolean> {
    if (sendMail === null) return false
    try {
      await sendMail(mail)
      return true
    } catch (error) {
      log.error({ err: error }, 'the mail server did not take a mail')
      return false
    }
  }

  const auth = createAuth({
    pool,
    address,
    secret: deriveSecret(secretKey, 'sessions'),
    log: {
      info: (message, fields) => log.info(fields ?? {}, message),
      warn: (message, fields) => log.warn(fields ?? {}, message),
      error: (message, fields) => log.error(fields ?? {}, message),
    },
    sendResetLink({ email }, token, acceptLanguage) {
      const link = `${address.baseUrl}/reset-password#${token}`
      if (sendMail === null) {
        log.warn({ link }, 'no mail server is set (EINMAL_SMTP_URL); hand this link for a new password over yourself')
        return
      }
      const sending: Promise<void> = send({ to: email, ...resetLetter(languageOf(acceptLanguage), link) }).then(() => {
        underWay.delete(sending)
      })
      underWay.add(sending)
    },
    onPasswordReset: async ({ id: userId, email }, request) => {
      if (request !== undefined) proven.set(request, { userId, email })
    },
    mayUseCode: guard.mayUseCode,
  })
  return {
    db,
    auth,
    guard,
    secretKey,
    address,
    sendsMail: sendMail !== null,
    proven,
    sendInvitation: (to, letter, language) => send({ to, ...invitationLetter(language, letter) }),
    async drain() {
      await Promise.all(underWay)
    },
  }
}
