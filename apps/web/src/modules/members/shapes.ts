import type { Role } from '../../platform/api/shapes.ts'

export interface Member {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly role: Role
  readonly joinedAt: string
  readonly hasTwoFactor: boolean
  readonly isSelf: boolean
}

export interface Invitation {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly state: 'open' | 'accepted' | 'cancelled' | 'expired'
  readonly createdAt: string
  readonly expiresAt: string
  readonly invitedBy: { readonly id: string; readonly name: string }
}

/** `link` is given once, and only where no mail could be sent. */
export interface SentInvitation {
  readonly invitation: Invitation
  readonly isSent: boolean
  readonly link: string | null
}
