import { createInProcessApp, type InProcessAnswer, type InProcessApp } from './in-process-app.ts'
import type { TestOffice } from './office.ts'

/** Two applications on one office. Like two servers, they share nothing but the database. */
export interface TwoApps {
  /** The first, for what one server is enough for. */
  readonly app: InProcessApp
  /** Sends all at once, to both in turns. */
  atOnce(
    count: number,
    send: (app: InProcessApp, index: number) => Promise<InProcessAnswer>,
  ): Promise<InProcessAnswer[]>
  close(): Promise<void>
}

export async function createTwoApps(office: TestOffice): Promise<TwoApps> {
  const apps = [await createInProcessApp(office), await createInProcessApp(office)] as const
  return {
    app: apps[0],
    atOnce: (count, send) =>
      Promise.all(Array.from({ length: count }, (_, index) => send(apps[index % 2 === 0 ? 0 : 1], index))),
    async close() {
      for (const app of apps) await app.close()
    },
  }
}

/** How often each status was answered. */
export function statusesOf(answers: readonly InProcessAnswer[]): Record<number, number> {
  const found: Record<number, number> = {}
  for (const { status } of answers) found[status] = (found[status] ?? 0) + 1
  return found
}

/** Every page of a list, and from each item its id. */
export async function readPages(read: (query: string) => Promise<InProcessAnswer>, limit: number): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: unknown = ''; cursor !== null; ) {
    const { body } = await read(`limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    ids.push(...(body['items'] as { id: string }[]).map(({ id }) => id))
    cursor = body['nextCursor']
  }
  return ids
}
