import { isId } from '../platform/ids.ts'

/**
 * Begins a transaction that sees one moment of one organisation and can change nothing. Tables are read from end to end, which
 * the server's connections otherwise avoid, and with memory to sum them up in.
 */
export function beginSnapshot(organizationId: string): string {
  if (!isId(organizationId)) throw new Error('an examination needs the id of an organisation')
  return `begin isolation level repeatable read read only;
    set local einmal.organization_id = '${organizationId}';
    set local enable_seqscan = on; set local enable_bitmapscan = on; set local work_mem = '64MB';
    set local statement_timeout = 0`
}

export const endSnapshot = 'rollback'
