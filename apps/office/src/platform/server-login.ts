import pg from 'pg'

/**
 * Makes the login with which the server connects to its private database: it owns nothing, may do nothing by itself,
 * and can only enter the two roles that the migrations have made.
 */
export async function ensureServerLogin(ownerUrl: string, password: string): Promise<string> {
  const client = new pg.Client({ connectionString: ownerUrl })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('begin')
    await client.query(`select pg_advisory_xact_lock(hashtext('einmal.server_login'))`)
    const { rows } = await client.query(`select 1 from pg_roles where rolname = 'einmal_server'`)
    const verb = rows.length === 0 ? 'create' : 'alter'
    await client.query(`${verb} role einmal_server login noinherit password ${client.escapeLiteral(password)}`)
    await client.query('grant einmal_office, einmal_auth to einmal_server')
    await client.query('commit')
  } finally {
    await client.end()
  }
  const url = new URL(ownerUrl)
  url.username = 'einmal_server'
  url.password = password
  return url.href
}
