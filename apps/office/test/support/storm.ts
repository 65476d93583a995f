import type { Answer } from './entrances.ts'
import type { TestOrganization } from './office.ts'

/** What storms have in common: repeatable chance, many callers at once, and programs that come again when they are told to. */

export interface Chance {
  /** At least 0, below 1. */
  random(): number
  shuffled<T>(items: readonly T[]): T[]
  pick<T>(items: readonly T[]): T
}

/** Chance that is the same for the same seed, on every machine; a storm prints its seed and takes it from the environment. */
export function createChance(name: string): Chance & { readonly seed: number } {
  const seed = Number(process.env['EINMAL_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  console.info(`${name}: EINMAL_TEST_SEED=${seed}`)
  const random = randomOf(seed)
  return {
    seed,
    random,
    shuffled: (items) =>
      items
        .map((item) => ({ item, place: random() }))
        .toSorted((a, b) => a.place - b.place)
        .map(({ item }) => item),
    pick<T>(items: readonly T[]) {
      const item = items[Math.floor(random() * items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}

/** mulberry32: small, and the same on every machine. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

export interface ApiCall {
  readonly path: string
  readonly method?: 'GET' | 'PATCH' | 'POST'
  readonly body?: unknown
  /** The header `Idempotency-Key`. */
  readonly key?: string
}

/** One call of a program that has the organisation's key. */
export async function callApi(serverUrl: string, organization: TestOrganization, call: ApiCall): Promise<Answer> {
  const { path, method = 'POST', body, key } = call
  const response = await fetch(`${serverUrl}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${organization.apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

/** Nobody in a storm of ours is told to come again more often than this. */
const MAX_REPETITIONS = 50

/** Does what a program does that is told to come again: the same call, while the answer is 503 with `Retry-After`. */
export async function untilAnswered(call: () => Promise<Answer>): Promise<{ answer: Answer; toldToComeAgain: number }> {
  for (let repetitions = 0; repetitions < MAX_REPETITIONS; repetitions += 1) {
    const answer = await call()
    if (answer.status !== 503 || answer.headers.get('retry-after') === null) {
      return { answer, toldToComeAgain: repetitions }
    }
  }
  throw new Error(`told to come again ${MAX_REPETITIONS} times`)
}

/** So many clients work through a list together, each one call at a time. Answers come in the order of the list. */
export async function byClients<T, R>(
  clients: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const queue = items.entries()
  await Promise.all(
    times(clients, async () => {
      for (const [index, item] of queue) results[index] = await work(item, index)
    }),
  )
  return results
}
