import { createGroup, eventKey, type Incoming, install, uuidv7 } from 'einmal'
import { fromPg } from 'einmal/pg'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, pipeline: true })
const db = fromPg(pool)
await install(db)
await pool.query('create table payments (id text primary key, amount_minor bigint not null)')

const group = createGroup<pg.PoolClient, { id: string; amountMinor: number }>(db, {
  // One statement for all events of the group, however many they are.
  async effect(tx, events) {
    const inputs = events.map((event) => event.incoming.input)
    await tx.query('insert into payments select * from unnest($1::text[], $2::bigint[])', [
      inputs.map((input) => input.id),
      inputs.map((input) => input.amountMinor),
    ])
    return inputs.map(({ id }) => ({ target: { type: 'payment', id } }))
  },
})

function arrive(id: string, amountMinor: number): Incoming<{ id: string; amountMinor: number }> {
  return {
    id: uuidv7(Date.now()),
    key: eventKey({ source: 'stripe', kind: 'payment.paid', id }),
    fingerprint: `v1:${amountMinor}`,
    holder: uuidv7(Date.now()),
    arrivedAt: new Date(),
    input: { id, amountMinor },
  }
}

const incoming = [arrive('evt_1', 10000), arrive('evt_2', 5000), arrive('evt_1', 10000), arrive('evt_1', 9000)]
const outcomes = await Promise.all(incoming.map((event) => group.submit(event)))
console.log(outcomes.map(({ outcome }) => outcome).join(', '))
await pool.end()
