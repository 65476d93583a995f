import { isId } from '../platform/ids.ts'

/**
 * Begins a transaction that sees one moment of one organisation and can change nothing.
 *
 * Tables may be read from end to end, which the server's connections avoid. Joins are hashed: the doctor often comes right
 * after a restore, when PostgreSQL has no statistics, believes an organisation to be one row, and would look that row up
 * a million times.
 */
export function beginSnapshot(organizationId: string): string {
  if (!isId(organizationId)) throw new Error('an examination needs the id of an organisation')
  return `begin isolation level repeatable read read only;
    set local einmal.organization_id = '${organizationId}';
    set local enable_seqscan = on; set local enable_bitmapscan = on; set local enable_nestloop = off;
    set local work_mem = '64MB'; set local statement_timeout = 0`
}

export const endSnapshot = 'rollback'

/** For a transaction that is another's: the same joins, each statement planned once per connection, and back again. */
export const joinByHash = `set local enable_nestloop = off; set local plan_cache_mode = force_generic_plan`
export const joinAsBefore = `set local enable_nestloop to default; set local plan_cache_mode to default`
