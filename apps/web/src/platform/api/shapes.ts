/** What the office answers, as far as these pages read it. */
import type { Role } from '@einmal/contract'

export type { Role }

/** Written out here: the contract's own list would bring all of its schemas along. */
export const roles = ['owner', 'admin', 'accountant', 'agent', 'viewer'] as const satisfies readonly Role[]

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

export interface Me {
  readonly user: { readonly id: string; readonly name: string; readonly email: string; readonly hasTwoFactor: boolean }
  readonly organization: {
    readonly id: string
    readonly name: string
    readonly role: Role
    readonly memberId: string
  } | null
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly role: Role }[]
}

export interface Door {
  readonly needsSetUp: boolean
  readonly sendsMail: boolean
}
