import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Command, exitCodes } from './command.ts'
import { migrateDatabase, migrationsFolder } from './office-database.ts'

export const command: Command = {
  name: 'migrate',
  usage: [''],
  about: [
    'Brings the database to the version of this program, as every start does, and says from where to where it went.',
    'The login is that of EINMAL_OWNER_URL, or else of DATABASE_URL, or else the private database of the data folder.',
  ],
  options: {},
  wordsMax: 0,
  async run(_given, surroundings) {
    const { applied } = await migrateDatabase(surroundings)
    const all = (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql')).toSorted()
    const version = (name: string | undefined) => (name === undefined ? 'an empty database' : basename(name, '.sql'))
    const [first] = applied
    if (first === undefined) {
      surroundings.print(`The database is at ${version(all.at(-1))} already; there was nothing to do.`)
      return exitCodes.done
    }
    for (const name of applied) surroundings.print(`applied ${version(name)}`)
    const from = version(all[all.indexOf(first) - 1])
    surroundings.print(`The database went from ${from} to ${version(applied.at(-1))}.`)
    return exitCodes.done
  },
}
