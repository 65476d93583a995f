/**
 * The process in which a handler under proof runs. Takes one delivery at a time, as a line of JSON on its input, and says
 * what comes to pass as lines on descriptor 3, written at once, so that the last one before its death arrives.
 */
import { writeSync } from 'node:fs'
import { enableCompileCache, flushCompileCache } from 'node:module'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { onCrashPoint } from '../crash-points.ts'
import { ANSWERED_POINT, type Fault, messagePoint } from './plan.ts'

export interface Delivery {
  readonly event: unknown
  readonly faults: readonly Fault[]
}

export type Report =
  | { readonly type: 'ready' | 'woken' }
  | { readonly type: 'unloadable' | 'failed'; readonly error: string }
  | { readonly type: 'passed'; readonly point: string; readonly port?: number | undefined }
  | { readonly type: 'met'; readonly fault: Fault }
  | { readonly type: 'answered'; readonly answer: unknown }

type Handler = (event: unknown) => unknown

const REPORTS = 3

/** What is left of the faults of the delivery at work; `null` between two of them. */
let current: { faults: Fault[]; messages: number } | null = null

function report(what: Report): void {
  writeSync(REPORTS, `${JSON.stringify(what, (_key, value) => (typeof value === 'bigint' ? `${value}` : value))}\n`)
}

/** Says that the point is passed, and which fault is to be met there. */
function pass(point: string, port?: number): Fault | undefined {
  if (current === null) return undefined
  report({ type: 'passed', point, port })
  const fault = current.faults.find(({ at }) => at === point)
  if (fault === undefined) return undefined
  current.faults = current.faults.filter((other) => other !== fault)
  report({ type: 'met', fault })
  if (fault.kind === 'kill') process.kill(process.pid, 'SIGKILL')
  if (fault.kind === 'stop') {
    // Stands still before the next line of this thread, and goes on from there.
    process.kill(process.pid, 'SIGSTOP')
    report({ type: 'woken' })
  }
  return fault
}

async function passNamed(point: string): Promise<void> {
  const fault = pass(point)
  if (fault?.kind === 'throw') throw new Error(`thrown at ${point}`)
}

function connectionLost(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
}

/** Every message that the handler sends over a connection, to whatever system, becomes a point. */
function watchMessages(): void {
  const { write } = Socket.prototype
  Socket.prototype.write = function (this: Socket, ...args: unknown[]): boolean {
    // What is held back leaves together: one message.
    const isPartOfOne = this.writableCorked > 0 && this.writableLength > 0
    const isOwnOutput = this === process.stdout || this === process.stderr
    if (current !== null && !isPartOfOne && !isOwnOutput) {
      current.messages += 1
      const fault = pass(messagePoint(current.messages), this.remotePort)
      if (fault?.kind === 'throw') this.destroy(connectionLost())
      if (fault?.kind === 'lose') {
        this.push = () => {
          this.destroy(connectionLost())
          return false
        }
      }
    }
    return Reflect.apply(write, this, args)
  }
}

async function deliver(handler: Handler, { event, faults }: Delivery): Promise<void> {
  current = { faults: [...faults], messages: 0 }
  try {
    const answer = await handler(event)
    await passNamed(ANSWERED_POINT)
    report({ type: 'answered', answer })
  } catch (error) {
    report({ type: 'failed', error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) })
  } finally {
    current = null
  }
}

async function load(module: string, name: string): Promise<Handler> {
  const loaded: Record<string, unknown> = await import(module)
  const handler = loaded[name]
  if (typeof handler !== 'function') throw new TypeError(`${module} exports no function ${name}`)
  return handler as Handler
}

const [module = '', name = ''] = process.argv.slice(2)
// Many processes load the same files, and hardly one of them lives to write its cache at its end.
enableCompileCache()
watchMessages()
onCrashPoint(passNamed)
try {
  const handler = await load(module, name)
  flushCompileCache()
  report({ type: 'ready' })
  createInterface(process.stdin)
    .on('line', (line) => void deliver(handler, JSON.parse(line)))
    // Nobody is left to answer to; the connections of the handler would keep this process alive.
    .on('close', () => process.kill(process.pid, 'SIGKILL'))
} catch (error) {
  report({ type: 'unloadable', error: String(error) })
}
