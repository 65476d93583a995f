import { transactionConformance } from './conformance-transactions.ts'
import {
  drizzleNodePostgres,
  drizzlePglite,
  drizzlePostgresJs,
  inProcess,
  kysely,
  pglite,
  pgPipelined,
  pgPlain,
  pgUnprepared,
  postgresJs,
  postgresJsUnprepared,
} from './support/adapters.ts'

transactionConformance('pg', pgPlain)
transactionConformance('pg, pipelined', pgPipelined)
transactionConformance('pg, without prepared statements', pgUnprepared)
transactionConformance('kysely', kysely)
transactionConformance('postgres-js', postgresJs)
transactionConformance('postgres-js, without prepared statements', postgresJsUnprepared)
transactionConformance('drizzle over node-postgres', drizzleNodePostgres)
transactionConformance('drizzle over postgres-js', drizzlePostgresJs)
transactionConformance('pglite', pglite, inProcess)
transactionConformance('drizzle over pglite', drizzlePglite, inProcess)
