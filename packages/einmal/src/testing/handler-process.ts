/** A process of the handler, seen from outside: what is delivered to it, what it says, and how it ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { extname } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Delivery, Report } from './runner.ts'

/** How a delivery ended. `died`: nobody knows how far it came. `isHung`: it was killed because it did not end in time. */
export type Ending =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'died'; readonly how: string; readonly isHung: boolean }

export interface HandlerProcess {
  readonly ready: Promise<void>
  isAlive(): boolean
  /** One at a time. `onReport` hears what the process says on the way. */
  deliver(delivery: Delivery, limitMs: number, onReport?: (report: Report) => void): Promise<Ending>
  resume(): void
  kill(): void
}

export interface HandlerModule {
  readonly module: string | URL
  readonly handler: string
  readonly env: Readonly<Record<string, string | undefined>> | undefined
  readonly nodeArguments: readonly string[]
}

const WAKE_MS = 10

/** Beside this file, in whatever language both are. */
const runner = fileURLToPath(new URL(`./runner${extname(import.meta.url)}`, import.meta.url))

export function startProcess({ module, handler, env, nodeArguments }: HandlerModule): HandlerProcess {
  const child = spawn(process.execPath, [...nodeArguments, runner, String(module), handler], {
    ...(env && { env }),
    stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
  })
  // Written to a process that has just died: its end is told by `died`.
  child.stdin?.on('error', () => undefined)
  let onReport: (report: Report) => void = () => undefined
  let isAlive = true
  let isHung = false
  let waking: NodeJS.Timeout | undefined
  const stopWaking = () => {
    clearInterval(waking)
    waking = undefined
  }
  const ended = untilClosed(child).then((how): Ending => {
    isAlive = false
    stopWaking()
    return { kind: 'died', how: isHung ? 'it did not end in time' : how, isHung }
  })
  const ready = Promise.withResolvers<void>()
  readReports(child, (report) => {
    if (report.type === 'ready') ready.resolve()
    if (report.type === 'woken') stopWaking()
    if (report.type === 'unloadable') ready.reject(new Error(report.error))
    onReport(report)
  })
  void ended.then(() => ready.reject(new Error('the process of the handler ended before it was ready')))
  ready.promise.catch(() => undefined)
  return {
    ready: ready.promise,
    isAlive: () => isAlive,
    async deliver(delivery, limitMs, listener) {
      const said = new Promise<Ending>((resolve) => {
        onReport = (report) => {
          listener?.(report)
          if (report.type === 'answered') resolve({ kind: 'answered', answer: report.answer })
          if (report.type === 'failed') resolve({ kind: 'failed', error: report.error })
        }
      })
      const limit = setTimeout(() => {
        isHung = true
        child.kill('SIGKILL')
      }, limitMs)
      child.stdin?.write(`${JSON.stringify(delivery)}\n`)
      const ending = await Promise.race([said, ended])
      clearTimeout(limit)
      return ending
    },
    resume() {
      child.kill('SIGCONT')
      // It says that it stops before it does, and a signal that comes in between is lost.
      waking ??= setInterval(() => child.kill('SIGCONT'), WAKE_MS)
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

/** After its last word was read. */
function untilClosed(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
}

function readReports(child: ChildProcess, hear: (report: Report) => void): void {
  const reports = child.stdio[3]
  if (reports) createInterface(reports as Readable).on('line', (line) => hear(JSON.parse(line)))
}
