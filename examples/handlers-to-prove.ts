// What prove-your-handler.ts puts to the proof, in processes of its own.
import { once } from 'einmal'
import { fromPg } from 'einmal/pg'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = fromPg(pool)

export async function withOnce({ id }: { id: string }) {
  return once(db, { source: 'stripe', kind: 'payment.paid', id }, async (tx) => {
    await tx.query('insert into payments values ($1)', [id])
    return { target: { type: 'payment', id } }
  })
}

export async function lookUpThenInsert({ id }: { id: string }) {
  const { rowCount } = await pool.query('select from payments where id = $1', [id])
  if (rowCount === 0) await pool.query('insert into payments values ($1)', [id])
}
