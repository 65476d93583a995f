/** Fields of a request that name things of an organisation, as the contract of the API has them. */

type Schema = Readonly<Record<string, unknown>>

export interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
}

/** Where a field stands: in the query, or in the body below these names. A list is entered at its first element. */
export interface NamedField {
  readonly place: 'query' | 'body'
  readonly path: readonly string[]
  readonly name: string
}

/** These name a thing as well, or what is known of one. */
const otherNames = ['cursor', 'invoice', 'token']

function namesThing(name: string): boolean {
  return /Ids?$/.test(name) || otherNames.includes(name)
}

/** Every field of this call that names a thing. `route` is as the server has it: `POST /api/v1/payments/:id/move`. */
export function namedFields(
  contract: Contract,
  route: { readonly method: string; readonly path: string },
): NamedField[] {
  const operation = contract.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()]
  if (operation === undefined) throw new Error(`the contract does not have ${route.method} ${route.path}`)
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const inQuery = query.map(({ name }): NamedField => ({ place: 'query', path: [name], name }))
  const schema = operation.requestBody?.content['application/json'].schema
  const inBody = schema === undefined ? [] : fieldsOf(contract, schema, [])
  return [...inQuery, ...inBody].filter(({ name }) => namesThing(name))
}

function fieldsOf(contract: Contract, schema: Schema, path: readonly string[]): NamedField[] {
  const reference = schema['$ref']
  if (typeof reference === 'string') {
    const named = contract.components.schemas[reference.replace('#/components/schemas/', '')]
    if (named === undefined) throw new Error(`the contract does not have ${reference}`)
    return fieldsOf(contract, named, path)
  }
  const choices = ['anyOf', 'oneOf', 'allOf'].flatMap((word) => (schema[word] as Schema[] | undefined) ?? [])
  const properties = Object.entries((schema['properties'] as Readonly<Record<string, Schema>> | undefined) ?? {})
  const items = schema['items'] as Schema | undefined
  const found = [
    ...choices.flatMap((choice) => fieldsOf(contract, choice, path)),
    ...properties.flatMap(([name, property]): NamedField[] => [
      { place: 'body', path: [...path, name], name },
      ...fieldsOf(contract, property, [...path, name]),
    ]),
    ...(items === undefined ? [] : fieldsOf(contract, items, [...path, '0'])),
  ]
  return [...new Map(found.map((field) => [field.path.join('.'), field])).values()]
}

/** The body with another value in one place; what is on the way there and missing is made. */
export function withValue(body: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value
  if (name === '0') return [withValue(Array.isArray(body) ? body[0] : undefined, rest, value)]
  const known = typeof body === 'object' && body !== null ? body : {}
  return { ...known, [name]: withValue((known as Record<string, unknown>)[name], rest, value) }
}
