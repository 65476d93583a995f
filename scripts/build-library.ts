/**
 * Makes the package `einmal` as it is published: JavaScript and declarations of what its `exports` name.
 *
 *     node scripts/build-library.ts [folder, default packages/einmal/dist]
 *
 * In this repository nothing needs it: `exports` point at the sources, which Node runs as they are.
 */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..')
const library = join(root, 'packages/einmal')

interface Manifest {
  readonly exports: Readonly<Record<string, string>>
  readonly devDependencies?: unknown
}

/** An entry is a source here and, in the package, what the compiler makes of it. */
function toPublished(entry: string): { types: string; default: string } {
  const path = /^\.\/src\/(.+)\.ts$/.exec(entry)?.[1]
  if (path === undefined) throw new Error(`the entry ${entry} is no source in ./src`)
  return { types: `./lib/${path}.d.ts`, default: `./lib/${path}.js` }
}

async function build(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const project = join(library, 'tsconfig.build.json')
  await promisify(execFile)(process.execPath, [compiler, '-p', project, '--outDir', join(folder, 'lib')])
  const { devDependencies: _, ...manifest }: Manifest = JSON.parse(
    await readFile(join(library, 'package.json'), 'utf8'),
  )
  const entries = Object.entries(manifest.exports).map(([name, entry]) => [name, toPublished(entry)])
  const published = { ...manifest, exports: Object.fromEntries(entries), files: ['lib', 'CHANGELOG.md'] }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  for (const name of ['README.md', 'CHANGELOG.md']) await copyFile(join(library, name), join(folder, name))
  await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'))
}

await build(resolve(process.argv[2] ?? join(library, 'dist')))
