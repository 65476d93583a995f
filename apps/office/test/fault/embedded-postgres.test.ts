import { type ChildProcess, spawn } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

// Real processes, killed with -9 in every combination. Which processes belong to a folder is read from /proc, hence
// Linux only.

const limitMs = 30_000
// A limit against hanging, not a promise about speed.
vi.setConfig({ testTimeout: 2 * limitMs, hookTimeout: 2 * limitMs })

const isRoot = process.getuid?.() === 0
const starter = fileURLToPath(new URL('../support/start-embedded-postgres.ts', import.meta.url))

interface Started {
  readonly child: ChildProcess
  readonly ownerUrl: string
  readonly joined: boolean
  readonly logs: string[]
  readonly tookMs: number
}

let home: string
let dataDir: string
let starters: ChildProcess[]

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'einmal-postgres-'))
  dataDir = join(home, 'data')
  starters = []
})

afterEach(async () => {
  for (const child of starters) child.kill('SIGKILL')
  // Also after a failed test, whose processes nothing else would end.
  await waitFor('every process of the folder to end', () => {
    const left = listProcesses()
    kill9(...left.map(({ pid }) => pid))
    return left.length === 0
  })
  rmSync(home, { recursive: true, force: true })
})

/** Durability is what is tested, so fsync stays on unless a test only looks at processes. */
function start(settings: Record<string, string> = {}): Promise<Started> {
  const startedAtMs = performance.now()
  const child = spawn(process.execPath, [starter, dataDir, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  starters.push(child)
  const logs: string[] = []
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const report: unknown = JSON.parse(line)
      if (typeof report !== 'object' || !report) return
      if ('log' in report) logs.push(String(report.log))
      if ('error' in report) reject(new Error(String(report.error)))
      if ('ownerUrl' in report && 'joined' in report) {
        const tookMs = performance.now() - startedAtMs
        resolve({ child, ownerUrl: String(report.ownerUrl), joined: report.joined === true, logs, tookMs })
      }
    })
    child.once('exit', (code, signal) => reject(new Error(`The starter ended early: ${signal ?? code}`)))
  })
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

async function answers(url: string): Promise<boolean> {
  return query(url, 'select 1').then(
    () => true,
    () => false,
  )
}

async function waitFor(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const startedAtMs = performance.now()
  while (!(await holds())) {
    if (performance.now() - startedAtMs > limitMs) throw new Error(`Waited ${limitMs} ms for ${what}`)
    await delay(20)
  }
}

interface Process {
  readonly pid: number
  readonly kind: 'watchdog' | 'postgres' | 'initdb'
}

/** What runs for this folder: PostgreSQL processes by their working folder, the watchdog by its arguments. */
function listProcesses(): Process[] {
  const folder = join(dataDir, 'postgres')
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid): Process[] => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        if (words.includes('einmal-postgres-watchdog') && words.includes(folder))
          return [{ pid: Number(pid), kind: 'watchdog' }]
        const workingFolder = readlinkSync(`/proc/${pid}/cwd`)
        if (workingFolder === folder) return [{ pid: Number(pid), kind: 'postgres' }]
        if (workingFolder.startsWith(`${folder}.new`)) return [{ pid: Number(pid), kind: 'initdb' }]
        return []
      } catch {
        return []
      }
    })
}

function findPostmaster(): number {
  return Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
}

function kill9(...pids: (number | undefined)[]): void {
  for (const pid of pids) {
    try {
      if (pid) process.kill(pid, 'SIGKILL')
    } catch {
      // It went by itself in the meantime.
    }
  }
}

function killEverything(starter: Started): void {
  kill9(starter.child.pid, ...listProcesses().map(({ pid }) => pid))
}

async function stop(starter: Started): Promise<number | null> {
  const ended = new Promise<number | null>((resolve) => starter.child.once('exit', resolve))
  starter.child.kill('SIGTERM')
  return ended
}

async function writeRow(url: string): Promise<void> {
  await query(url, 'create table kept (id int primary key); insert into kept values (7)')
}

async function expectRow(url: string): Promise<void> {
  expect(await query(url, 'select id from kept')).toEqual([{ id: 7 }])
}

test('a first start gives a PostgreSQL 18 that only the owner of the folder can reach', async () => {
  const first = await start()
  expect(first.joined).toBe(false)
  const [row] = await query(
    first.ownerUrl,
    `select current_setting('server_version_num')::int / 10000 as version, current_setting('fsync') as fsync,
            current_setting('listen_addresses') as addresses, upper('ä') as upper, 'ä' < 'b' collate "de-x-icu" as german`,
  )
  expect(row).toEqual({ version: 18, fsync: 'on', addresses: '127.0.0.1', upper: 'Ä', german: true })
  expect(statSync(dataDir).mode & 0o077).toBe(0)
  for (const name of readdirSync(dataDir)) expect(statSync(join(dataDir, name)).mode & 0o077, name).toBe(0)
  expect(await answers(first.ownerUrl.replace(/:[^:@]+@/, ':wrong@'))).toBe(false)
})

test('a second start keeps the data, the port and the password, and prepares nothing', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  expect(await stop(first)).toBe(0)
  const second = await start()
  expect(second).toMatchObject({ ownerUrl: first.ownerUrl, joined: false, logs: [] })
  await expectRow(second.ownerUrl)
})

test('a clean stop leaves no process behind', async () => {
  const first = await start({ fsync: 'off' })
  expect(listProcesses().map(({ kind }) => kind)).toContain('watchdog')
  expect(await stop(first)).toBe(0)
  expect(listProcesses()).toEqual([])
  expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false)
})

test('after kill -9 of the server process alone, PostgreSQL shuts down by itself', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  kill9(first.child.pid)
  await waitFor('PostgreSQL to shut down', () => listProcesses().length === 0)
  const second = await start()
  expect(second.joined).toBe(false)
  await expectRow(second.ownerUrl)
})

test('a start right after kill -9 of the server process waits for the shutdown and owns the database', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  kill9(first.child.pid)
  const second = await start()
  expect(second).toMatchObject({ ownerUrl: first.ownerUrl, joined: false })
  await expectRow(second.ownerUrl)
})

test('after kill -9 of the server process and PostgreSQL together, everything committed is there', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  kill9(first.child.pid, findPostmaster())
  const second = await start()
  expect(second.joined).toBe(false)
  await expectRow(second.ownerUrl)
})

test('a session that computes on after its PostgreSQL was killed does not block the next start', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  const busy = query(first.ownerUrl, 'do $$ begin loop end loop; end $$').catch(() => {})
  await waitFor('the session to compute', async () => {
    const rows = await query(
      first.ownerUrl,
      "select 1 from pg_stat_activity where state = 'active' and query like 'do %'",
    )
    return rows.length === 1
  })
  kill9(first.child.pid, findPostmaster())
  await expectRow((await start()).ownerUrl)
  await busy
})

test('after kill -9 of every process, everything committed is there', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  killEverything(first)
  await expectRow((await start()).ownerUrl)
})

test('an orphan, whose server process and watchdog were killed, is stopped and replaced', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  const orphan = findPostmaster()
  // The watchdog first: it needs a blink to react to the death of the other.
  kill9(...listProcesses().flatMap(({ pid, kind }) => (kind === 'watchdog' ? [pid] : [])), first.child.pid)
  expect(await answers(first.ownerUrl)).toBe(true)
  const second = await start()
  expect(second).toMatchObject({ ownerUrl: first.ownerUrl, joined: false })
  expect(findPostmaster()).not.toBe(orphan)
  await expectRow(second.ownerUrl)
})

test('a note of a dead server whose number another program has got since does not stop the start', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  const stranger = spawn('sleep', ['60'])
  starters.push(stranger)
  killEverything(first)
  await waitFor('every process to end', () => listProcesses().length === 0)
  const notePath = join(dataDir, 'postgres', 'postmaster.pid')
  const { uid, gid } = statSync(notePath)
  writeFileSync(notePath, readFileSync(notePath, 'utf8').replace(/^\d+/, String(stranger.pid)))
  chownSync(notePath, uid, gid)
  await expectRow((await start()).ownerUrl)
  expect(stranger.exitCode).toBe(null)
})

test('PostgreSQL killed under its living owner is started again on the same port', async () => {
  const first = await start()
  await writeRow(first.ownerUrl)
  kill9(findPostmaster())
  await waitFor('the database to answer again', () => answers(first.ownerUrl))
  await expectRow(first.ownerUrl)
  expect(await stop(first)).toBe(0)
  expect(listProcesses()).toEqual([])
})

test('a second process joins the running database, and its stop leaves the database running', async () => {
  const first = await start({ fsync: 'off' })
  const second = await start({ fsync: 'off' })
  expect(second).toMatchObject({ ownerUrl: first.ownerUrl, joined: true })
  expect(await stop(second)).toBe(0)
  expect(await answers(first.ownerUrl)).toBe(true)
})

test('a process that joined takes the database over when its owner stops, on the same port and with the same data', async () => {
  const first = await start()
  const second = await start()
  await writeRow(second.ownerUrl)
  expect(await stop(first)).toBe(0)
  await waitFor('the database to answer again', () => answers(second.ownerUrl))
  await expectRow(second.ownerUrl)
  expect(await stop(second)).toBe(0)
  expect(listProcesses()).toEqual([])
})

test('of three processes that joined, one takes over when the owner is killed with all of PostgreSQL', async () => {
  const first = await start()
  const others = await Promise.all([start(), start(), start()])
  await writeRow(first.ownerUrl)
  killEverything(first)
  await waitFor('the database to answer again', () => answers(first.ownerUrl))
  await expectRow(first.ownerUrl)
  await waitFor('one to report', () => others.some(({ logs }) => logs.length > 0))
  expect(others.filter(({ logs }) => logs.some((line) => line.includes('takes it over')))).toHaveLength(1)
  expect(listProcesses().filter(({ kind }) => kind === 'watchdog')).toHaveLength(1)
})

test('of four first starts at the same instant one prepares the database and the others join it', async () => {
  const all = await Promise.all([start(), start(), start(), start()])
  expect(all.filter(({ joined }) => !joined)).toHaveLength(1)
  expect(new Set(all.map(({ ownerUrl }) => ownerUrl)).size).toBe(1)
  expect(all.filter(({ logs }) => logs.some((line) => line.startsWith('Preparing')))).toHaveLength(1)
  expect(await answers(all[0].ownerUrl)).toBe(true)
})

test('a first start that was killed half way is cleared away and done again', async () => {
  const half = start()
  half.catch(() => {})
  await waitFor('initdb to work', () => listProcesses().some(({ kind }) => kind === 'initdb'))
  kill9(starters[0]?.pid)
  const second = await start()
  expect(second.joined).toBe(false)
  expect(await answers(second.ownerUrl)).toBe(true)
  expect(readdirSync(dataDir).filter((name) => name.includes('new') || name.includes('password'))).toEqual([])
})

test('a port that another program has taken is exchanged at the next start', async () => {
  const first = await start({ fsync: 'off' })
  expect(await stop(first)).toBe(0)
  const stranger = createServer()
  await new Promise<void>((resolve) => {
    stranger.listen({ port: Number(new URL(first.ownerUrl).port), host: '127.0.0.1' }, resolve)
  })
  try {
    const second = await start({ fsync: 'off' })
    expect(second.ownerUrl).not.toBe(first.ownerUrl)
    expect(await answers(second.ownerUrl)).toBe(true)
  } finally {
    await new Promise((resolve) => stranger.close(resolve))
  }
})

test('a folder without its password file is refused with a word on what to do, and stays as it is', async () => {
  const first = await start({ fsync: 'off' })
  expect(await stop(first)).toBe(0)
  rmSync(join(dataDir, 'postgres.json'))
  await expect(start({ fsync: 'off' })).rejects.toThrow(/put it back from a backup/)
  expect(existsSync(join(dataDir, 'postgres', 'PG_VERSION'))).toBe(true)
})

test.skipIf(!isRoot)('as root the data may lie below a folder that PostgreSQL’s account cannot enter', async () => {
  const closed = join(home, 'closed')
  mkdirSync(closed, { mode: 0o700 })
  dataDir = join(closed, 'deep', 'data')
  const first = await start()
  await writeRow(first.ownerUrl)
  expect(statSync(closed)).toMatchObject({ uid: 0 })
  expect(statSync(join(dataDir, 'postgres')).uid).not.toBe(0)
  killEverything(first)
  await expectRow((await start()).ownerUrl)
})
