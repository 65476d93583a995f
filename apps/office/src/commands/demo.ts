import { readConfig } from '../config.ts'
import { DemoError, deliverDemo } from '../demo/deliver.ts'
import { readDemoFile } from '../demo/demo-file.ts'
import { type Command, exitCodes, Refusal } from './command.ts'

export const command: Command = {
  name: 'demo',
  usage: [''],
  about: [
    'Delivers payments to the running office of the data folder, again and again, and shows what counted.',
    'It knows the office by its address, its key and signed deliveries, as programs outside of it do.',
  ],
  options: {},
  wordsMax: 0,
  async run(_given, { print, clock, newId }) {
    const { dataDir } = readConfig()
    const file = await readDemoFile(dataDir)
    if (file === null) throw new Refusal(`There is no demo.json in ${dataDir}. Start the office once with: npm start`)
    try {
      await deliverDemo(file, { clock, newId, print })
    } catch (error) {
      throw error instanceof DemoError ? new Refusal(error.message) : error
    }
    return exitCodes.done
  },
}
