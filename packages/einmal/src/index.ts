export {
  type AttemptOptions,
  type AttemptOutcome,
  attempt,
  type OutsideEffect,
  type Performing,
} from './attempt.ts'
export {
  commitEvents,
  type Incoming,
  type Outcome,
  type ReservedEvent,
  type Settled,
  type Work,
} from './commit-events.ts'
export {
  ContentError,
  type ContentVerdict,
  canonicalJson,
  compareContent,
  fingerprintOf,
  parseExactly,
} from './content.ts'
export { crashPoint } from './crash-points.ts'
export { classifyError, type Db, type ErrorClass, type Query } from './database.ts'
export { defaultFailurePolicy, type FailurePolicy } from './failure-policy.ts'
export { createGroup, type Group, GroupFullError, type GroupOptions } from './group.ts'
export { uuidv7 } from './ids.ts'
export { LeaseLostError, NotSentError } from './keep-lease.ts'
export { type KeylessEvent, type KeylessPolicy, keylessKey } from './keyless.ts'
export {
  compositeId,
  type EventKey,
  type EventName,
  eventKey,
  eventName,
  idempotencyKey,
  KeyError,
  type KeyErrorCode,
  type KeyParts,
  keyText,
  MAX_ID_BYTES,
} from './keys.ts'
export {
  type Alongside,
  completeLeased,
  type EventError,
  type Failed,
  failLeased,
  type Held,
  heartbeat,
  type LeasedArrival,
  type LeasedReservation,
  type LeasedReserved,
  type Lost,
  markUnknown,
  type Resolution,
  type Resolved,
  resolve,
  type TargetCapability,
  type WaitOptions,
} from './leases.ts'
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
export { install } from './register-install.ts'
export { type Repeated, type Repetition, repeat } from './repeat.ts'
export { reserveLeased } from './reserve-leased.ts'
export { type PurgeOptions, purge, type Retention, type RetentionParts, retentionFor } from './retention.ts'
export { type Surrendered, type SweepHandler, type SweepOptions, type SweepReport, sweep } from './sweep.ts'
