import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import autocannon from 'autocannon'

export interface LoadRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface LoadResult {
  readonly requests: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly non2xx: number
}

const run = promisify(execFile)

/** `wrk` costs next to nothing on the machine that is measured; without it autocannon, which takes its share. */
export async function loadGenerator(): Promise<'wrk' | 'autocannon'> {
  return run('wrk', ['-v']).then(
    () => 'wrk' as const,
    (error: { code?: unknown }) => (error.code === 'ENOENT' ? 'autocannon' : 'wrk'),
  )
}

/** Sends the requests one after the other over `connections`, for `seconds` or until all are sent. */
export async function load(
  generator: 'wrk' | 'autocannon',
  url: string,
  requests: readonly LoadRequest[],
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  return generator === 'wrk'
    ? loadWithWrk(url, requests, connections, seconds)
    : loadWithAutocannon(url, requests, connections, seconds)
}

const script = `
local requests = {}
local next_request = 1
function init(args)
  local file = io.open(args[1], "rb")
  while true do
    local size = file:read("*l")
    if size == nil then break end
    requests[#requests + 1] = file:read(tonumber(size))
  end
  file:close()
end
function request()
  local text = requests[next_request]
  next_request = next_request % #requests + 1
  return text
end
function done(summary, latency, requests)
  local failed = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), failed))
end
`

async function loadWithWrk(
  url: string,
  requests: readonly LoadRequest[],
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  const host = new URL(url).host
  const file = join(tmpdir(), `einmal-bench-${process.pid}.requests`)
  const lua = join(tmpdir(), `einmal-bench-${process.pid}.lua`)
  const texts = requests.map(({ path, headers, body }) => {
    const lines = Object.entries({ ...headers, host, 'content-length': String(Buffer.byteLength(body)) })
    const text = `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
    return `${Buffer.byteLength(text)}\n${text}`
  })
  await writeFile(file, texts.join(''))
  await writeFile(lua, script)
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', lua, url, '--', file]
  const { stdout } = await run('wrk', args, { maxBuffer: 1024 * 1024 })
  await Promise.all([rm(file), rm(lua)])
  const found = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(stdout)
  if (found === null) throw new Error(`wrk said nothing usable:\n${stdout}`)
  const [count = 0, microseconds = 0, p50 = 0, p99 = 0, failed = 0] = found.slice(1).map(Number)
  return {
    requests: count,
    perSecond: count / (microseconds / 1e6),
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    non2xx: failed,
  }
}

async function loadWithAutocannon(
  url: string,
  requests: readonly LoadRequest[],
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  let next = 0
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        setupRequest: (request) => {
          const each = requests[next % requests.length]
          next += 1
          return { ...request, path: each?.path ?? '/', headers: { ...each?.headers }, body: each?.body ?? '' }
        },
      },
    ],
  })
  return {
    requests: result.requests.total,
    perSecond: result.requests.total / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    non2xx: result.non2xx + result.errors,
  }
}
