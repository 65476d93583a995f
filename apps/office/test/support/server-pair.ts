import { expect, vi } from 'vitest'
import { startServer, type TestOffice, type TestServer } from './office.ts'

/** Two server processes on one database, so that no memory of one process can stand in for the database. */
export interface ServerPair {
  readonly servers: readonly [TestServer, TestServer]
  /** Address of one of the two, in turns. */
  url(index: number): string
  /** Ends both, and waits for their database connections to be gone. */
  stop(): Promise<void>
}

const APPLICATION = 'einmal-test-server'

export async function startServerPair(office: TestOffice): Promise<ServerPair> {
  const databaseUrl = new URL(office.database.ownerUrl)
  databaseUrl.searchParams.set('application_name', APPLICATION)
  const options = { databaseUrl: databaseUrl.href }
  const servers = await Promise.all([startServer(office, options), startServer(office, options)])
  return {
    servers,
    url: (index) => servers[index % 2 === 0 ? 0 : 1].url,
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
      await vi.waitFor(async () => expect(await countConnections(office)).toBe(0), { interval: 5, timeout: 5_000 })
    },
  }
}

async function countConnections(office: TestOffice): Promise<number | undefined> {
  const { rows } = await office.owner.query<{ count: number }>(
    'select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = $1',
    [APPLICATION],
  )
  return rows[0]?.count
}

/**
 * Deadlocks that the database has broken so far. To be asked when the servers have stopped: a backend hands in its
 * numbers at the latest when it ends.
 */
export async function countDeadlocks(office: TestOffice): Promise<number> {
  const { rows } = await office.owner.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]?.deadlocks)
}
