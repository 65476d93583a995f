export interface Session {
  readonly id: string
  readonly isCurrent: boolean
  readonly address: string | null
  readonly userAgent: string | null
  readonly createdAt: string
  readonly lastSeenAt: string
}
