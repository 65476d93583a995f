import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { DemoFile } from '../../src/demo/demo-file.ts'
import { clusterFolder } from '../../src/platform/embedded-postgres/cluster.ts'
import { listPostgresIn, readPostmaster } from '../../src/platform/embedded-postgres/processes.ts'

export const mainFile = join(import.meta.dirname, '../../src/main.ts')

/** A server as a person starts it: with the private database of a folder. */
export interface OfficeProcess {
  readonly child: ChildProcess
  readonly url: string
  /** From the start to the line that says where it runs. */
  readonly tookMs: number
  output(): string
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: string | null; tookMs: number }>
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Arguments for Node.js in place of the office's own, for a starter that starts it in turn. */
  readonly args?: readonly string[]
}

export function spawnOffice(env: Readonly<Record<string, string>>, args: readonly string[] = [mainFile]): ChildProcess {
  return spawn(process.execPath, [...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: '0', EINMAL_LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

export async function startOffice(dataDir: string, options: StartOptions = {}): Promise<OfficeProcess> {
  const startedAtMs = performance.now()
  const child = spawnOffice({ EINMAL_DATA_DIR: dataDir, ...options.env }, options.args)
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('a child without pipes')
  let output = ''
  stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      output += `${line}\n`
      const found = /^Einmal runs at (\S+)/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the server ended with ${code} before it answered:\n${output}`)))
  })
  return {
    child,
    url,
    tookMs: performance.now() - startedAtMs,
    output: () => output,
    async end(signal) {
      const sentAtMs = performance.now()
      const exit = once(child, 'exit')
      child.kill(signal)
      const [code, endedBy] = (await exit) as [number | null, string | null]
      return { code, signal: endedBy, tookMs: performance.now() - sentAtMs }
    },
  }
}

export async function readDemo(dataDir: string): Promise<DemoFile> {
  return JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as DemoFile
}

/** Every process of the folder's PostgreSQL. */
export function listDatabaseProcesses(dataDir: string): number[] {
  return listPostgresIn(clusterFolder(dataDir))
}

/** It takes connections: by then whoever watches over it knows it. */
export function isDatabaseReady(dataDir: string): boolean {
  return readPostmaster(clusterFolder(dataDir))?.state === 'ready'
}

/** 0 where none runs. */
export function findPostmaster(dataDir: string): number {
  return readPostmaster(clusterFolder(dataDir))?.pid ?? 0
}
