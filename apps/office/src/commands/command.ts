import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { Clock } from '../platform/clock.ts'
import type { NewId } from '../platform/ids.ts'

/** How a command ends, for scripts. The same table stands in `docs/operations.md`. */
export const exitCodes = {
  /** Done. The doctor: nothing is wrong. */
  done: 0,
  /** It ran, and the answer is no: the doctor found something wrong, there is no such event or key, no office answers the demo. */
  no: 1,
  /** It could not begin or not go on: wrong call or setting, no database, a fault. */
  failed: 2,
} as const

/** What a command gets from the process that runs it. */
export interface Surroundings {
  /** To standard output: what was asked for. */
  print(line: string): void
  /** To standard error: what a person should know, and a program reading the output should not. */
  note(line: string): void
  readonly clock: Clock
  readonly newId: NewId
  /** Ends the process, once everything is stopped. For a command that runs until it is told to stop. */
  exit(code: number): void
}

export interface Option {
  readonly type: 'string' | 'boolean'
  /** What to write for the value, such as `<id or name>`. */
  readonly value?: string
  readonly about: string
}

export interface Command {
  readonly name: string
  /** Ways to call it, each without the name in front. */
  readonly usage: readonly string[]
  /** What it does, in plain words; one line each. */
  readonly about: readonly string[]
  readonly options: Readonly<Record<string, Option>>
  /** How many words may follow, besides options. */
  readonly wordsMax: number
  /** Resolves with the exit code. What it throws is told in words by the process. */
  run(given: Given, surroundings: Surroundings): Promise<number>
}

/** The command was called in a way that it does not have; the message says what would be right. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What was asked for is not there or not possible; the message says what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly exitCode: number

  constructor(message: string, exitCode: number = exitCodes.no) {
    super(message)
    this.exitCode = exitCode
  }
}

const help = { type: 'boolean', about: 'shows this' } as const

/** What stands behind the name of a command, checked against what it knows. Throws `UsageError`. */
export class Given {
  readonly words: readonly string[]
  readonly #values: Readonly<Record<string, unknown>>

  constructor(command: Command, args: readonly string[]) {
    const known = Object.entries(command.options).map(([name, { type }]) => [name, { type }] as const)
    const options = { ...Object.fromEntries(known), help: { type: help.type, short: 'h' } }
    const config: ParseArgsConfig = { args: [...args], options, allowPositionals: true, strict: true }
    try {
      const { values, positionals } = parseArgs(config)
      this.#values = values
      this.words = positionals
    } catch (error) {
      if (!isParseError(error)) throw error
      // Node.js goes on with advice for programmers.
      throw new UsageError(`${error.message.split(/\. |\n/)[0]?.replace(/\.$/, '')}.`)
    }
    if (this.words.length > command.wordsMax && !this.has('help')) {
      throw new UsageError(`Nothing is known to do with "${this.words[command.wordsMax]}".`)
    }
  }

  has(name: string): boolean {
    return this.#values[name] === true
  }

  text(name: string): string | undefined {
    const value = this.#values[name]
    return typeof value === 'string' ? value : undefined
  }

  /** One of the words given. */
  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const found = choices.find((each) => each === text)
    if (found === undefined) throw new UsageError(`--${name} is "${text}", and can be: ${choices.join(', ')}.`)
    return found
  }

  /** A whole number between the two, or `otherwise` where none is given. */
  number(name: string, otherwise: number, { min, max }: { min: number; max: number }): number {
    const text = this.text(name)
    if (text === undefined) return otherwise
    const number = /^\d{1,9}$/.test(text) ? Number.parseInt(text, 10) : Number.NaN
    if (number >= min && number <= max) return number
    throw new UsageError(`--${name} is "${text}", and can be a whole number from ${min} to ${max}.`)
  }
}

function isParseError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}

const CALL = 'npm run einmal --'

/** How the command is called and what it does. */
export function helpOf(command: Command): string[] {
  const options = Object.entries({ ...command.options, help }).map(([name, option]): [string, string] => [
    `--${name}${'value' in option ? ` ${option.value}` : ''}`,
    option.about,
  ])
  const width = Math.max(...options.map(([left]) => left.length))
  return [
    ...command.usage.map((each, index) =>
      `${index === 0 ? 'Usage:' : '      '} ${CALL} ${command.name} ${each}`.trimEnd(),
    ),
    '',
    ...command.about,
    '',
    ...options.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
  ]
}
