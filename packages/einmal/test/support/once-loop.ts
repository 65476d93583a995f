/** Child of the crash test: one key after the other, until somebody kills it. Says each key before and after. */
import { once } from '../../src/index.ts'
import { pgPipelined } from './adapters.ts'

const [url = '', from = '0'] = process.argv.slice(2)
const opened = pgPipelined(url, {}, { max: 1 })

for (let number = Number(from); ; number += 1) {
  const id = `evt_${number}`
  console.log(`begin ${number}`)
  const outcome = await once(opened.db, { source: 'stripe', kind: 'payment.paid', id }, async (tx) => {
    await opened.run(tx, 'insert into effects (id) values ($1)', [id])
    return { target: { type: 'payment', id } }
  })
  console.log(`${outcome.outcome} ${number}`)
}
