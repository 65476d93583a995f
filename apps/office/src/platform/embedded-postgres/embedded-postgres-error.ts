/** The private database cannot run here; the message is written for the person who starts the server. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

/** The way out that works on every machine; the end of every message about something we cannot mend ourselves. */
export const setDatabaseUrl = 'Set DATABASE_URL to a PostgreSQL 15 or newer to run without the private database.'
