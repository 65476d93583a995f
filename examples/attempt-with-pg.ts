import { attempt, install } from 'einmal'
import { fromPg } from 'einmal/pg'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = fromPg(pool)
await install(db)

/** Stands for a service outside. It takes a key, and its first answer gets lost on the way. */
const labels = new Map<string, string>()
async function printLabel(order: string, key: string) {
  const isFirst = !labels.has(key)
  labels.set(key, order)
  if (isFirst) throw new Error('connection lost')
  return { target: { type: 'label', id: order } }
}

for (const order of ['order_1', 'order_1', 'order_1']) {
  const { outcome, attempt: number } = await attempt(
    db,
    { source: 'shop', kind: 'label.print', id: order },
    {
      target: 'accepts_key',
      perform: ({ idempotencyKey }) => printLabel(order, idempotencyKey),
      policy: { firstDelayMs: 0 },
    },
  )
  console.log(`${order} ${outcome}, attempt ${number}`)
}
console.log(labels.size, 'label')
await pool.end()
