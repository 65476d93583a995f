import { emailAddress, text } from '@einmal/contract'
import { z } from 'zod'
import { type Access, anybody, person } from './access.ts'

/** A path of better-auth that our pages need. */
export interface AuthPath {
  readonly path: string
  readonly access: Access
  /** What may be sent. Whatever else is in it does not reach better-auth. */
  readonly body: z.ZodType
  /** What the organisations of the person are told of it. */
  readonly audit: string | null
  /** A password may be guessed here, so that attempts are counted. */
  readonly looksAtPassword: boolean
  readonly signsIn: boolean
  readonly setsPassword: boolean
  /** Wants a link by mail. */
  readonly asksForLink: boolean
}

/** For comparing; how long a new one has to be is better-auth's to say, with a code for each. */
const password = z.string().max(1_000)
const byPassword = z.object({ password })
const byCode = z.object({ code: z.string().max(50), trustDevice: z.boolean().optional() })
const nothing = z.object({})

const usually = { audit: null, looksAtPassword: false, signsIn: false, setsPassword: false, asksForLink: false }

/** What the pages need of better-auth, and nothing else of it: each path with who may use it. */
export const authPaths: readonly AuthPath[] = [
  {
    ...usually,
    path: '/sign-in/email',
    access: anybody,
    body: z.object({ email: emailAddress, password, rememberMe: z.boolean().optional() }),
    audit: 'session.start',
    looksAtPassword: true,
    signsIn: true,
  },
  { ...usually, path: '/two-factor/verify-totp', access: anybody, body: byCode, audit: 'two_factor.verify' },
  { ...usually, path: '/two-factor/verify-backup-code', access: anybody, body: byCode, audit: 'two_factor.recover' },
  { ...usually, path: '/sign-out', access: anybody, body: nothing, audit: 'session.end' },
  {
    ...usually,
    path: '/request-password-reset',
    access: anybody,
    body: z.object({ email: emailAddress }),
    asksForLink: true,
  },
  {
    ...usually,
    path: '/reset-password',
    access: anybody,
    body: z.object({ token: z.string().min(1).max(200), newPassword: z.string() }),
    audit: 'password.reset',
    setsPassword: true,
  },
  { ...usually, path: '/revoke-sessions', access: person, body: nothing, audit: 'session.end_all' },
  {
    ...usually,
    path: '/change-password',
    access: person,
    // Whoever knew the old password is out, whatever the page asked for.
    body: z
      .object({ currentPassword: password, newPassword: z.string() })
      .transform((change) => ({ ...change, revokeOtherSessions: true })),
    audit: 'password.change',
    looksAtPassword: true,
    setsPassword: true,
  },
  { ...usually, path: '/update-user', access: person, body: z.object({ name: text(200) }), audit: 'person.rename' },
  { ...usually, path: '/two-factor/enable', access: person, body: byPassword, looksAtPassword: true },
  {
    ...usually,
    path: '/two-factor/disable',
    access: person,
    body: byPassword,
    audit: 'two_factor.disable',
    looksAtPassword: true,
  },
  {
    ...usually,
    path: '/two-factor/generate-backup-codes',
    access: person,
    body: byPassword,
    audit: 'two_factor.new_codes',
    looksAtPassword: true,
  },
]
