/**
 * What a good engineer writes by hand in an afternoon: verify, insert the key, lock the invoice, insert the payment,
 * update the invoice, commit. It is the yardstick of the webhook benchmark and does less than the office does: no body
 * kept, no activity, no notification, no domain event, no account of arrivals.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import fastify from 'fastify'
import pg from 'pg'

const [databaseUrl, secret] = process.argv.slice(2)
if (databaseUrl === undefined || secret === undefined)
  throw new Error('usage: hand-written-server.ts <database> <secret>')

const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 })
const app = fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

app.post<{ Body: Buffer }>('/webhooks/stripe', async (request, reply) => {
  if (!isSigned(String(request.headers['stripe-signature']), request.body)) return reply.status(401).send()
  const event = JSON.parse(request.body.toString('utf8'))
  const payment = event.data.object
  const client = await pool.connect()
  try {
    await client.query('begin')
    const inserted = await client.query('insert into hand_keys (id) values ($1) on conflict do nothing', [event.id])
    if (inserted.rowCount === 0) {
      await client.query('commit')
      return { duplicate: true }
    }
    const number = payment.metadata.invoice
    const { rows } = await client.query('select id, total, paid from hand_invoices where number = $1 for update', [
      number,
    ])
    const [invoice] = rows
    const applied = Math.min(payment.amount_received, invoice.total - invoice.paid)
    await client.query(
      'insert into hand_payments (external_id, invoice_id, amount, currency) values ($1, $2, $3, $4)',
      [payment.id, invoice.id, payment.amount_received, payment.currency],
    )
    await client.query('update hand_invoices set paid = paid + $1 where id = $2', [applied, invoice.id])
    await client.query('commit')
    return { duplicate: false, applied }
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
})

function isSigned(header: string, body: Buffer): boolean {
  const [, signedAt, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  if (signedAt === undefined || signature === undefined) return false
  if (Math.abs(Date.now() / 1000 - Number(signedAt)) > 300) return false
  const expected = createHmac('sha256', secret ?? '')
    .update(`${signedAt}.`)
    .update(body)
    .digest()
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'))
}

await app.listen({ host: '127.0.0.1', port: 0 })
const address = app.server.address()
if (address === null || typeof address === 'string') throw new Error('no port')
process.stdout.write(`listening ${address.port}\n`)
