export interface AuditEntry {
  readonly id: string
  readonly actor: {
    readonly type: 'member' | 'api_key' | 'assistant' | 'system'
    readonly id: string
    readonly name: string | null
  }
  /** Noun and verb, such as `invoice.issue`. */
  readonly action: string
  readonly subject: { readonly type: string; readonly id: string }
  readonly data: Readonly<Record<string, unknown>>
  readonly recordedAt: string
}
