import { install, once } from 'einmal'
import { fromPg } from 'einmal/pg'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = fromPg(pool)
await install(db)
await pool.query('create table payments (id text, amount_minor bigint)')

for (const id of ['evt_1', 'evt_2', 'evt_1']) {
  const { outcome, copies } = await once(db, { source: 'stripe', kind: 'payment.paid', id }, async (tx) => {
    await tx.query('insert into payments values ($1, 10000)', [id])
    return { target: { type: 'payment', id } }
  })
  console.log(`${id} ${outcome}, arrived ${copies} ×`)
}
console.log((await pool.query('select count(*) from payments')).rows[0].count, 'payments')
await pool.end()
