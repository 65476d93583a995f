import { install } from 'einmal'
import { idempotency } from 'einmal/fastify'
import { fromPg } from 'einmal/pg'
import Fastify from 'fastify'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = fromPg(pool)
await install(db)
await pool.query('create table orders (id bigserial, amount_minor bigint)')

const app = Fastify()
const protect = idempotency(db, {
  caller: (request) => String(request.headers['x-user']),
  required: true,
  effect: 'repeatable',
})
await app.register(protect)
app.post<{ Body: { amountMinor: number } }>('/orders', async (request) => {
  // The order and the answer are committed together, and the answer is sent.
  await protect.of(request)?.complete(async (tx) => {
    const values = [request.body.amountMinor]
    const { rows } = await tx.query('insert into orders (amount_minor) values ($1) returning id', values)
    return { status: 201, headers: { location: `/orders/${rows[0].id}` }, body: { id: rows[0].id } }
  })
})

const origin = await app.listen({ host: '127.0.0.1', port: 0 })
for (const amountMinor of [10000, 10000, 5000]) {
  const response = await fetch(`${origin}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': '"order-7"', 'x-user': 'anna' },
    body: JSON.stringify({ amountMinor }),
  })
  const { id, detail } = (await response.json()) as { id?: string; detail?: string }
  const isCopy = response.headers.has('idempotent-replayed')
  console.log(response.status, detail ?? `order ${id}${isCopy ? ', told again' : ''}`)
}
console.log((await pool.query('select count(*) from orders')).rows[0].count, 'order')
await app.close()
await pool.end()
