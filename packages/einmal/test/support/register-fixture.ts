import type pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import type { PgOptions } from '../../src/adapters/pg.ts'
import { type Opened, pgPipelined } from './adapters.ts'
import { createOwnDatabase, type OwnDatabase } from './database.ts'
import { createTables } from './leased.ts'

/** What the tests of one file share: a database of their own with all tables of a register, and two pools on it. */
export interface RegisterFixture {
  readonly database: OwnDatabase
  readonly here: Opened<pg.PoolClient>
  /** As another process has it: it shares nothing with `here` but the database. */
  readonly there: Opened<pg.PoolClient>
}

export function createRegisterFixture(options: PgOptions = {}, thereOptions: PgOptions = options): RegisterFixture {
  let opened: RegisterFixture | undefined

  beforeAll(async () => {
    const database = await createOwnDatabase(inject('ownerUrl'))
    const [here, there] = [pgPipelined(database.url, options), pgPipelined(database.url, thereOptions)]
    opened = { database, here, there }
    await createTables(database.pool, here.db.register)
  })
  afterAll(async () => {
    await Promise.all([opened?.here.close(), opened?.there.close()])
    await opened?.database.drop()
  })

  function isThere(): RegisterFixture {
    if (opened === undefined) throw new Error('the database is there before the first test')
    return opened
  }

  return {
    get database() {
      return isThere().database
    },
    get here() {
      return isThere().here
    },
    get there() {
      return isThere().there
    },
  }
}
