import { leaseConformance } from './conformance-leases.ts'
import { kysely, pgPipelined, pgPlain, pgUnprepared } from './support/adapters.ts'

leaseConformance('pg', pgPlain)
leaseConformance('pg, pipelined', pgPipelined)
leaseConformance('pg, without prepared statements', pgUnprepared)
leaseConformance('kysely', kysely)
