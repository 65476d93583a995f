import { createHash } from 'node:crypto'

/** The names of one register, checked, as they stand in its statements. */
export interface TableNames {
  /** Table, with schema if it has one. */
  readonly table: string
  /** The table without its schema: constraints and indexes are named after it. */
  readonly short: string
  readonly scope: string
  readonly type: 'text' | 'uuid' | 'bigint'
}

/** Changes nothing, and fails in a transaction that has failed. */
export const PROBE = 'select 1'

export interface Statement {
  readonly name: string
  readonly text: string
}

/** PostgreSQL cuts the name at 63 bytes, so a digest of the text, not the table's name, tells two statements apart. */
export function statement(verb: string, text: string): Statement {
  return { name: `einmal.${verb}.${createHash('sha256').update(text).digest('hex').slice(0, 16)}`, text }
}

type Texts = Readonly<Record<string, (names: TableNames) => string>>

/** A statement for each text, under its name. */
export function statementsOf<T extends Texts>(texts: T, names: TableNames): Readonly<Record<keyof T, Statement>> {
  const entries = Object.entries(texts).map(([name, text]) => [name, statement(name, text(names))])
  return Object.fromEntries(entries) as Record<keyof T, Statement>
}
