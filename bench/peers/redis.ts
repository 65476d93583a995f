import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface RedisServer {
  readonly url: string
  readonly version: string
  stop(): Promise<void>
}

/** A private Redis with every write on disk before it is answered; `null` where none is installed. */
export async function startRedis(): Promise<RedisServer | null> {
  for (const program of ['redis-server', 'valkey-server']) {
    const server = await tryStart(program)
    if (server !== null) return server
  }
  return null
}

async function tryStart(program: string): Promise<RedisServer | null> {
  const folder = await mkdtemp(join(tmpdir(), 'einmal-bench-redis-'))
  const port = await freePort()
  const options = { port: String(port), bind: '127.0.0.1', dir: folder, appendonly: 'yes', appendfsync: 'always' }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close').catch(() => undefined)
  // Also where an error that nobody caught ends this process.
  process.once('exit', () => child.kill('SIGTERM'))
  const stop = async () => {
    child.kill('SIGTERM')
    await closed
    await rm(folder, { recursive: true, force: true })
  }
  const version = await new Promise<string | null>((resolve) => {
    let found = program
    child.once('error', () => resolve(null))
    child.once('close', () => resolve(null))
    createInterface(child.stdout).on('line', (line) => {
      found = /version=([\d.]+)/.exec(line)?.[1] ?? found
      if (/ready to accept connections/i.test(line)) resolve(found)
    })
  })
  if (version !== null) return { url: `redis://127.0.0.1:${port}`, version, stop }
  await rm(folder, { recursive: true, force: true })
  return null
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
