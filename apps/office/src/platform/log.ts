import { type Logger, pino } from 'pino'

/** Structured log of the office. Bodies, secrets and tokens never go in; ids and codes do. */
export type Log = Logger

export function createLog(level: string): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime })
}
