/** @node-idempotency/core over its Redis adapter: `onRequest`, the caller's function, `onResponse`. */
import { Idempotency, type IdempotencyParams } from '@node-idempotency/core'
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis'
import pg from 'pg'
import { answered, type Event, type Peer, type Settings, told, type Word } from './peer.ts'
import type { Work } from './work.ts'

const words: Record<string, Word> = {
  REQUEST_IN_PROGRESS: 'in_progress',
  IDEMPOTENCY_FINGERPRINT_MISSMATCH: 'conflict',
  IDEMPOTENCY_KEY_MISSING: 'refused',
  IDEMPOTENCY_KEY_LEN_EXEEDED: 'refused',
}

export async function open(settings: Settings, work: Work): Promise<Peer> {
  const storage = new RedisStorageAdapter({ url: settings.redisUrl ?? '' })
  await storage.connect()
  const pool = new pg.Pool({ connectionString: settings.databaseUrl })
  pool.on('error', () => undefined)
  const idempotency = new Idempotency(storage, {
    enforceIdempotency: true,
    cacheTTLMS: settings.keepMs,
    inProgressStrategy: { wait: true, pollingIntervalMs: 50, maxWaitMs: 2_000 },
  })
  const run = (event: Event) =>
    settings.kind === 'database'
      ? work.write(event, (text, values) => pool.query(text, values))
      : work.lookAndAct(event)
  const first = async (event: Event, request: IdempotencyParams) => {
    try {
      const number = await run(event)
      await idempotency.onResponse(request, { body: number })
      return answered(number)
    } catch (error) {
      await idempotency.onResponse(request, { error: String(error) })
      return told('failed', error)
    }
  }
  return {
    async call(event) {
      const request = toRequest(event, settings.isContentCompared)
      try {
        const known = await idempotency.onRequest<number, string>(request)
        if (known === undefined) return await first(event, request)
        return known.body === undefined ? told('failed', `again: ${known.error}`) : answered(known.body)
      } catch (error) {
        return told(words[String((error as { code?: unknown }).code)] ?? 'failed', error)
      }
    },
    async close() {
      await storage.disconnect()
      await pool.end()
    },
  }
}

/** Tenant as prefix, source as path, id as the header: the places that it joins into a key. */
function toRequest({ tenant, source, id, amount }: Event, isContentCompared: boolean): IdempotencyParams {
  return {
    method: 'POST',
    path: `/${source}`,
    headers: { 'idempotency-key': id },
    ...(isContentCompared && { body: { amount } }),
    options: { cacheKeyPrefix: tenant },
  }
}
