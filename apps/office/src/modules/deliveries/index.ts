/**
 * Deliveries: what arrived, byte for byte, with our verdict and answer. The proof "arrived 4 times, counted once".
 * Tables: `deliveries`, `delivery_bodies` (a body is stored once, whatever how often it comes), `delivery_events`.
 * Invariant: every genuine delivery that was answered with success is here; a rejected one never is.
 * Rows are added in the transaction of the event they brought. The bytes alone may go again, when they are old and nobody has to
 * read them any more; `pruneBodies` knows who has to.
 */
export {
  type ArrivedDelivery,
  type DeliveryOutcome,
  findDelivery,
  listDeliveriesOfEvents,
  type PrunedBodies,
  pruneBodies,
  recordDeliveries,
} from './queries.ts'
