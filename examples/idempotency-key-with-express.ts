import type { AddressInfo } from 'node:net'
import { install } from 'einmal'
import { idempotency, keepRawBody } from 'einmal/express'
import { fromPg } from 'einmal/pg'
import express from 'express'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = fromPg(pool)
await install(db)

const app = express()
app.use(express.json({ verify: keepRawBody }))
app.use(idempotency(db, { caller: (request) => String(request.headers['x-user']) }))
let isOpen = false
app.post('/labels', (_request, response) => {
  if (isOpen) response.status(201).json({ label: 'L-1' })
  else response.status(409).json({ detail: 'The order is not paid.' })
})

const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/labels`
for (const state of ['closed', 'open', 'open']) {
  isOpen = state === 'open'
  const headers = { 'idempotency-key': 'label-7', 'x-user': 'anna' }
  const response = await fetch(url, { method: 'POST', headers })
  console.log(
    response.status,
    await response.text(),
    response.headers.has('idempotent-replayed') ? 'told again' : 'ran',
  )
}
server.close()
await pool.end()
