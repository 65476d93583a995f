import pg from 'pg'

export const NO_RIGHT = 'no right'

/** What refused a statement: a constraint by its name, `policy` (with a name where it is not the table's own), or `no right`. */
export function nameRefusal(error: unknown): string {
  if (!(error instanceof pg.DatabaseError)) throw error
  if (error.code !== '42501') return error.constraint ?? `${error.code} ${error.message}`
  if (!/row-level security/.test(error.message)) return NO_RIGHT
  const name = /policy "(\w+)"/.exec(error.message)?.[1]
  return name === undefined ? 'policy' : `policy ${name}`
}
