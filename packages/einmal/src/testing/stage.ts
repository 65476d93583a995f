/** The processes of one round, and what is delivered to them. */
import type { Fleet } from './fleet.ts'
import type { Ending, HandlerProcess } from './handler-process.ts'
import type { HistoryEntry } from './history.ts'
import type { Fault, Plan, Step } from './plan.ts'
import type { Report } from './runner.ts'

export interface StageOptions {
  readonly fleet: Fleet
  /** How long a delivery may show no end before those that stand still are woken up. */
  readonly stallMs: number
  readonly deliveryMs: number
}

/** One delivery as it came to pass. */
export interface Delivered {
  readonly event: number
  /** Which step of the plan it was; `null` for one that came after. */
  readonly step: number | null
  readonly passed: readonly string[]
  readonly met: readonly Fault[]
  readonly ending: Ending
}

/** What comes after the plan goes to as many processes of its own, in turn. */
export const LATER_PROCESSES = 2

export interface Stage {
  readonly delivered: readonly Delivered[]
  readonly history: readonly HistoryEntry[]
  prepare(process: number): Promise<HandlerProcess>
  deliver(step: Step, index: number | null, onStop?: () => void): Promise<Delivered>
  /** Lets all that stand still go on. */
  wake(): void
  /** The number of a process for a delivery after the plan: now this one, now that. */
  nextProcess(): number
  close(): void
}

/** The processes of one round under their numbers, and all that is heard of them. */
export function openStage(plan: Plan, events: readonly unknown[], options: StageOptions): Stage {
  const { fleet, stallMs, deliveryMs } = options
  const startedAt = performance.now()
  const cast = new Map<number, HandlerProcess>()
  const used = new Set<HandlerProcess>()
  const disturbed = new Set<HandlerProcess>()
  const stopped = new Set<HandlerProcess>()
  const busy = new Map<HandlerProcess, Promise<unknown>>()
  const history: HistoryEntry[] = []
  const delivered: Delivered[] = []
  let begun = 0
  let copies = 0

  async function prepare(number: number): Promise<HandlerProcess> {
    const known = cast.get(number)
    if (known !== undefined && stopped.has(known)) wake()
    if (known !== undefined) await busy.get(known)
    if (known?.isAlive()) return known
    const process = await fleet.take()
    cast.set(number, process)
    used.add(process)
    return process
  }

  function wake(): void {
    for (const process of stopped) process.resume()
    stopped.clear()
  }

  async function deliver(step: Step, index: number | null, onStop?: () => void): Promise<Delivered> {
    const process = await prepare(step.process)
    const delivery = carry(process, step, index, onStop)
    busy.set(process, delivery)
    return delivery
  }

  async function carry(process: HandlerProcess, step: Step, index: number | null, onStop?: () => void) {
    const { event, process: number, faults = [] } = step
    const delivery = begun
    begun += 1
    const note = (type: HistoryEntry['type'], text: string) =>
      history.push({ atMs: performance.now() - startedAt, type, process: number, delivery, event, text })
    const passed: string[] = []
    const met: Fault[] = []
    // Whoever shows no sign may wait for one that stands still.
    const patience = setInterval(wake, stallMs)
    const hear = (report: Report) => {
      patience.refresh()
      if (report.type === 'passed') {
        passed.push(report.point)
        note('info', report.port === undefined ? report.point : `${report.point}, to port ${report.port}`)
      }
      if (report.type !== 'met') return
      met.push(report.fault)
      disturbed.add(process)
      note('info', `${report.fault.kind} there`)
      if (report.fault.kind !== 'stop') return
      stopped.add(process)
      if (onStop === undefined) return
      clearInterval(patience)
      onStop()
    }
    note('invoke', index === null ? 'again' : '')
    const ending = await process.deliver({ event: events[event], faults }, deliveryMs, hear)
    clearInterval(patience)
    if (ending.kind === 'answered') note('ok', JSON.stringify(ending.answer) ?? '')
    if (ending.kind === 'failed') note('fail', ending.error)
    if (ending.kind === 'died') note('info', `died: ${ending.how}`)
    const result: Delivered = { event, step: index, passed, met, ending }
    delivered.push(result)
    return result
  }

  const firstLater = 1 + Math.max(...plan.steps.map((step) => step.process))
  return {
    ...{ delivered, history, prepare, deliver, wake },
    nextProcess() {
      copies += 1
      return firstLater + (copies % LATER_PROCESSES)
    },
    close() {
      for (const process of used) fleet.giveBack(process, disturbed.has(process))
    },
  }
}
