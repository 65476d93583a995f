/** The server as `npm start` runs it. Commands beside it stand in `cli.ts`, which can start it too. */
import { runOffice } from './commands/start.ts'
import { systemClock } from './platform/clock.ts'
import { idsOf } from './platform/ids.ts'

await runOffice({
  print: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
  clock: systemClock,
  newId: idsOf(systemClock),
  exit: (code) => process.exit(code),
})
