import { expect } from 'vitest'

export interface WireRequest {
  readonly method: string
  readonly path: string
  /** Beside those that every request has. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** Fields whose values are new in every office; what the page shows for them stands for what really came. */
const fresh = new Set([
  ...['eventId', 'token', 'leaseUntil', 'idempotencyKey', 'requestId', 'willRetryAt', 'id'],
  ...['startedAt', 'firstArrivedAt', 'lastArrivedAt'],
])

/**
 * Sends the requests of a page in their order and compares each answer that the page shows with the one that came: status, fields
 * and values, but for what is new every time. A token of an earlier answer is replaced by the real one, and `<token of x>` by
 * that of a thing `x` reserved for it. A request without an answer on the page has to be accepted.
 */
export async function playExchanges(
  blocks: readonly string[],
  send: (request: WireRequest) => Promise<{ readonly status: number; readonly body: unknown }>,
): Promise<{ readonly requests: number; readonly answers: number }> {
  const real = new Map<string, string>()
  const count = { requests: 0, answers: 0 }
  for (const [index, block] of blocks.entries()) {
    const [, method, path = '', head = '', json = ''] =
      /^(GET|POST) (\S+)\n((?:[\w-]+: .*\n)*)([\s\S]*)$/.exec(block) ?? []
    const headers = Object.fromEntries([...head.matchAll(/^([\w-]+): (.*)$/gm)].map(([, name, value]) => [name, value]))
    if (method === undefined) continue
    for (const [placeholder = '', id = ''] of json.matchAll(/<token of ([\w-]+)>/g)) {
      const body = { source: 'shop', kind: 'label.print', id }
      const reserved = await send({ method: 'POST', path: '/api/v1/register/reserve', headers: {}, body })
      real.set(placeholder, (reserved.body as { token: string }).token)
    }
    const text = [...real].reduce((filled, [shown, came]) => filled.replaceAll(shown, came), json)
    const answer = await send({ method, path, headers, body: text.trim() === '' ? undefined : JSON.parse(text) })
    count.requests += 1
    const shown = /^(\d{3})\n([\s\S]*)$/.exec(blocks[index + 1] ?? '')
    if (shown === null) {
      expect(answer, block).toMatchObject({ status: 201 })
      continue
    }
    count.answers += 1
    const expected = JSON.parse(shown[2] ?? '') as unknown
    note(expected, answer.body, real)
    expect({ status: answer.status, body: withoutFresh(answer.body) }, block).toEqual({
      status: Number(shown[1]),
      body: withoutFresh(expected),
    })
  }
  return count
}

/** Remembers which token came for which that the page shows. */
function note(shown: unknown, came: unknown, real: Map<string, string>): void {
  const [page, answer] = [shown, came] as { token?: string }[]
  if (page?.token !== undefined && answer?.token !== undefined) real.set(page.token, answer.token)
}

/** Fresh values become their kind, so that a time stays a time and nothing becomes something. */
function withoutFresh(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutFresh(each))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutFresh(each, key)]))
  }
  return fresh.has(name) && typeof value === 'string' ? kindOf(value) : value
}

function kindOf(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return '<id>'
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)) return '<time>'
  if (/^[\w-]{54}$/.test(text)) return '<token>'
  return text.replace(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:/, '<id>:')
}
