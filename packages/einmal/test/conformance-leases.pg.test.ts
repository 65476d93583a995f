import { leaseConformance } from './conformance-leases.ts'
import { forEveryAdapter } from './support/adapters.ts'

forEveryAdapter(leaseConformance)
