import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

export interface TestDatabase {
  readonly ownerUrl: string
  /** Enters the server's role, as the server does. */
  readonly officeUrl: string
  readonly authUrl: string
  drop(): Promise<void>
}

/** A database of its own for one test file: a clone of the migrated template. */
export async function createTestDatabase(
  template: 'einmal_template' | 'template1' = 'einmal_template',
): Promise<TestDatabase> {
  const serverUrl = inject('ownerUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(serverUrl, async (client) => {
    // Two files that start together wait for each other: a template in use cannot be cloned.
    await client.query(`select pg_advisory_lock(hashtext('einmal.clone'))`)
    await client.query(`create database ${name} template ${template} strategy file_copy`)
  })
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const as = (role: string) => {
    const withRole = new URL(url)
    withRole.searchParams.set('options', `-c role=${role}`)
    return withRole.href
  }
  return {
    ownerUrl: url.href,
    officeUrl: as('einmal_office'),
    authUrl: as('einmal_auth'),
    drop: () => onServer(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`)),
  }
}

async function onServer(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
