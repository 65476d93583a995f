import type { ErrorCode } from '@einmal/contract'
import { classifyError, GroupFullError } from 'einmal'

/**
 * A refusal: expected, and the caller can act on it. `detail` is written for the caller; what only we may know goes
 * into `cause`. Anything that is no `AppError` is a fault of ours.
 */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly detail: string
  /** Facts a program needs to act, such as the version that is current now. */
  readonly extra: Readonly<Record<string, unknown>>
  /** When the same may be asked again, where that is known. */
  readonly retryAfterSeconds: number | null

  constructor(
    code: ErrorCode,
    detail: string,
    options: { cause?: unknown; extra?: Record<string, unknown>; retryAfterSeconds?: number } = {},
  ) {
    super(`${code}: ${detail}`, { cause: options.cause })
    this.code = code
    this.detail = detail
    this.extra = options.extra ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }
}

/**
 * Throws `version_stale` where the record is at another version than its caller has read; `null` is any. `current` is the record as
 * the caller shall see it, where it is at hand.
 */
export function requireVersion(
  read: number | null,
  record: { readonly version: number },
  current?: Readonly<Record<string, unknown>>,
): void {
  if (read === null || read === record.version) return
  throw new AppError('version_stale', `You have version ${read}, and it is at version ${record.version} now.`, {
    extra: { version: record.version, ...(current === undefined ? {} : { current }) },
  })
}

/** True where the database is away or too busy: nothing was done, and the sender shall come again. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof GroupFullError || classifyError(error) !== 'other'
}
