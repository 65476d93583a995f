import type { Db } from './database.ts'

/**
 * Creates the tables of the register that do not exist, all in one transaction; several processes may do it at once. For a
 * first try; in earnest, put the texts of `db.register` that you need into a migration: `createTable`, `createLeases`,
 * `createMemory`, `createWindows`.
 */
export async function install<NativeTx>(db: Db<NativeTx>): Promise<void> {
  const { table, createTable, createLeases, createMemory, createWindows } = db.register
  const parts = { '': createTable, _notes: createLeases, _memory: createMemory, _windows: createWindows }
  await db.transaction('install', async (_tx, query) => {
    await query(`select pg_advisory_xact_lock(hashtext('einmal.install'))`, [])
    for (const [suffix, text] of Object.entries(parts)) {
      const [row] = await query<{ found: boolean }>('select to_regclass($1::text) is not null as found', [
        table + suffix,
      ])
      if (row?.found) continue
      // One by one, because a driver may take no two statements at once.
      for (const statement of text.split(';\n')) if (statement !== '') await query(statement, [])
    }
  })
}
