import { PGlite } from '@electric-sql/pglite'
import { install, once } from 'einmal'
import { fromPglite } from 'einmal/pglite'

const pglite = await PGlite.create()
const db = fromPglite(pglite)
await install(db)
await pglite.exec('create table payments (id text)')

for (const id of ['evt_1', 'evt_1']) {
  const { outcome } = await once(db, { source: 'stripe', kind: 'payment.paid', id }, async (tx) => {
    await tx.query('insert into payments values ($1)', [id])
    return undefined
  })
  console.log(outcome)
}
await pglite.close()
