import type { HandlerProcess } from './handler-process.ts'

/**
 * Processes in stock, so that a round does not wait for one to start. Each has run a delivery, and its connections are
 * open: the messages of the next one are those of the event alone, and the same ones every time.
 */
export interface Fleet {
  take(): Promise<HandlerProcess>
  /** `isDisturbed`: it may have lost connections. */
  giveBack(process: HandlerProcess, isDisturbed: boolean): void
  close(): void
}

const MAX_WARM_UPS = 3

/**
 * @param size how many processes there are, more only while all are in use.
 * @param warmUp runs a delivery that is of no further interest.
 */
export function openFleet(
  size: number,
  start: () => HandlerProcess,
  warmUp: (process: HandlerProcess) => Promise<void>,
): Fleet {
  const all = new Set<HandlerProcess>()
  const idle: Promise<HandlerProcess>[] = []
  /** The handler ends whatever process it runs in. A round shall show how. */
  let isWarmUpFatal = false
  let isClosed = false

  async function warm(process: HandlerProcess): Promise<HandlerProcess> {
    await process.ready
    await warmUp(process)
    return process
  }

  function put(process: HandlerProcess, isWarm: boolean): void {
    const next = isWarm || isWarmUpFatal ? process.ready.then(() => process) : warm(process)
    // Whoever takes it is told.
    next.catch(() => undefined)
    idle.push(next)
  }

  function replaceDead(): void {
    // What a proof that failed has left under way must start nothing that nobody ends.
    if (isClosed) throw new Error('the proof is over')
    for (const process of all) if (!process.isAlive()) all.delete(process)
    while (all.size < size || idle.length === 0) {
      const process = start()
      all.add(process)
      put(process, false)
    }
  }

  return {
    async take() {
      for (let tries = 1; ; tries += 1) {
        replaceDead()
        const process = await idle.shift()
        if (process?.isAlive()) return process
        if (tries === MAX_WARM_UPS) isWarmUpFatal = true
      }
    },
    giveBack(process, isDisturbed) {
      if (process.isAlive()) put(process, !isDisturbed)
      replaceDead()
    },
    close() {
      isClosed = true
      for (const process of all) process.kill()
    },
  }
}
