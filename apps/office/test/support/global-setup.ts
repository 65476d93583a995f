import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/index.ts'
import { migrate } from '../../src/platform/migrate.ts'

/**
 * One PostgreSQL for the whole run, and in it a migrated template that each test file clones.
 *
 * Without fsync: what a crash of the machine would lose is no subject here. The tests of durability start their own.
 */
export default async function setup(project: TestProject) {
  const external = process.env['EINMAL_TEST_DATABASE_URL']
  const dataDir = await mkdtemp(join(tmpdir(), 'einmal-test-'))
  const server =
    external === undefined
      ? await startEmbeddedPostgres({
          dataDir,
          log: () => undefined,
          settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' },
        })
      : null
  const ownerUrl = external ?? server?.ownerUrl ?? ''
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  await client.query('drop database if exists einmal_template with (force)')
  await client.query('create database einmal_template')
  await client.end()
  const templateUrl = new URL(ownerUrl)
  templateUrl.pathname = '/einmal_template'
  await migrate(templateUrl.href, join(import.meta.dirname, '../../migrations'))
  project.provide('ownerUrl', ownerUrl)
  return async () => {
    await server?.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser on a server with a migrated database `einmal_template`. */
    ownerUrl: string
  }
}
