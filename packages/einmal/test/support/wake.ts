import type { ChildProcess } from 'node:child_process'

const AGAIN_AFTER_MS = 50

/**
 * Wakes a process that stops itself, again and again until it has ended: its signal to stop may come after the first one to wake,
 * and would then stay.
 */
export function wake(child: ChildProcess, ended: Promise<unknown>): void {
  child.kill('SIGCONT')
  const again = setInterval(() => child.kill('SIGCONT'), AGAIN_AFTER_MS)
  void ended.finally(() => clearInterval(again))
}
