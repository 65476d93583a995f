import { uuidv7 } from 'einmal'
import type { Clock } from './clock.ts'

/** Makes ids: UUIDs of version 7, whose order is the order of their making to the millisecond. */
export type NewId = () => string

export function idsOf(clock: Clock): NewId {
  return () => uuidv7(clock.now().getTime())
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** True for an id as we and PostgreSQL write it: small letters, with hyphens. */
export function isId(text: string): boolean {
  return uuid.test(text)
}
