/** A scenario of Make as the page describes it: modules with their fields, and the filters between them. */
export interface Scenario {
  readonly modules: ReadonlyMap<number, ReadonlyMap<string, string>>
  /** What has to hold before the module with this number. */
  readonly filters: readonly Filter[]
}

interface Filter {
  /** The module behind which, or the module before which it stands. */
  readonly at: number
  readonly left: string
  readonly operator: string
  readonly right: number
}

export interface ModuleOutput {
  readonly statusCode: number
  readonly data: unknown
}

type Outputs = ReadonlyMap<number, unknown>

export function parseScenario(section: string): Scenario {
  const parts = [...section.matchAll(/^(\d+): ([\s\S]*?)(?=^\d+: |$(?![\s\S]))/gm)]
  const modules = new Map<number, ReadonlyMap<string, string>>()
  const filters: Filter[] = []
  for (const [, number = '', text = ''] of parts) {
    const rows = [...text.matchAll(/^\| ([^|`]+?) \| `(.*)` \|$/gm)]
    if (rows.length > 0) modules.set(Number(number), new Map(rows.map(([, name = '', value = '']) => [name, value])))
    const filter = /[Ff]ilter\b[^`]*`(\{\{[^`]+\}\})` \*([A-Z][a-z ]+)\* `(\d+)`/.exec(text)
    if (filter === null) continue
    const [, left = '', operator = '', right = ''] = filter
    filters.push({ at: Number(number), left, operator, right: Number(right) })
  }
  return { modules, filters }
}

export function passes({ filters }: Scenario, at: number, outputs: Outputs): boolean {
  const filter = filters.find((each) => each.at === at)
  if (filter === undefined) throw new Error(`there is no filter at module ${at}`)
  const left = Number(fill(filter.left, outputs))
  if (filter.operator === 'Equal to') return left === filter.right
  if (filter.operator === 'Less than') return left < filter.right
  throw new Error(`the operator ${filter.operator} is unknown here`)
}

/** Sends what an HTTP module sends. Throws as Make stops: on a refusal where the module says so, and without an answer. */
export async function runModule({ modules }: Scenario, number: number, outputs: Outputs): Promise<ModuleOutput> {
  const fields = modules.get(number)
  const field = (name: string) => {
    const value = fields?.get(name)
    if (value === undefined) throw new Error(`module ${number} has no field ${name}`)
    return fill(value, outputs)
  }
  const headers = new Headers({ 'content-type': field('Body content type') })
  const [name = '', value = ''] = field('Headers').split(/: (.*)/)
  headers.set(name, value)
  const response = await fetch(field('URL'), { method: field('Method'), headers, body: field('Body') })
  if (!response.ok && field('Return error if HTTP request fails') === 'Yes') {
    throw new Error(`status ${response.status}`)
  }
  const text = await response.text()
  return { statusCode: response.status, data: field('Parse response') === 'Yes' ? JSON.parse(text) : text }
}

/** Puts values in as they are, as Make does; nothing for a value that is not there. */
function fill(template: string, outputs: Outputs): string {
  return template.replace(/\{\{(\d+)\.([\w.]+)\}\}/g, (_, number: string, path: string) => {
    let value: unknown = outputs.get(Number(number))
    for (const name of path.split('.')) {
      value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
    }
    return value === undefined || value === null ? '' : String(value)
  })
}
