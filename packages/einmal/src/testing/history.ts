/** What came to pass in a round, in the order in which it was heard of: invoked, answered, failed, or nobody knows. */
import type { Plan } from './plan.ts'

export interface HistoryEntry {
  /** Since the round began, by the clock of the prover. */
  readonly atMs: number
  /** `info`: something came to pass, or nobody knows how the delivery ended. */
  readonly type: 'invoke' | 'ok' | 'fail' | 'info'
  readonly process: number
  /** Counted through the round, so that the end of a delivery finds its beginning. */
  readonly delivery: number
  readonly event: number
  readonly text: string
}

/** Events, deliveries and processes are counted from 1 in what people read. */
export function historyText(history: readonly HistoryEntry[]): string {
  return history
    .map(({ atMs, type, process, delivery, event, text }) => {
      const time = `${atMs.toFixed(1).padStart(8)} ms`
      const who = `process ${process + 1}, delivery ${delivery + 1}, event ${event + 1}`
      return `${time}  ${who}  ${type.padEnd(6)}  ${text}`.trimEnd()
    })
    .join('\n')
}

export function planText({ order, steps }: Plan): string {
  const lines = steps.map(({ event, process, faults = [] }) => {
    const what = faults.map(({ kind, at }) => `${kind} at ${at}`).join(', ')
    return `  event ${event + 1} to process ${process + 1}${what === '' ? '' : `, ${what}`}`
  })
  return [order === 'sequence' ? 'one after the other:' : 'all processes at once:', ...lines].join('\n')
}
