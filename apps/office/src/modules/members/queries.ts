/** What the queries need of a database: the platform's `Db` is one, connected as `einmal_office`. */
export interface MembersDatabase {
  query<R>(text: string, values: unknown[]): Promise<R[]>
}

export interface ApiKeyRow {
  readonly id: string
  readonly name: string | null
  readonly organizationId: string
  readonly enabled: boolean | null
  readonly expiresAt: Date | null
  readonly permissions: string | null
}

/** The key with this hash, whatever its state, so that the caller's clock decides whether it has expired. */
export async function selectApiKeyByHash(db: MembersDatabase, hash: string): Promise<ApiKeyRow | null> {
  const rows = await db.query<ApiKeyRow>(
    `select id, name, "referenceId" as "organizationId", enabled, "expiresAt", permissions
     from auth.apikey
     where key = $1`,
    [hash],
  )
  return rows[0] ?? null
}
