import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export const cliFile = join(import.meta.dirname, '../../src/cli.ts')

/** How a command ended and what it said. */
export interface Ended {
  readonly code: number | null
  readonly printed: string
  readonly said: string
}

/** Runs a command as a person does: in a process of its own, with these settings and no others. */
export async function runCommand(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const child = spawn(process.execPath, [cliFile, ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  const [printed, said] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await exit) as [number | null]
  return { code, printed, said }
}
