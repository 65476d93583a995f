import { conformance } from './conformance.ts'
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

conformance('pg', pgPlain)
conformance('pg, pipelined', pgPipelined)
conformance('pg, without prepared statements', pgUnprepared)
conformance('kysely', kysely)
conformance('postgres-js', postgresJs)
conformance('postgres-js, without prepared statements', postgresJsUnprepared)
conformance('drizzle over node-postgres', drizzleNodePostgres)
conformance('drizzle over postgres-js', drizzlePostgresJs)
conformance('pglite', pglite, inProcess)
conformance('drizzle over pglite', drizzlePglite, inProcess)
