import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import { type ModuleOutput, parseScenario, passes, runModule } from './make-scenario.ts'
import { runWorkflow, type Workflow } from './n8n-workflow.ts'
import type { RecipePage } from './recipe-page.ts'

/** Where the recipes of the page call, in place of the addresses that stand on it. */
export interface Surroundings {
  readonly officeUrl: string
  readonly apiKey: string
  readonly printerUrl: string
}

/** How one run ended: it did the thing, learned that it is done, or stopped and said why. */
export interface RunEnd {
  readonly ended: 'did' | 'knew' | 'stopped'
  readonly why?: string
}

/** A recipe of the page: starts one run for the order, as its platform would for one event. */
export type Recipe = (order: unknown) => Promise<RunEnd>

/** The shell script, run by bash. */
export function shellRecipe(page: RecipePage, { officeUrl, apiKey, printerUrl }: Surroundings): Recipe {
  const script = page.block('bash', 'Shell')
  const env = { PATH: process.env['PATH'], EINMAL_URL: officeUrl, EINMAL_KEY: apiKey, LABELS_URL: printerUrl }
  return async (order) => {
    try {
      const { stdout } = await promisify(execFile)('bash', ['-c', script, 'order-paid.sh', String(order)], { env })
      return { ended: stdout.trim() === 'printed' ? 'did' : 'knew' }
    } catch (error) {
      const { code, stderr } = error as { code: number; stderr: string }
      return { ended: 'stopped', why: `exit ${code}: ${stderr}` }
    }
  }
}

/** The workflow that is pasted into n8n; each run is an execution of its own. */
export function n8nRecipe(page: RecipePage, { officeUrl, apiKey, printerUrl }: Surroundings): Recipe {
  const text = page
    .block('json', 'n8n')
    .replaceAll('https://office.example', officeUrl)
    .replaceAll('https://labels.example/labels', printerUrl)
  const workflow = JSON.parse(text) as Workflow
  let executions = 230
  return async (order) => {
    executions += 1
    const options = { executionId: String(executions), bearer: apiKey }
    const { status, body } = await runWorkflow(workflow, { id: order }, options)
    if (status !== 200) return { ended: 'stopped', why: `answered ${status}: ${JSON.stringify(body)}` }
    return { ended: (body as { duplicate?: boolean }).duplicate === true ? 'knew' : 'did' }
  }
}

/** The modules of Make, in the order of the page: 2 and its filter, 3 and its router, 4 or 5. */
export function makeRecipe(page: RecipePage, { officeUrl, apiKey, printerUrl }: Surroundings): Recipe {
  const text = page
    .section('Make')
    .replaceAll('https://office.example', officeUrl)
    .replaceAll('https://labels.example/labels', printerUrl)
    .replaceAll('YOUR_API_KEY', apiKey)
  const scenario = parseScenario(text)
  return async (order) => {
    const outputs = new Map<number, unknown>([[1, { id: order }]])
    const run = async (number: number): Promise<ModuleOutput> => {
      const output = await runModule(scenario, number, outputs)
      outputs.set(number, output)
      return output
    }
    const { statusCode, data } = await run(2)
    if (!passes(scenario, 2, outputs)) {
      return statusCode === 200 ? { ended: 'knew' } : { ended: 'stopped', why: JSON.stringify(data) }
    }
    try {
      await run(3)
    } catch {
      await run(5)
      return { ended: 'stopped', why: 'no answer from the printer' }
    }
    if (passes(scenario, 4, outputs)) {
      await run(4)
      return { ended: 'did' }
    }
    await run(5)
    return { ended: 'stopped', why: 'no label' }
  }
}

/** The two code steps of Zapier; what stands between them finds the task by its reference or creates it. */
export function zapierRecipe(
  page: RecipePage,
  { officeUrl, apiKey }: Surroundings,
  findOrCreate: (reference: string, order: unknown) => Promise<string>,
): Recipe {
  const [reserve = '', complete = ''] = page.blocks('js', 'Zapier')
  const step = async (code: string, inputData: object) => {
    const all = { url: officeUrl, key: apiKey, ...inputData }
    const output: unknown = await runInNewContext(`(async () => {${code}})()`, { inputData: all, fetch })
    return output as Readonly<Record<string, string>>
  }
  return async (order) => {
    try {
      const { mine, token, reference } = await step(reserve, { id: order })
      if (mine !== 'yes') return { ended: 'knew' }
      const task = await findOrCreate(reference ?? '', order)
      await step(complete, { token, task })
      return { ended: 'did' }
    } catch (error) {
      return { ended: 'stopped', why: (error as Error).message }
    }
  }
}

type Once = (thing: object, work: (given: { idempotencyKey: string }) => Promise<unknown>) => Promise<unknown>

/** The function for programs of one's own, with a work that asks the printer. */
export function functionRecipe(
  page: RecipePage,
  { officeUrl, apiKey, printerUrl }: Surroundings,
  target: 'accepts_key' | 'neither',
): Recipe {
  const code = page.block('js', 'Your own program').replaceAll('export ', '')
  const env = { EINMAL_URL: officeUrl, EINMAL_KEY: apiKey }
  const once: Once = runInNewContext(`(() => {${code}; return once})()`, { process: { env }, fetch })
  return async (order) => {
    let worked = false
    const print = async ({ idempotencyKey }: { idempotencyKey: string }) => {
      worked = true
      const headers = { 'content-type': 'application/json', 'idempotency-key': idempotencyKey }
      const response = await fetch(printerUrl, { method: 'POST', headers, body: JSON.stringify({ order }) })
      if (response.ok) return response.json()
      throw Object.assign(new Error(`status ${response.status}`), { nothingHappened: response.status < 500 })
    }
    try {
      await once({ source: 'shop', kind: `label.print.${target}`, id: order, target }, print)
      return { ended: worked ? 'did' : 'knew' }
    } catch (error) {
      return { ended: 'stopped', why: (error as Error).message }
    }
  }
}
