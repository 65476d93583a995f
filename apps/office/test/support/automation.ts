/**
 * A program outside, in a process of its own: it reserves at the register over HTTP, does the thing at its target, and says how
 * it ended. One that dies or stops at a named point, or works through a list.
 *
 * Speaks in lines: `ready`, then, after a line on its input, one line of JSON for each report.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TargetCapability } from 'einmal'
import { wake } from '../../../../packages/einmal/test/support/wake.ts'

/** `reserved`: it is told that the thing is its own. `done`: the target did it, and nothing is said. `said`: all is over. */
export const automationPoints = ['reserved', 'done', 'said'] as const
export type AutomationPoint = (typeof automationPoints)[number]

export interface AutomationOrder {
  readonly serverUrl: string
  readonly apiKey: string
  readonly targetUrl: string
  readonly target: TargetCapability
  /** The things to do, one after the other. */
  readonly ids: readonly string[]
  readonly leaseSeconds?: number
  /** Where it dies or stops, when it passes there first. */
  readonly fault?: { readonly point: AutomationPoint; readonly signal: 'SIGKILL' | 'SIGSTOP' }
  /** What it says of what the target did. Default that it is done. */
  readonly ending?: 'error' | 'heartbeat'
}

export interface Told {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export interface AutomationReport {
  readonly id: string
  readonly reserved: Told
  /** The answers to what it said afterwards; nothing where the thing was not its own. */
  readonly words: readonly Told[]
}

export interface Automation {
  /** Resolves when it has reached its fault and stands still. */
  untilStopped(): Promise<void>
  /** Lets it begin. */
  go(): void
  resume(): void
  kill(): void
  /** Its reports, when it has ended, however it did. */
  readonly reports: Promise<AutomationReport[]>
}

export const workOf = (id: string) => ({ source: 'shop', kind: 'label.print', id })

export async function startAutomation(order: AutomationOrder): Promise<Automation> {
  const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(order)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ready = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const reports = readReports(child, { ready: ready.resolve, stopping: stopped.resolve })
  await Promise.race([ready.promise, reports])
  return {
    async untilStopped() {
      const ended = await Promise.race([stopped.promise, reports])
      if (ended !== undefined) throw new Error(`it never stopped: ${JSON.stringify(ended)}`)
    },
    go: () => child.stdin?.end('go\n'),
    resume: () => wake(child, reports),
    kill: () => void child.kill('SIGKILL'),
    reports,
  }
}

/** From its start to its end. */
export async function runAutomation(order: AutomationOrder): Promise<AutomationReport[]> {
  const automation = await startAutomation(order)
  automation.go()
  return automation.reports
}

async function readReports(child: ChildProcess, on: { ready(): void; stopping(): void }): Promise<AutomationReport[]> {
  if (child.stdout === null) throw new Error('the automation has no output')
  const closed = once(child, 'close')
  const reports: AutomationReport[] = []
  for await (const line of createInterface(child.stdout)) {
    if (line === 'ready') on.ready()
    else if (line === 'stopping') on.stopping()
    else reports.push(JSON.parse(line))
  }
  await closed
  return reports
}

async function run(order: AutomationOrder): Promise<void> {
  console.log('ready')
  await once(process.stdin, 'data')
  for (const id of order.ids) console.log(JSON.stringify(await automate(order, id)))
}

async function automate(order: AutomationOrder, id: string): Promise<AutomationReport> {
  const { target, leaseSeconds = 60 } = order
  const reserved = await tell(order, 'reserve', { ...workOf(id), target, leaseSeconds })
  if (reserved.status !== 201) return { id, reserved, words: [] }
  await meetFault(order, 'reserved')
  const { token, idempotencyKey, mustLookUp } = reserved.body
  const at = { id, key: String(idempotencyKey) }
  const found = mustLookUp === true ? await lookUp(order, at) : 0
  const words = await sayHowItEnded(order, String(token), found === 0 ? await act(order, at) : { number: found })
  await meetFault(order, 'said')
  return { id, reserved, words }
}

/** What the target answered; where its answer was lost, what there is to say. */
type Ending = { readonly number: number } | { readonly word: 'fail' | 'unknown' }

async function act(order: AutomationOrder, at: { id: string; key: string }): Promise<Ending> {
  const number = await askTarget(order, 'POST', at).catch(() => null)
  await meetFault(order, 'done')
  if (number !== null) return { number }
  if (order.target === 'neither') return { word: 'unknown' }
  const found = order.target === 'searchable' ? await lookUp(order, at) : 0
  return found === 0 ? { word: 'fail' } : { number: found }
}

function lookUp(order: AutomationOrder, at: { id: string; key: string }): Promise<number> {
  return askTarget(order, 'GET', at)
}

async function sayHowItEnded(order: AutomationOrder, token: string, ending: Ending): Promise<Told[]> {
  const error = { code: 'no_answer', message: 'the target did not answer' }
  if ('word' in ending) return [await tell(order, ending.word, ending.word === 'fail' ? { token, error } : { token })]
  if (order.ending === 'error') return [await tell(order, 'fail', { token, error, final: true })]
  const beat = order.ending === 'heartbeat' ? [await tell(order, 'heartbeat', { token })] : []
  const target = { type: 'effect', id: String(ending.number) }
  return [...beat, await tell(order, 'complete', { token, target, answer: { number: ending.number } })]
}

async function tell({ serverUrl, apiKey }: AutomationOrder, word: string, body: unknown): Promise<Told> {
  const response = await fetch(`${serverUrl}/api/v1/register/${word}`, {
    method: 'POST',
    // Whoever was stopped for a while must not meet a connection that was closed meanwhile.
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function askTarget(
  { targetUrl }: AutomationOrder,
  method: 'GET' | 'POST',
  { id, key }: { id: string; key: string },
): Promise<number> {
  const headers = { 'x-reference': id, 'idempotency-key': key, connection: 'close' }
  const response = await fetch(targetUrl, { method, headers })
  const { number } = (await response.json()) as { number: number }
  return number
}

let isFaultMet = false

async function meetFault({ fault }: AutomationOrder, point: AutomationPoint): Promise<void> {
  if (isFaultMet || fault?.point !== point) return
  isFaultMet = true
  await new Promise<void>((resolve) => process.stdout.write('stopping\n', () => resolve()))
  process.kill(process.pid, fault.signal)
  // The signal comes between two turns of the loop at the latest: nothing is done before it.
  await new Promise<void>((resolve) => setImmediate(resolve))
}

if (process.argv[1] === import.meta.filename) await run(JSON.parse(process.argv[2] ?? ''))
