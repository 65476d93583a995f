/** `npm run db:new -- add_due_work`: an empty migration with the next number. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../apps/office/migrations')
const [name = ''] = process.argv.slice(2)

if (!/^[a-z]+(_[a-z]+)+$/.test(name)) {
  console.error('Say what it does, a verb first, in small letters: npm run db:new -- add_due_work')
  process.exit(1)
}
const last = readdirSync(folder)
  .filter((file) => /^\d{4}_.*\.sql$/.test(file))
  .toSorted()
  .at(-1)
const number = String(Number(last?.slice(0, 4) ?? 0) + 1).padStart(4, '0')
const path = join(folder, `${number}_${name}.sql`)
writeFileSync(path, '-- Why, in a sentence or two.\n\n', { flag: 'wx' })
console.log(`apps/office/migrations/${number}_${name}.sql`)
