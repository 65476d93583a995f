/** What the README shows is what happens: its shell lines and `npm run demo`, against an office that has just started. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const blocks = [...readme.matchAll(/```(\w*)\n([\s\S]*?)```/g)].map(([, language, text = '']) => ({ language, text }))

let folder: string
let server: ChildProcess
let environment: NodeJS.ProcessEnv

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'einmal-readme-'))
  environment = { PATH: process.env['PATH'], HOME: folder, EINMAL_DATA_DIR: join(folder, 'data'), PORT: '0' }
  server = spawn(process.execPath, [join(root, 'apps/office/src/main.ts')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: server.stdout as NonNullable<typeof server.stdout> }).on('line', (line) => {
      if (line.startsWith('Einmal runs at')) resolve()
    })
    server.once('exit', (code) => reject(new Error(`the office ended with ${code} before it answered`)))
  })
})

afterAll(async () => {
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  await ended
  rmSync(folder, { recursive: true, force: true })
})

/** Both are asked for, because a minimal machine may have neither. */
function hasTools(): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v curl && command -v openssl'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Ids are new each time, and everything else must be as printed. */
function withoutIds(text: string): string {
  return text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>').trim()
}

/** The block that follows on the one which matches. */
function outputOf(pattern: RegExp): string {
  const index = blocks.findIndex(({ text }) => pattern.test(text))
  return blocks[index + 1]?.text ?? ''
}

test.skipIf(!hasTools())('the shell lines of the README deliver a payment twice and it counts once', async () => {
  const block = blocks.find(({ language, text }) => language === 'sh' && text.includes('openssl'))
  const { stdout } = await promisify(execFile)('sh', ['-c', block?.text ?? 'exit 1'], { cwd: folder })
  const [first = '', second = '', balance = ''] = stdout.trim().split('\n')
  expect(JSON.parse(first)).toMatchObject({ duplicate: false, applied: { amountMinor: 10_000, currency: 'EUR' } })
  expect(JSON.parse(second)).toMatchObject({ duplicate: true, applied: { amountMinor: 0, currency: 'EUR' } })
  expect(JSON.parse(first).eventId).toBe(JSON.parse(second).eventId)
  expect(balance).toContain('"amountMinor":10000')
  expect(withoutIds(outputOf(/openssl/))).toBe(withoutIds(stdout))
})

test('npm run demo shows what the README shows', async () => {
  const cli = join(root, 'apps/office/src/cli.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'demo'], { env: environment })
  const table = stdout.split('\n\n')[0] ?? ''
  expect(outputOf(/^npm run demo$/m).trim()).toBe(table.trim())
})

test('npm run demo can be run again, and says so where no office answers', async () => {
  const cli = join(root, 'apps/office/src/cli.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'demo'], { env: environment })
  expect(stdout).toMatch(/16 times at once +16 +16 × 200 +1 +RE-\d+: 100\.00 of 100\.00 EUR paid/)
  const elsewhere = { ...environment, EINMAL_DATA_DIR: join(folder, 'nothing') }
  await expect(promisify(execFile)(process.execPath, [cli, 'demo'], { env: elsewhere })).rejects.toThrow(
    /Start the office once with: npm start/,
  )
})
