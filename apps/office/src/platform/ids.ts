import { uuidv7 } from 'einmal'
import type { Clock } from './clock.ts'

/** Makes ids: UUIDs of version 7, whose order is the order of their making to the millisecond. */
export type NewId = () => string

export function idsOf(clock: Clock): NewId {
  return () => uuidv7(clock.now().getTime())
}
