import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What a first start writes into the data folder, for the tutorial and for tools: readable by its owner alone. */
export interface DemoFile {
  readonly url: string
  readonly apiKey: string
  readonly organizationId: string
  readonly owner: { readonly email: string; readonly password: string }
  readonly webhooks: Readonly<Record<string, { readonly path: string; readonly secret: string }>>
  readonly invoices: readonly {
    readonly id: string
    readonly number: string
    readonly totalMinor: number
    readonly currency: string
  }[]
}

export async function readDemoFile(dataDir: string): Promise<DemoFile | null> {
  try {
    return JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/** Whole or not at all: a half file would pass for a finished demo. */
export async function writeDemoFile(dataDir: string, demo: DemoFile): Promise<void> {
  const path = join(dataDir, 'demo.json')
  await writeFile(`${path}.draft`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(`${path}.draft`, path)
}
