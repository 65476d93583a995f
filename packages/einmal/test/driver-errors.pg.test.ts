/** What a driver says when the database is away, and that it is understood. The judge is the driver itself. */
import { createServer, type Socket } from 'node:net'
import { PGlite } from '@electric-sql/pglite'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import { expect, inject, test } from 'vitest'
import { fromDrizzle } from '../src/adapters/drizzle.ts'
import { fromPglite } from '../src/adapters/pglite.ts'
import { fromPostgresJs } from '../src/adapters/postgres-js.ts'
import { classifyError, type Db } from '../src/index.ts'

/** The error of a transaction, with what is understood of it. */
async function failing<Tx>(db: Db<Tx>): Promise<{ error: unknown; is: string }> {
  const error = await db.transaction('acme', async () => undefined).catch((thrown: unknown) => thrown)
  return { error, is: classifyError(error) }
}

test('postgres-js whose instance was ended: the connection is away', async () => {
  const sql = postgres(inject('ownerUrl'), { fetch_types: false })
  await sql.end()
  expect(await failing(fromPostgresJs(sql))).toMatchObject({ error: { code: 'CONNECTION_ENDED' }, is: 'connection' })
  const overDrizzle = fromDrizzle(drizzle(sql), { sql: drizzleSql })
  expect(await failing(overDrizzle)).toMatchObject({ error: { code: 'CONNECTION_ENDED' }, is: 'connection' })
})

test('postgres-js whose instance is taken down in the middle: the connection is away', async () => {
  const sql = postgres(inject('ownerUrl'), { fetch_types: false })
  const cut = fromPostgresJs(sql).transaction('acme', async (tx) => {
    const running = tx`select pg_sleep(60)`.catch((error: unknown) => error)
    await tx`select 1`.catch(() => undefined)
    return running
  })
  void cut.catch(() => undefined)
  await sql.end({ timeout: 0 })
  const error = await cut.catch((thrown: unknown) => thrown)
  expect(classifyError(error)).toBe('connection')
})

test('postgres-js that gets no answer from the server: nothing happened, and it is busy', async () => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => sockets.push(socket))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const address = silent.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const sql = postgres(`postgres://nobody@127.0.0.1:${address.port}/none`, {
    connect_timeout: 0.05,
    fetch_types: false,
  })
  expect(await failing(fromPostgresJs(sql))).toMatchObject({ error: { code: 'CONNECT_TIMEOUT' }, is: 'busy' })
  await sql.end({ timeout: 0 })
  for (const socket of sockets) socket.destroy()
  await new Promise<void>((resolve) => silent.close(() => resolve()))
})

test('postgres-js at a port where nobody listens: the connection is away', async () => {
  const sql = postgres('postgres://nobody@127.0.0.1:1/none', { fetch_types: false })
  expect(await failing(fromPostgresJs(sql))).toMatchObject({ error: { code: 'ECONNREFUSED' }, is: 'connection' })
  await sql.end({ timeout: 0 })
})

test('PGlite that was closed: the connection is away', async () => {
  const pglite = await PGlite.create()
  const db = fromPglite(pglite)
  await pglite.close()
  expect(await failing(db)).toMatchObject({ is: 'connection' })
})

test('what Drizzle wraps is understood by its cause, and what an effect wraps is not', () => {
  const cause = Object.assign(new Error('deadlock detected'), { code: '40P01' })
  const wrapped = Object.assign(new Error('Failed query', { cause }), { query: 'select', params: [] })
  expect(classifyError(wrapped)).toBe('retry')
  expect(classifyError(new Error('the other system is away', { cause: { code: 'ECONNREFUSED' } }))).toBe('other')
})

test('an effect that ends the transaction of PGlite by itself is not told to be committed', async () => {
  const pglite = await PGlite.create()
  await pglite.exec('create table effects (id text)')
  const ending = fromPglite(pglite).transaction('acme', async (tx) => {
    await tx.query(`insert into effects values ('x')`)
    await tx.rollback()
  })
  await expect(ending).rejects.toThrow('Transaction is closed')
  expect((await pglite.query('select * from effects')).rows).toEqual([])
  await pglite.close()
})
