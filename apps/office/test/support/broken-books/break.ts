import type { WrittenBooks } from '../written-books.ts'

/** One way in which books can be broken, past every right and every constraint. */
export interface Break {
  /** The check that it is made for. */
  readonly check: string
  readonly what: string
  /** Statements of the owner of the database; foreign keys are switched off. */
  statements(books: WrittenBooks, others: WrittenBooks): readonly string[]
  /** What that check must name. */
  subject(books: WrittenBooks): string
  /** What else no longer holds by the same deed. */
  readonly also?: readonly string[]
}

export const UNKNOWN = '00000000-0000-7000-8000-000000000001'
export const COPY = '00000000-0000-7000-8000-000000000002'

export function uuid(ids: Readonly<Record<string, string>>, name: string): string {
  const id = ids[name]
  if (id === undefined) throw new Error(`the books have no ${name}`)
  return id
}

export const paymentOf = (books: WrittenBooks, name: string) => uuid(books.payments, name)
export const invoiceOf = (books: WrittenBooks, name: string) => uuid(books.invoices, name)
export const eventOf = (books: WrittenBooks, name: string) => uuid(books.events, name)
export const returnOf = (books: WrittenBooks, name: string) => uuid(books.returns, name)

/** The same row again under another id. */
export function copyOf(table: string, columns: string, id: string): string {
  return `insert into ${table} (id, organization_id, ${columns}) select '${COPY}', organization_id, ${columns} from ${table}
    where id = '${id}'`
}

/** Subject and finding are about a row that stands in no list of the books; it is found by its event. */
export function idOf(table: string, eventId: string, further = 'true'): string {
  return `(select id from ${table} where event_id = '${eventId}' and ${further} order by id limit 1)`
}
