import type { ApiScope } from '@einmal/contract'

export interface ApiKey {
  readonly id: string
  readonly name: string
  /** The first characters, by which one knows it again. */
  readonly start: string
  readonly scopes: readonly ApiScope[]
  readonly state: 'valid' | 'revoked' | 'expired'
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly createdBy: { readonly id: string; readonly name: string } | null
}

/** `key` is given once; a repeated answer has none. */
export interface MadeApiKey {
  readonly apiKey: ApiKey
  readonly key: string | null
}

/** What the form asks for. */
export interface ApiKeyDraft {
  readonly name: string
  readonly scopes: readonly ApiScope[]
  readonly expiresAt?: string
}
