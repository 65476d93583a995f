/** What the office answers, as far as these pages read it. */
export const roles = ['owner', 'admin', 'accountant', 'agent', 'viewer'] as const
export type Role = (typeof roles)[number]

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
