import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')
const library = join(root, 'packages/einmal')
const run = promisify(execFile)
const env = { ...process.env, NODE_OPTIONS: '' }

/** What a bundler makes of the main entry, in bytes. The README says so. */
const MAX_MAIN_BYTES = 50_000

/** What is known and meant. */
const intended: readonly { readonly is: (problem: Problem) => boolean; readonly reason: string }[] = [
  {
    is: ({ kind }) => kind === 'CJSResolvesToESM',
    reason: 'ESM only: every Node that is supported can require() it, and TypeScript up to 5.7 does not know',
  },
  {
    is: (problem) => problem.kind === 'NoResolution' && problem.resolutionKind === 'node10',
    reason: 'a resolution that reads no exports is older than every Node that is supported',
  },
]

describe('the package as it is published', { timeout: 60_000 }, () => {
  let folder: string
  /** Unpacked, as whoever installs it has it. */
  let installed: string
  let tarball: Uint8Array<ArrayBuffer>
  let manifest: Record<string, unknown> & { exports: Record<string, { types: string; default: string }> }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'einmal-package-'))
    const dist = join(folder, 'dist')
    await run(process.execPath, [join(root, 'scripts/build-library.ts'), dist], { env })
    const npm = ['pack', '--offline', '--ignore-scripts', '--json', '--pack-destination', folder]
    const { stdout } = await run('npm', npm, { cwd: dist, env, shell: process.platform === 'win32' })
    const [packed]: { filename: string }[] = JSON.parse(stdout)
    if (packed === undefined) throw new Error('nothing was packed')
    tarball = new Uint8Array(await readFile(join(folder, packed.filename)))
    await run('tar', ['-xzf', packed.filename], { cwd: folder })
    installed = join(folder, 'consumer/node_modules/einmal')
    await mkdir(join(folder, 'consumer/node_modules'), { recursive: true })
    await symlink(join(folder, 'package'), installed, 'junction')
    manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  }, 60_000)

  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('holds every source as JavaScript and as declarations, three texts and its manifest, and nothing else', async () => {
    const sources = await readdir(join(library, 'src'), { recursive: true })
    const expected = sources
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .flatMap((name) => [name.replace(/\.ts$/, '.js'), name.replace(/\.ts$/, '.d.ts')])
      .map((name) => join('lib', name))
    const files = await readdir(join(folder, 'package'), { recursive: true, withFileTypes: true })
    const found = files
      .filter((file) => file.isFile())
      .map((file) => join(file.parentPath, file.name).slice(join(folder, 'package/').length))
    const texts = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']
    expect(found.toSorted()).toEqual([...expected, ...texts].toSorted())
  })

  test('depends on nothing, runs nothing when it is installed, and says what it is', () => {
    const { dependencies, peerDependencies, optionalDependencies, devDependencies, scripts } = manifest
    const named = { dependencies, peerDependencies, optionalDependencies, devDependencies, scripts }
    expect(Object.values(named).every((value) => value === undefined)).toBe(true)
    expect(manifest).toMatchObject({ name: 'einmal', type: 'module', license: 'Apache-2.0', sideEffects: false })
    expect(manifest).toMatchObject({ engines: { node: '>=22' }, keywords: expect.arrayContaining(['exactly-once']) })
    expect(manifest['private']).toBeUndefined()
  })

  test('has the entries of the repository, each with types and code', async () => {
    const own: { exports: object } = JSON.parse(await readFile(join(library, 'package.json'), 'utf8'))
    expect(Object.keys(manifest.exports)).toEqual(Object.keys(own.exports))
    for (const entry of Object.values(manifest.exports)) expect(Object.keys(entry)).toEqual(['types', 'default'])
  })

  test('publint has nothing to say', async () => {
    const { messages } = await publint({ pkgDir: join(folder, 'package'), pack: false, strict: true })
    expect(messages).toEqual([])
  })

  test('the types are right for every way of resolving, but for what is intended', async () => {
    const result = await checkPackage(createPackageFromTarballData(tarball))
    if (result.types === false) throw new Error('the package has no types')
    expect(result.problems.filter((problem) => !intended.some(({ is }) => is(problem)))).toEqual([])
    for (const { is, reason } of intended) expect(result.problems.some(is), reason).toBe(true)
  })

  test('every entry can be imported and required by plain Node, outside of the repository', async () => {
    const entries = Object.keys(manifest.exports).map((entry) => entry.replace(/^\./, 'einmal'))
    await writeFile(
      join(folder, 'consumer/main.mjs'),
      `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
for (const entry of ${JSON.stringify(entries)}) {
  const names = Object.keys(await import(entry))
  if (names.length === 0) throw new Error(entry)
  if (names.join() !== Object.keys(require(entry)).join()) throw new Error('other names by require: ' + entry)
}
console.log('all')`,
    )
    const { stdout, stderr } = await run(process.execPath, ['main.mjs'], { cwd: join(folder, 'consumer'), env })
    expect({ stdout, stderr }).toEqual({ stdout: 'all\n', stderr: '' })
  })

  test('a strict TypeScript program compiles against every declaration, without a driver', async () => {
    const imports = Object.keys(manifest.exports).map(
      (entry, index) => `import * as entry${index} from '${entry.replace(/^\./, 'einmal')}'`,
    )
    await writeFile(
      join(folder, 'consumer/main.ts'),
      `${imports.join('\n')}
import { type Db, type Outcome, once } from 'einmal'
export const all = [${imports.map((_, index) => `entry${index}`).join(', ')}]
export async function pay(db: Db<{ write(text: string): Promise<void> }>, id: string): Promise<Outcome['outcome']> {
  const { outcome } = await once(db, { source: 'x', kind: 'y', id }, async (tx) => {
    await tx.write(id)
    return undefined
  })
  return outcome
}
`,
    )
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
      ...{ module: 'nodenext', target: 'es2024', lib: ['es2024', 'dom'], noEmit: true, types: [] },
    }
    await writeFile(join(folder, 'consumer/tsconfig.json'), JSON.stringify({ compilerOptions, include: ['main.ts'] }))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const compiled = run(process.execPath, [compiler, '-p', join(folder, 'consumer')], { env })
    expect(await compiled.catch((error: { stdout: string }) => error)).toMatchObject({ stdout: '' })
  })

  test(`the main entry is less than ${MAX_MAIN_BYTES} bytes, bundled and minified`, async () => {
    const bytes = await bundledBytes(join(installed, manifest.exports['.']?.default ?? ''))
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(MAX_MAIN_BYTES)
  })
})

async function bundledBytes(entry: string): Promise<number> {
  const output = await build({
    ...{ configFile: false, logLevel: 'silent' },
    build: {
      ...{ write: false, minify: true, target: 'es2024', ssr: entry },
      rolldownOptions: { external: /^node:/ },
    },
  })
  if (Array.isArray(output) || !('output' in output)) throw new Error('one bundle was asked for')
  return output.output.reduce((sum, part) => sum + ('code' in part ? Buffer.byteLength(part.code) : 0), 0)
}
