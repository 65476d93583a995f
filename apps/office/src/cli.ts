/** Commands beside the server. `npm run demo` is `cli.ts demo`. */
import { readConfig } from './config.ts'
import { DemoError, deliverDemo } from './demo/deliver.ts'
import { readDemoFile } from './demo/demo-file.ts'
import { systemClock } from './platform/clock.ts'
import { idsOf } from './platform/ids.ts'

const commands: Readonly<Record<string, () => Promise<void>>> = { demo }

async function demo(): Promise<void> {
  const { dataDir } = readConfig()
  const file = await readDemoFile(dataDir)
  if (file === null) {
    throw new DemoError(`There is no demo.json in ${dataDir}. Start the office once with: npm start`)
  }
  await deliverDemo(file, { clock: systemClock, newId: idsOf(systemClock), print: (line) => console.log(line) })
}

const [name = ''] = process.argv.slice(2)
const command = Object.hasOwn(commands, name) ? commands[name] : undefined
if (command === undefined) {
  console.error(`Usage: node apps/office/src/cli.ts <command>, with a command of: ${Object.keys(commands).join(', ')}`)
  process.exit(2)
}
try {
  await command()
} catch (error) {
  console.error(error instanceof DemoError ? error.message : error)
  process.exitCode = 1
}
