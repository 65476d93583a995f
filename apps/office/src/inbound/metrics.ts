import { Counter, Registry } from 'prom-client'

export interface Metrics {
  readonly registry: Registry
  /** Deliveries by provider and by what became of them. */
  readonly deliveries: Counter<'provider' | 'outcome'>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  const deliveries = new Counter({
    name: 'einmal_deliveries_total',
    help: 'Webhook deliveries by provider and by what became of them',
    labelNames: ['provider', 'outcome'] as const,
    registers: [registry],
  })
  return { registry, deliveries }
}
