import { install, once } from 'einmal'
import { fromPostgresJs } from 'einmal/postgres-js'
import postgres from 'postgres'

// Nobody here needs the types fetched, and a connection lost while they are would end the process.
const sql = postgres(process.env.DATABASE_URL ?? '', { fetch_types: false })
const db = fromPostgresJs(sql)
await install(db)
await sql`create table payments (id text)`

for (const id of ['evt_1', 'evt_1']) {
  const { outcome } = await once(db, { source: 'stripe', kind: 'payment.paid', id }, async (tx) => {
    await tx`insert into payments values (${id})`
    return undefined
  })
  console.log(outcome)
}
await sql.end()
