/** Words and limits about people that need no schema: the web takes them without bringing the schemas along. */

export const roles = ['owner', 'admin', 'accountant', 'agent', 'viewer'] as const
export type Role = (typeof roles)[number]

/**
 * What a key may do. `full`: everything that is not for people alone. `read`: read what everybody in the office sees, and the
 * record of events and changes. `register`: use the register for programs outside. `resolve`: say how work of programs ended.
 */
export const apiScopes = ['full', 'read', 'register', 'resolve'] as const
export type ApiScope = (typeof apiScopes)[number]

export const PASSWORD_LENGTH_MIN = 10
export const PASSWORD_LENGTH_MAX = 128
