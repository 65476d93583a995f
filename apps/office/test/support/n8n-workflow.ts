import { runInNewContext } from 'node:vm'

/** A workflow as it is pasted into n8n; of the nodes, the types that the recipe has and no others. */
export interface Workflow {
  readonly nodes: readonly WorkflowNode[]
  readonly connections: Readonly<Record<string, { readonly main: readonly (readonly { readonly node: string }[])[] }>>
}

interface WorkflowNode {
  readonly name: string
  readonly type: string
  readonly onError?: string
  readonly retryOnFail?: boolean
  readonly parameters: Parameters
}

interface Parameters {
  readonly method?: string
  readonly url?: string
  readonly authentication?: string
  readonly genericAuthType?: string
  readonly headerParameters?: { readonly parameters: readonly { readonly name: string; readonly value: string }[] }
  readonly jsonBody?: string
  readonly conditions?: Conditions
  readonly rules?: { readonly values: readonly { readonly conditions: Conditions }[] }
  readonly responseBody?: string
  readonly options: {
    readonly response?: {
      readonly response: { fullResponse?: boolean; neverError?: boolean; responseFormat?: string }
    }
    readonly fallbackOutput?: string
    readonly responseCode?: number | string
  }
}

interface Conditions {
  readonly conditions: readonly {
    readonly leftValue: string
    readonly rightValue: number
    readonly operator: { readonly type: string; readonly operation: string }
  }[]
}

/** What the sender of the webhook was answered. */
export interface WebhookAnswer {
  readonly status: number
  readonly body: unknown
}

interface Run {
  readonly executionId: string
  /** Of the credential of the type Bearer Auth. */
  readonly bearer: string
  readonly outputs: Map<string, unknown>
}

/** Runs a workflow for one delivery to its webhook, node by node, as n8n does. Throws where n8n stops with an error. */
export async function runWorkflow(
  workflow: Workflow,
  body: unknown,
  options: Omit<Run, 'outputs'>,
): Promise<WebhookAnswer> {
  const run: Run = { ...options, outputs: new Map() }
  const hasInput = new Set(
    Object.values(workflow.connections).flatMap(({ main }) => main.flat().map(({ node }) => node)),
  )
  const [trigger] = workflow.nodes.filter(({ name }) => !hasInput.has(name))
  let node = trigger
  let item: unknown = { headers: {}, body }
  for (let steps = 0; node !== undefined && steps <= workflow.nodes.length; steps += 1) {
    const { output, answer, next = item } = await step(node, item, run)
    if (answer !== undefined) return answer
    run.outputs.set(node.name, next)
    item = next
    const [target] = workflow.connections[node.name]?.main[output] ?? []
    node = workflow.nodes.find(({ name }) => name === target?.node)
  }
  throw new Error('the workflow ended without an answer to its sender')
}

interface Step {
  /** Through which output the item goes on. */
  readonly output: number
  readonly next?: unknown
  readonly answer?: WebhookAnswer
}

async function step(node: WorkflowNode, item: unknown, run: Run): Promise<Step> {
  const { parameters } = node
  switch (node.type) {
    case 'n8n-nodes-base.webhook':
      return { output: 0 }
    case 'n8n-nodes-base.httpRequest':
      try {
        return { output: 0, next: await tried(node, () => request(parameters, item, run)) }
      } catch (error) {
        if (node.onError !== 'continueErrorOutput') throw error
        return { output: 1, next: { error: String(error) } }
      }
    case 'n8n-nodes-base.if':
      return { output: holds(parameters.conditions, item, run) ? 0 : 1 }
    case 'n8n-nodes-base.switch': {
      const rules = parameters.rules?.values ?? []
      const found = rules.findIndex(({ conditions }) => holds(conditions, item, run))
      if (found === -1 && parameters.options.fallbackOutput !== 'extra')
        throw new Error('the switch has no such output')
      return { output: found === -1 ? rules.length : found }
    }
    case 'n8n-nodes-base.respondToWebhook': {
      const text = evaluate(parameters.responseBody ?? 'null', item, run)
      const status = Number(evaluate(parameters.options.responseCode ?? 200, item, run))
      return { output: 0, answer: { status, body: JSON.parse(String(text)) } }
    }
    default:
      throw new Error(`a node of the type ${node.type} is unknown here`)
  }
}

/** How often n8n tries a node with *Retry On Fail*, where nothing else is set. */
const MAX_TRIES = 3

async function tried<T>({ retryOnFail }: WorkflowNode, work: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await work()
    } catch (error) {
      if (retryOnFail !== true || count === MAX_TRIES) throw error
    }
  }
}

async function request(parameters: Parameters, item: unknown, run: Run): Promise<unknown> {
  const { method = 'GET', url = '', jsonBody, headerParameters, authentication, genericAuthType } = parameters
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const { name, value } of headerParameters?.parameters ?? []) {
    headers.set(name, String(evaluate(value, item, run)))
  }
  if (authentication === 'genericCredentialType' && genericAuthType === 'httpBearerAuth') {
    headers.set('authorization', `Bearer ${run.bearer}`)
  }
  const body = String(evaluate(jsonBody, item, run))
  JSON.parse(body)
  const response = await fetch(url, { method, headers, body })
  const { fullResponse, neverError, responseFormat } = parameters.options.response?.response ?? {}
  if (!response.ok && neverError !== true) throw new Error(`status ${response.status}`)
  const isParsed = responseFormat === 'json' || response.headers.get('content-type')?.includes('application/json')
  const text = await response.text()
  const content = isParsed ? { body: JSON.parse(text) } : { data: text }
  return fullResponse === true ? { statusCode: response.status, ...content } : content.body
}

function holds(conditions: Conditions | undefined, item: unknown, run: Run): boolean {
  return (conditions?.conditions ?? []).every(({ leftValue, rightValue, operator }) => {
    const left = evaluate(leftValue, item, run)
    // Strict, as the recipe's type validation is.
    if (typeof left !== operator.type) throw new Error(`${String(left)} is no ${operator.type}`)
    switch (operator.operation) {
      case 'equals':
        return left === rightValue
      case 'lt':
        return Number(left) < rightValue
      default:
        throw new Error(`the operation ${operator.operation} is unknown here`)
    }
  })
}

/** A value that begins with `=` is a template: JavaScript between `{{` and the next `}}`. Alone, it keeps its type. */
function evaluate(value: unknown, item: unknown, run: Run): unknown {
  if (typeof value !== 'string' || !value.startsWith('=')) return value
  const template = value.slice(1)
  const scope = {
    $json: item,
    $execution: { id: run.executionId },
    $runIndex: 0,
    $itemIndex: 0,
    $: (name: string) => ({ item: { json: run.outputs.get(name) } }),
  }
  const only = /^\{\{((?:(?!\}\}).)*)\}\}$/s.exec(template)?.[1]
  if (only !== undefined) return runInNewContext(`(${only})`, scope)
  return template.replace(/\{\{((?:(?!\}\}).)*)\}\}/gs, (_, code: string) =>
    String(runInNewContext(`(${code})`, scope)),
  )
}
