import { install } from 'einmal'
import { idempotency } from 'einmal/hono'
import { fromPg } from 'einmal/pg'
import { Hono } from 'hono'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = fromPg(pool)
await install(db)

let messages = 0
const app = new Hono()
const protect = idempotency(db, { caller: (c) => c.req.header('x-user') ?? '' })
app.post('/messages', protect, async (c) => {
  messages += 1
  // The mail server took it, or did not: its answer is lost.
  if (c.req.query('to') === 'ben') return c.json({ title: 'The mail server is silent' }, 502)
  return c.json({ title: `Message ${messages} is sent` }, 201)
})

for (const to of ['anna', 'anna', 'ben', 'ben']) {
  const headers = { 'idempotency-key': `mail-${to}`, 'x-user': 'shop' }
  const response = await app.request(`/messages?to=${to}`, { method: 'POST', headers })
  const { title } = (await response.json()) as { title: string }
  console.log(to, response.status, title)
}
console.log(messages, 'messages')
await pool.end()
