import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { buildWeb } from './web-build.ts'

const main = `document.body.append('${'once '.repeat(300)}')\n`

let home: string
let app: string
let said: string[]

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'einmal-build-'))
  app = join(home, 'app')
  said = []
  await mkdir(join(app, 'src'), { recursive: true })
  await mkdir(join(home, 'contract'))
  await writeFile(join(home, 'contract/index.ts'), 'export {}\n')
  await writeFile(join(app, 'package.json'), '{"type":"module"}')
  await writeFile(join(app, 'index.html'), '<!doctype html><script type="module" src="/src/main.ts"></script>\n')
  await writeFile(join(app, 'src/main.ts'), main)
  await writeFile(join(app, 'src/main.test.ts'), '// a test')
})

afterEach(() => rm(home, { recursive: true, force: true }))

const build = () => buildWeb({ app, ingredients: [join(home, 'contract')], print: (line) => said.push(line) })

/** What a browser would get, the names with their hashes left out. */
async function builtScript(): Promise<string> {
  const name = (await assets()).find((each) => each.endsWith('.js')) ?? ''
  return readFile(join(app, 'dist/assets', name), 'utf8')
}

const assets = () => readdir(join(app, 'dist/assets'))

describe('the screens are built', () => {
  test('once: what is unchanged is not built again', async () => {
    expect(await build()).toBe(true)
    expect(said).toEqual([expect.stringContaining('Building the screens'), expect.stringMatching(/built \([\d.]+ s\)/)])
    said = []
    expect(await build()).toBe(false)
    expect(said).toEqual([])
  })

  test.each([
    ['a source', () => writeFile(join(app, 'src/main.ts'), `${main}// changed\n`)],
    ['a new file', () => writeFile(join(app, 'src/other.ts'), 'export {}\n')],
    ['a file that is gone', () => rm(join(app, 'package.json'))],
    ['an ingredient', () => writeFile(join(home, 'contract/index.ts'), 'export const a = 1\n')],
    ['a build without its stamp', () => rm(join(app, 'dist/.built'))],
    ['no build', () => rm(join(app, 'dist'), { recursive: true })],
  ])('again after %s', async (_, change) => {
    await build()
    await change()
    expect(await build()).toBe(true)
    expect(await build()).toBe(false)
  })

  test('not again for a test that changed', async () => {
    await build()
    await writeFile(join(app, 'src/main.test.ts'), '// another test')
    expect(await build()).toBe(false)
  })

  test('by one of several at once, and the others wait for it', async () => {
    expect((await Promise.all([build(), build(), build()])).toSorted()).toEqual([false, false, true])
    expect(said.filter((line) => line.includes('Building'))).toHaveLength(1)
    expect(said).toContain('Another command is building the screens; waiting for it …')
  })

  test('with each script once more in brotli and gzip, but not the page, which changes with each answer', async () => {
    await build()
    const name = (await assets()).find((each) => each.endsWith('.js')) ?? ''
    const path = join(app, 'dist/assets', name)
    const plain = await readFile(path)
    expect(brotliDecompressSync(await readFile(`${path}.br`))).toEqual(plain)
    expect(gunzipSync(await readFile(`${path}.gz`))).toEqual(plain)
    const beside = (await readdir(join(app, 'dist'))).toSorted()
    expect(beside).toEqual(['.built', 'assets', 'index.html'])
  })
})

describe('the screens stay as they were', () => {
  test('where a build fails: it says why, and the next one is a new attempt', async () => {
    await build()
    await writeFile(join(app, 'src/main.ts'), 'this is no script (')
    await expect(build()).rejects.toThrow(/main\.ts/)
    expect(await builtScript()).toContain('once once')
    await writeFile(join(app, 'src/main.ts'), 'document.title = "mended"')
    expect(await build()).toBe(true)
    expect(await builtScript()).toContain('mended')
  })

  test('where a build is killed, and the next one is whole', async () => {
    await build()
    await writeFile(join(app, 'src/main.ts'), 'document.title = "next"')
    const config = `export default { plugins: [{ name: 'wait', async writeBundle() { process.send('written'); await new Promise(() => setInterval(() => {}, 1000)) } }] }`
    await writeFile(join(app, 'vite.config.js'), config)
    const starter = join(home, 'start.ts')
    const call = `await buildWeb({ app: ${JSON.stringify(app)}, ingredients: [], print() {} })`
    await writeFile(
      starter,
      `import { buildWeb } from ${JSON.stringify(join(import.meta.dirname, 'web-build.ts'))}\n${call}\n`,
    )
    const child = fork(starter, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    expect(await once(child, 'message')).toContain('written')
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await builtScript()).toContain('once once')
    await rm(join(app, 'vite.config.js'))
    expect(await build()).toBe(true)
    expect(await builtScript()).toContain('next')
    expect((await readdir(app)).filter((name) => name.startsWith('dist')).toSorted()).toEqual(['dist', 'dist.lock'])
  })
})
