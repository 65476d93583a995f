import { leaseConformance } from './conformance-leases.ts'
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

leaseConformance('pg', pgPlain)
leaseConformance('pg, pipelined', pgPipelined)
leaseConformance('pg, without prepared statements', pgUnprepared)
leaseConformance('kysely', kysely)
leaseConformance('postgres-js', postgresJs)
leaseConformance('postgres-js, without prepared statements', postgresJsUnprepared)
leaseConformance('drizzle over node-postgres', drizzleNodePostgres)
leaseConformance('drizzle over postgres-js', drizzlePostgresJs)
leaseConformance('pglite', pglite, inProcess)
leaseConformance('drizzle over pglite', drizzlePglite, inProcess)
