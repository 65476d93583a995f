import { describe, expect, test } from 'vitest'
import { command as apiKey } from './api-key.ts'
import { Given, helpOf, UsageError } from './command.ts'
import { command as demo } from './demo.ts'
import { command as doctor } from './doctor.ts'
import { command as events } from './events.ts'
import { command as migrate } from './migrate.ts'
import { command as prune } from './prune.ts'
import { command as start } from './start.ts'

const commands = [start, migrate, doctor, events, apiKey, prune, demo]

describe.each(commands)('$name', (command) => {
  test('is explained: how it is called, what it does, and what each option is for', () => {
    const help = helpOf(command).join('\n')
    expect(help).toMatch(new RegExp(`^Usage: npm run einmal -- ${command.name}`))
    const [usage = ''] = help.split('\n\n')
    expect(command.usage.length).toBeGreaterThan(0)
    for (const [, name = ''] of usage.matchAll(/--([a-z]+)/g)) expect(Object.keys(command.options)).toContain(name)
    for (const name of Object.keys(command.options)) {
      expect(usage).toContain(`--${name}`)
      expect(help).toMatch(new RegExp(`^ {2}--${name}( <[^>]+>)? {2,}\\S`, 'm'))
    }
  })

  test('refuses options and words that it does not know, and names them', () => {
    expect(() => new Given(command, ['--jsn'])).toThrow(new UsageError("Unknown option '--jsn'."))
    const words = Array.from({ length: command.wordsMax + 1 }, (_, index) => `word${index}`)
    expect(() => new Given(command, words)).toThrow(new UsageError(`Nothing is known to do with "${words.at(-1)}".`))
  })
})

describe('what is given', () => {
  test('an option without its value, and a value for a flag, are named in one sentence', () => {
    expect(() => new Given(events, ['--limit'])).toThrow(new UsageError("Option '--limit <value>' argument missing."))
    expect(() => new Given(doctor, ['--json=yes'])).toThrow(
      new UsageError("Option '--json' does not take an argument."),
    )
  })

  test.each(['all', '0', '-1', '1.5', '36501', '1e3', ''])('"%s" is no number of days', (days) => {
    const given = new Given(prune, [`--days=${days}`])
    const limits = { min: 1, max: 36_500 }
    expect(() => given.number('days', 90, limits)).toThrow(
      `--days is "${days}", and can be a whole number from 1 to 36500.`,
    )
  })

  test('a number within the limits is taken, and where none is given, what is usual', () => {
    const limits = { min: 1, max: 36_500 }
    expect(new Given(prune, ['--days', '30']).number('days', 90, limits)).toBe(30)
    expect(new Given(prune, []).number('days', 90, limits)).toBe(90)
  })

  test('a word that can be one of some is one of them', () => {
    expect(new Given(events, ['--state', 'failed']).choice('state', ['failed', 'unknown'])).toBe('failed')
    expect(() => new Given(events, ['--state', 'done']).choice('state', ['failed', 'unknown'])).toThrow(
      new UsageError('--state is "done", and can be: failed, unknown.'),
    )
  })

  test('-h asks for the same as --help', () => {
    expect(new Given(doctor, ['-h']).has('help')).toBe(true)
  })
})
