/** AWS Powertools: `makeIdempotent` over its cache persistence layer, on a real Redis. */
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache'
import { createClient } from '@redis/client'
import pg from 'pg'
import { answered, type Event, type Peer, type Settings, told, type Word } from './peer.ts'
import type { Work } from './work.ts'

/** Its errors by their names, in the words of the bench. */
const words: Record<string, Word> = {
  IdempotencyAlreadyInProgressError: 'in_progress',
  IdempotencyItemAlreadyExistsError: 'in_progress',
  IdempotencyInconsistentStateError: 'in_progress',
  IdempotencyValidationError: 'conflict',
  IdempotencyKeyError: 'refused',
}

export async function open(settings: Settings, work: Work): Promise<Peer> {
  const client = await createClient({ url: settings.redisUrl ?? '' }).connect()
  const pool = new pg.Pool({ connectionString: settings.databaseUrl })
  pool.on('error', () => undefined)
  const run = (event: Event) =>
    settings.kind === 'database'
      ? work.write(event, (text, values) => pool.query(text, values))
      : work.lookAndAct(event)
  const handler = makeIdempotent((event: Event, _context: unknown) => run(event), {
    persistenceStore: new CachePersistenceLayer({ client }),
    config: new IdempotencyConfig({
      eventKeyJmesPath: '[tenant, source, id]',
      throwOnNoIdempotencyKey: true,
      expiresAfterSeconds: Math.ceil(settings.keepMs / 1000),
      hashFunction: 'sha256',
      ...(settings.isContentCompared && { payloadValidationJmesPath: 'amount' }),
    }),
  })
  // The part of a Lambda's context that it reads: after so long, a record in progress may be taken over.
  const context = { getRemainingTimeInMillis: () => settings.leaseMs }
  return {
    async call(event) {
      try {
        return answered(await handler(event, context))
      } catch (error) {
        return told(wordOf(error), error)
      }
    },
    async close() {
      client.destroy()
      await pool.end()
    },
  }
}

/** What goes wrong while it saves is wrapped; the reason is inside. */
function wordOf(error: unknown): Word {
  if (!(error instanceof Error)) return 'failed'
  return words[error.name] ?? (error.cause === undefined ? 'failed' : wordOf(error.cause))
}
