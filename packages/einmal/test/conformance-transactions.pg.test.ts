import { transactionConformance } from './conformance-transactions.ts'
import { forEveryAdapter } from './support/adapters.ts'

forEveryAdapter(transactionConformance)
