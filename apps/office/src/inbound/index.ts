/**
 * Inbound: where webhooks come in. Verifies and names what arrived (provider), commits it (pipeline), answers its sender.
 * Tables: none of its own.
 * Invariants: nothing is stored of a sender that cannot be believed; what was answered with success is on record.
 * A genuine sender is never answered with a 4xx, the size limit excepted.
 */
export { createMetrics, type Metrics } from './metrics.ts'
export { webhookRoutes } from './routes.ts'
