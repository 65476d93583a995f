import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { install, once } from 'einmal'
import { fromDrizzle } from 'einmal/drizzle'
import pg from 'pg'

const payments = pgTable('payments', { id: text().notNull() })
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
// Drizzle does not listen to a connection in use; unheard, the error of a lost one ends the process.
pool.on('connect', (client) => client.on('error', (error) => console.error(error.message)))
const db = fromDrizzle(drizzle(pool), { sql })
await install(db)
await pool.query('create table payments (id text)')

for (const id of ['evt_1', 'evt_1']) {
  const { outcome } = await once(db, { source: 'stripe', kind: 'payment.paid', id }, async (tx) => {
    await tx.insert(payments).values({ id })
    return undefined
  })
  console.log(outcome)
}
await pool.end()
