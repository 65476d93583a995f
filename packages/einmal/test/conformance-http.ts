import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Sent, send } from './support/http-client.ts'
import { expectProblem, expectReplay, useServers } from './support/http-world.ts'
import type { Said, Serve, Served } from './support/idempotent-servers.ts'

/** Who is a copy of whom and what a copy is told, the same on every framework. */
export function conformsOverHttp(serve: Serve): void {
  const world = useServers(serve)

  describe('a copy', () => {
    const answers: Record<string, Said> = {
      JSON: { status: 201, json: { id: 'inv_1', amount: 10.5, list: [1, 2] }, headers: { location: '/orders/1' } },
      'JSON that is not ASCII': { status: 200, json: { name: 'Zoë Müller', sign: '✓ 🚀', line: '\u2028' } },
      text: {
        status: 200,
        bytes: Buffer.from('grüß\r\ngott'),
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      },
      bytes: {
        status: 200,
        bytes: Uint8Array.from([255, 254, 10, 200, 13]),
        headers: { 'content-type': 'application/octet-stream' },
      },
      'a text with NUL': {
        status: 200,
        bytes: Buffer.from('a\0b'),
        headers: { 'content-type': 'application/octet-stream' },
      },
      nothing: { status: 204 },
      'a redirect': { status: 303, headers: { location: '/orders/7' } },
    }
    test.each(Object.entries(answers))('is told the first answer byte for byte: %s', async (_, said) => {
      world.handle = async () => said
      const app = await world.start()
      const first = await app.send()
      const copies = [await app.send(), await app.send()]
      for (const copy of copies) expectReplay(copy, first)
      expect(world.calls).toHaveLength(1)
      expect(await world.rowOf()).toMatchObject({ state: 'completed', copies: 3 })
    })

    test('has the headers that are set for every answer, and no cookie of the first', async () => {
      world.handle = async () => ({
        status: 201,
        json: {},
        headers: { 'set-cookie': 'session=secret', 'x-private': '1' },
      })
      const app = await world.start()
      const first = await app.send()
      const copy = await app.send()
      expect(first.headers).toMatchObject({ 'x-outer': 'yes', 'set-cookie': 'session=secret' })
      expect(copy.headers).toMatchObject({ 'x-outer': 'yes' })
      expect(copy.headers).not.toHaveProperty('set-cookie')
      expect(copy.headers).not.toHaveProperty('x-private')
      expect(JSON.stringify((await world.rowOf())?.answer)).not.toContain('secret')
    })

    test('keeps the headers that are named, and refuses to keep a cookie', async () => {
      world.handle = async () => ({ status: 201, json: {}, headers: { 'x-version': '7' } })
      const app = await world.start({ headers: ['X-Version'] })
      await app.send()
      expect((await app.send()).headers['x-version']).toBe('7')
      await expect(serve(world.opened.db, world.handle, { headers: ['Set-Cookie'] })).rejects.toThrow('never kept')
    })

    test('while the first is running is told so, with a time to come again (IDEM-01)', async () => {
      const held = world.holdHandler()
      const app = await world.start()
      const first = app.start()
      await held.started
      const copy = await app.send()
      expectProblem(copy, 409, 'in_progress')
      expect(copy.headers['retry-after']).toBe('1')
      held.finish()
      const answer = await first.received
      expectReplay(await app.send(), answer)
      expect(world.calls).toHaveLength(1)
    })

    test('waits for the first where that is wanted, and not longer', async () => {
      const held = world.holdHandler()
      const pauses: number[] = []
      const pause = async (ms: number) => {
        pauses.push(ms)
        if (pauses.length === 2) {
          held.finish()
          await first.received
        }
      }
      const app = await world.start({ wait: { maxMs: 60_000, pause } })
      const first = app.start()
      await held.started
      const copy = await app.send()
      expectReplay(copy, await first.received)
      expect(pauses).toHaveLength(2)

      world.key = randomUUID()
      const endless = world.holdHandler()
      pauses.push(0, 0)
      const other = app.start()
      await endless.started
      expectProblem(await app.send(), 409, 'in_progress')
      endless.finish()
      expect((await other.received).status).toBe(201)
    })

    test('one of sixteen at once runs, and all have its answer in the end', async () => {
      const app = await world.start({ wait: { maxMs: 30_000 } })
      const all = await Promise.all(Array.from({ length: 16 }, () => app.send()))
      expect(world.calls).toHaveLength(1)
      expect(new Set(all.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(all.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1)
    })
  })

  describe('the content', () => {
    test('other content under a known key is refused and named, while it runs and after it (IDEM-08)', async () => {
      const held = world.holdHandler()
      const app = await world.start()
      const first = app.start()
      await held.started
      const during = await app.send({ body: '{"amount":2}' })
      expectProblem(during, 422, 'conflict')
      expect(during.json()['differing']).toEqual(['body.amount'])
      held.finish()
      const answer = await first.received
      expectProblem(await app.send({ body: '{"amount":2}' }), 422, 'conflict')
      expectReplay(await app.send(), answer)
      expect(world.calls).toHaveLength(1)
    })

    test('method, path and query are content', async () => {
      const app = await world.start()
      await app.send()
      const others: [Sent, string[]][] = [
        [{ method: 'PUT' }, ['method']],
        [{ path: '/refunds' }, ['path']],
        [{ path: '/orders?draft=1' }, ['query']],
        [{ body: '{"amount":1,"note":"x"}' }, ['body.note']],
        [{ body: '[1]' }, ['body', 'body.amount']],
        [{ contentType: 'text/plain' }, ['body.amount', 'bytes']],
      ]
      for (const [sent, differing] of others) {
        const received = await app.send(sent)
        expectProblem(received, 422, 'conflict')
        expect(received.json()['differing']).toEqual(differing)
      }
      expect(world.calls).toHaveLength(1)
    })

    test('order of members, white space and form of numbers are not content, order of a list is (IDEM-09)', async () => {
      const app = await world.start()
      const first = await app.send({ body: '{"a":1,"b":{"c":2,"d":[1,2]}}' })
      expectReplay(await app.send({ body: '{ "b" : { "d" : [1,2], "c" : 2.0 }, "a" : 1e0 }' }), first)
      expectProblem(await app.send({ body: '{"a":1,"b":{"c":2,"d":[2,1]}}' }), 422, 'conflict')
      expectProblem(await app.send({ body: '{"a":"1","b":{"c":2,"d":[1,2]}}' }), 422, 'conflict')
    })

    test('numbers beyond 2^53 are compared digit by digit (IDEM-17)', async () => {
      const app = await world.start()
      const first = await app.send({ body: '{"id":9007199254740993}' })
      expectReplay(await app.send({ body: '{"id":9007199254740993}' }), first)
      expectProblem(await app.send({ body: '{"id":9007199254740992}' }), 422, 'conflict')
    })

    test('what is no JSON is compared byte by byte', async () => {
      const app = await world.start()
      const sent = { contentType: 'text/plain', body: 'amount: 1' }
      const first = await app.send(sent)
      expectReplay(await app.send(sent), first)
      expectProblem(await app.send({ ...sent, body: 'amount:  1' }), 422, 'conflict')
      expect(world.calls.map(({ body }) => body)).toEqual(['amount: 1'])
    })

    test('the handler gets the body that was compared', async () => {
      const app = await world.start()
      await app.send({ body: '{"a":[1,{"ü":"✓"}]}' })
      expect(world.calls.map(({ body }) => JSON.parse(body))).toEqual([{ a: [1, { ü: '✓' }] }])
    })
  })

  describe('the key', () => {
    test('two callers with one key never meet (IDEM-06)', async () => {
      const app = await world.start()
      const anna = await app.send({ caller: 'anna' })
      const ben = await app.send({ caller: 'ben', body: '{"amount":2}' })
      expect([anna.json(), ben.json()]).toEqual([{ number: 1 }, { number: 2 }])
      // As plain text these two would be one.
      await app.send({ caller: 'a', key: `x&key=${world.key}` })
      await app.send({ caller: `a&key=x`, key: world.key })
      expect(world.calls).toHaveLength(4)
    })

    test.each(['', ' ', 'undefined'])(
      'a caller of the name "%s" is a fault of the program, and nothing runs',
      async (caller) => {
        const app = await world.start()
        expect((await app.send({ caller })).status).toBe(500)
        expect(world.calls).toHaveLength(0)
      },
    )

    test('bare and in quotes it is the same, and white space around it is not part of it (IDEM-12)', async () => {
      const app = await world.start()
      const first = await app.send()
      for (const same of [`"${world.key}"`, ` ${world.key} `]) expectReplay(await app.send({ key: same }), first)
      await app.send({ key: world.key.toUpperCase() })
      expect(world.calls).toHaveLength(2)
    })

    test.each([
      ['empty', ''],
      ['three blanks', '   '],
      ['an empty string', '""'],
      ['a blank string', '"  "'],
      ['of a program that had none', 'undefined'],
      ['a time', '2026-11-30T12:00:00Z'],
      ['two words', 'a b'],
      ['an open quote', '"abc'],
      ['a string with a parameter', '"abc";v=1'],
      ['not ASCII', 'schl\u00fcssel'],
      ['sent twice', ['abc', 'def']],
    ])('%s is refused, whether it is required or not (IDEM-12)', async (_, poisoned) => {
      for (const required of [true, false]) {
        const app = await world.start({ required })
        expectProblem(await app.send({ key: poisoned }), 400, 'key_invalid')
      }
      expect(world.calls).toHaveLength(0)
    })

    test('a long one is taken whole or refused, and never cut (IDEM-13, IDEM-15)', async () => {
      const app = await world.start()
      const [one, two] = ['a', 'b'].map((end) => `${'k'.repeat(254)}${end}`)
      await app.send({ key: one ?? '' })
      await app.send({ key: two ?? '' })
      expect(world.calls).toHaveLength(2)
      expectProblem(await app.send({ key: 'k'.repeat(256) }), 400, 'key_invalid')
      expectProblem(await app.send({ key: 'k'.repeat(10_000) }), 400, 'key_invalid')
    })

    test('without one a request is refused where it is required, and runs unprotected where it is not', async () => {
      const strict = await world.start({ required: true })
      const { origin } = world.servers[0] as Served
      expectProblem(await send(origin, { body: '{}' }), 400, 'key_missing')
      expect(world.calls).toHaveLength(0)
      await world.start()
      const { origin: free } = world.servers[2] as Served
      await send(free, { body: '{}' })
      await send(free, { body: '{}' })
      expect(world.calls.map(({ work }) => work)).toEqual([null, null])
      expect((await strict.send()).status).toBe(201)
      expect(world.calls.at(-1)?.work).toMatchObject({
        attempt: 1,
        key: { source: 'http', kind: 'request', id: world.idOf() },
      })
    })

    test('is not looked at on a method that changes nothing', async () => {
      const app = await world.start({ required: true })
      const { origin } = world.servers[0] as Served
      for (const method of ['GET', 'GET', 'HEAD', 'OPTIONS']) await send(origin, { method, key: world.key })
      expect(world.calls.map(({ work }) => work)).toEqual([null, null, null, null])
      expect((await app.send()).status).toBe(201)
    })
  })
}
