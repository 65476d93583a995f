import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname
const stampPath = join(folder, 'node_modules', '.installed')

/** Installs exactly what package-lock.json says, unless it is there, and checks the types of this folder against it. */
export async function install(say: (message: string) => void): Promise<void> {
  const stamp = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  if (!existsSync(stampPath) || readFileSync(stampPath, 'utf8') !== stamp) {
    say('Installing the peers …')
    run('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
    writeFileSync(stampPath, stamp)
  }
  run(join(folder, '../../node_modules/.bin/tsc'), ['--noEmit', '-p', folder])
}

function run(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${program} ${args[0]} ended with ${status}`, { cause: error })
}
