import { randomUUID } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import { createEffects, type OwnDatabase, type Pool } from './database.ts'

const instances = new Map<string, PGlite>()

/** As `createOwnDatabase`, inside of this process. Whoever opens it by its address gets the one connection there is. */
export async function createPgliteDatabase(): Promise<OwnDatabase> {
  const instance = await PGlite.create()
  const url = `pglite:${randomUUID()}`
  instances.set(url, instance)
  const pool = toPool(instance)
  await pool.query(createEffects)
  return {
    url,
    pool,
    async drop() {
      instances.delete(url)
      await instance.close()
    },
  }
}

export function findPglite(url: string): PGlite {
  const instance = instances.get(url)
  if (instance === undefined) throw new Error(`no PGlite at ${url}`)
  return instance
}

function toPool(instance: PGlite): Pool {
  const query = async (text: string, values?: unknown[]) => {
    const result = values === undefined ? (await instance.exec(text)).at(-1) : await instance.query(text, values)
    return { rows: result?.rows ?? [], rowCount: result?.affectedRows ?? null }
  }
  return { query: query as Pool['query'] }
}
