/**
 * Another process that makes attempts: one that dies or stops at a named point, or one of many in a burst. Speaks in lines:
 * `ready`, then, after a line on its input, one line of JSON for each outcome.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once as onceEmitted } from 'node:events'
import { createInterface } from 'node:readline'
import { type AttemptOutcome, attempt, type TargetCapability } from '../../src/index.ts'
import { type CrashPoint, onCrashPoint } from '../../src/testing/index.ts'
import { pgPipelined } from './adapters.ts'
import { performAt } from './target.ts'
import { wake } from './wake.ts'

export interface ChildOrder {
  readonly databaseUrl: string
  readonly targetUrl: string
  readonly capability: TargetCapability
  readonly id: string
  /** How many calls of the same key at once. Default 1. */
  readonly calls?: number
  /** Each call comes again while somebody is at it, or the next attempt is not due. */
  readonly isPersistent?: boolean
  readonly leaseMs?: number
  /** By how much its clock is wrong. */
  readonly clockOffsetMs?: number
  /** Where it dies or stops, when it passes there first. */
  readonly fault?: { readonly point: CrashPoint | 'request.sent'; readonly signal: 'SIGKILL' | 'SIGSTOP' }
  /** How its effect goes on after it was stopped. Default: as the target answered. */
  readonly ending?: 'error' | 'wait for the signal'
}

export const keyOfChild = (id: string) => ({ scope: 'acme', source: 'shop', kind: 'label.print', id })

export interface AttemptChild {
  /** Resolves when it has reached its fault and stands still. */
  untilStopped(): Promise<void>
  /** Lets it begin. */
  go(): void
  resume(): void
  kill(): void
  /** Its outcomes, when it has ended, however it did. */
  readonly outcomes: Promise<AttemptOutcome[]>
}

export async function startChild(order: ChildOrder): Promise<AttemptChild> {
  const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(order)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ready = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const outcomes = readOutcomes(child, { ready: ready.resolve, stopping: stopped.resolve })
  await Promise.race([ready.promise, outcomes])
  return {
    async untilStopped() {
      const ended = await Promise.race([stopped.promise, outcomes])
      if (ended !== undefined) throw new Error(`it never stopped: ${JSON.stringify(ended)}`)
    },
    go: () => child.stdin?.end('go\n'),
    resume: () => wake(child, outcomes),
    kill: () => void child.kill('SIGKILL'),
    outcomes,
  }
}

async function readOutcomes(child: ChildProcess, on: { ready(): void; stopping(): void }): Promise<AttemptOutcome[]> {
  if (child.stdout === null) throw new Error('the child has no output')
  const closed = onceEmitted(child, 'close')
  const outcomes: AttemptOutcome[] = []
  for await (const line of createInterface(child.stdout)) {
    if (line === 'ready') on.ready()
    else if (line === 'stopping') on.stopping()
    else outcomes.push(JSON.parse(line))
  }
  await closed
  return outcomes
}

async function run(order: ChildOrder): Promise<void> {
  const { calls = 1, clockOffsetMs = 0, leaseMs = 60_000 } = order
  const opened = pgPipelined(
    order.databaseUrl,
    { now: () => new Date(Date.now() + clockOffsetMs) },
    { max: Math.min(calls + 1, 20) },
  )
  const performance = performAt(order.targetUrl, order.capability)
  onCrashPoint((point) => meetFault(order, point))
  const perform: typeof performance.perform = async (performing) => {
    const completion = await performance.perform(performing)
    await meetFault(order, 'request.sent')
    if (order.ending === 'error') throw new Error('late')
    if (order.ending === 'wait for the signal' && !performing.signal.aborted) {
      await onceEmitted(performing.signal, 'abort')
    }
    return completion
  }
  // All connections are there before the word, so that the calls meet in the database and not on the way to it.
  await Promise.all(Array.from({ length: Math.min(calls, 20) }, () => opened.pool.query('select pg_sleep(0)')))
  console.log('ready')
  await onceEmitted(process.stdin, 'data')
  await Promise.all(
    Array.from({ length: calls }, async () => {
      let outcome: AttemptOutcome
      do {
        outcome = await attempt(opened.db, keyOfChild(order.id), { ...performance, perform, leaseMs })
      } while (order.isPersistent && isOpen(outcome))
      console.log(JSON.stringify(outcome))
    }),
  )
  await opened.close()
}

function isOpen(outcome: AttemptOutcome): boolean {
  return outcome.outcome === 'in_progress' || (outcome.outcome === 'failed' && !outcome.isFinal)
}

let isFaultMet = false

async function meetFault({ fault }: ChildOrder, point: string): Promise<void> {
  if (isFaultMet || fault === undefined || fault.point !== point) return
  isFaultMet = true
  await new Promise<void>((resolve) => process.stdout.write('stopping\n', () => resolve()))
  process.kill(process.pid, fault.signal)
  // The signal comes between two turns of the loop at the latest: nothing is done before it.
  await new Promise<void>((resolve) => setImmediate(resolve))
}

if (process.argv[1] === import.meta.filename) await run(JSON.parse(process.argv[2] ?? ''))
