export {
  commitEvents,
  type Incoming,
  type Outcome,
  type ReservedEvent,
  type Settled,
  type Work,
} from './commit-events.ts'
export { classifyError, type Db, type ErrorClass, type Query } from './database.ts'
export { createGroup, type Group, GroupFullError, type GroupOptions } from './group.ts'
export { uuidv7 } from './ids.ts'
export { compositeId, type EventKey, eventKey, KeyError, type KeyErrorCode, keyText, MAX_ID_BYTES } from './keys.ts'
export { FinalError, type OnceOptions, once, recordFailure } from './once.ts'
export {
  type Arrival,
  type Completion,
  defineRegister,
  type EventState,
  type Known,
  type Register,
  type RegisterNames,
  type Reservation,
  reserve,
  type Target,
} from './register.ts'
