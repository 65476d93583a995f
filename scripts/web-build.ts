/** Builds the screens where what they are made of is not what was built last. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { type OwnerLock, tryOwnerLock } from '../apps/office/src/platform/embedded-postgres/owner-lock.ts'

const root = join(import.meta.dirname, '..')

export interface WebBuild {
  /** The folder of the app. What is built lies below it in `dist`. */
  readonly app: string
  /** What else the app is made of: files and folders, whose change calls for a new build. */
  readonly ingredients: readonly string[]
  readonly print: (line: string) => void
}

export const officeScreens = {
  app: join(root, 'apps/web'),
  ingredients: [
    join(root, 'packages/contract/src'),
    join(root, 'package-lock.json'),
    join(root, 'tsconfig.json'),
    import.meta.filename,
  ],
}

/** In `dist`, and hidden, so that it is not served: the hash of what was built. */
const STAMP = '.built'
const WAIT_MS = 200

/**
 * Builds into a folder beside `dist` and puts the finished one in its place, so that a build which fails or is killed
 * leaves the screens as they were. Of several at once, one builds, and the others wait for it. True where it built, false
 * where the screens were there already.
 */
export async function buildWeb(build: WebBuild): Promise<boolean> {
  if (isBuilt(build)) return false
  const lock = await takeLock(build)
  try {
    // Whoever had the lock before us may have built the same.
    if (isBuilt(build)) return false
    const startedAtMs = performance.now()
    build.print('Building the screens, this takes some seconds …')
    await makeScreens(build)
    build.print(`The screens are built (${((performance.now() - startedAtMs) / 1000).toFixed(1)} s).`)
    return true
  } finally {
    lock.release()
  }
}

function isBuilt(build: WebBuild): boolean {
  try {
    return readFileSync(join(build.app, 'dist', STAMP), 'utf8') === hashOf(build)
  } catch {
    return false
  }
}

async function takeLock({ app, print }: WebBuild): Promise<OwnerLock> {
  let isWaiting = false
  for (;;) {
    const lock = tryOwnerLock(join(app, 'dist.lock'))
    if (lock !== undefined) return lock
    if (!isWaiting) print('Another command is building the screens; waiting for it …')
    isWaiting = true
    await delay(WAIT_MS)
  }
}

async function makeScreens(build: WebBuild): Promise<void> {
  const { app } = build
  const [dist, draft, before] = [join(app, 'dist'), join(app, 'dist.draft'), join(app, 'dist.before')]
  const hash = hashOf(build)
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft)
  await runVite(app, draft)
  await compressFiles(draft)
  await writeFile(join(draft, STAMP), hash)
  await rm(before, { recursive: true, force: true })
  await rename(dist, before).catch(allowAbsent)
  await rename(draft, dist)
  await rm(before, { recursive: true, force: true })
}

function allowAbsent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** In this process, so that nothing goes on writing when it is killed. Loaded here: most starts have nothing to build. */
async function runVite(app: string, outDir: string): Promise<void> {
  process.env['NODE_ENV'] = 'production'
  const { build } = await import('vite')
  await build({ root: app, logLevel: 'error', build: { outDir, emptyOutDir: true } })
}

/** Beside each file the same once more, as small as it gets: the server sends it as it lies there. */
async function compressFiles(folder: string): Promise<void> {
  const paths = listFiles(folder).filter(
    (path) => /\.(js|css|svg|html)$/.test(path) && path !== join(folder, 'index.html'),
  )
  await Promise.all(
    paths.map(async (path) => {
      const bytes = await readFile(path)
      const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
      const [small, wide] = await Promise.all([
        promisify(brotliCompress)(bytes, { params }),
        promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
      ])
      if (small.length < bytes.length) await writeFile(`${path}.br`, small)
      if (wide.length < bytes.length) await writeFile(`${path}.gz`, wide)
    }),
  )
}

function hashOf({ app, ingredients }: WebBuild): string {
  const hash = createHash('sha256')
  for (const ingredient of [app, ...ingredients]) {
    for (const path of listFiles(ingredient)) {
      hash.update(`${relative(app, path)}\0`).update(createHash('sha256').update(readFileSync(path)).digest())
    }
  }
  return hash.digest('hex')
}

/** In a fixed order, without tests and without what is made here. */
function listFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .filter((name) => !/^(node_modules$|dist$|dist\.)|\.test\.tsx?$/.test(name))
    .toSorted()
    .flatMap((name) => listFiles(join(path, name)))
}
