import { fork } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadOrCreateSecretKey } from '../../src/platform/secrets.ts'

const child = join(import.meta.dirname, '../support/load-secret-key.ts')

test('two first starts at the same instant get one key, whole, and leave nothing else in the folder', async () => {
  const home = await mkdtemp(join(tmpdir(), 'einmal-secrets-'))
  const processes = [fork(child), fork(child)]
  try {
    for (let round = 0; round < 100; round += 1) {
      const folder = await mkdtemp(join(home, 'data-'))
      const order = { folder, atMs: performance.timeOrigin + performance.now() + 3 }
      const keys = await Promise.all(
        processes.map((each) => {
          const answered = new Promise((resolve) => each.once('message', resolve))
          each.send(order)
          return answered
        }),
      )
      const stored = Buffer.from(await readFile(join(folder, 'secret.key'), 'utf8'), 'base64').toString('hex')
      expect(keys).toEqual([stored, stored])
      expect(await readdir(folder)).toEqual(['secret.key'])
      expect((await stat(join(folder, 'secret.key'))).mode & 0o777).toBe(0o600)
      expect((await loadOrCreateSecretKey(folder)).toString('hex')).toBe(stored)
    }
  } finally {
    for (const each of processes) each.kill()
    await rm(home, { recursive: true, force: true })
  }
})
