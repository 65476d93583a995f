import { conformance } from './conformance.ts'
import { kysely, pgPipelined, pgPlain, pgUnprepared } from './support/adapters.ts'

conformance('pg', pgPlain)
conformance('pg, pipelined', pgPipelined)
conformance('pg, without prepared statements', pgUnprepared)
conformance('kysely', kysely)
