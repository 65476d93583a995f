import { z } from 'zod'
import { apiScopes, PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN, roles } from './people-words.ts'
import { id, pageOf, text, time } from './schemas.ts'

/** Who may come in: people, members, invitations, API keys, and the senders that may bring something. */

export const role = z.enum(roles)

/** As it is stored and compared: in small letters. */
export const emailAddress = z
  .email()
  .max(254)
  .transform((address) => address.toLowerCase())
const password = z.string().min(PASSWORD_LENGTH_MIN).max(PASSWORD_LENGTH_MAX)
const linkToken = z.string().min(1).max(200).describe('What stands behind # in the link')
const personName = text(200)

export const door = z
  .object({
    needsSetUp: z.boolean().describe('Nobody is here yet; the link for it stands in the log of the server'),
    sendsMail: z.boolean(),
  })
  .meta({ id: 'Door' })
export type Door = z.output<typeof door>

export const setUpInput = z.object({
  token: linkToken,
  organizationName: text(200),
  name: personName,
  email: emailAddress,
  password,
})
export const organizationRef = z.object({ organizationId: id })

export const linkInput = z.object({ token: linkToken })
export const acceptInput = linkInput.extend({ name: personName.optional(), password: password.optional() })
export const invitationOffer = z
  .object({
    organizationName: z.string(),
    email: z.string(),
    role,
    hasAccount: z.boolean().describe('Whoever has one signs in; anybody else gives a name and a password'),
    expiresAt: time,
    isAccepted: z.boolean(),
  })
  .meta({ id: 'InvitationOffer' })
export type InvitationOffer = z.output<typeof invitationOffer>

export const me = z
  .object({
    user: z.object({ id, name: z.string(), email: z.string(), hasTwoFactor: z.boolean() }),
    organization: z
      .object({ id, name: z.string(), role, memberId: id })
      .nullable()
      .describe('The one that is worked in; null for who belongs to none'),
    organizations: z.array(z.object({ id, name: z.string(), role })),
  })
  .meta({ id: 'Me' })
export type Me = z.output<typeof me>

export const session = z
  .object({
    id,
    isCurrent: z.boolean(),
    address: z.string().nullable(),
    userAgent: z.string().nullable(),
    createdAt: time,
    lastSeenAt: time,
  })
  .meta({ id: 'Session' })
export type Session = z.output<typeof session>
export const sessionList = z.object({ items: z.array(session) })

export const member = z
  .object({
    id,
    name: z.string(),
    email: z.string(),
    role,
    joinedAt: time,
    hasTwoFactor: z.boolean(),
    isSelf: z.boolean(),
  })
  .meta({ id: 'Member' })
export type Member = z.output<typeof member>
export const memberChange = z.object({ role })

const author = z.object({ id, name: z.string() })

export const invitation = z
  .object({
    id,
    email: z.string(),
    role,
    state: z.enum(['open', 'accepted', 'cancelled', 'expired']),
    createdAt: time,
    expiresAt: time,
    invitedBy: author,
  })
  .meta({ id: 'Invitation' })
export type Invitation = z.output<typeof invitation>
export const invitationInput = z.object({ email: emailAddress, role })
export const invitationSent = z
  .object({
    invitation,
    isSent: z.boolean().describe('A mail with the link is under way'),
    link: z
      .string()
      .nullable()
      .describe('Where no mail could be sent, to be handed over; shown once, and null in a repeated answer'),
  })
  .meta({ id: 'InvitationSent' })
export type InvitationSent = z.output<typeof invitationSent>

export const apiKey = z
  .object({
    id,
    name: z.string(),
    start: z.string().describe('Its first characters, by which keys are told apart'),
    scopes: z.array(z.enum(apiScopes)),
    state: z.enum(['valid', 'revoked', 'expired']),
    createdAt: time,
    expiresAt: time.nullable(),
    createdBy: author.nullable().describe('null: on the command line'),
  })
  .meta({ id: 'ApiKey' })
export type ApiKey = z.output<typeof apiKey>
export const apiKeyInput = z.object({
  name: text(100),
  scopes: z.array(z.enum(apiScopes)).min(1).max(apiScopes.length),
  expiresAt: time.nullish(),
})
export type ApiKeyInput = z.input<typeof apiKeyInput>
export const apiKeyMade = z
  .object({
    apiKey,
    key: z.string().nullable().describe('Shown once; null in a repeated answer: then revoke it and make another'),
  })
  .meta({ id: 'ApiKeyMade' })
export type ApiKeyMade = z.output<typeof apiKeyMade>

export const integration = z
  .object({
    id,
    provider: z.string(),
    label: z.string(),
    isEnabled: z.boolean(),
    settings: z.record(z.string(), z.unknown()).describe('Without what is secret'),
    secrets: z.array(z.string()).describe('Names of the secrets that are set; none is ever given out'),
    path: z.string().describe('Where the sender sends to, below the address of the office'),
    createdAt: time,
  })
  .meta({ id: 'Integration' })
export const integrationInput = z.object({
  provider: text(50),
  label: text(100),
  settings: z
    .record(z.string(), z.unknown())
    .describe('What this provider needs, secrets included. Never given out again'),
})
export const integrationChange = z.object({
  label: text(100).optional(),
  isEnabled: z.boolean().optional(),
  settings: z.record(z.string(), z.unknown()).optional().describe('What is left out stays, secrets too'),
})

export const memberPage = pageOf(member)
export const invitationPage = pageOf(invitation)
export const apiKeyPage = pageOf(apiKey)
export const integrationPage = pageOf(integration)
