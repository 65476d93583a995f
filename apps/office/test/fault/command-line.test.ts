import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { cliFile, runCommand } from '../support/command-line.ts'
import {
  isDatabaseReady,
  listDatabaseProcesses,
  type OfficeProcess,
  readDemo,
  startOffice,
} from '../support/office-process.ts'

// The command line on the private database of a data folder, beside the office that runs it and without it. Which processes
// belong to a folder is read from /proc, hence Linux only.

const LIMIT_MS = 30_000

let folder: string
let env: Record<string, string>
let office: OfficeProcess | null = null

beforeAll(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'einmal-commands-')), 'data')
  env = { EINMAL_DATA_DIR: folder }
})

afterEach(async () => {
  if (office?.child.exitCode === null && office.child.signalCode === null) await office.end('SIGKILL')
  office = null
  await waitFor('the database to end', () => listDatabaseProcesses(folder).length === 0)
})

afterAll(() => rm(join(folder, '..'), { recursive: true, force: true }))

async function waitFor(what: string, holds: () => boolean): Promise<void> {
  const startedAtMs = performance.now()
  while (!holds()) {
    if (performance.now() - startedAtMs > LIMIT_MS) throw new Error(`Waited ${LIMIT_MS} ms for ${what}`)
    await delay(20)
  }
}

async function start(): Promise<OfficeProcess> {
  office = await startOffice(folder, { args: [cliFile, 'start'] })
  return office
}

test('`start` is the office: it answers, books what the demo delivers, and stops cleanly; the doctor finds nothing, meanwhile and after', async () => {
  const running = await start()
  await waitFor('the demo file', () => running.output().includes('Einmal runs at'))
  const demo = await runCommand(['demo'], env)
  expect(demo).toMatchObject({ code: 0, said: '' })
  const meanwhile = await runCommand(['doctor'], env)
  expect(meanwhile).toMatchObject({ code: 0, said: '' })
  expect(meanwhile.printed).toContain('1 organisation looked at: nothing is wrong.')
  expect(await running.end('SIGTERM')).toMatchObject({ code: 0 })
  // Now it starts the database itself, and stops it again.
  expect(await runCommand(['doctor', '--json'], env)).toMatchObject({
    code: 0,
    printed: expect.stringMatching(/^\{.*\}\n$/),
  })
  expect(listDatabaseProcesses(folder)).toEqual([])
})

describe('on a folder whose office is stopped', () => {
  test('a key that a command made opens the office at its next start', async () => {
    const made = await runCommand(['api-key', 'create', '--name', 'Shop'], env)
    expect(made.code).toBe(0)
    const running = await start()
    const authorization = `Bearer ${made.printed.trim()}`
    expect((await fetch(`${running.url}/api/v1/invoices`, { headers: { authorization } })).status).toBe(200)
    const { organizationId } = await readDemo(folder)
    const listed = await runCommand(['api-key', 'list', '--organization', organizationId], env)
    expect(listed.printed).toMatch(/ Shop /)
  })

  test('a command that is killed leaves no database behind, and the next one works', async () => {
    const child = spawn(process.execPath, [cliFile, 'doctor'], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: 'ignore',
    })
    const exit = once(child, 'exit')
    await waitFor('its database', () => isDatabaseReady(folder))
    child.kill('SIGKILL')
    await exit
    await waitFor('its database to end', () => listDatabaseProcesses(folder).length === 0)
    expect(await runCommand(['doctor'], env)).toMatchObject({ code: 0 })
  })
})

test('the demo without an office that answers: ends with 1 and says how to start one', async () => {
  const { code, said } = await runCommand(['demo'], env)
  expect(code).toBe(1)
  expect(said).toMatch(/^No office answers at .*npm start\n$/)
})
