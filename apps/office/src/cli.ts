/** The command line: `npm run einmal -- <command>`. Each command stands in a file of its own in `commands/`. */
import { type Command, exitCodes, Given, helpOf, type Surroundings, UsageError } from './commands/command.ts'
import { wordsFor } from './commands/failure.ts'
import { systemClock } from './platform/clock.ts'
import { idsOf } from './platform/ids.ts'

interface Entry {
  readonly summary: string
  /** Loaded when it is called: most commands need little of the office, and none needs all. */
  load(): Promise<{ readonly command: Command }>
}

const commands: Readonly<Record<string, Entry>> = {
  start: { summary: 'starts the office, as npm start does', load: () => import('./commands/start.ts') },
  migrate: { summary: 'brings the database to this version', load: () => import('./commands/migrate.ts') },
  doctor: { summary: 'counts everything anew and says what disagrees', load: () => import('./commands/doctor.ts') },
  events: { summary: 'shows the event register', load: () => import('./commands/events.ts') },
  'api-key': { summary: 'makes, lists and revokes keys of the API', load: () => import('./commands/api-key.ts') },
  prune: { summary: 'removes old bytes of deliveries', load: () => import('./commands/prune.ts') },
  demo: { summary: 'delivers payments to the running office', load: () => import('./commands/demo.ts') },
}

const surroundings: Surroundings = {
  print: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
  clock: systemClock,
  newId: idsOf(systemClock),
  exit: (code) => process.exit(code),
}

function overview(): string[] {
  const width = Math.max(...Object.keys(commands).map((name) => name.length))
  return [
    'Usage: npm run einmal -- <command> [options]',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'What a command does and takes: npm run einmal -- <command> --help',
  ]
}

async function run([name, ...args]: readonly string[]): Promise<number> {
  if (name === '--help' || name === '-h' || name === 'help') {
    for (const line of overview()) surroundings.print(line)
    return exitCodes.done
  }
  const entry = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined
  if (entry === undefined) {
    if (name !== undefined) surroundings.note(`There is no command "${name}".\n`)
    for (const line of overview()) surroundings.note(line)
    return exitCodes.failed
  }
  const { command } = await entry.load()
  try {
    const given = new Given(command, args)
    if (!given.has('help')) return await command.run(given, surroundings)
    for (const line of helpOf(command)) surroundings.print(line)
    return exitCodes.done
  } catch (error) {
    if (error instanceof UsageError) {
      surroundings.note(`${error.message}\n`)
      for (const line of helpOf(command)) surroundings.note(line)
      return exitCodes.failed
    }
    const { message, details, exitCode } = wordsFor(error)
    surroundings.note(message)
    if (details !== null) surroundings.note(details)
    return exitCode
  }
}

// Whoever reads the output may have seen enough, as `head` does.
process.stdout.on('error', (error: Error & { code?: string }) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(process.exitCode ?? exitCodes.done)
})

process.exitCode = await run(process.argv.slice(2))
