import { install, once } from 'einmal'
import { fromKysely } from 'einmal/kysely'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
// Kysely does not listen to a connection in use; unheard, the error of a lost one ends the process.
pool.on('connect', (client) => client.on('error', (error) => console.error(error.message)))
const kysely = new Kysely<{ payments: { id: string } }>({ dialect: new PostgresDialect({ pool }) })
const db = fromKysely(kysely, { raw: CompiledQuery.raw })
await install(db)
await pool.query('create table payments (id text)')

for (const id of ['evt_1', 'evt_1']) {
  const { outcome } = await once(db, { source: 'stripe', kind: 'payment.paid', id }, async (tx) => {
    await tx.insertInto('payments').values({ id }).execute()
    return undefined
  })
  console.log(outcome)
}
await kysely.destroy()
