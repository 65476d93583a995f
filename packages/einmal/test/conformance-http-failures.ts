import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, test, vi } from 'vitest'
import { requestKey } from '../src/http/fastify.ts'
import { resolve } from '../src/index.ts'
import { onCrashPoint } from '../src/testing/index.ts'
import { pgPipelined } from './support/adapters.ts'
import { countEffects } from './support/database.ts'
import { send } from './support/http-client.ts'
import { expectProblem, expectReplay, useServers } from './support/http-world.ts'
import type { Handle, Said, Serve } from './support/idempotent-servers.ts'
import { endLease, findNotes } from './support/leased.ts'
import { startProxy } from './support/proxy.ts'

/** What refusals, faults, crashes and lost connections leave behind, the same on every framework. */
export function failsOverHttp(serve: Serve): void {
  const world = useServers(serve)

  describe('an answer that is no result', () => {
    test.each([400, 401, 403, 404, 408, 409, 422, 425, 429])(
      '%i is not kept: the same request runs again, another one is a conflict (IDEM-04, IDEM-23)',
      async (status) => {
        const app = await world.start()
        world.handle = async () => ({ status, json: { refused: true } })
        expect((await app.send()).json()).toEqual({ refused: true })
        expect(await world.rowOf()).toMatchObject({
          state: 'failed',
          is_final: false,
          next_attempt_at: null,
          answer: null,
        })
        expectProblem(await app.send({ body: '{"amount":2}' }), 422, 'conflict')
        world.handle = async () => ({ status: 201, json: { done: true } })
        const second = await app.send()
        expect(second.json()).toEqual({ done: true })
        expectReplay(await app.send(), second)
        expect(world.calls.map(({ work }) => work?.attempt)).toEqual([1, 2])
      },
    )

    const faults: Record<string, Handle> = {
      'a 503': async () => ({ status: 503, json: {} }),
      'an error': async () => {
        throw new Error('out of order')
      },
    }
    test.each(Object.entries(faults))(
      'after %s nobody knows, and nobody tries again before a person has looked',
      async (_, fault) => {
        const app = await world.start()
        world.handle = fault
        expect((await app.send()).status).toBeGreaterThanOrEqual(500)
        world.handle = async () => ({ status: 201, json: {} })
        expectProblem(await app.send(), 409, 'outcome_unknown')
        expect(await world.rowOf()).toMatchObject({ state: 'unknown' })
        expect(world.calls).toHaveLength(1)
        const decision = { author: 'anna', note: 'looked' } as const
        await resolve(world.opened.db, requestKey({ caller: 'anna', key: world.key }), {
          ...decision,
          outcome: 'retry',
        })
        expect((await app.send()).status).toBe(201)
        expect(world.calls).toHaveLength(2)
      },
    )

    test.each(['transactional', 'repeatable'] as const)(
      'after a 5xx of a %s handler the same request runs again (IDEM-23)',
      async (effect) => {
        const app = await world.start({ effect })
        world.handle = faults['a 503'] as Handle
        expect((await app.send()).status).toBe(503)
        world.handle = faults['an error'] as Handle
        expect((await app.send()).status).toBe(500)
        world.handle = async () => ({ status: 201, json: { done: true } })
        const third = await app.send()
        expect(third.json()).toEqual({ done: true })
        expectReplay(await app.send(), third)
        expect(world.calls.map(({ work }) => work?.attempt)).toEqual([1, 2, 3])
        expect(new Set(world.calls.map(({ work }) => work?.idempotencyKey)).size).toBe(1)
      },
    )

    test('a status may have another rule', async () => {
      const rules = new Map([
        [402, 'kept'],
        [404, 'unknown'],
        [503, 'again'],
      ] as const)
      const app = await world.start({ afterAnswer: (status) => rules.get(status as 402) })
      for (const status of [503, 402]) {
        world.handle = async () => ({ status, json: { status } })
        await app.send()
      }
      world.handle = async () => ({ status: 201, json: {} })
      expect((await app.send()).json()).toEqual({ status: 402 })
      world.key = randomUUID()
      world.handle = async () => ({ status: 404, json: {} })
      await app.send()
      expectProblem(await app.send(), 409, 'outcome_unknown')
    })

    test('what a person has settled is what a copy is told', async () => {
      const app = await world.start()
      const decision = { author: 'anna', note: 'looked' } as const
      world.handle = faults['a 503'] as Handle
      await app.send()
      await resolve(world.opened.db, requestKey({ caller: 'anna', key: world.key }), { ...decision, outcome: 'failed' })
      expectProblem(await app.send(), 409, 'failed')
      await resolve(world.opened.db, requestKey({ caller: 'anna', key: world.key }), {
        ...decision,
        outcome: 'completed',
      })
      expect((await app.send()).json()).toEqual({ duplicate: true, answerKept: false })
      expect(world.calls).toHaveLength(1)
    })
  })

  describe('a process that dies or stops', () => {
    test.each(['outside', 'transactional'] as const)(
      'between the %s handler and the record: nobody knows, and the late answer changes nothing (IDEM-01, IDEM-03)',
      async (effect) => {
        const dead = world.holdAt('attempt.afterPerform')
        const app = await world.start({ effect })
        const first = app.start()
        await dead.reached
        expectProblem(await app.send(), 409, 'in_progress')
        await endLease(world.database.pool, world.idOf())
        expectProblem(await app.send(), 409, 'outcome_unknown')
        dead.resume()
        expectProblem(await first.received, 409, 'outcome_unknown')
        expect(world.calls).toHaveLength(1)
        expect((await findNotes(world.database.pool, world.idOf())).map(({ type }) => type)).toEqual(['late_completed'])
      },
    )

    test('of a repeatable handler: the next request runs, and the late one is told its answer (IDEM-03)', async () => {
      const dead = world.holdAt('attempt.afterPerform')
      world.handle = async () => {
        const number = world.calls.length
        return { status: 201, json: { number }, headers: { location: `/orders/${number}` } }
      }
      const app = await world.start({ effect: 'repeatable' })
      const first = app.start()
      await dead.reached
      await endLease(world.database.pool, world.idOf())
      const second = await app.send()
      expect([second.status, second.json()]).toEqual([201, { number: 2 }])
      dead.resume()
      const late = await first.received
      expectReplay(late, second)
      expect(late.headers['x-outer']).toBe('yes')
      expect(world.calls.map(({ work }) => work?.idempotencyKey)).toEqual([
        world.calls[0]?.work?.idempotencyKey,
        world.calls[0]?.work?.idempotencyKey,
      ])
    })

    test('whose late answer does not count never sends it, also where the other one’s cannot be read', async () => {
      const dead = world.holdAt('attempt.afterPerform')
      world.handle = async () => ({ status: 201, json: { number: world.calls.length } })
      const app = await world.start({ effect: 'repeatable' })
      const first = app.start()
      await dead.reached
      await endLease(world.database.pool, world.idOf())
      await app.send()
      onCrashPoint((passed) => {
        if (passed === 'reserve.beforeCommit') throw new Error('the database is away')
      })
      dead.resume()
      expectProblem(await first.received, 409, 'in_progress')
    })

    test('whose lease is over before the handler begins does not begin', async () => {
      const late = await world.start({ leaseMs: 0.001 })
      expectProblem(await late.send(), 503, 'unavailable')
      expect(world.calls).toHaveLength(0)
      expect(await world.rowOf()).toMatchObject({ state: 'failed', error_code: 'not_started' })
      const app = await world.start()
      expect((await app.send()).status).toBe(201)
    })
  })

  describe('an effect that is committed with its answer', () => {
    const book = (note = ''): Said => ({
      async commit(tx) {
        await tx.query('insert into effects (id, note) values ($1, $2)', [world.key, note])
        return { status: 201, headers: { location: `/orders/${world.key}` }, body: { booked: world.key } }
      },
    })

    test('is there once, with the answer that every copy is told', async () => {
      world.handle = async () => book()
      const app = await world.start({ effect: 'repeatable', wait: { maxMs: 30_000 } })
      const all = await Promise.all(Array.from({ length: 16 }, () => app.send()))
      expect(new Set(all.map(({ status, text, headers }) => `${status} ${text} ${headers['location']}`))).toEqual(
        new Set([`201 {"booked":"${world.key}"} /orders/${world.key}`]),
      )
      expect(await countEffects(world.database.pool, world.key)).toBe(1)
      expect(world.calls).toHaveLength(1)
    })

    test('that fails leaves nothing behind, and the same request runs again', async () => {
      world.handle = async () => book('poison')
      const app = await world.start({ effect: 'repeatable' })
      expect((await app.send()).status).toBe(500)
      expect(await countEffects(world.database.pool, world.key)).toBe(0)
      world.handle = async () => book()
      expect((await app.send()).status).toBe(201)
      expect(await countEffects(world.database.pool, world.key)).toBe(1)
    })

    test('of a process that was taken over is rolled back, and its client is told the other one’s answer (IDEM-03)', async () => {
      const inside = Promise.withResolvers<void>()
      const go = Promise.withResolvers<void>()
      world.handle = async () => ({
        async commit(tx) {
          await tx.query('insert into effects (id, note) values ($1, $2)', [world.key, 'first'])
          inside.resolve()
          await go.promise
          return { status: 201, body: 'first' }
        },
      })
      const app = await world.start({ effect: 'repeatable' })
      const first = app.start()
      await inside.promise
      await endLease(world.database.pool, world.idOf())
      world.handle = async () => book('second')
      const second = await app.send()
      go.resolve()
      expectReplay(await first.received, second)
      const { rows } = await world.database.pool.query('select note from effects where id = $1', [world.key])
      expect(rows).toEqual([{ note: 'second' }])
    })

    test('is found again when the answer to its commit is lost', async () => {
      const proxy = await startProxy(world.database.url)
      const cut = pgPipelined(proxy.url)
      const server = await serve(cut.db, async (call) => {
        world.calls.push(call)
        return {
          async commit(tx) {
            await tx.query('insert into effects (id) values ($1)', [world.key])
            proxy.arm({ message: 2, how: 'answer', onlyStatements: true })
            return { status: 201, body: { booked: world.key } }
          },
        }
      })
      world.servers.push(server)
      const first = await send(server.origin, { key: world.key, body: '{}' })
      expect(proxy.hasCut).toBe(true)
      expect([first.status, first.text]).toEqual([201, `{"booked":"${world.key}"}`])
      expectReplay(await send(server.origin, { key: world.key, body: '{}' }), first)
      expect(await countEffects(world.database.pool, world.key)).toBe(1)
      await cut.close()
      await proxy.close()
    })

    test('with a longer answer than is kept is there once, and a copy is told that it is done', async () => {
      world.handle = async () => ({ commit: async () => ({ status: 201, body: 'x'.repeat(70_000) }) })
      const app = await world.start({ effect: 'repeatable' })
      expect((await app.send()).text).toHaveLength(70_000)
      const copy = await app.send()
      expect([copy.status, copy.json()]).toEqual([201, { duplicate: true, answerKept: false }])
      expect(JSON.stringify((await world.rowOf())?.answer).length).toBeLessThan(200)
    })

    test('is no place for a refusal', async () => {
      world.handle = async () => ({ commit: async () => ({ status: 422, body: 'no' }) })
      const app = await world.start({ effect: 'repeatable' })
      expect((await app.send()).status).toBe(500)
      expect(await world.rowOf()).toMatchObject({ state: 'failed' })
    })
  })

  describe('an answer that is not kept whole', () => {
    test('a longer one than is kept is sent, and a copy is told that it is done', async () => {
      const bytes = Buffer.alloc(70_000, 'x')
      world.handle = async () => ({
        status: 201,
        bytes,
        headers: { location: '/exports/1', 'content-type': 'text/csv' },
      })
      const app = await world.start()
      expect((await app.send()).bytes).toEqual(bytes)
      const copy = await app.send()
      expect([copy.status, copy.headers['location'], copy.json()]).toEqual([
        201,
        '/exports/1',
        { duplicate: true, answerKept: false },
      ])
      expect(copy.headers['content-type']).toContain('application/json')
      expect(copy.headers['idempotent-replayed']).toBe('true')
      expect(JSON.stringify((await world.rowOf())?.answer).length).toBeLessThan(200)
      expect(world.calls).toHaveLength(1)
    })

    test('a stream passes at once, and its end waits for the record', async () => {
      const source = new Readable({ read: () => undefined })
      world.handle = async () => ({ status: 200, stream: source, headers: { 'content-type': 'text/event-stream' } })
      const recording = world.holdAt('attempt.afterPerform')
      const app = await world.start()
      const first = app.start()
      source.push('data: 1\n\n')
      expect(await first.firstBytes).toBe('data: 1\n\n')
      expect(await world.rowOf()).toMatchObject({ state: 'in_progress' })
      source.push('data: 2\n\n')
      source.push(null)
      await recording.reached
      expectProblem(await app.send(), 409, 'in_progress')
      recording.resume()
      const received = await first.received
      expect(received.text).toBe('data: 1\n\ndata: 2\n\n')
      expectReplay(await app.send(), received)
    })

    test('a stream longer than is kept passes whole', async () => {
      world.handle = async () => ({
        status: 200,
        stream: Readable.from(Array.from({ length: 90 }, () => Buffer.alloc(1000, 'y'))),
      })
      const app = await world.start()
      expect((await app.send()).bytes).toHaveLength(90_000)
      expect((await app.send()).json()).toEqual({ duplicate: true, answerKept: false })
    })

    test.each(['outside', 'transactional'] as const)(
      'a stream that breaks off in a %s handler is no result',
      async (effect) => {
        // The adapter of Hono for Node reports it.
        using _quiet = vi.spyOn(console, 'error').mockImplementation(() => undefined)
        const source = new Readable({ read: () => undefined })
        world.handle = async () => ({ status: 200, stream: source })
        const app = await world.start({ effect })
        const recorded = world.nextPassing('finish.afterCommit')
        const first = app.start()
        source.push('half')
        await first.firstBytes
        source.destroy(new Error('cut'))
        await expect(first.received).rejects.toThrow()
        await recorded
        expectProblem(await app.send(), 409, 'outcome_unknown')
        expect(await world.rowOf()).toMatchObject({ state: 'unknown', error_code: 'broken_off' })
      },
    )
  })

  describe('trouble on the way', () => {
    test('a client that leaves while the handler runs finds the answer later', async () => {
      const held = world.holdHandler()
      const app = await world.start()
      const first = app.start()
      await held.started
      first.leave()
      await expect(first.received).rejects.toThrow()
      const recorded = world.nextPassing('finish.afterCommit')
      held.finish()
      await recorded
      const copy = await app.send()
      expect([copy.status, copy.json(), copy.headers['idempotent-replayed']]).toEqual([201, { done: true }, 'true'])
      expect(world.calls).toHaveLength(1)
    })

    test('a client that leaves in the middle of a stream finds the answer that the handler ends with', async () => {
      const gone = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      world.handle = async () => ({
        status: 201,
        async written(out) {
          out.write('half ')
          await out.clientGone
          gone.resolve()
          await goOn.promise
          out.write('and half')
          out.end()
        },
      })
      const app = await world.start({ effect: 'transactional' })
      const first = app.start()
      expect(await first.firstBytes).toBe('half ')
      first.leave()
      await gone.promise
      expectProblem(await app.send(), 409, 'in_progress')
      const recorded = world.nextPassing('finish.afterCommit')
      goOn.resolve()
      await recorded
      const copy = await app.send()
      expect([copy.status, copy.text, copy.headers['idempotent-replayed']]).toEqual([201, 'half and half', 'true'])
      expect(world.calls).toHaveLength(1)
    })

    test('a stream that has no end after its client left never makes a transactional handler run twice', async () => {
      const source = new Readable({ read: () => undefined })
      world.handle = async () => ({ status: 200, stream: source })
      const app = await world.start({ effect: 'transactional', leaseMs: 400, wait: { maxMs: 60_000 } })
      const first = app.start()
      source.push('half')
      await first.firstBytes
      first.leave()
      await expect(first.received).rejects.toThrow()
      expectProblem(await app.send(), 409, 'outcome_unknown')
      expect(world.calls).toHaveLength(1)
    })

    test('a handler that never answers a client who has left holds its key for ten leases and no longer', async () => {
      const app = await world.start({ leaseMs: 400, wait: { maxMs: 60_000 } })
      const held = world.holdHandler()
      const first = app.start()
      await held.started
      first.leave()
      expectProblem(await app.send(), 409, 'outcome_unknown')
      held.finish()
    })

    test('without the database nothing runs, and the client is told to come again', async () => {
      const proxy = await startProxy(world.database.url)
      const cut = pgPipelined(proxy.url)
      const server = await serve(cut.db, async (call) => {
        world.calls.push(call)
        return world.handle(call)
      })
      world.servers.push(server)
      await proxy.refuse()
      const refused = await send(server.origin, { key: world.key, body: '{}' })
      expectProblem(refused, 503, 'unavailable')
      expect(refused.headers['retry-after']).toBe('1')
      expect(world.calls).toHaveLength(0)
      await proxy.admit()
      expect((await send(server.origin, { key: world.key, body: '{}' })).status).toBe(201)
      await cut.close()
      await proxy.close()
    })

    test('a database that goes away before the record: the client has the answer, and nothing is done twice', async () => {
      const proxy = await startProxy(world.database.url)
      const cut = pgPipelined(proxy.url)
      const unrecorded: unknown[] = []
      const server = await serve(
        cut.db,
        async (call) => {
          world.calls.push(call)
          await proxy.refuse()
          return { status: 201, json: { done: true } }
        },
        { onUnrecorded: (error) => unrecorded.push(error) },
      )
      world.servers.push(server)
      const first = await send(server.origin, { key: world.key, body: '{"amount":1}' })
      expect([first.status, first.json()]).toEqual([201, { done: true }])
      expect(unrecorded).toHaveLength(1)
      await proxy.admit()
      const app = await world.start()
      expectProblem(await app.send(), 409, 'in_progress')
      await endLease(world.database.pool, world.idOf())
      expectProblem(await app.send(), 409, 'outcome_unknown')
      expect(world.calls).toHaveLength(1)
      await cut.close()
      await proxy.close()
    })
  })
}
