/**
 * A statement with its values apart, written as a template: sql`select … where id = ${id}`.
 *
 * Text and name are made once per place in the code, whatever the values, so that a hot statement costs nothing to
 * build and is planned once per connection. Values never become text of the statement.
 */
export interface Statement {
  readonly text: string
  readonly name: string
  readonly values: readonly (Scalar | null)[]
}

type Scalar = string | number | bigint | boolean | Buffer
export type StatementValue = Scalar | null | readonly (Scalar | null)[]

interface Template {
  readonly text: string
  readonly name: string
}

const templates = new WeakMap<TemplateStringsArray, Template>()
let templateCount = 0

export function sql(parts: TemplateStringsArray, ...values: readonly StatementValue[]): Statement {
  let template = templates.get(parts)
  if (template === undefined) {
    templateCount += 1
    template = { text: parts.reduce((text, part, index) => `${text}$${index}${part}`), name: `sql_${templateCount}` }
    templates.set(parts, template)
  }
  return { ...template, values: values.map((value) => (isList(value) ? arrayText(value) : value)) }
}

function isList(value: StatementValue): value is readonly (Scalar | null)[] {
  return Array.isArray(value)
}

/** What an array's text must quote: its own signs, white space, nothing at all, and the word for no value. */
const needsQuotes = /[\s"\\{},]|^$|^null$/i

/**
 * A list as PostgreSQL reads arrays (manual, section 8.15.6).
 *
 * `pg` can do it too; but it escapes every element, and most of ours are ids and numbers that need none.
 */
export function arrayText(values: readonly (Scalar | null)[]): string {
  return `{${values.map(elementText).join(',')}}`
}

function elementText(value: Scalar | null): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return needsQuotes.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`
  return String(value)
}
