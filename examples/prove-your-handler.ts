import { install } from 'einmal'
import { fromPg } from 'einmal/pg'
import { ProofError, prove } from 'einmal/testing'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
await install(fromPg(pool))
await pool.query('create table payments (id text)')

for (const handler of ['withOnce', 'lookUpThenInsert']) {
  try {
    await prove({
      module: new URL('./handlers-to-prove.ts', import.meta.url),
      handler,
      events: (fresh) => [{ id: `evt_${fresh}` }, { id: `evt_${fresh}_2` }],
      async judge({ id }) {
        const { rows } = await pool.query('select count(*)::int as count from payments where id = $1', [id])
        return rows[0].count
      },
      seed: 1,
      rounds: 5,
    })
    console.log(`${handler}: killed, stopped, cut off, and every event counted once`)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    console.log(`${handler}: ${error.violations[0]?.message}`)
    console.log(JSON.stringify(error.plan.steps))
  }
}
await pool.end()
