import { conformance } from './conformance.ts'
import { forEveryAdapter } from './support/adapters.ts'

forEveryAdapter(conformance)
