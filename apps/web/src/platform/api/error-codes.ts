import type { ErrorCode } from '@einmal/contract'

/** Codes of better-auth that these pages may be answered with. */
export const authCodes = [
  'INVALID_EMAIL_OR_PASSWORD',
  'INVALID_EMAIL',
  'INVALID_PASSWORD',
  'INVALID_CODE',
  'INVALID_BACKUP_CODE',
  'INVALID_TOKEN',
  'INVALID_TWO_FACTOR_COOKIE',
  'INVALID_ORIGIN',
  'MISSING_OR_NULL_ORIGIN',
  'PASSWORD_TOO_SHORT',
  'PASSWORD_TOO_LONG',
  'SESSION_EXPIRED',
  'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE',
  'ACCOUNT_TEMPORARILY_LOCKED',
  'TWO_FACTOR_NOT_ENABLED',
  'TOTP_NOT_ENABLED',
  'TOTP_ALREADY_ENABLED',
  'UNAUTHORIZED',
] as const

/** What this page finds out by itself. */
export const ownCodes = ['offline', 'no_answer'] as const

export type KnownCode = ErrorCode | (typeof authCodes)[number] | (typeof ownCodes)[number]
