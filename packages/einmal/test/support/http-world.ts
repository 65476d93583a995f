import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from 'vitest'
import { requestKey } from '../../src/http/fastify.ts'
import { type CrashPoint, onCrashPoint } from '../../src/testing/index.ts'
import { type Opened, pgPipelined } from './adapters.ts'
import { createOwnDatabase, type OwnDatabase } from './database.ts'
import { type Received, type Sending, type Sent, send, startSending } from './http-client.ts'
import type { Call, Handle, Options, Said, Serve, Served } from './idempotent-servers.ts'
import { createTables, findLeasedRow, type LeasedRow } from './leased.ts'

interface Started {
  send(sent?: Sent): Promise<Received>
  start(sent?: Sent): Sending
}

export interface World {
  readonly database: OwnDatabase
  readonly opened: Opened<pg.PoolClient>
  /** All that are running; ended after each test. */
  readonly servers: Served[]
  /** Every run of the handler, on whichever server. */
  readonly calls: Call[]
  handle: Handle
  key: string
  /** Two servers on one database, and one request after another to them in turn. */
  start(options?: Options): Promise<Started>
  idOf(key?: string): string
  rowOf(key?: string): Promise<LeasedRow | undefined>
  /** Holds the handler at its work. */
  holdHandler(said?: Said): { readonly started: Promise<void>; finish(): void }
  /** Holds the first that passes a crash point, as if its process stood still there. */
  holdAt(point: CrashPoint): { readonly reached: Promise<void>; resume(): void }
  nextPassing(point: CrashPoint): Promise<void>
}

/** A database and servers for the tests of one framework, over real HTTP. */
export function useServers(serve: Serve): World {
  const world = {
    servers: [] as Served[],
    calls: [] as Call[],
    async start(options: Options = {}) {
      const origins: string[] = []
      for (let count = 0; count < 2; count += 1) {
        const server = await serve(
          world.opened.db,
          async (call) => {
            world.calls.push(call)
            return world.handle(call)
          },
          options,
        )
        world.servers.push(server)
        origins.push(server.origin)
      }
      let count = 0
      const next = () => origins[count++ % 2] ?? ''
      return {
        send: (sent: Sent = {}) => send(next(), { key: world.key, body: '{"amount":1}', ...sent }),
        start: (sent: Sent = {}) => startSending(next(), { key: world.key, body: '{"amount":1}', ...sent }),
      }
    },
    idOf: (key = world.key) => String(requestKey({ caller: 'anna', key }).id),
    rowOf: (key = world.key) => findLeasedRow(world.database.pool, world.idOf(key)),
    holdHandler(said: Said = { status: 201, json: { done: true } }) {
      const started = Promise.withResolvers<void>()
      const finish = Promise.withResolvers<void>()
      world.handle = async () => {
        started.resolve()
        await finish.promise
        return said
      }
      return { started: started.promise, finish: finish.resolve }
    },
    holdAt(point: CrashPoint) {
      const reached = Promise.withResolvers<void>()
      const go = Promise.withResolvers<void>()
      let isFirst = true
      onCrashPoint((passed) => {
        if (passed !== point || !isFirst) return
        isFirst = false
        reached.resolve()
        return go.promise
      })
      return { reached: reached.promise, resume: go.resolve }
    },
    nextPassing(point: CrashPoint) {
      const reached = Promise.withResolvers<void>()
      onCrashPoint((passed) => {
        if (passed === point) reached.resolve()
      })
      return reached.promise
    },
  } as World

  beforeAll(async () => {
    const database = await createOwnDatabase(inject('ownerUrl'))
    Object.assign(world, { database, opened: pgPipelined(database.url) })
    await createTables(database.pool, world.opened.db.register)
  })
  afterAll(async () => {
    await world.opened.close()
    await world.database.drop()
  })
  beforeEach(() => {
    world.calls.length = 0
    world.key = randomUUID()
    world.handle = async () => ({ status: 201, json: { number: world.calls.length } })
  })
  afterEach(async () => {
    onCrashPoint(null)
    await Promise.all(world.servers.splice(0).map((server) => server.close()))
  })
  return world
}

export function expectProblem(received: Received, status: number, code: string): void {
  expect(received.headers['content-type']).toBe('application/problem+json')
  const type = `urn:einmal:error:${code}`
  expect({ answered: received.status, ...received.json() }).toMatchObject({ answered: status, status, code, type })
}

export function expectReplay(copy: Received, first: Received): void {
  expect(copy.headers['idempotent-replayed']).toBe('true')
  expect(first.headers['idempotent-replayed']).toBeUndefined()
  const seen = ({ status, headers }: Received) => [status, headers['content-type'], headers['location']]
  expect(seen(copy)).toEqual(seen(first))
  expect(copy.bytes).toEqual(first.bytes)
}
