/**
 * Integrations: who may send to us, with which settings and secrets, and under which address.
 * Tables: `integrations`, `webhook_endpoints` (the directory that says whose an address is).
 * Invariants: secrets are stored encrypted and never given out; an address is an opaque id and says nothing.
 * Settings are checked by the provider's schema before they are stored and again when they are read.
 */

export { createEndpointDirectory, type Endpoint, type EndpointDirectory } from './endpoints.ts'
export {
  changeIntegration,
  createIntegration,
  type Integration,
  type IntegrationInput,
  readIntegrations,
} from './integrations.ts'
